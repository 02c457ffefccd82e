//! The memory that large bodies, and large answers, may take together.
//!
//! Bodies have one budget, answers another. A request takes its share of the first, then of the second,
//! and one that holds a share of the second waits for nothing but its client, so no two requests wait for
//! each other. While a request waits, slow clients that hold what it needs are disconnected (`peer.rs`).
//!
//! A share counts twice: against what the client's address may take, then against what all may take. Those that wait
//! for either form a line, and only the first in line has others disconnected: however many requests for large
//! answers wait, the clients that do not read theirs are replaced one after the other.
//!
//! What always holds:
//!
//! ```text
//! free bytes of all       +  bytes of all shares             =  bytes_max
//! free bytes of an address  +  bytes of its clients' shares  =  address_bytes_max  <=  bytes_max
//! a share's bytes of its address  =  its bytes of all        =  what it counts for
//! ```
//!
//! All three are asserted in debug builds: the first two, as far as one share shows them, and the last wherever a share
//! is made or changed; the first again where its sum is relied on, in the metrics. What holds a large body or answer
//! asserts that it has a share.

use crate::address::Address;
use crate::limits::{Limits, UNCOUNTED_BYTES};
use crate::peer::{LOOK_INTERVAL, Peers, Wanted};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

/// The memory stayed taken for too long.
#[derive(Debug)]
pub(crate) struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("all memory for requests or answers is in use")
    }
}

impl std::error::Error for Busy {}

/// A part of a budget, given back when dropped; empty for what is too small to count.
#[derive(Debug, Default)]
pub(crate) struct Share(Option<Permits>);

#[derive(Debug)]
struct Permits {
    of_address: OwnedSemaphorePermit,
    of_all: OwnedSemaphorePermit,
}

impl Permits {
    fn bytes(&self) -> usize {
        let bytes = self.of_all.num_permits();
        debug_assert_eq!(self.of_address.num_permits(), bytes, "a share counts for the same twice");
        bytes
    }
}

/// The memory of one address, or of all.
#[derive(Debug)]
pub(crate) struct Room {
    /// One permit a byte.
    free: Arc<Semaphore>,
    bytes_max: usize,
    /// Held by the request that gets the next free bytes.
    first_in_line: Mutex<()>,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Room {
        // A request takes its permits at once, and their number is 32 bits long.
        let bytes_max = bytes.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        Room { free: Arc::new(Semaphore::new(bytes_max)), bytes_max, first_in_line: Mutex::new(()) }
    }

    /// Asserts that what is free and a share of this room are no more than the room has. The rest are other shares.
    fn debug_assert_holds(&self, share_bytes: usize) {
        debug_assert!(
            self.free.available_permits() + share_bytes <= self.bytes_max,
            "free bytes and a share of {share_bytes} are more than {}",
            self.bytes_max
        );
    }
}

#[derive(Debug)]
pub(crate) struct Budget {
    room: Room,
    /// What the largest share of one address is.
    address_bytes_max: usize,
    wait_max: Duration,
    peers: Arc<Peers>,
    wanted: Wanted,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize, limits: &Limits, wanted: Wanted, peers: Arc<Peers>) -> Budget {
        let room = Room::new(bytes_max);
        let address_bytes_max = limits.of_one_address(room.bytes_max);
        assert!(address_bytes_max <= room.bytes_max.max(1), "one address has no more than all have");
        Budget { room, address_bytes_max, wait_max: limits.share_timeout, peers, wanted }
    }

    /// Waits for a share of this many bytes, though not for long.
    pub(crate) async fn take(&self, bytes: usize, address: &Arc<Address>) -> Result<Share, Busy> {
        let mut share = Share::default();
        if share.resize(bytes, self, address).is_ok() {
            return Ok(share);
        }
        let deadline = Instant::now() + self.wait_max;
        let permits = self.permits(bytes);
        let of_address = self.wait(self.room_of(address), permits, deadline, Some(address)).await?;
        let of_all = self.wait(&self.room, permits, deadline, None).await?;
        let share = Share(Some(Permits { of_address, of_all }));
        self.debug_assert_counted(&share, permits as usize, address);
        Ok(share)
    }

    async fn wait(
        &self,
        room: &Room,
        permits: u32,
        deadline: Instant,
        from: Option<&Arc<Address>>,
    ) -> Result<OwnedSemaphorePermit, Busy> {
        let _first = timeout_at(deadline, room.first_in_line.lock()).await.map_err(|_| Busy)?;
        let mut permit = pin!(room.free.clone().acquire_many_owned(permits));
        loop {
            match timeout(LOOK_INTERVAL.min(self.wait_max), permit.as_mut()).await {
                Ok(permit) => return permit.map_err(|_| Busy),
                Err(_) if Instant::now() >= deadline => return Err(Busy),
                Err(_) => self.peers.disconnect_slowest(self.wanted, from),
            }
        }
    }

    pub(crate) fn bytes_max(&self) -> usize {
        self.room.bytes_max
    }

    pub(crate) fn bytes_used(&self) -> usize {
        // A metric must not end a request: without debug assertions, a wrong sum counts as nothing used.
        self.room.debug_assert_holds(0);
        self.room.bytes_max.saturating_sub(self.room.free.available_permits())
    }

    /// Asserts that a share has this many bytes, of all and of its address, and that neither has more than its bound.
    fn debug_assert_counted(&self, share: &Share, bytes: usize, address: &Address) {
        debug_assert_eq!(share.bytes(), bytes, "a share counts for what was asked for");
        debug_assert!(bytes <= self.address_bytes_max, "a share of {bytes} is more than an address may have");
        self.room.debug_assert_holds(bytes);
        self.room_of(address).debug_assert_holds(bytes);
    }

    fn room_of<'a>(&self, address: &'a Address) -> &'a Room {
        match self.wanted {
            Wanted::AnswerMemory => &address.answers,
            Wanted::BodyMemory | Wanted::Connection => &address.bodies,
        }
    }

    /// A request for more than its address may have gets all of that, and so runs alone.
    fn permits(&self, bytes: usize) -> u32 {
        if bytes <= UNCOUNTED_BYTES { 0 } else { bytes.min(self.address_bytes_max) as u32 }
    }
}

impl Share {
    pub(crate) fn is_counted(&self) -> bool {
        self.0.is_some()
    }

    /// Whether this many bytes may be held with this share. Small ones need none.
    pub(crate) fn allows(&self, bytes: usize) -> bool {
        bytes <= UNCOUNTED_BYTES || self.is_counted()
    }

    fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, Permits::bytes)
    }

    /// Gives back what is not needed, or takes what is needed beyond, if it is free now.
    pub(crate) fn resize(&mut self, bytes: usize, budget: &Budget, address: &Address) -> Result<(), Busy> {
        let wanted = budget.permits(bytes) as usize;
        let held = self.bytes();
        if wanted == 0 {
            self.0 = None;
        } else if let (Some(permits), true) = (&mut self.0, wanted < held) {
            permits.of_all.split(held - wanted);
            permits.of_address.split(held - wanted);
        } else if wanted > held {
            let more = (wanted - held) as u32;
            let take = |room: &Room| room.free.clone().try_acquire_many_owned(more).map_err(|_| Busy);
            let (of_address, of_all) = (take(budget.room_of(address))?, take(&budget.room)?);
            match &mut self.0 {
                Some(permits) => {
                    permits.of_address.merge(of_address);
                    permits.of_all.merge(of_all);
                }
                None => self.0 = Some(Permits { of_address, of_all }),
            }
        }
        budget.debug_assert_counted(self, wanted, address);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Client {
        budget: Budget,
        address: Arc<Address>,
    }

    impl Client {
        /// A client that may have this share of all bytes.
        fn new(bytes_max: usize, address_share_percent: usize) -> Client {
            let limits = Limits {
                bodies_bytes_max: bytes_max,
                address_share_percent,
                share_timeout: Duration::from_millis(1),
                ..Limits::default()
            };
            let peers = Arc::new(Peers::new(&limits));
            let address = Arc::new(Address::new(&limits, peers.totals.clone()));
            Client { budget: Budget::new(bytes_max, &limits, Wanted::BodyMemory, peers), address }
        }

        /// Another address at the same server.
        fn other(&self) -> Arc<Address> {
            let bodies_bytes_max = self.budget.bytes_max();
            let percent = self.budget.address_bytes_max * 100 / bodies_bytes_max;
            let limits = Limits { bodies_bytes_max, address_share_percent: percent, ..Limits::default() };
            Arc::new(Address::new(&limits, self.address.totals.clone()))
        }

        async fn take(&self, bytes: usize) -> Result<Share, Busy> {
            self.budget.take(bytes, &self.address).await
        }

        fn resize(&self, share: &mut Share, bytes: usize) -> Result<(), Busy> {
            share.resize(bytes, &self.budget, &self.address)
        }
    }

    #[tokio::test]
    async fn a_share_that_is_not_free_is_refused_until_it_is_given_back() {
        let client = Client::new(100_000, 100);
        let first = client.take(60_000).await.unwrap();
        assert!(client.take(60_000).await.is_err());
        assert_eq!(client.budget.bytes_used(), 60_000);
        drop(first);
        assert!(client.take(60_000).await.unwrap().is_counted());
        assert_eq!(client.budget.bytes_used(), 0);
    }

    #[tokio::test]
    async fn small_ones_do_not_count_and_the_largest_goes_alone() {
        let client = Client::new(100_000, 100);
        let _everything = client.take(1_000_000).await.unwrap();
        assert!(!client.take(UNCOUNTED_BYTES).await.unwrap().is_counted());
        assert!(client.take(UNCOUNTED_BYTES + 1).await.is_err());
    }

    #[tokio::test]
    async fn a_share_shrinks_and_grows_with_what_it_stands_for() {
        let client = Client::new(100_000, 100);
        let mut share = client.take(80_000).await.unwrap();
        client.resize(&mut share, 30_000).unwrap();
        let other = client.take(70_000).await.unwrap();
        assert!(client.resize(&mut share, 30_001).is_err(), "nothing is left to grow into");
        drop(other);
        client.resize(&mut share, 100_000).unwrap();
        assert!(client.take(20_000).await.is_err());
        client.resize(&mut share, UNCOUNTED_BYTES).unwrap();
        assert!(!share.is_counted());
        assert!(client.take(100_000).await.is_ok());
    }

    #[tokio::test]
    async fn one_address_leaves_room_for_another() {
        let client = Client::new(100_000, 75);
        let _share = client.take(1_000_000).await.unwrap();
        assert_eq!(client.budget.bytes_used(), 75_000);
        assert!(client.take(20_000).await.is_err());
        assert!(client.budget.take(20_000, &client.other()).await.is_ok());
        assert!(client.budget.take(30_000, &client.other()).await.is_err(), "all together have no more");
        assert_eq!(client.budget.bytes_used(), 75_000, "what a refused request took is given back");
    }
}
