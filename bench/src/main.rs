//! `bench compare` measures Lodestone against the bare server; `bench bare` is that server.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a table on the terminal is what it is for")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use bench::report::{BARE, Measurement, table};
use bench::server::Server;
use bench::workload::Operation;
use bench::{bare, load, workload};
use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure Lodestone, durable and in memory, and the bare server
    Compare {
        /// The lodestone binary
        #[arg(long)]
        lodestone: PathBuf,
        /// How long each row is measured
        #[arg(long, default_value_t = 3.0)]
        seconds: f64,
        /// How many connections, one table row each
        #[arg(long, value_delimiter = ',', default_values_t = [1, 32])]
        connections: Vec<usize>,
    },
    /// Serve recorded replies
    Bare {
        #[arg(long)]
        replies: PathBuf,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Compare { lodestone, seconds, connections } => {
            // One thread: the generator must leave the machine to the server.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let duration = Duration::from_secs_f64(seconds);
            println!("{}", runtime.block_on(compare(&lodestone, duration, &connections))?);
            Ok(())
        }
        Command::Bare { replies } => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(bare::serve(&replies, |address| println!("ready at http://{address}")))
        }
    }
}

/// One server at a time, so that none disturbs another.
async fn compare(lodestone: &Path, duration: Duration, connections: &[usize]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let replies = folder.path().join("replies.json");
    let mut measurements = Vec::new();

    let serve = ["serve", "--host", "127.0.0.1", "--port", "0"].map(Into::into);
    let in_memory: Vec<PathBuf> = serve.clone().into_iter().chain(["--in-memory".into()]).collect();
    let durable: Vec<PathBuf> =
        serve.into_iter().chain(["--data".into(), folder.path().join("data")]).collect();
    let bare = vec!["bare".into(), "--replies".into(), replies.clone()];
    let this = std::env::current_exe().context("finding this program")?;

    for (name, program, arguments) in
        [("in memory", lodestone, in_memory), ("durable", lodestone, durable), (BARE, &this, bare)]
    {
        let server = Server::start(program, arguments, Stdio::inherit()).await?;
        if name != BARE {
            eprintln!("{name}: idle with {:.1} MB", server.resident_bytes()? as f64 / 1e6);
            workload::load(server.address).await.with_context(|| format!("loading {name}"))?;
            bare::record(server.address, &replies).await?;
        }
        measure(name, &server, duration, connections, &mut measurements).await?;
        eprintln!("{name}: {:.1} MB after the load", server.resident_bytes()? as f64 / 1e6);
        server.kill().await?;
    }
    // Stable: within one kind of work the servers stay in the order in which they ran.
    measurements.sort_by_key(|row| (row.operation as usize, row.connections));
    Ok(table(&measurements))
}

async fn measure(
    name: &'static str,
    server: &Server,
    duration: Duration,
    connections: &[usize],
    measurements: &mut Vec<Measurement>,
) -> Result<()> {
    for operation in Operation::ALL {
        let requests = operation.requests();
        for &connections in connections {
            load::drive(server.address, &requests, connections, duration / 8).await?;
            let cpu_before = server.cpu_time()?;
            let outcome = load::drive(server.address, &requests, connections, duration)
                .await
                .with_context(|| format!("{name}: {}", operation.name()))?;
            let cpu = server.cpu_time()? - cpu_before;
            measurements.push(Measurement { server: name, operation, connections, outcome, cpu });
        }
    }
    Ok(())
}
