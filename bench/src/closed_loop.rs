//! Clients that send prepared requests of one operation, each its next when it has the reply to the last. `cargo xtask
//! cluster --figures` compares their rate with pgbench's: it calls this program, because it is itself built without
//! optimisation and would take the processor from the servers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::request::encode_as;

#[derive(clap::Args, Clone, Debug)]
pub struct ClosedLoopOptions {
    #[arg(long)]
    operation: String,
    /// A file with the body of a request in each line; the clients take them by turns
    #[arg(long, value_name = "FILE")]
    bodies: PathBuf,
    #[arg(long)]
    clients: usize,
    #[arg(long)]
    seconds: u64,
    /// The servers, which have the same number of clients each
    #[arg(required = true)]
    addresses: Vec<SocketAddr>,
}

/// Prints how many requests were answered in a second.
pub async fn run(options: &ClosedLoopOptions) -> Result<()> {
    let bodies = std::fs::read_to_string(&options.bodies)?;
    let bodies: Vec<&str> = bodies.lines().collect();
    ensure!(bodies.len() >= options.clients, "there is a request for each client");
    let mut clients = JoinSet::new();
    for number in 0..options.clients {
        let connection = Connection::open(options.addresses[number % options.addresses.len()]).await?;
        let own = bodies.iter().skip(number).step_by(options.clients);
        let requests = own.map(|body| encode_as("bench", &options.operation, body)).collect();
        clients.spawn(send(connection, requests, Duration::from_secs(options.seconds)));
    }
    let mut total = 0;
    while let Some(counted) = clients.join_next().await {
        total += counted??;
    }
    println!("{:.1}", total as f64 / options.seconds as f64);
    Ok(())
}

async fn send(mut connection: Connection, requests: Vec<Vec<u8>>, time: Duration) -> Result<usize> {
    let (started, mut count) = (Instant::now(), 0);
    while started.elapsed() < time {
        let (status, reply) = connection.exchange(&requests[count % requests.len()]).await?;
        ensure!(status == 200, "{status} {}", String::from_utf8_lossy(reply));
        count += 1;
    }
    Ok(count)
}
