//! The open loop: requests are due by a schedule, whatever the server does.
//!
//! Latency is counted from the moment a request was due, not from when a connection was free to send it. A
//! server that stalls is charged for every request that came due meanwhile; a closed loop would have sent
//! none of them, and forgotten the stall.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::load::{Outcome, exchange};
use crate::workload::Source;

/// Due requests are let go in steps this long, so that the clock does not take the processor from the server.
/// No latency is finer than that.
const STEP: Duration = Duration::from_micros(200);
/// How long the requests that came due may still take after the last.
const OVERRUN_MAX: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub per_second: f64,
    pub duration: Duration,
}

impl Schedule {
    fn count(self) -> u64 {
        (self.per_second * self.duration.as_secs_f64()) as u64
    }

    /// When a request is due, after the start.
    fn due(self, place: u64) -> Duration {
        Duration::from_secs_f64(place as f64 / self.per_second)
    }

    /// How many requests are due by then.
    fn due_by(self, elapsed: Duration) -> u64 {
        ((elapsed.as_secs_f64() * self.per_second) as u64 + 1).min(self.count())
    }
}

/// Sends every request of the schedule, over whichever connection is free. The failures are among the outcome.
pub async fn drive<S: Source>(
    address: SocketAddr,
    connections: usize,
    source: &S,
    schedule: Schedule,
) -> Result<Outcome> {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        opened.push(Connection::open(address).await?);
    }
    let queue = Arc::new(Queue::new(schedule));
    let mut tasks = JoinSet::new();
    for connection in opened {
        tasks.spawn(serve_queue(connection, queue.clone(), source.clone()));
    }
    let clock = std::thread::spawn({
        let queue = queue.clone();
        move || queue.release(connections)
    });
    let finished = tokio::time::timeout(schedule.duration + OVERRUN_MAX, join(&mut tasks)).await;
    let outcome = finished.context("requests are still open a minute after the last was due")?;
    clock.join().ok().context("the clock failed")?;
    outcome
}

async fn join(tasks: &mut JoinSet<Result<Outcome>>) -> Result<Outcome> {
    let mut outcome = Outcome::empty()?;
    while let Some(finished) = tasks.join_next().await {
        outcome.add_beside(finished??)?;
    }
    Ok(outcome)
}

/// The requests that are due and not yet sent: a permit for each.
struct Queue {
    schedule: Schedule,
    started: Instant,
    due: Semaphore,
    /// The place of the next request to be sent.
    next: AtomicU64,
}

impl Queue {
    fn new(schedule: Schedule) -> Queue {
        Queue { schedule, started: Instant::now(), due: Semaphore::new(0), next: AtomicU64::new(0) }
    }

    /// Lets requests go as they come due, and in the end the connections.
    fn release(&self, connections: usize) {
        let mut released = 0;
        while released < self.schedule.count() {
            let due = self.schedule.due_by(self.started.elapsed());
            self.due.add_permits((due - released) as usize);
            released = due;
            std::thread::sleep(STEP);
        }
        self.due.add_permits(connections);
    }

    /// When the next request was due, as soon as it is; `None` after the last.
    async fn next(&self) -> Option<Instant> {
        self.due.acquire().await.ok()?.forget();
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        (place < self.schedule.count()).then(|| self.started + self.schedule.due(place))
    }
}

async fn serve_queue<S: Source>(mut connection: Connection, queue: Arc<Queue>, source: S) -> Result<Outcome> {
    let mut outcome = Outcome::empty()?;
    while let Some(due) = queue.next().await {
        let (workload, request) = source.next();
        match exchange(&mut connection, workload, &request, &mut outcome).await {
            Ok(true) => outcome.latencies.record(due.elapsed().as_nanos() as u64)?,
            Ok(false) => {}
            Err(error) => {
                outcome.failures.record(|| error.to_string());
                connection = connection.again().await.context("the server is gone")?;
            }
        }
    }
    outcome.elapsed = queue.started.elapsed();
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::workload::{Requests, Workload};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers one connection: the first request after a stall, the others at once.
    async fn stalling_server(request_length: usize, stall: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; request_length];
            let mut stall = Some(stall);
            while stream.read_exact(&mut request).await.is_ok() {
                if let Some(stall) = stall.take() {
                    tokio::time::sleep(stall).await;
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            }
        });
        address
    }

    #[tokio::test]
    async fn a_stall_is_charged_to_every_request_that_came_due_meanwhile() {
        let requests = Requests::of(Workload::Get, Data::new(100));
        let length = requests.afresh().next().1.len();
        let address = stalling_server(length, Duration::from_millis(300)).await;
        let schedule = Schedule { per_second: 200.0, duration: Duration::from_millis(400) };

        let outcome = drive(address, 1, &requests, schedule).await.unwrap();

        assert_eq!((outcome.succeeded(), outcome.failures.count), (80, 0));
        // 60 of the 80 came due during the stall, half of those more than 150 ms before its end.
        let slow = outcome.latencies.count_between(140_000_000, u64::MAX);
        assert!(slow >= 30, "only {slow} requests show the stall");
    }

    #[tokio::test]
    async fn requests_are_not_sent_before_they_are_due() {
        let requests = Requests::of(Workload::Get, Data::new(100));
        let length = requests.afresh().next().1.len();
        let address = stalling_server(length, Duration::ZERO).await;
        let schedule = Schedule { per_second: 100.0, duration: Duration::from_millis(100) };
        let outcome = drive(address, 1, &requests, schedule).await.unwrap();
        assert_eq!(outcome.succeeded(), 10);
        assert!(outcome.elapsed >= Duration::from_millis(90), "{:?}", outcome.elapsed);
    }
}
