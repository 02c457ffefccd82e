//! The memory that large bodies, and large answers, may take together.
//!
//! Bodies have one budget, answers another. A request takes its share of the first, then of the second,
//! and one that holds a share of the second waits for nothing but its client, so no two requests wait for
//! each other. While a request waits, slow clients that hold what it needs are disconnected (`peer.rs`).

use crate::limits::UNCOUNTED_BYTES;
use crate::peer::{LOOK_INTERVAL, Peers, Wanted};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

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
pub(crate) struct Share(Option<OwnedSemaphorePermit>);

#[derive(Debug)]
pub(crate) struct Budget {
    /// One permit a byte.
    free: Arc<Semaphore>,
    bytes_max: usize,
    wait_max: Duration,
    peers: Arc<Peers>,
    wanted: Wanted,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize, wait_max: Duration, wanted: Wanted, peers: Arc<Peers>) -> Budget {
        let bytes_max = bytes_max.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        Budget { free: Arc::new(Semaphore::new(bytes_max)), bytes_max, wait_max, peers, wanted }
    }

    /// Waits for a share of this many bytes, though not for long.
    pub(crate) async fn take(&self, bytes: usize) -> Result<Share, Busy> {
        let mut share = Share::default();
        if share.resize(bytes, self).is_ok() {
            return Ok(share);
        }
        let deadline = Instant::now() + self.wait_max;
        let mut permit = pin!(self.free.clone().acquire_many_owned(self.permits(bytes)));
        loop {
            match timeout(LOOK_INTERVAL.min(self.wait_max), permit.as_mut()).await {
                Ok(permit) => return permit.map(|permit| Share(Some(permit))).map_err(|_| Busy),
                Err(_) if Instant::now() >= deadline => return Err(Busy),
                Err(_) => self.peers.disconnect_slowest(self.wanted),
            }
        }
    }

    /// A request for more than the whole budget gets the whole budget, and so runs alone.
    fn permits(&self, bytes: usize) -> u32 {
        if bytes <= UNCOUNTED_BYTES { 0 } else { bytes.min(self.bytes_max) as u32 }
    }
}

impl Share {
    pub(crate) fn is_counted(&self) -> bool {
        self.0.is_some()
    }

    /// Gives back what is not needed, or takes what is needed beyond, if it is free now.
    pub(crate) fn resize(&mut self, bytes: usize, budget: &Budget) -> Result<(), Busy> {
        let wanted = budget.permits(bytes) as usize;
        let held = self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if wanted == 0 {
            self.0 = None;
        } else if wanted < held {
            drop(self.0.as_mut().and_then(|permit| permit.split(held - wanted)));
        } else if wanted > held {
            let more = (wanted - held) as u32;
            let more = budget.free.clone().try_acquire_many_owned(more).map_err(|_| Busy)?;
            match &mut self.0 {
                Some(permit) => permit.merge(more),
                None => self.0 = Some(more),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(bytes_max: usize) -> Budget {
        Budget::new(bytes_max, Duration::from_millis(1), Wanted::BodyMemory, Arc::new(Peers::new()))
    }

    #[tokio::test]
    async fn a_share_that_is_not_free_is_refused_until_it_is_given_back() {
        let budget = budget(100_000);
        let first = budget.take(60_000).await.unwrap();
        assert!(budget.take(60_000).await.is_err());
        drop(first);
        assert!(budget.take(60_000).await.unwrap().is_counted());
    }

    #[tokio::test]
    async fn small_ones_do_not_count_and_the_largest_goes_alone() {
        let budget = budget(100_000);
        let _everything = budget.take(1_000_000).await.unwrap();
        assert!(!budget.take(UNCOUNTED_BYTES).await.unwrap().is_counted());
        assert!(budget.take(UNCOUNTED_BYTES + 1).await.is_err());
    }

    #[tokio::test]
    async fn a_share_shrinks_and_grows_with_what_it_stands_for() {
        let budget = budget(100_000);
        let mut share = budget.take(80_000).await.unwrap();
        share.resize(30_000, &budget).unwrap();
        let other = budget.take(70_000).await.unwrap();
        assert!(share.resize(30_001, &budget).is_err(), "nothing is left to grow into");
        drop(other);
        share.resize(100_000, &budget).unwrap();
        assert!(budget.take(20_000).await.is_err());
        share.resize(UNCOUNTED_BYTES, &budget).unwrap();
        assert!(!share.is_counted());
        assert!(budget.take(100_000).await.is_ok());
    }
}
