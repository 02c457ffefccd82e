//! `cargo xtask damage`: the damage campaign of the embedded store.

use anyhow::Result;

use crate::command::{self, cargo};

#[derive(clap::Args)]
pub struct DamageOptions {
    /// How often a folder is damaged
    #[arg(long, default_value_t = 100_000)]
    trials: u64,
    /// Repeats an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// Only files of different moments or stores, each of them whole
    #[arg(long)]
    mixtures: bool,
}

impl DamageOptions {
    /// A short round.
    pub fn brief() -> DamageOptions {
        DamageOptions { trials: 3000, seed: None, mixtures: false }
    }
}

pub fn run(options: &DamageOptions) -> Result<()> {
    let mut campaign =
        cargo(["run", "--quiet", "--release", "--package", "store-lsm", "--example", "damage", "--"]);
    campaign.arg(if options.mixtures { "mixtures" } else { "all" });
    campaign.arg(options.trials.to_string());
    campaign.args(options.seed.map(|seed| seed.to_string()));
    command::run(&mut campaign)
}
