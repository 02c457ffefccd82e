//! Item collections: in a table with local indexes, the items that share a partition key, together with
//! their rows in those indexes. A collection can't outgrow its partition, so its size is kept, in a row of
//! its own that is written in the commit of whatever changes it.

use api::Error;
use bytes::Bytes;
use item::{Item, ItemBuilder};
use store::{Key, Position, StoreError, WriteSet};

use crate::table::{Scope, Table};
use crate::write::{Outcome, Plan};

/// The collections that several plans belong to.
pub struct Collections {
    keys: Vec<Key>,
    /// For each plan its collection's place in `keys`; none where the table has no collections.
    of_plans: Vec<Option<usize>>,
}

impl Collections {
    pub fn of(plans: &[Plan]) -> Collections {
        let mut keys: Vec<Key> = Vec::new();
        let of_plan = |plan: &Plan| {
            let key = key(&plan.table, &plan.key)?;
            Some(keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            }))
        };
        let of_plans = plans.iter().map(of_plan).collect();
        Collections { keys, of_plans }
    }

    /// The rows that hold their sizes.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Adds what the plans did to the sizes in `rows`. A plan that makes its collection grow beyond
    /// `bytes_max` is refused; one that does not grow it never is.
    pub fn grow(
        &self,
        plans: &[Plan],
        results: &mut [Result<Outcome, Error>],
        rows: &[Option<Bytes>],
        bytes_max: u64,
        writes: &mut WriteSet,
    ) -> Result<(), StoreError> {
        let mut sizes =
            rows.iter().map(|row| row.as_deref().map_or(Ok(0), decode)).collect::<Result<Vec<_>, _>>()?;
        for ((plan, result), collection) in plans.iter().zip(results.iter_mut()).zip(&self.of_plans) {
            let (Some(collection), Ok(outcome)) = (collection, result.as_mut()) else { continue };
            let growth = growth(&plan.table, outcome);
            let size = (sizes[*collection] as i64 + growth).max(0) as u64;
            sizes[*collection] = size;
            outcome.collection_bytes = Some(size);
            if growth > 0 && size > bytes_max {
                *result = Err(Error::collection_too_large());
            }
        }
        let encoded = sizes.into_iter().map(|size| Bytes::copy_from_slice(&size.to_be_bytes()));
        writes.puts.extend(self.keys.iter().cloned().zip(encoded));
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

/// Where the size of an item's collection is kept.
fn key(table: &Table, item: &Key) -> Option<Key> {
    let space = table.collections()?;
    Some(Key { space, position: Position { partition: item.position.partition, sort: Vec::new() } })
}

/// By how many bytes a write makes its collection grow.
fn growth(table: &Table, outcome: &Outcome) -> i64 {
    let local =
        |space| table.indexes.iter().any(|index| index.space() == space && index.scope == Scope::Local);
    let indexes = outcome.index_growth.iter().filter(|(space, _)| local(*space));
    outcome.table_growth().bytes + indexes.map(|(_, growth)| growth.bytes).sum::<i64>()
}

fn decode(row: &[u8]) -> Result<u64, StoreError> {
    let bytes = row.try_into().map_err(|_| StoreError::Corrupt("the size of an item collection".into()))?;
    Ok(u64::from_be_bytes(bytes))
}
