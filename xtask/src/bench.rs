//! `cargo xtask bench`: the measurements of the `bench` crate, with everything built in release mode.

use std::ffi::OsString;

use anyhow::Result;

use crate::command::{self, program};

pub use ::bench::Arguments;

/// Measures with the arguments of this process, which were found to be sound.
pub fn run() -> Result<()> {
    let given = std::env::args_os().skip_while(|argument| argument != "bench").skip(1);
    run_with(given)
}

/// Sees that measuring works; says nothing about speed.
pub fn smoke() -> Result<()> {
    for arguments in [&["--quick"][..], &["scale", "--quick"], &["latency", "--quick"]] {
        run_with(arguments.iter().map(OsString::from))?;
    }
    Ok(())
}

fn run_with(arguments: impl IntoIterator<Item = OsString>) -> Result<()> {
    let mut bench = program(command::build_release()?.join("bench"));
    // Folders that are given are meant from where the user stands.
    command::run(bench.args(arguments).current_dir(std::env::current_dir()?))
}
