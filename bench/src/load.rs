//! The load: each connection sends its next request as soon as it has the last reply.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::connection::Connection;

/// What a load came to. Latencies are in nanoseconds.
pub struct Outcome {
    pub latencies: Histogram<u64>,
    pub elapsed: Duration,
}

/// Drives requests, in an order drawn from a fixed seed, until the time is over.
pub async fn drive(
    address: SocketAddr,
    requests: &Arc<[Vec<u8>]>,
    connections: usize,
    duration: Duration,
) -> Result<Outcome> {
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for seed in 0..connections as u64 {
        tasks.spawn(drive_one(address, requests.clone(), seed, started + duration));
    }
    let mut latencies = empty()?;
    while let Some(finished) = tasks.join_next().await {
        latencies.add(finished??)?;
    }
    Ok(Outcome { latencies, elapsed: started.elapsed() })
}

async fn drive_one(
    address: SocketAddr,
    requests: Arc<[Vec<u8>]>,
    seed: u64,
    until: Instant,
) -> Result<Histogram<u64>> {
    let mut connection = Connection::open(address).await?;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut latencies = empty()?;
    let mut sent = Instant::now();
    while sent < until {
        let request = &requests[random.usize(..requests.len())];
        let (status, body) = connection.exchange(request).await?;
        ensure!(status == 200, "{status}: {}", String::from_utf8_lossy(body));
        let received = Instant::now();
        latencies.record((received - sent).as_nanos() as u64)?;
        sent = received;
    }
    Ok(latencies)
}

/// Three significant digits, as long as it takes.
fn empty() -> Result<Histogram<u64>> {
    Ok(Histogram::new(3)?)
}
