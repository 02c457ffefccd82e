//! `cargo xtask simulation`: the embedded store on a disk that crashes and fails.

use anyhow::Result;

use crate::command::{self, cargo};

#[derive(clap::Args)]
pub struct SimulationOptions {
    /// How many seeds
    #[arg(long, default_value_t = 5000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    first: u64,
}

pub fn run(options: &SimulationOptions) -> Result<()> {
    let mut simulation =
        cargo(["test", "--quiet", "--release", "--package", "store-lsm", "--test", "embedded", "simulation"]);
    simulation.env("SIMULATION_SEEDS", options.seeds.to_string());
    simulation.env("SIMULATION_FIRST_SEED", options.first.to_string());
    command::run(&mut simulation)
}
