//! The connections of a server, and which of them to end when others wait.
//!
//! A client may take its time while no other needs what it holds: a connection, or memory for a body or an
//! answer. When another waits for that, the client that has kept the server waiting longest is disconnected. Bytes count as time, a microsecond each: a client that sends or reads 1 MB/s never falls
//! behind, one that sends a byte now and then does.
//!
//! A request that is being worked on is never chosen.
//!
//! Over HTTP/2 a connection has several requests at once. Each is a peer of its own, so that each is timed and
//! counted as if it had the connection to itself. The connection may be chosen when none of them is worked on.

use crate::address::{Address, Totals, network};
use crate::limits::Limits;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// How far a client may fall behind in the middle of a request or an answer. Between requests there is no
/// such time: a connection at rest may be closed at any moment.
const GRACE_US: u64 = 1_000_000;
/// Requests that a client may take back beyond those that it lets us answer.
const CANCELLED_MAX: usize = 100;
/// Of how many peers the one that is farthest behind makes way for a new connection. To look at all of them for every
/// connection of a flood would be what the flood is for.
const SAMPLE: usize = 64;
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
    /// That the client reads a small answer, over a connection that has others beside it.
    ReadingSmall,
}

impl Awaits {
    const ALL: [Awaits; 7] = [
        Awaits::Nothing,
        Awaits::Request,
        Awaits::Head,
        Awaits::Body,
        Awaits::LargeBody,
        Awaits::Reading,
        Awaits::ReadingSmall,
    ];
}

/// What a new connection or request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Connection,
    BodyMemory,
    AnswerMemory,
}

/// One connection, or one request of a connection that has several at once.
#[derive(Debug)]
pub(crate) struct Peer {
    /// All times are microseconds since then.
    epoch: Instant,
    /// Where it comes from.
    pub(crate) ip: IpAddr,
    /// What it shares with the other connections from there.
    pub(crate) address: Arc<Address>,
    /// The bytes are encrypted on their way.
    pub(crate) is_secure: bool,
    /// Even between requests, odd while one is answered.
    steps: AtomicU64,
    awaits: AtomicU8,
    /// Up to when the client has kept up.
    kept_up_us: AtomicU64,
    task: OnceLock<AbortHandle>,
    /// Where it is among all peers.
    place: AtomicUsize,
    /// The connection, if this is one of its requests.
    connection: Option<Arc<Peer>>,
    /// The requests at once of a connection that can have several.
    streams: Streams,
}

/// What is known of an HTTP/2 connection's requests.
#[derive(Debug, Default)]
struct Streams {
    /// Not yet answered to the last byte.
    open: AtomicUsize,
    /// Being worked on: nothing is awaited from the client.
    working: AtomicUsize,
    /// Taken back by the client before they were answered.
    cancelled: AtomicUsize,
    answered: AtomicUsize,
}

impl Peer {
    fn new(epoch: Instant, ip: IpAddr, address: Arc<Address>, is_secure: bool) -> Peer {
        let peer = Peer {
            epoch,
            ip: ip.to_canonical(),
            address,
            is_secure,
            steps: AtomicU64::new(0),
            awaits: AtomicU8::new(Awaits::Head as u8),
            kept_up_us: AtomicU64::new(0),
            task: OnceLock::new(),
            place: AtomicUsize::new(0),
            connection: None,
            streams: Streams::default(),
        };
        peer.await_from(Awaits::Head, Instant::now());
        peer
    }

    /// A request of a connection that can have several at once.
    fn stream_of(connection: Arc<Peer>) -> Peer {
        let task = connection.task.clone();
        connection.streams.open.fetch_add(1, Relaxed);
        connection.streams.working.fetch_add(1, Relaxed);
        let peer =
            Peer::new(connection.epoch, connection.ip, connection.address.clone(), connection.is_secure);
        peer.awaits.store(Awaits::Nothing as u8, Relaxed);
        Peer { task, connection: Some(connection), ..peer }
    }

    /// It comes from this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.ip.is_loopback()
    }

    /// Requests at once that are not yet answered to the last byte.
    pub(crate) fn streams_open(&self) -> usize {
        self.streams.open.load(Relaxed)
    }

    /// The client took back a request of this connection. One that does so with most of its requests is
    /// disconnected: each costs us more than it costs the client (CVE-2023-44487).
    pub(crate) fn cancelled(&self) {
        let Some(connection) = &self.connection else { return };
        let streams = &connection.streams;
        let cancelled = streams.cancelled.fetch_add(1, Relaxed);
        if cancelled > CANCELLED_MAX + streams.answered.load(Relaxed) {
            tracing::debug!(ip = %self.ip, "a client that takes back its requests is disconnected");
            connection.disconnect();
        }
    }

    fn disconnect(&self) {
        // So that it is not chosen twice.
        self.set_awaits(Awaits::Nothing);
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    /// Says which task serves the connection.
    pub(crate) fn served_by(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// A request begins to be answered, or its answer is complete.
    pub(crate) fn step(&self) {
        let steps = self.steps.fetch_add(1, Relaxed);
        if let (Some(connection), 1) = (&self.connection, steps % 2) {
            connection.streams.answered.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    pub(crate) fn awaits(&self) -> Awaits {
        Awaits::ALL[self.awaits.load(Relaxed) as usize]
    }

    /// The time stays as it is: reading the clock costs, and the client's last bytes came just now.
    pub(crate) fn set_awaits(&self, awaits: Awaits) {
        match &self.connection {
            None => self.awaits.store(awaits as u8, Relaxed),
            Some(connection) => {
                let before = self.awaits.swap(awaits as u8, Relaxed);
                connection.note_stream(before == Awaits::Nothing as u8, awaits == Awaits::Nothing);
            }
        }
    }

    /// One of its requests was, and is, being worked on or not.
    fn note_stream(&self, worked: bool, works: bool) {
        if works && !worked {
            self.streams.working.fetch_add(1, Relaxed);
        } else if worked && !works {
            self.kept_up_us.store(us_since(self.epoch, Instant::now()), Relaxed);
            self.streams.working.fetch_sub(1, Relaxed);
        }
    }

    pub(crate) fn await_from(&self, awaits: Awaits, now: Instant) {
        self.keep_up(us_since(self.epoch, now));
        self.set_awaits(awaits);
    }

    /// A request that keeps up keeps its connection up.
    fn keep_up(&self, until_us: u64) {
        self.kept_up_us.store(until_us, Relaxed);
        if let Some(connection) = &self.connection {
            connection.kept_up_us.store(until_us, Relaxed);
        }
    }

    pub(crate) fn kept_up(&self) -> Instant {
        self.epoch + Duration::from_micros(self.kept_up_us.load(Relaxed))
    }

    /// The client sent or read this many bytes of what is awaited: a microsecond per byte. Being ahead is not
    /// remembered, so a client that took much at once and then stops falls behind from then on.
    pub(crate) fn credit(&self, bytes: usize) {
        let now_us = us_since(self.epoch, Instant::now());
        let kept_up_us = self.kept_up_us.load(Relaxed) + bytes as u64;
        self.keep_up(kept_up_us.min(now_us));
    }

    /// Up to when the client has kept up, if it has what is wanted and may be disconnected for it.
    fn behind_since(&self, wanted: Wanted, now_us: u64, grace_us: u64) -> Option<u64> {
        let awaits = self.awaits();
        let has_it = match wanted {
            Wanted::Connection => {
                awaits != Awaits::Nothing
                    && self.connection.is_none()
                    && self.streams.working.load(Relaxed) == 0
            }
            Wanted::BodyMemory => awaits == Awaits::LargeBody,
            Wanted::AnswerMemory => awaits == Awaits::Reading,
        };
        let rests = awaits == Awaits::Request && self.streams_open() == 0;
        let grace_us = if rests { 0 } else { grace_us };
        let kept_up_us = self.kept_up_us.load(Relaxed);
        (has_it && kept_up_us + grace_us <= now_us).then_some(kept_up_us)
    }
}

/// All connections of a server.
#[derive(Debug)]
pub(crate) struct Peers {
    epoch: Instant,
    limits: Limits,
    all: Mutex<All>,
    pub(crate) totals: Arc<Totals>,
}

#[derive(Debug, Default)]
struct All {
    /// Each knows its place.
    peers: Vec<Arc<Peer>>,
    /// Where the next sample begins.
    sampled: usize,
    addresses: HashMap<IpAddr, Arc<Address>>,
    connections: usize,
}

impl All {
    fn insert(&mut self, peer: &Arc<Peer>) {
        peer.place.store(self.peers.len(), Relaxed);
        self.peers.push(peer.clone());
    }

    fn remove(&mut self, peer: &Peer) {
        let place = peer.place.load(Relaxed);
        self.peers.swap_remove(place);
        if let Some(moved) = self.peers.get(place) {
            moved.place.store(place, Relaxed);
        }
    }

    /// The peer that is farthest behind, of all or of the first sample that has any.
    fn farthest_behind(
        &mut self,
        sample: usize,
        behind_since: impl Fn(&Arc<Peer>) -> Option<u64>,
    ) -> Option<Arc<Peer>> {
        let count = self.peers.len();
        let sample = sample.clamp(1, count.max(1));
        for _ in 0..count.div_ceil(sample) {
            let from = self.sampled.checked_rem(count)?;
            self.sampled = from + sample;
            let peers = self.peers[from..].iter().chain(&self.peers[..from]).take(sample);
            let behind = peers.filter_map(|peer| Some((behind_since(peer)?, peer)));
            if let Some((_, peer)) = behind.min_by_key(|(since, _)| *since) {
                return Some(peer.clone());
            }
        }
        None
    }
}

/// An address has as many connections as it may have, and all of them are worked on.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Peers {
    pub(crate) fn new(limits: &Limits) -> Peers {
        Peers {
            epoch: Instant::now(),
            limits: limits.clone(),
            all: Mutex::default(),
            totals: Arc::new(Totals::new(limits)),
        }
    }

    /// A new connection. If its address has too many, one of those that have rested longest makes way.
    pub(crate) fn enter(self: &Arc<Peers>, from: IpAddr, is_secure: bool) -> Result<Entry, TooMany> {
        let mut all = self.locked();
        let network = network(from);
        let new = || Arc::new(Address::new(&self.limits, self.totals.clone()));
        let address = all.addresses.entry(network).or_insert_with(new).clone();
        let connections_max = self.limits.of_one_address(self.limits.connections_max);
        if address.connections.load(Relaxed) >= connections_max
            && !self.disconnect_one(&mut all, Wanted::Connection, Some(&address))
        {
            self.totals.connections_refused.fetch_add(1, Relaxed);
            return Err(TooMany);
        }
        address.connections.fetch_add(1, Relaxed);
        all.connections += 1;
        let peer = Arc::new(Peer::new(self.epoch, from, address, is_secure));
        all.insert(&peer);
        Ok(Entry { peers: self.clone(), peer })
    }

    /// A new request of a connection that can have several at once.
    pub(crate) fn enter_stream(self: &Arc<Peers>, connection: &Arc<Peer>) -> Entry {
        let peer = Arc::new(Peer::stream_of(connection.clone()));
        self.locked().insert(&peer);
        Entry { peers: self.clone(), peer }
    }

    /// Disconnects the client that is farthest behind, if there is one that has what is wanted. With an address,
    /// it is one from there.
    pub(crate) fn disconnect_slowest(&self, wanted: Wanted, from: Option<&Arc<Address>>) {
        self.disconnect_one(&mut self.locked(), wanted, from);
    }

    fn disconnect_one(&self, all: &mut All, wanted: Wanted, from: Option<&Arc<Address>>) -> bool {
        let now_us = us_since(self.epoch, Instant::now());
        // Among the connections of one address the oldest makes way at once; between addresses it has its time.
        let grace_us = if wanted == Wanted::Connection && from.is_some() { 0 } else { GRACE_US };
        let sample = if wanted == Wanted::Connection { SAMPLE } else { usize::MAX };
        let behind = all.farthest_behind(sample, |peer| {
            let is_from_there = from.is_none_or(|address| Arc::ptr_eq(address, &peer.address));
            is_from_there.then(|| peer.behind_since(wanted, now_us, grace_us)).flatten()
        });
        let Some(peer) = behind else { return false };
        tracing::debug!(?wanted, awaits = ?peer.awaits(), "a slow client is disconnected for others that wait");
        self.totals.slow_disconnected.fetch_add(1, Relaxed);
        peer.disconnect();
        true
    }

    /// Disconnects clients that have not taken an answer for this long. Only answers over HTTP/2 need this: a client
    /// can leave one of them unread while its connection goes on.
    pub(crate) fn disconnect_unread(&self, timeout: Duration) {
        let now_us = us_since(self.epoch, Instant::now());
        for peer in self.locked().peers.iter().filter(|peer| peer.connection.is_some()) {
            let waits_us = now_us.saturating_sub(peer.kept_up_us.load(Relaxed));
            let reads = matches!(peer.awaits(), Awaits::Reading | Awaits::ReadingSmall);
            if reads && u128::from(waits_us) > timeout.as_micros() {
                self.totals.slow_disconnected.fetch_add(1, Relaxed);
                peer.disconnect();
            }
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.locked().connections
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, All> {
        // The maps are whole after every step, so a panic elsewhere does not matter to them.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request, from its head to the last byte of its answer.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) peer: Arc<Peer>,
    /// Its place among the peers, if the connection can have others beside it.
    stream: Option<Entry>,
}

impl InFlight {
    /// The only request of its connection.
    pub(crate) fn alone(peer: Arc<Peer>) -> InFlight {
        peer.address.begin_request();
        InFlight { peer, stream: None }
    }

    /// One of several requests of a connection.
    pub(crate) fn beside_others(peers: &Arc<Peers>, connection: &Arc<Peer>) -> InFlight {
        let entry = peers.enter_stream(connection);
        let mut in_flight = InFlight::alone(entry.peer.clone());
        in_flight.stream = Some(entry);
        in_flight
    }

    pub(crate) fn is_too_many(&self) -> bool {
        self.peer.address.has_too_many_requests()
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.stream.is_some()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.peer.address.end_request();
    }
}

fn us_since(epoch: Instant, now: Instant) -> u64 {
    now.saturating_duration_since(epoch).as_micros() as u64
}

/// A connection's place among all; it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    peers: Arc<Peers>,
    pub(crate) peer: Arc<Peer>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut all = self.peers.locked();
        all.remove(&self.peer);
        match &self.peer.connection {
            Some(connection) => {
                connection.note_stream(self.peer.awaits() == Awaits::Nothing, false);
                connection.streams.open.fetch_sub(1, Relaxed);
                // The connection has made progress, and is between two requests again.
                connection.steps.fetch_add(2, Relaxed);
                connection.await_from(Awaits::Request, Instant::now());
            }
            None => {
                all.connections -= 1;
                if self.peer.address.connections.fetch_sub(1, Relaxed) == 1 {
                    all.addresses.remove(&network(self.peer.ip));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_a_peer_of_the_sample_makes_way_and_all_are_sampled_in_turn() {
        let limits = Limits { connections_max: 1000, ..Limits::default() };
        let peers = Arc::new(Peers::new(&limits));
        let address = IpAddr::from([10, 0, 0, 1]);
        let entries: Vec<Entry> = (0..300).map(|_| peers.enter(address, false).unwrap()).collect();
        for (number, entry) in entries.iter().enumerate() {
            entry.peer.kept_up_us.store(1000 - number as u64, Relaxed);
            entry.peer.set_awaits(Awaits::Request);
        }
        let looked = std::cell::Cell::new(0);
        let since = |peer: &Arc<Peer>| {
            looked.set(looked.get() + 1);
            (peer.awaits() == Awaits::Request).then(|| peer.kept_up_us.load(Relaxed))
        };
        let mut all = peers.locked();
        let mut chosen: Vec<u64> = Vec::new();
        for _ in 0..5 {
            let peer = all.farthest_behind(SAMPLE, since).unwrap();
            chosen.push(peer.kept_up_us.load(Relaxed));
        }
        assert_eq!(looked.get(), 5 * SAMPLE);
        // The last sample begins at the end and goes on at the beginning.
        assert_eq!(chosen, [937, 873, 809, 745, 701]);
        assert_eq!(all.farthest_behind(usize::MAX, since).unwrap().kept_up_us.load(Relaxed), 701);
        for entry in &entries {
            entry.peer.set_awaits(Awaits::Nothing);
        }
        assert!(all.farthest_behind(SAMPLE, since).is_none(), "all are looked at before none is found");
        drop(all);

        let mut entries = entries;
        let last = entries.pop().unwrap();
        drop(entries);
        assert_eq!(last.peer.place.load(Relaxed), 0);
        assert_eq!(peers.locked().peers.len(), 1);
    }

    #[test]
    fn loopback_is_this_machine_however_it_is_written() {
        let peers = Arc::new(Peers::new(&Limits::default()));
        let is_local = |address: &str| peers.enter(address.parse().unwrap(), false).unwrap().peer.is_local();
        for address in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert!(is_local(address), "{address}");
        }
        for address in ["10.0.0.1", "0.0.0.0", "::", "::ffff:10.0.0.1", "2001:db8::1"] {
            assert!(!is_local(address), "{address}");
        }
    }
}
