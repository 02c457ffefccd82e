//! `cargo xtask bench`: the measurements of the `bench` crate, with everything built as it is handed out.

use std::ffi::OsString;
use std::path::PathBuf;

use ::bench::peer::Peer;
use anyhow::{Context, Result};

use crate::command::{self, program};

mod peers;

pub use ::bench::Arguments;

/// Passes the arguments of this process on to the `bench` program. `parsed` is the same arguments, checked.
pub fn run(parsed: &Arguments) -> Result<()> {
    let mut arguments: Vec<OsString> =
        std::env::args_os().skip_while(|argument| argument != "bench").skip(1).collect();
    let wanted = parsed.compare.contenders().into_iter().filter_map(|contender| contender.peer());
    if let Some(folder) = peers::install(wanted)? {
        arguments.extend(["--peers-folder".into(), folder.into()]);
    }
    run_with(command::build_dist()?, arguments)
}

/// Runs every measurement for a moment, to see that it works. The figures mean nothing. Of the peers PostgreSQL is there:
/// other tests need it, too.
pub fn smoke() -> Result<()> {
    let folder = command::build_release()?;
    let peers = peers::install([Peer::Postgres].into_iter())?.context("a folder for peers")?;
    let beside_postgres =
        ["--contender", "durable,postgres", "--quick", "--peers-folder"].map(OsString::from);
    run_with(folder.clone(), beside_postgres.into_iter().chain([peers.into()]))?;
    let measurements = ["scale", "latency", "hostile", "access", "change-log", "agreement"].map(Some);
    let run = |measurement: Option<&str>| {
        let arguments = measurement.into_iter().chain(["--quick"]);
        run_with(folder.clone(), arguments.map(OsString::from))
    };
    // Each runs, also when another fails.
    let outcomes: Vec<Result<()>> = [None].into_iter().chain(measurements).map(run).collect();
    outcomes.into_iter().collect()
}

fn run_with(folder: PathBuf, arguments: impl IntoIterator<Item = OsString>) -> Result<()> {
    let mut bench = program(folder.join("bench"));
    // Paths in the arguments are relative to the user's folder, not to the workspace.
    command::run(bench.args(arguments).current_dir(std::env::current_dir()?))
}
