//! The `lodestone` command.
//!
//! | question | file |
//! |---|---|
//! | which commands are there? | `command_line.rs`; each has the file of its name, or one in `model/` |
//! | in which order does a server start and stop? | `serve.rs` |
//! | what does a configuration file say? | `configuration.rs` |
//! | what do the flags of DynamoDB Local mean? | `dynamodb_local.rs` |
//! | how much may clients and caches take? | `bounds.rs`, `memory.rs` |
//! | whose keys are known, and who is the operator? | `access_file.rs`, `operator_token.rs` |
//! | what do commands ask of a running server? | `administration.rs`, and the file of the command |
//! | which database does a command work on? | `connection.rs`, `endpoint.rs` |
//! | how are other services mounted on the server? | `neighbour.rs`, `service_host.rs` |
//! | what do triggers and DAX need of the database? | `trigger_service.rs`, `dax_service.rs` |
//! | what do CloudWatch and auto scaling need? | `cloudwatch_service.rs`, `autoscaling_service.rs` |
//! | what does a browser find? | `studio_pages.rs`, `studio_outside.rs`, `documents.rs` |
//! | how do the servers of a global table talk? | `peer.rs`; links are cut by `region.rs` |
//! | where do records for Kinesis go? | `kinesis.rs` |
//! | where are backups, exports and imports? | `places.rs`, `s3_url.rs` |
//! | how are requests checked against a model? | `guard_service.rs` |
//! | how are two servers compared? | `replay.rs` |
//! | what do editors and assistants get? | `lsp.rs`, `mcp.rs` |
//! | what does an error say about what to do? | `advice.rs` |

mod access;
mod access_file;
mod administration;
mod advice;
mod audit;
mod autoscaling_service;
mod backup;
mod bounds;
mod capacity;
mod certificate;
mod checkpoint;
mod cloudwatch_service;
mod command_line;
mod completions;
mod configuration;
mod connection;
mod dax_service;
mod documents;
mod dynamodb_local;
mod endpoint;
mod export;
mod fault;
mod guard_service;
mod health;
mod heat;
mod import;
mod kinesis;
mod lsp;
mod mcp;
mod memory;
mod migrate;
mod model;
mod moment;
mod neighbour;
mod operator_token;
mod output;
mod parent;
mod peer;
mod places;
mod progress;
mod region;
mod repair;
mod replay;
mod replica_scaling;
mod requests;
mod restore;
mod s3_url;
mod serve;
mod service_host;
mod stream;
mod studio_outside;
mod studio_pages;
mod trigger_service;
mod verify;
mod version;
mod wait;

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use command_line::{Arguments, Command, Wanted};

/// The system's allocator gives pages back and faults them in again with every block that is read from disk
/// and dropped (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Arguments::read() {
        Ok(Wanted::Run(command)) => run(*command),
        Ok(Wanted::Print(text)) => {
            output::print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> ExitCode {
    let result = match command {
        Command::Access(access) => return access.run(),
        Command::Backup(backup) => backup.run(),
        Command::Capacity(capacity) => capacity.run(),
        Command::Checkpoint(checkpoint) => checkpoint.run(),
        Command::Completions(completions) => completions.run(),
        Command::Docs(documents) => documents.run(),
        Command::Export(export) => export.run(),
        Command::Fault(fault) => fault.run(),
        Command::Health(health) => health.run(),
        Command::Heat(heat) => heat.run(),
        Command::Import(import) => import.run(),
        Command::Lsp(lsp) => lsp.run(),
        Command::Man(man) => man.run(),
        Command::Mcp(mcp) => mcp.run(),
        Command::Migrate(migrate) => migrate.run(),
        Command::Model(model) => return model.run(),
        Command::Region(region) => region.run(),
        Command::Repair(repair) => repair.run(),
        Command::Replay(replay) => return replay.run(),
        Command::Restore(restore) => restore.run(),
        Command::Serve(serve) => serve.run(),
        Command::Simulate(simulate) => return simulate.run(),
        Command::Stream(stream) => stream.run(),
        Command::Verify(verify) => verify.run(),
        Command::Version(version) => version.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// The time of the system.
fn environment_now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(host::Environment::now_ms(&lodestone::System))
}

#[expect(clippy::print_stderr, reason = "a command speaks to its user on standard error")]
fn report(error: &str) {
    eprintln!("lodestone: {error}");
}
