//! `cargo xtask bench`: the table of the `bench` crate, with everything built in release mode.

use anyhow::Result;

use crate::command::{self, program};

#[derive(clap::Args)]
pub struct Options {
    /// How long each row is measured
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
}

pub fn run(options: &Options) -> Result<()> {
    let built = command::build_release(&["lodestone", "bench"])?;
    let mut bench = program(built.join("bench"));
    bench.arg("compare").arg("--lodestone").arg(built.join("lodestone"));
    command::run(bench.arg("--seconds").arg(options.seconds.to_string()))
}
