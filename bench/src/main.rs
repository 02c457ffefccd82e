//! The `bench` program; `cargo xtask bench` builds and runs it.

#![allow(clippy::print_stdout, reason = "the ready line is on standard output")]

use anyhow::Result;
use bench::{Arguments, Command, bare, compare};
use clap::Parser;
use tokio::runtime::Builder;

#[derive(Parser)]
struct Bench {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() -> Result<()> {
    let Arguments { compare, command } = Bench::parse().arguments;
    // One thread: the generator must leave the machine to the server.
    let generator = Builder::new_current_thread().enable_all().build()?;
    match command {
        None => generator.block_on(compare::run(&compare)),
        Some(Command::Bare { replies }) => Builder::new_multi_thread()
            .enable_all()
            .build()?
            .block_on(bare::serve(&replies, |address| println!("ready at http://{address}"))),
    }
}
