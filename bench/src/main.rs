//! The `bench` program; `cargo xtask bench` builds and runs it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to its user")]

use std::process::ExitCode;

use anyhow::{Result, bail};
use bench::{
    Arguments, Command, access, agreement, bare, change_log, closed_loop, compare, hostile, latency, scale,
};
use clap::Parser;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
struct Bench {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() -> ExitCode {
    match run(Bench::parse().arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let Arguments { compare, command } = arguments;
    match command {
        None => measure(compare::run(&compare)),
        Some(Command::Scale(scale)) => measure(scale::run(&scale)),
        Some(Command::Latency(latency)) => measure(latency::run(&latency)),
        Some(Command::Hostile(hostile)) => measure(hostile::run(&hostile)),
        Some(Command::ChangeLog(change_log)) => measure(change_log::run(&change_log)),
        Some(Command::Access(access)) => measure(access::run(&access)),
        Some(Command::Agreement(agreement)) => measure(agreement::run(&agreement)),
        Some(Command::ClosedLoop(closed_loop)) => measure(closed_loop::run(&closed_loop)),
        Some(Command::Bare { replies }) => Builder::new_multi_thread()
            .enable_all()
            .build()?
            .block_on(bare::serve(&replies, |address| println!("ready at http://{address}"))),
    }
}

/// On one thread: the generator must leave the machine to the server. A signal ends it cleanly, so that
/// no stopped server and no data are left behind.
fn measure(measuring: impl Future<Output = Result<()>>) -> Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            measured = measuring => measured,
            _ = terminate.recv() => bail!("terminated"),
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    })
}
