//! `cargo xtask deny`: licences, bans and sources of everything in Cargo.lock, by the rules of deny.toml.
//!
//! Security advisories are `advisories.rs`: their database is outside the package registries, and the test command must
//! also work on a machine that reaches only those.

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
