//! `cargo xtask golden make`: data of today's formats, for tests of all later versions.

use anyhow::Result;
use clap::Subcommand;

use crate::command::{self, cargo};
use crate::tools;

#[derive(Subcommand)]
pub enum GoldenCommand {
    /// Write data of today's formats to crates/lodestone/tests/golden, if there is none yet
    Make,
    /// Open, verify and use all data that is there
    Check,
}

pub fn run(command: &GoldenCommand) -> Result<()> {
    tools::postgres()?;
    let mut test = cargo(["test", "--package", "lodestone", "--test", "program", "--"]);
    match command {
        GoldenCommand::Make => test.args(["--exact", "golden::make", "--ignored"]),
        GoldenCommand::Check => test.arg("golden::"),
    };
    command::run(&mut test)
}
