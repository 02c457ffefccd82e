//! The open loop: requests are due by a schedule, whatever the server does.
//!
//! Latency is counted from the moment a request was due, not from when a connection was free to send it. A
//! server that stalls is charged for every request that came due in the meantime; a closed loop would have sent
//! none of them and missed the stall.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::connection::Connection;
use crate::load::{Clients, Outcome, exchange};
use crate::workload::Source;

/// Due requests are released in steps this long. Steps of 0.2 ms made client and server take a third to a half more
/// processor time per request, on two cores that they share.
const STEP: Duration = Duration::from_millis(1);
/// How long the requests that are due may still take after the last.
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

    /// When a request is due, counted from the start.
    fn due(self, place: u64) -> Duration {
        Duration::from_secs_f64(place as f64 / self.per_second)
    }

    /// How many requests are due by then.
    fn due_by(self, elapsed: Duration) -> u64 {
        ((elapsed.as_secs_f64() * self.per_second) as u64 + 1).min(self.count())
    }
}

impl Clients {
    /// Sends every request of the schedule, over whichever connection is free.
    pub async fn keep_to(&mut self, schedule: Schedule, source: &impl Source) -> Result<Outcome> {
        let queue = Arc::new(Queue::new(schedule));
        let served = self.each(|connection| serve_queue(connection, queue.clone(), source.clone()));
        let served = tokio::time::timeout(schedule.duration + OVERRUN_MAX, served);
        let ((), outcome) = tokio::join!(queue.release(), served);
        outcome.context("requests are still open a minute after the last was due")?
    }
}

/// The requests that are due and not yet sent, and the connections that wait for one.
struct Queue {
    schedule: Schedule,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many requests have come due.
    due: u64,
    /// The number of the next request to be sent.
    next: u64,
    /// The connection that became free last is taken first, as from the pool of an SDK: no more connections are in use
    /// than there are requests in flight.
    idle: Vec<Arc<Notify>>,
}

impl Queue {
    fn new(schedule: Schedule) -> Queue {
        Queue { schedule, started: Instant::now(), state: Mutex::default() }
    }

    /// Releases requests as they come due, and in the end the connections.
    async fn release(&self) {
        let mut steps = tokio::time::interval(STEP);
        while !self.release_due() {
            steps.tick().await;
        }
    }

    /// Wakes a connection for each due request, as long as there are idle ones. After the last request it wakes all
    /// and returns true.
    fn release_due(&self) -> bool {
        let mut state = self.state.lock();
        let before = state.due;
        state.due = self.schedule.due_by(self.started.elapsed());
        let ended = state.due == self.schedule.count();
        let woken =
            if ended { state.idle.len() } else { state.idle.len().min((state.due - before) as usize) };
        let rest = state.idle.len() - woken;
        state.idle.drain(rest..).rev().for_each(|connection| connection.notify_one());
        ended
    }

    /// Waits for the next request and returns when it was due; `None` after the last.
    async fn next(&self, connection: &Arc<Notify>) -> Option<Instant> {
        loop {
            {
                let mut state = self.state.lock();
                if state.next < state.due {
                    state.next += 1;
                    return Some(self.started + self.schedule.due(state.next - 1));
                }
                if state.due == self.schedule.count() {
                    return None;
                }
                state.idle.push(connection.clone());
            }
            connection.notified().await;
        }
    }
}

async fn serve_queue(
    mut connection: Connection,
    queue: Arc<Queue>,
    source: impl Source,
) -> Result<(Option<Connection>, Outcome)> {
    let mut outcome = Outcome::empty()?;
    let idle = Arc::new(Notify::new());
    while let Some(due) = queue.next(&idle).await {
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
    Ok((Some(connection), outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::workload::{Requests, Workload};
    use std::net::SocketAddr;
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
    async fn a_stall_is_charged_to_every_request_that_came_due_during_it() {
        let requests = Requests::of(Workload::Get, Data::new(100));
        let length = requests.restarted().next().1.len();
        let address = stalling_server(length, Duration::from_millis(300)).await;
        let schedule = Schedule { per_second: 200.0, duration: Duration::from_millis(400) };

        let outcome = Clients::connect(address, 1).await.unwrap().keep_to(schedule, &requests).await.unwrap();

        assert_eq!((outcome.succeeded(), outcome.failures.count), (80, 0));
        // 60 of the 80 came due during the stall, half of those more than 150 ms before its end.
        let slow = outcome.latencies.count_between(140_000_000, u64::MAX);
        assert!(slow >= 30, "only {slow} requests show the stall");
    }

    #[tokio::test]
    async fn requests_are_not_sent_before_they_are_due() {
        let requests = Requests::of(Workload::Get, Data::new(100));
        let length = requests.restarted().next().1.len();
        let address = stalling_server(length, Duration::ZERO).await;
        let schedule = Schedule { per_second: 100.0, duration: Duration::from_millis(100) };
        let outcome = Clients::connect(address, 1).await.unwrap().keep_to(schedule, &requests).await.unwrap();
        assert_eq!(outcome.succeeded(), 10);
        assert!(outcome.elapsed >= Duration::from_millis(90), "{:?}", outcome.elapsed);
    }
}
