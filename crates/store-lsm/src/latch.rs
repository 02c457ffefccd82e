//! Latches: an update locks the latches of its keys, so no other update reads or changes these rows.
//!
//! A fixed number of stripes serves all keys, so a key without a row has a latch like any other, and
//! no latch is allocated or freed. Two keys may share a stripe; then one update waits for the other.
//! Stripes are locked in rising order, each once, so there is no deadlock.

use std::hash::{BuildHasher, RandomState};

use parking_lot::{Mutex, MutexGuard};

/// With 64 concurrent writers of one key each, 1 of 16 updates shares its stripe with an unrelated one.
const STRIPES: usize = 1024;

pub(crate) struct Latches {
    stripes: Vec<Mutex<()>>,
    hashing: RandomState,
}

impl Latches {
    pub(crate) fn new() -> Self {
        Latches { stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(), hashing: RandomState::new() }
    }

    /// Takes the latches of `keys`, given in any order and possibly more than once.
    pub(crate) fn take(&self, keys: &[Vec<u8>]) -> Vec<MutexGuard<'_, ()>> {
        let stripe = |key: &Vec<u8>| self.hashing.hash_one(key) as usize % STRIPES;
        let mut stripes: Vec<usize> = keys.iter().map(stripe).collect();
        stripes.sort_unstable();
        stripes.dedup();
        debug_assert!(
            stripes.windows(2).all(|pair| pair[0] < pair[1]),
            "latches are locked in rising order, each once"
        );
        stripes.into_iter().map(|stripe| self.stripes[stripe].lock()).collect()
    }
}
