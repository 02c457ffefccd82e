//! `cargo xtask convergence`: three Regions of a global table, on one server and on three, with cut links, delays and
//! restarts, in simulated time.

use anyhow::Result;

use crate::command::{self, cargo};

#[derive(clap::Args)]
pub struct ConvergenceOptions {
    /// How many seeds
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
}

pub fn run(options: &ConvergenceOptions) -> Result<()> {
    let mut convergence = cargo([
        "test",
        "--quiet",
        "--release",
        "--package",
        "engine",
        "--test",
        "behaviour",
        "come_to_what_last_writer_wins_says",
    ]);
    convergence.env("CONVERGENCE_SEEDS", options.seeds.to_string());
    command::run(&mut convergence)
}
