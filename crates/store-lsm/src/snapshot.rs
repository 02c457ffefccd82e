//! Snapshots: which moments are being read.
//!
//! A reader sees every commit with a sequence number below its moment. The tree keeps the versions
//! of rows and tables that a moment needs as long as it is held here: [`Snapshots::oldest`] is the
//! tree's watermark for forgetting.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

pub(crate) struct Snapshots {
    /// Everything below this sequence number may be seen.
    visible: AtomicU64,
    /// How many readers are at which moment.
    held: Mutex<BTreeMap<u64, usize>>,
}

impl Snapshots {
    pub(crate) fn new(visible: u64) -> Snapshots {
        Snapshots { visible: visible.into(), held: Mutex::default() }
    }

    pub(crate) fn visible(&self) -> u64 {
        self.visible.load(Ordering::Acquire)
    }

    pub(crate) fn publish(&self, visible: u64) {
        self.visible.fetch_max(visible, Ordering::AcqRel);
    }

    /// Holds the present moment until it is dropped.
    pub(crate) fn take(self: &Arc<Self>) -> Snapshot {
        let mut held = self.held.lock();
        // Read under the lock: nobody can have passed it by in `oldest`.
        let moment = self.visible();
        *held.entry(moment).or_default() += 1;
        Snapshot { moment, snapshots: Arc::clone(self) }
    }

    /// No reader is or will be at an older moment.
    pub(crate) fn oldest(&self) -> u64 {
        let held = self.held.lock();
        held.keys().next().copied().unwrap_or_else(|| self.visible())
    }
}

pub(crate) struct Snapshot {
    pub(crate) moment: u64,
    snapshots: Arc<Snapshots>,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut held = self.snapshots.held.lock();
        if let Some(count) = held.get_mut(&self.moment) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.moment);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_moment_is_that_of_the_oldest_reader() {
        let snapshots = Arc::new(Snapshots::new(5));
        let first = snapshots.take();
        snapshots.publish(8);
        let (second, third) = (snapshots.take(), snapshots.take());
        snapshots.publish(7);
        assert_eq!((first.moment, second.moment, snapshots.visible()), (5, 8, 8));
        assert_eq!(snapshots.oldest(), 5);
        drop(first);
        drop(second);
        snapshots.publish(9);
        assert_eq!(snapshots.oldest(), 8);
        drop(third);
        assert_eq!(snapshots.oldest(), 9);
    }
}
