//! Which items and tokens the transactions under way hold.
//!
//! The store alone keeps transactions serializable: they would wait for each other. DynamoDB does not let
//! requests wait: a request that meets a transaction on an item is refused at once and may try again. This
//! register finds such meetings. It decides nothing about correctness: a request that it misses waits in the
//! store.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use store::Key;

use crate::commit::idempotency::Token;

/// The transactions under way.
#[derive(Default)]
pub struct Transactions {
    /// How many there are. A write reads this first, and nothing else if there are none.
    count: AtomicUsize,
    held: Mutex<HashSet<Key>>,
}

/// Why a transaction can't begin.
#[derive(Debug, PartialEq, Eq)]
pub enum BeginError {
    /// The positions of keys that other transactions hold.
    Conflicts(Vec<usize>),
    /// Another with the same token is under way.
    InProgress,
}

/// A transaction under way; dropping it ends it.
pub struct UnderWay<'a> {
    transactions: &'a Transactions,
    held: Vec<Key>,
}

impl Transactions {
    /// Whether a transaction under way holds the item.
    pub fn hold(&self, key: &Key) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.held.lock().contains(key)
    }

    /// Takes the keys, which are distinct, and the token; all of them or none.
    pub fn begin(&self, mut keys: Vec<Key>, token: Option<&Token>) -> Result<UnderWay<'_>, BeginError> {
        let mut held = self.held.lock();
        if token.is_some_and(|token| held.contains(token.key())) {
            return Err(BeginError::InProgress);
        }
        let conflicts = positions(&keys, |key| held.contains(key));
        if !conflicts.is_empty() {
            return Err(BeginError::Conflicts(conflicts));
        }
        keys.extend(token.map(|token| token.key().clone()));
        debug_assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len(), "keys are distinct");
        held.extend(keys.iter().cloned());
        self.count.fetch_add(1, Ordering::Release);
        Ok(UnderWay { transactions: self, held: keys })
    }

    /// The positions of those keys that transactions under way hold.
    pub fn conflicts(&self, keys: &[Key]) -> Vec<usize> {
        positions(keys, |key| self.hold(key))
    }
}

fn positions(keys: &[Key], is_held: impl Fn(&Key) -> bool) -> Vec<usize> {
    keys.iter().enumerate().filter(|(_, key)| is_held(key)).map(|(position, _)| position).collect()
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut held = self.transactions.held.lock();
        for key in &self.held {
            let was_held = held.remove(key);
            debug_assert!(was_held, "a transaction holds its keys until it ends");
        }
        self.transactions.count.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use store::{Partition, Position, Space};

    use super::*;

    fn key(sort: u8) -> Key {
        Key { space: Space(16), position: Position { partition: Partition::FIRST, sort: vec![sort] } }
    }

    #[test]
    fn a_transaction_holds_its_items_until_it_ends() {
        let transactions = Transactions::default();
        let Ok(first) = transactions.begin(vec![key(1), key(2)], None) else { panic!("nothing is held yet") };
        assert!(transactions.hold(&key(2)));
        assert!(!transactions.hold(&key(3)));
        let refusal = transactions.begin(vec![key(3), key(2), key(1)], None).err();
        assert_eq!(refusal, Some(BeginError::Conflicts(vec![1, 2])));
        assert!(!transactions.hold(&key(3)), "a refused transaction holds nothing");
        drop(first);
        assert!(!transactions.hold(&key(2)));
        assert!(transactions.begin(vec![key(1)], None).is_ok());
    }
}
