//! One row of a report, and how it is filled.

use std::time::Duration;

use anyhow::Result;

use crate::connection::Connection;
use crate::contender::Contender;
use crate::load::{Clients, Outcome, Until};
use crate::server::Server;
use crate::workload::{Requests, Source, Workload};

/// A contender at a workload.
pub struct Measurement {
    pub contender: Contender,
    pub workload: Workload,
    pub connections: usize,
    pub outcome: Outcome,
    pub cpu: Duration,
    pub resident_bytes: u64,
}

impl Measurement {
    pub fn new(contender: Contender, workload: Workload, connections: usize) -> Result<Measurement> {
        let (cpu, resident_bytes) = (Duration::ZERO, 0);
        Ok(Measurement { contender, workload, connections, outcome: Outcome::empty()?, cpu, resident_bytes })
    }

    pub fn add(&mut self, outcome: Outcome, cpu: Duration, resident_bytes: u64) -> Result<()> {
        self.cpu += cpu;
        self.resident_bytes = resident_bytes;
        self.outcome.add_after(outcome)
    }

    /// One turn of the row: one reply is checked closely, the next requests warm up, the rest is counted.
    pub async fn take_turn(&mut self, requests: &Requests, server: &Server, slice: Duration) -> Result<()> {
        self.check_one(requests, server).await?;
        let mut clients = Clients::connect_for(requests.protocol(), server.address, self.connections).await?;
        clients.drive(requests, Until::Passed(slice / 8)).await?;
        let cpu_before = server.cpu_time()?;
        let outcome = clients.drive(requests, Until::Passed(slice)).await?;
        self.add(outcome, server.cpu_time()? - cpu_before, server.resident_bytes()?)
    }

    async fn check_one(&mut self, requests: &Requests, server: &Server) -> Result<()> {
        let protocol = requests.protocol();
        let mut connection = Connection::open_for(protocol, server.address).await?;
        let (status, body) = connection.exchange(&requests.next().1).await?;
        if let Err(wrong) = protocol.check(self.workload, status, body) {
            self.outcome.failures.record(|| format!("a wrong answer: {wrong}"));
        }
        Ok(())
    }

    pub fn rate(&self) -> f64 {
        self.outcome.rate()
    }

    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.outcome.succeeded() as f64
    }

    /// NaN if no request succeeded.
    pub fn latency_us(&self, quantile: f64) -> f64 {
        match self.outcome.succeeded() {
            0 => f64::NAN,
            _ => self.outcome.latencies.value_at_quantile(quantile) as f64 / 1e3,
        }
    }

    pub fn reply_bytes(&self) -> f64 {
        self.outcome.reply_bytes as f64 / self.outcome.succeeded() as f64
    }

    pub fn resident_mb(&self) -> f64 {
        self.resident_bytes as f64 / 1e6
    }

    pub fn same_work(&self, other: &Measurement) -> bool {
        self.workload == other.workload && self.connections == other.connections
    }
}
