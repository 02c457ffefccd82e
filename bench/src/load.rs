//! The closed loop: each connection sends its next request as soon as it has the last reply.
//!
//! A slow reply delays its connection, so the loop sends less to a slow server. That is right for finding how much
//! a server can do and what it costs, and wrong for how long a client waits: for that see `schedule`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::protocol::Protocol;
use crate::workload::{Source, Workload};

/// How often a batch is sent again before its unprocessed items count as an error.
const RETRIES_MAX: usize = 10;

/// The result of a load. Latencies are those of successful requests, in nanoseconds.
pub struct Outcome {
    pub latencies: Histogram<u64>,
    pub elapsed: Duration,
    pub failures: Failures,
    /// Batches that were sent again because items were left unprocessed.
    pub retries: u64,
    pub reply_bytes: u64,
}

/// Replies that were not status 200, and connections that broke.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    pub count: u64,
    pub first: Option<String>,
}

impl Outcome {
    pub fn empty() -> Result<Outcome> {
        Ok(Outcome {
            // Three significant digits, and no upper limit.
            latencies: Histogram::new(3)?,
            elapsed: Duration::ZERO,
            failures: Failures::default(),
            retries: 0,
            reply_bytes: 0,
        })
    }

    pub fn succeeded(&self) -> u64 {
        self.latencies.len()
    }

    /// Successful requests per second.
    pub fn rate(&self) -> f64 {
        self.succeeded() as f64 / self.elapsed.as_secs_f64()
    }

    /// Adds the outcome of another connection in the same time.
    pub fn add_beside(&mut self, other: Outcome) -> Result<()> {
        let elapsed = self.elapsed.max(other.elapsed);
        self.add_after(other)?;
        self.elapsed = elapsed;
        Ok(())
    }

    /// Adds the outcome of another time.
    pub fn add_after(&mut self, other: Outcome) -> Result<()> {
        self.latencies.add(other.latencies)?;
        self.elapsed += other.elapsed;
        self.failures.add(other.failures);
        self.retries += other.retries;
        self.reply_bytes += other.reply_bytes;
        Ok(())
    }
}

impl Failures {
    pub fn record(&mut self, reason: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(reason);
    }

    pub fn add(&mut self, other: Failures) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }
}

/// When a loop ends.
#[derive(Clone, Copy)]
pub enum Until {
    Passed(Duration),
    /// When every item was touched.
    Walked,
}

/// Connections that stay open between two calls of [`Clients::drive`].
pub struct Clients {
    connections: Vec<Connection>,
}

impl Clients {
    pub async fn connect(address: SocketAddr, count: usize) -> Result<Clients> {
        Clients::connect_for(Protocol::DynamoDb, address, count).await
    }

    pub async fn connect_for(protocol: Protocol, address: SocketAddr, count: usize) -> Result<Clients> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::open_for(protocol, address).await?);
        }
        Ok(Clients { connections })
    }

    /// Sends requests over all connections.
    pub async fn drive(&mut self, source: &impl Source, until: Until) -> Result<Outcome> {
        self.each(|connection| drive_one(connection, source.clone(), until)).await
    }

    /// Runs `part` on each connection, and adds up the outcomes.
    pub(crate) async fn each<P>(&mut self, part: impl Fn(Connection) -> P) -> Result<Outcome>
    where
        P: Future<Output = Result<(Option<Connection>, Outcome)>> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        for connection in self.connections.drain(..) {
            tasks.spawn(part(connection));
        }
        let mut outcome = Outcome::empty()?;
        while let Some(finished) = tasks.join_next().await {
            let (connection, other) = finished??;
            outcome.add_beside(other)?;
            self.connections.extend(connection);
        }
        Ok(outcome)
    }
}

/// Returns the connection unless it failed.
async fn drive_one(
    mut connection: Connection,
    source: impl Source,
    until: Until,
) -> Result<(Option<Connection>, Outcome)> {
    let mut outcome = Outcome::empty()?;
    let started = Instant::now();
    let mut sent = started;
    let goes_on = |now: Instant| match until {
        Until::Passed(duration) => now - started < duration,
        Until::Walked => !source.is_walked(),
    };
    while goes_on(sent) {
        let (workload, request) = source.next();
        let exchanged = exchange(&mut connection, workload, &request, &mut outcome).await;
        let received = Instant::now();
        match exchanged {
            Ok(true) => outcome.latencies.record((received - sent).as_nanos() as u64)?,
            Ok(false) => {}
            Err(error) => {
                outcome.failures.record(|| error.to_string());
                match connection.again().await {
                    Ok(opened) => connection = opened,
                    Err(_) => return Ok((None, outcome)),
                }
            }
        }
        sent = received;
    }
    outcome.elapsed = sent - started;
    Ok((Some(connection), outcome))
}

/// Whether the request finally succeeded: items that a batch leaves unprocessed are sent again.
pub async fn exchange(
    connection: &mut Connection,
    workload: Workload,
    request: &[u8],
    outcome: &mut Outcome,
) -> std::io::Result<bool> {
    let mut left_over: Option<Vec<u8>> = None;
    for _ in 0..RETRIES_MAX {
        let (status, body) = connection.exchange(left_over.as_deref().unwrap_or(request)).await?;
        if status != 200 {
            outcome.failures.record(|| format!("{status}: {}", String::from_utf8_lossy(body)));
            return Ok(false);
        }
        outcome.reply_bytes += body.len() as u64;
        left_over = workload.left_over(body);
        if left_over.is_none() {
            return Ok(true);
        }
        outcome.retries += 1;
    }
    outcome.failures.record(|| "items of a batch stay unprocessed".to_owned());
    Ok(false)
}
