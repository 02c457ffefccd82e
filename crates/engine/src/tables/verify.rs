//! Checks that the stored data is consistent: every item can be read and is at the position of its key,
//! and every ACTIVE index equals the projection of its table.
//!
//! Everything is read from one snapshot, the catalog too, so writes and changes of tables may go on, also those of other
//! servers. Each index is checked in two steps: the row
//! of every item is looked up, and then the rows are counted. If all rows are right and there are no
//! others, the index is right.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use item::Item;
use store::{Consistency, Key, Position, Read, Space, Store, StoreError};

use super::Tables;
use crate::base::index;
use crate::base::table::{Index, IndexState, Table};
use crate::base::walk::Walk;
use crate::tables::{catalog, format};

/// Rows that are checked together.
const BATCH_ROWS: usize = 500;
/// Faults that are described; the rest are only counted.
const REPORTS_MAX: usize = 100;

/// What was checked, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Tables that were checked.
    pub tables: usize,
    /// Items that were checked.
    pub items: usize,
    /// Rows of indexes that were checked.
    pub index_rows: usize,
    /// Everything that is wrong.
    pub faults: usize,
    /// A description of each of the first faults.
    pub reports: Vec<String>,
}

impl Verification {
    fn fault(&mut self, report: impl FnOnce() -> String) {
        self.faults += 1;
        if self.reports.len() < REPORTS_MAX {
            self.reports.push(report());
        }
    }
}

impl Tables {
    /// Checks every table of every account and Region.
    pub fn verify(&self) -> BoxFuture<'_, Result<Verification, StoreError>> {
        Box::pin(async move { verify(&*self.store).await })
    }
}

/// Checks every table that the store holds, without opening the database: nothing is written.
pub fn verify<'a>(store: &'a dyn Store) -> BoxFuture<'a, Result<Verification, StoreError>> {
    Box::pin(async move {
        let snapshot = store.snapshot().await?;
        format::check_readable(&*snapshot).await?;
        let tables = catalog::stored_tables(&*snapshot).await?;
        catalog::check_rest(&*snapshot, &tables).await?;
        let mut found = Verification::default();
        for table in &tables {
            verify_replicas(table, &tables, &mut found);
            if table.stands_for_rows() {
                verify_table(&*snapshot, table, &mut found).await?;
            }
        }
        Ok(found)
    })
}

/// Every strong replica must be there, and have the same rows and settings as the others.
fn verify_replicas(table: &Table, tables: &[Table], found: &mut Verification) {
    for region in table.strong_regions() {
        let is_there = |other: &&Table| other.name == table.name && other.is_in(&table.namespace, region);
        let other = tables.iter().find(is_there);
        if other.is_none_or(|other| !table.agrees_with(other)) {
            found.fault(|| format!("{}: its strong replica in {region} differs", table.full_name()));
        }
    }
}

async fn verify_table(rows: &dyn Read, table: &Table, found: &mut Verification) -> Result<(), StoreError> {
    found.tables += 1;
    let indexes: Vec<&Index> =
        table.indexes.iter().filter(|index| index.state == IndexState::Active).collect();
    let mut expected = vec![0; indexes.len()];
    let mut walk = Walk::new(table.space(), BATCH_ROWS);
    loop {
        let mut batch = Vec::new();
        if !walk.next(rows, &mut |key, row| batch.push((key.to_position(), row))).await? {
            break;
        }
        let items = readable(table, &batch, found);
        for (index, expected) in indexes.iter().zip(&mut expected) {
            let entries: Vec<_> = items.iter().filter_map(|item| index::entry(table, index, item)).collect();
            *expected += entries.len();
            verify_entries(rows, table, index, &entries, found).await?;
        }
    }
    for (index, expected) in indexes.iter().zip(expected) {
        let actual = count_rows(rows, index.space()).await?;
        found.index_rows += actual;
        if actual != expected {
            let name = table.full_name_of(index);
            found.fault(|| format!("{name} has {actual} rows, and the items need {expected}"));
        }
    }
    Ok(())
}

/// The items of a batch that can be read and are at the position of their key.
fn readable(table: &Table, batch: &[(Position, Bytes)], found: &mut Verification) -> Vec<Item> {
    let mut items = Vec::with_capacity(batch.len());
    for (position, row) in batch {
        found.items += 1;
        match Item::from_stored(row.clone()) {
            Err(error) => {
                found.fault(|| table.unreadable(table.space(), position, error).to_string());
            }
            Ok(item) => {
                if table.key_of_item(item.as_ref()).is_ok_and(|key| key.position == *position) {
                    items.push(item);
                } else {
                    let name = table.full_name();
                    found.fault(|| format!("{name}: {item:?} is not at the position of its key"));
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
            let name = table.full_name_of(index);
            let what = if stored.is_some() { "another row than" } else { "no row for" };
            found.fault(|| format!("{name} has {what} {expected:?}"));
        }
    }
    Ok(())
}

async fn count_rows(rows: &dyn Read, space: Space) -> Result<usize, StoreError> {
    let mut count = 0;
    let mut walk = Walk::new(space, BATCH_ROWS);
    while walk.next(rows, &mut |_, _| count += 1).await? {}
    Ok(count)
}
