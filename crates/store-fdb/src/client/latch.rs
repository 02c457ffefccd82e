//! Queues in front of the rows that this server changes: updates of a row come one after the other, in the order in
//! which they were asked for. So one server has one update of a row under way, and only servers compete.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use store::Key;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Two rows that share one wait for each other, which costs time and nothing else.
const COUNT: usize = 1024;

/// What is known of the rows of a latch.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Another server changes them, too: claims are looked at.
    pub(super) are_contended: bool,
}

pub(super) struct Latches(Vec<Arc<Mutex<Rows>>>);

/// Held latches.
pub(super) struct Held(Vec<OwnedMutexGuard<Rows>>);

impl Latches {
    pub(super) fn new() -> Latches {
        Latches((0..COUNT).map(|_| Arc::default()).collect())
    }

    /// Waits for the latches of all keys. They are taken in one order, so two callers never wait for each other.
    pub(super) async fn take(&self, keys: &[Key]) -> Held {
        let mut numbers: Vec<usize> = keys.iter().map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut held = Vec::with_capacity(numbers.len());
        for number in numbers {
            held.push(self.0[number].clone().lock_owned().await);
        }
        Held(held)
    }
}

impl Held {
    pub(super) fn are_contended(&self) -> bool {
        self.0.iter().any(|rows| rows.are_contended)
    }

    pub(super) fn set_contended(&mut self, are_contended: bool) {
        self.0.iter_mut().for_each(|rows| rows.are_contended = are_contended);
    }
}

fn number(key: &Key) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() as usize % COUNT
}
