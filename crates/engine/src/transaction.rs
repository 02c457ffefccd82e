//! Which items and tokens transactions under way hold.
//!
//! The store keeps transactions serializable by itself: they would wait for each other. DynamoDB lets
//! nobody wait: whoever meets a transaction on an item is told so at once and may try again. This
//! register is what they meet. It decides nothing about correctness: what slips past it waits in the
//! store.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use store::Key;

use crate::idempotency::Token;

#[derive(Default)]
pub struct Transactions {
    /// How many are under way. A write looks here first: when there are none, that is all it does.
    count: AtomicUsize,
    held: Mutex<HashSet<Key>>,
}

/// Why a transaction can't begin.
pub enum Refusal {
    /// The positions of keys that others hold.
    Conflict(Vec<usize>),
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
    pub fn begin(&self, mut keys: Vec<Key>, token: Option<&Token>) -> Result<UnderWay<'_>, Refusal> {
        let mut held = self.held.lock();
        if token.is_some_and(|token| held.contains(token.key())) {
            return Err(Refusal::InProgress);
        }
        let conflicts = positions(&keys, |key| held.contains(key));
        if !conflicts.is_empty() {
            return Err(Refusal::Conflict(conflicts));
        }
        keys.extend(token.map(|token| token.key().clone()));
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
            held.remove(key);
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
        assert!(matches!(refusal, Some(Refusal::Conflict(positions)) if positions == [1, 2]));
        assert!(!transactions.hold(&key(3)), "a refused transaction holds nothing");
        drop(first);
        assert!(!transactions.hold(&key(2)));
        assert!(transactions.begin(vec![key(1)], None).is_ok());
    }
}
