//! Checks that what is stored agrees with itself: every item can be read and lies where its key says, and
//! every ACTIVE index equals a fresh projection of its table.
//!
//! Everything is read from one snapshot, so it may run beside writers. The rows of each index are counted
//! twice: as the items say, each looked up, and as the index has them. If all those looked up are right
//! and there are no more, the index is right.

use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use item::Item;
use store::{Consistency, Direction, Key, Partition, Position, Range, Read, Space, StoreError};

use crate::index;
use crate::table::{Index, IndexState, Table};
use crate::{Caller, Engine};

/// Rows looked at together.
const BATCH_ROWS: usize = 500;
/// Faults that are told in full; the rest are counted.
const FAULTS_TOLD_MAX: usize = 100;

/// What was checked, and what was found wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    pub tables: usize,
    pub items: usize,
    pub index_rows: usize,
    pub faults: usize,
    /// The first of them, in words.
    pub told: Vec<String>,
}

impl Verification {
    fn fault(&mut self, text: impl FnOnce() -> String) {
        self.faults += 1;
        if self.told.len() < FAULTS_TOLD_MAX {
            self.told.push(text());
        }
    }
}

impl Engine {
    /// Checks every table of every account and Region.
    pub async fn verify(&self) -> Result<Verification, StoreError> {
        let mut found = Verification::default();
        let tables = self.catalog.all();
        let snapshot = self.store.snapshot().await?;
        for table in tables {
            verify_table(&*snapshot, &table, &mut found).await?;
        }
        Ok(found)
    }
}

async fn verify_table(rows: &dyn Read, table: &Table, found: &mut Verification) -> Result<(), StoreError> {
    found.tables += 1;
    let indexes: Vec<&Index> =
        table.indexes.iter().filter(|index| index.state == IndexState::Active).collect();
    let mut expected = vec![0; indexes.len()];
    let mut done = None;
    loop {
        let batch = next_rows(rows, table.space(), done).await?;
        let Some((last, _)) = batch.last() else { break };
        done = Some(last.clone());
        let items = readable(table, &batch, found);
        for (index, expected) in indexes.iter().zip(&mut expected) {
            let entries: Vec<_> =
                items.iter().filter_map(|item| index::entry(table, index, item.as_ref())).collect();
            *expected += entries.len();
            verify_entries(rows, table, index, &entries, found).await?;
        }
    }
    for (index, expected) in indexes.iter().zip(expected) {
        let actual = count_rows(rows, index.space()).await?;
        found.index_rows += actual;
        if actual != expected {
            let place = place(table, Some(index));
            found.fault(|| format!("{place} has {actual} rows where the items ask for {expected}"));
        }
    }
    Ok(())
}

/// The items of a batch that can be read and lie where they should.
fn readable(table: &Table, batch: &[(Position, Bytes)], found: &mut Verification) -> Vec<Item> {
    let mut items = Vec::with_capacity(batch.len());
    for (position, row) in batch {
        found.items += 1;
        match Item::from_stored(row.clone()) {
            Err(error) => found.fault(|| format!("{}: {error}", place(table, None))),
            Ok(item) => {
                if table.key_of_item(item.as_ref()).is_ok_and(|key| key.position == *position) {
                    items.push(item);
                } else {
                    found.fault(|| {
                        format!("{}: {item:?} does not lie where its key says", place(table, None))
                    });
                }
            }
        }
    }
    items
}

async fn verify_entries(
    rows: &dyn Read,
    table: &Table,
    index: &Index,
    entries: &[(Key, Item)],
    found: &mut Verification,
) -> Result<(), StoreError> {
    let keys: Vec<Key> = entries.iter().map(|(key, _)| key.clone()).collect();
    let stored = rows.get(&keys, Consistency::Latest).await?;
    for ((_, expected), stored) in entries.iter().zip(stored) {
        if stored.as_ref() != Some(&expected.clone().into_stored()) {
            let place = place(table, Some(index));
            let what = if stored.is_some() { "another row than" } else { "no row for" };
            found.fault(|| format!("{place} has {what} {expected:?}"));
        }
    }
    Ok(())
}

async fn next_rows(
    rows: &dyn Read,
    space: Space,
    after: Option<Position>,
) -> Result<Vec<(Position, Bytes)>, StoreError> {
    let start = after.map_or(Bound::Unbounded, Bound::Excluded);
    let range = Range { space, start, end: Bound::Unbounded };
    let mut batch = Vec::new();
    rows.scan(&range, Direction::Forward, Consistency::Latest, &mut |key, row| {
        let partition: Partition = *key.partition;
        batch.push((Position { partition, sort: key.sort.to_vec() }, row));
        if batch.len() < BATCH_ROWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .await?;
    Ok(batch)
}

async fn count_rows(rows: &dyn Read, space: Space) -> Result<usize, StoreError> {
    let mut count = 0;
    let range = Range { space, start: Bound::Unbounded, end: Bound::Unbounded };
    rows.scan(&range, Direction::Forward, Consistency::Latest, &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })
    .await?;
    Ok(count)
}

fn place(table: &Table, index: Option<&Index>) -> String {
    let Caller { account, region } = table.caller();
    let index = index.map_or_else(String::new, |index| format!(", index {}", index.name));
    format!("table {} of account {account} in {region}{index}", table.name)
}
