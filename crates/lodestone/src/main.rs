//! The `lodestone` command.

mod advice;
mod checkpoint;
mod model;
mod repair;
mod serve;
mod studio_pages;
mod trigger_service;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The system's allocator gives pages back and faults them in again with every block that is read from disk
/// and dropped (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A DynamoDB you can run, model and trust.
#[derive(Parser)]
#[command(name = "lodestone", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Checkpoint(checkpoint::Checkpoint),
    Model(model::Model),
    Repair(repair::Repair),
    Serve(serve::Serve),
    Verify(verify::Verify),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Checkpoint(checkpoint) => checkpoint.run(),
        Command::Model(model) => return model.run(),
        Command::Repair(repair) => repair.run(),
        Command::Serve(serve) => serve.run(),
        Command::Verify(verify) => verify.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command speaks to its user on standard error")]
fn report(error: &str) {
    eprintln!("lodestone: {error}");
}
