//! `cargo xtask deny`: licences, bans and sources of everything in Cargo.lock, by the rules of deny.toml.
//!
//! Advisories are left to the day's own check: their database lives outside the package registries, and
//! this command must give the same answer on a machine that reaches nothing else.

use anyhow::Result;

use crate::command::{self, program};
use crate::tools;

pub fn run() -> Result<()> {
    let deny = tools::cargo_tool("cargo-deny", "0.20.2")?;
    command::run(program(deny).args([
        "--all-features",
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]))
}
