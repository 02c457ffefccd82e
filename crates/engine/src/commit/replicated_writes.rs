//! Which items of strong tables are being written, and in which Region.
//!
//! The store alone keeps writes of all Regions in one order: they would wait for each other. DynamoDB refuses the write that
//! meets one of another Region. This register finds such meetings on one server. Like that of transactions
//! (`transaction.rs`), it decides nothing about correctness: a write that it misses waits in the store.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use store::Key;

use super::plan::Plan;

/// The writes under way.
#[derive(Default)]
pub struct ReplicatedWrites {
    /// For each item the Region of its writes, and how many there are.
    items: Mutex<HashMap<Key, (Arc<str>, usize)>>,
}

/// Another Region is writing one of the items.
pub struct Meeting;

/// Writes under way; dropping it ends them. It is empty unless a table is strong.
pub struct Writing<'a> {
    writes: &'a ReplicatedWrites,
    keys: Vec<Key>,
}

impl ReplicatedWrites {
    /// Begins the writes of clients to strong tables; all of them or none.
    pub fn begin(&self, plans: &[Plan]) -> Result<Writing<'_>, Meeting> {
        let is_noted = |plan: &&Plan| plan.table.strong.is_some() && plan.origin.meets_transactions();
        if !plans.iter().any(|plan| is_noted(&plan)) {
            return Ok(Writing { writes: self, keys: Vec::new() });
        }
        let mut items = self.items.lock();
        let is_met = |plan: &Plan| {
            items.get(&plan.key).is_some_and(|(region, _)| *region != plan.table.namespace.region)
        };
        if plans.iter().filter(is_noted).any(is_met) {
            return Err(Meeting);
        }
        let mut keys = Vec::with_capacity(plans.len());
        for plan in plans.iter().filter(is_noted) {
            let begun = || (plan.table.namespace.region.clone(), 0);
            items.entry(plan.key.clone()).or_insert_with(begun).1 += 1;
            keys.push(plan.key.clone());
        }
        Ok(Writing { writes: self, keys })
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if self.keys.is_empty() {
            return;
        }
        let mut items = self.writes.items.lock();
        for key in &self.keys {
            if let Some((_, count)) = items.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    items.remove(key);
                }
            }
        }
    }
}
