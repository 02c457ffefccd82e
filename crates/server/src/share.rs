//! The memory that large bodies and answers share.
//!
//! Each takes its whole share at once and none takes a second while it holds one, so nobody waits for
//! somebody who waits for him.

use crate::limits::{Limits, UNCOUNTED_BYTES};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A part of the memory, given back when dropped; nothing for what is small enough not to count.
pub(crate) type Share = Option<OwnedSemaphorePermit>;

/// The memory stayed taken for too long.
#[derive(Debug)]
pub(crate) struct Busy;

#[derive(Debug)]
pub(crate) struct Shares {
    free: Arc<Semaphore>,
    bytes_max: usize,
    timeout: Duration,
}

impl Shares {
    pub(crate) fn new(limits: &Limits) -> Shares {
        let bytes_max = limits.bodies_bytes_max.min(u32::MAX as usize);
        Shares { free: Arc::new(Semaphore::new(bytes_max)), bytes_max, timeout: limits.share_timeout }
    }

    /// One that asks for more than there is gets all there is: it is then alone, which is bound enough.
    pub(crate) async fn take(&self, bytes: usize) -> Result<Share, Busy> {
        if bytes <= UNCOUNTED_BYTES {
            return Ok(None);
        }
        let permits = bytes.min(self.bytes_max) as u32;
        match tokio::time::timeout(self.timeout, self.free.clone().acquire_many_owned(permits)).await {
            Ok(Ok(share)) => Ok(Some(share)),
            Ok(Err(_)) | Err(_) => Err(Busy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(bodies_bytes_max: usize) -> Shares {
        let share_timeout = Duration::from_millis(1);
        Shares::new(&Limits { bodies_bytes_max, share_timeout, ..Limits::default() })
    }

    #[tokio::test]
    async fn a_share_that_is_not_free_is_refused_until_it_is_given_back() {
        let shares = shares(100_000);
        let first = shares.take(60_000).await.unwrap();
        assert!(shares.take(60_000).await.is_err());
        drop(first);
        assert!(shares.take(60_000).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn small_ones_do_not_count_and_the_largest_goes_alone() {
        let shares = shares(100_000);
        let _everything = shares.take(1_000_000).await.unwrap();
        assert!(shares.take(UNCOUNTED_BYTES).await.unwrap().is_none());
        assert!(shares.take(UNCOUNTED_BYTES + 1).await.is_err());
    }
}
