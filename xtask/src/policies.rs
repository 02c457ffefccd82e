//! `cargo xtask policies`: random policies and requests, decided by two evaluators that must agree.

use anyhow::Result;

use crate::command::{self, cargo};

#[derive(clap::Args)]
pub struct PoliciesOptions {
    /// How many decisions
    #[arg(long, default_value_t = 1_000_000)]
    decisions: u64,
    /// Where chance starts
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(options: &PoliciesOptions) -> Result<()> {
    let mut agreement =
        cargo(["test", "--quiet", "--release", "--package", "iam", "--test", "access", "agreement"]);
    agreement.env("POLICY_DECISIONS", options.decisions.to_string());
    agreement.env("POLICY_SEED", options.seed.to_string());
    command::run(&mut agreement)
}
