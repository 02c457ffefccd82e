//! The connections of a server, and which of them to end when others wait.
//!
//! A client may take its time while no other needs what it holds: a connection, or memory for a body or an
//! answer. When another waits for that, the client that has kept the server waiting longest is disconnected. Bytes count as time, a microsecond each: a client that sends or reads 1 MB/s never falls
//! behind, one that sends a byte now and then does.
//!
//! A request that is being worked on is never chosen.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// How far a client may fall behind in the middle of a request or an answer. Between requests there is no
/// such time: a connection at rest may be closed at any moment.
const GRACE_US: u64 = 1_000_000;
/// How often a request or connection that waits looks for a client to disconnect.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// What the server waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// Nothing from the client: a request is being worked on.
    Nothing,
    /// The next request.
    Request,
    /// The rest of a request's head.
    Head,
    /// The rest of a small body.
    Body,
    /// The rest of a body that holds a share of memory.
    LargeBody,
    /// That the client reads an answer that holds a share of memory.
    Reading,
}

impl Awaits {
    const ALL: [Awaits; 6] =
        [Awaits::Nothing, Awaits::Request, Awaits::Head, Awaits::Body, Awaits::LargeBody, Awaits::Reading];
}

/// What a new connection or request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Connection,
    BodyMemory,
    AnswerMemory,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Peer {
    /// All times are microseconds since then.
    epoch: Instant,
    /// It comes from this machine.
    pub(crate) is_local: bool,
    /// Even between requests, odd while one is answered.
    steps: AtomicU64,
    awaits: AtomicU8,
    /// Up to when the client has kept up.
    kept_up_us: AtomicU64,
    task: OnceLock<AbortHandle>,
}

impl Peer {
    fn new(epoch: Instant, from: IpAddr) -> Peer {
        let peer = Peer {
            epoch,
            is_local: from.to_canonical().is_loopback(),
            steps: AtomicU64::new(0),
            awaits: AtomicU8::new(Awaits::Head as u8),
            kept_up_us: AtomicU64::new(0),
            task: OnceLock::new(),
        };
        peer.await_from(Awaits::Head, Instant::now());
        peer
    }

    /// Says which task serves the connection.
    pub(crate) fn served_by(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// A request begins to be answered, or its answer is complete.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Relaxed);
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    pub(crate) fn awaits(&self) -> Awaits {
        Awaits::ALL[self.awaits.load(Relaxed) as usize]
    }

    /// The time stays as it is: reading the clock costs, and the client's last bytes came just now.
    pub(crate) fn set_awaits(&self, awaits: Awaits) {
        self.awaits.store(awaits as u8, Relaxed);
    }

    pub(crate) fn await_from(&self, awaits: Awaits, now: Instant) {
        self.kept_up_us.store(us_since(self.epoch, now), Relaxed);
        self.set_awaits(awaits);
    }

    pub(crate) fn kept_up(&self) -> Instant {
        self.epoch + Duration::from_micros(self.kept_up_us.load(Relaxed))
    }

    /// The client sent or read so much of what is awaited: a microsecond a byte. Being ahead is not
    /// remembered, so a client that took much at once and then stops falls behind from then on.
    pub(crate) fn credit(&self, bytes: usize) {
        let now_us = us_since(self.epoch, Instant::now());
        let kept_up_us = self.kept_up_us.load(Relaxed) + bytes as u64;
        self.kept_up_us.store(kept_up_us.min(now_us), Relaxed);
    }

    /// Up to when the client has kept up, if it has what is wanted and may be disconnected for it.
    fn behind_since(&self, wanted: Wanted, now_us: u64) -> Option<u64> {
        let awaits = self.awaits();
        let has_it = match wanted {
            Wanted::Connection => awaits != Awaits::Nothing,
            Wanted::BodyMemory => awaits == Awaits::LargeBody,
            Wanted::AnswerMemory => awaits == Awaits::Reading,
        };
        let grace_us = if awaits == Awaits::Request { 0 } else { GRACE_US };
        let kept_up_us = self.kept_up_us.load(Relaxed);
        (has_it && kept_up_us + grace_us <= now_us).then_some(kept_up_us)
    }
}

/// All connections of a server.
#[derive(Debug)]
pub(crate) struct Peers {
    epoch: Instant,
    peers: Mutex<HashMap<usize, Arc<Peer>>>,
}

impl Peers {
    pub(crate) fn new() -> Peers {
        Peers { epoch: Instant::now(), peers: Mutex::default() }
    }

    pub(crate) fn enter(self: &Arc<Peers>, from: IpAddr) -> Entry {
        let peer = Arc::new(Peer::new(self.epoch, from));
        self.locked().insert(key(&peer), peer.clone());
        Entry { peers: self.clone(), peer }
    }

    /// Disconnects the client that is farthest behind, if there is one that has what is wanted.
    pub(crate) fn disconnect_slowest(&self, wanted: Wanted) {
        let now_us = us_since(self.epoch, Instant::now());
        let peers = self.locked();
        let behind = peers.values().filter_map(|peer| Some((peer.behind_since(wanted, now_us)?, peer)));
        if let Some((_, peer)) = behind.min_by_key(|(since, _)| *since) {
            tracing::debug!(?wanted, awaits = ?peer.awaits(), "a slow client is disconnected for others that wait");
            // So that it is not chosen twice.
            peer.set_awaits(Awaits::Nothing);
            if let Some(task) = peer.task.get() {
                task.abort();
            }
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<usize, Arc<Peer>>> {
        // The map is whole after every step, so a panic elsewhere does not matter to it.
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn us_since(epoch: Instant, now: Instant) -> u64 {
    now.saturating_duration_since(epoch).as_micros() as u64
}

fn key(peer: &Arc<Peer>) -> usize {
    Arc::as_ptr(peer).addr()
}

/// A connection's place among all; it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    peers: Arc<Peers>,
    pub(crate) peer: Arc<Peer>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.peers.locked().remove(&key(&self.peer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_this_machine_however_it_is_written() {
        let peers = Arc::new(Peers::new());
        let is_local = |address: &str| peers.enter(address.parse().unwrap()).peer.is_local;
        for address in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert!(is_local(address), "{address}");
        }
        for address in ["10.0.0.1", "0.0.0.0", "::", "::ffff:10.0.0.1", "2001:db8::1"] {
            assert!(!is_local(address), "{address}");
        }
    }
}
