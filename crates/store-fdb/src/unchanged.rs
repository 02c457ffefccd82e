//! What others have left behind: something that its owner would have changed by now, had it not ended.
//!
//! No clocks are compared: each server sees for itself how long a value has been as it is.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// How many values are watched. Beyond that, all are forgotten and watched again.
const WATCHED_MAX: usize = 10_000;

/// Values by their keys, and since when they are known to be as they are.
#[derive(Debug)]
pub struct Unchanged<K> {
    known: HashMap<K, (u64, Duration)>,
}

impl<K: Eq + Hash> Default for Unchanged<K> {
    fn default() -> Self {
        Unchanged { known: HashMap::new() }
    }
}

impl<K: Eq + Hash> Unchanged<K> {
    /// How long this value has been seen, at this moment.
    pub fn seen_for(&mut self, key: K, value: u64, now: Duration) -> Duration {
        if self.known.len() >= WATCHED_MAX && !self.known.contains_key(&key) {
            self.known.clear();
        }
        let (known, since) = self.known.entry(key).or_insert((value, now));
        if *known != value {
            (*known, *since) = (value, now);
        }
        now.saturating_sub(*since)
    }

    /// It is gone.
    pub fn forget(&mut self, key: &K) {
        self.known.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_begins_again_when_the_value_changes_or_is_gone() {
        let mut unchanged = Unchanged::default();
        let mut at = |value, second| unchanged.seen_for("key", value, Duration::from_secs(second)).as_secs();
        assert_eq!([at(1, 10), at(1, 14), at(2, 15), at(2, 19)], [0, 4, 0, 4]);
        unchanged.forget(&"key");
        assert_eq!(unchanged.seen_for("key", 2, Duration::from_secs(30)), Duration::ZERO);
    }
}
