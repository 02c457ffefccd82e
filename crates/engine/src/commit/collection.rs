//! Item collections: in a table with local indexes, the items that share a partition key, together with
//! their rows in those indexes. A collection can't outgrow its partition, so its size is kept in a row of
//! its own, a companion of every write that changes it.

use bytes::Bytes;
use item::{Item, ItemBuilder};
use store::{Key, Position, StoreError};

use crate::base::table::{Scope, Table};
use crate::commit::companion::{Companion, Stop};
use crate::commit::decide::{Draft, Refusal};
use crate::commit::{Outcome, Plan};

/// The collections of the items that a commit writes.
pub struct Collections {
    /// The rows that hold their sizes, each once.
    keys: Vec<Key>,
    /// For each plan the position of its collection in `keys`; none where the table has no collections.
    of_plans: Vec<Option<usize>>,
    bytes_max: u64,
}

impl Collections {
    /// None if no table of the plans has collections.
    pub fn of(plans: &[Plan], bytes_max: u64) -> Option<Collections> {
        if plans.iter().all(|plan| plan.table.collections().is_none()) {
            return None;
        }
        let mut keys: Vec<Key> = Vec::new();
        let of_plan = |plan: &Plan| {
            let key = key(&plan.table, &plan.key)?;
            Some(keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            }))
        };
        let of_plans = plans.iter().map(of_plan).collect();
        Some(Collections { keys, of_plans, bytes_max })
    }
}

impl Companion for Collections {
    fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Adds what the plans did to the sizes. A plan that makes its collection grow beyond the limit is
    /// refused; one that does not grow it never is.
    fn decide(&self, rows: &[Option<Bytes>], draft: &mut Draft<'_>) -> Result<(), Stop> {
        let decoded = rows.iter().map(|row| row.as_deref().map_or(Ok(0), decode));
        let mut sizes = decoded.collect::<Result<Vec<u64>, StoreError>>().map_err(Stop::Unreadable)?;
        assert_eq!(draft.results.len(), self.of_plans.len(), "a result for each plan");
        for ((plan, result), collection) in draft.plans.iter().zip(&mut draft.results).zip(&self.of_plans) {
            let (Some(collection), Ok(outcome)) = (collection, result.as_mut()) else { continue };
            let growth = growth(&plan.table, outcome);
            let size = sizes[*collection].checked_add_signed(growth);
            debug_assert!(size.is_some(), "a collection holds at least what is taken from it");
            let size = size.unwrap_or(0);
            sizes[*collection] = size;
            outcome.collection_bytes = Some(size);
            if growth > 0 && size > self.bytes_max {
                *result = Err(Refusal::CollectionTooLarge);
            }
        }
        let encoded = sizes.into_iter().map(|size| Bytes::copy_from_slice(&size.to_be_bytes()));
        draft.writes.puts.extend(self.keys.iter().cloned().zip(encoded));
        Ok(())
    }
}

/// The partition key that names an item's collection.
pub fn name(table: &Table, item: &Item) -> Item {
    let mut key = ItemBuilder::default();
    for attribute in &table.keys.partition {
        if let Some(value) = item.as_ref().get(&attribute.name) {
            key.put(&attribute.name, value);
        }
    }
    key.build()
}

/// The row that holds the size of an item's collection.
fn key(table: &Table, item: &Key) -> Option<Key> {
    let space = table.collections()?;
    Some(Key { space, position: Position { partition: item.position.partition, sort: Vec::new() } })
}

/// By how many bytes a write makes its collection grow.
fn growth(table: &Table, outcome: &Outcome) -> i64 {
    let local =
        |space| table.indexes.iter().any(|index| index.space() == space && index.scope == Scope::Local);
    let indexes = outcome.index_growth().filter(|(space, _)| local(*space));
    outcome.table_growth().bytes + indexes.map(|(_, growth)| growth.bytes).sum::<i64>()
}

fn decode(row: &[u8]) -> Result<u64, StoreError> {
    let bytes = row.try_into().map_err(|_| StoreError::Corrupt("the size of an item collection".into()))?;
    Ok(u64::from_be_bytes(bytes))
}
