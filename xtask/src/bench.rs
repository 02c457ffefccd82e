//! `cargo xtask bench`: the table of the `bench` crate, with everything built in release mode.

use std::path::PathBuf;

use anyhow::Result;

use crate::command::{self, program};

#[derive(clap::Args)]
pub struct Options {
    /// How long each row is measured
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Another binary than this tree's
    #[arg(long, value_name = "BINARY")]
    pub lodestone: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    let mut bench = program(command::build_release()?.join("bench"));
    bench.arg("compare").arg("--lodestone").arg(command::lodestone(options.lodestone.as_ref())?);
    command::run(bench.arg("--seconds").arg(options.seconds.to_string()))
}
