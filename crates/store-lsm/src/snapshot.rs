//! Snapshots: which moments are being read.
//!
//! A reader sees every commit with a sequence number below its moment. The tree keeps the versions
//! of rows and tables that a moment needs as long as it is held here: [`Snapshots::oldest`] is the
//! watermark below which the tree may drop old versions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

pub(crate) struct Snapshots {
    /// Everything below this sequence number may be seen.
    visible: AtomicU64,
    /// How many readers are at which moment, oldest first. The first moment has a reader.
    held: Mutex<VecDeque<(u64, usize)>>,
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
        // Read under the lock, so that `oldest` does not return a later moment first.
        let moment = self.visible();
        debug_assert!(held.back().is_none_or(|(newest, _)| *newest <= moment), "moments rise");
        match held.back_mut() {
            Some((newest, readers)) if *newest == moment => *readers += 1,
            _ => held.push_back((moment, 1)),
        }
        Snapshot { moment, snapshots: Arc::clone(self) }
    }

    /// No reader is or will be at an older moment.
    pub(crate) fn oldest(&self) -> u64 {
        let held = self.held.lock();
        let visible = self.visible();
        let oldest = held.front().map_or(visible, |(oldest, _)| *oldest);
        assert!(oldest <= visible, "a reader is at {oldest}, beyond {visible}");
        oldest
    }
}

pub(crate) struct Snapshot {
    pub(crate) moment: u64,
    snapshots: Arc<Snapshots>,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut held = self.snapshots.held.lock();
        let found = held.binary_search_by_key(&self.moment, |(moment, _)| *moment);
        debug_assert!(found.is_ok_and(|place| held[place].1 > 0), "the moment {} is held", self.moment);
        if let Ok(place) = found {
            held[place].1 -= 1;
        }
        // Also at the back: a snapshot that is held for long must not make this grow.
        while held.front().is_some_and(|(_, readers)| *readers == 0) {
            held.pop_front();
        }
        while held.back().is_some_and(|(_, readers)| *readers == 0) {
            held.pop_back();
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
