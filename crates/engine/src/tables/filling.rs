//! Filling: rows that follow from the items of a table are made for the items that were there before, while the table
//! is in use. New indexes and indexes of expiry times are filled like this.
//!
//! From the moment at which the catalog has the new index, every write maintains it. When the last write that doesn't
//! know of it has ended, rows may be there whose items such a write has changed since: they are removed first. Then
//! the fill walks the table in batches. It reads each item again under its lock and writes its rows, so that they fit
//! the item whatever concurrent writes do. Each batch commits how far the walk has come, so that a restart goes on
//! from there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use item::Item;
use store::{Key, KeyRef, Position, Space, Store, StoreError, WriteSet};

use crate::Environment;
use crate::base::space;
use crate::base::table::Table;
use crate::base::walk::{self, Walk};
use crate::tables::catalog::{Catalog, LiveTable};

/// Items in a batch: few, so that a batch holds its locks for about as long as a transaction does.
const BATCH_ITEMS: usize = 50;
/// How long a fill rests that has to wait for throughput.
const HELD_UP_REST: Duration = Duration::from_millis(100);

/// What is filled.
pub trait Fill: Sync {
    /// Where its rows are.
    fn space(&self) -> Space;

    /// The table as it is now; none if the rows are no longer wanted.
    fn table(&self) -> Option<Arc<LiveTable>>;

    /// The item that a row of the index is of.
    fn item(&self, table: &Table, position: &Position, row: Bytes) -> Result<Key, StoreError>;

    /// The row of an item, if it has one.
    fn row(&self, table: &Table, position: &Position, item: &Item) -> Option<Row>;

    /// Whether the next batch has to wait for throughput.
    fn is_held_up(&self, _table: &LiveTable) -> bool {
        false
    }

    /// A batch of rows was written and cost this number of units; the walk has come to `reached`.
    fn note_batch(&self, _table: &LiveTable, _units: f64, _reached: &Position) {}
}

/// A row of an item.
pub struct Row {
    pub key: Key,
    pub value: Bytes,
    /// What writing it costs.
    pub units: f64,
}

/// Makes the rows of all items. False if they are no longer wanted. The caller forgets the progress when it has
/// stored that the rows are there.
pub async fn fill(
    store: &dyn Store,
    catalog: &Catalog,
    environment: &dyn Environment,
    fill: &impl Fill,
) -> Result<bool, StoreError> {
    let Some(table) = fill.table() else { return Ok(false) };
    catalog.wait_for_writes(Some(&table)).await?;
    let progress = space::progress_key(fill.space());
    let position = walk::read_progress(store, &progress).await?;
    if position.is_none() {
        remove_stale_rows(store, fill).await?;
    }
    let mut walk = Walk::after(position, table.space(), BATCH_ITEMS);
    loop {
        let Some(table) = fill.table() else { return Ok(false) };
        if fill.is_held_up(&table) {
            environment.sleep(HELD_UP_REST).await;
            continue;
        }
        let mut keys = Vec::with_capacity(BATCH_ITEMS);
        let space = table.space();
        let mut visit = |key: KeyRef<'_>, _| keys.push(Key { space, position: key.to_position() });
        if !walk.next(store, &mut visit).await? {
            return Ok(true);
        }
        let position = walk.position().expect("the walk has visited a row");
        let reached = (progress.clone(), walk::encode_progress(position));
        let units = fill_batch(store, fill, &table, &keys, reached).await?;
        fill.note_batch(&table, units, position);
        tokio::task::yield_now().await;
    }
}

/// Removes the rows that are not those of their items. Every write maintains the index by now.
async fn remove_stale_rows(store: &dyn Store, fill: &impl Fill) -> Result<(), StoreError> {
    let space = fill.space();
    let mut walk = Walk::new(space, BATCH_ITEMS);
    while let Some(table) = fill.table() {
        let mut found = Vec::with_capacity(BATCH_ITEMS);
        if !walk.next(store, &mut |key, row| found.push((key.to_position(), row))).await? {
            break;
        }
        let mut rows: BTreeMap<Key, Vec<Key>> = BTreeMap::new();
        for (position, row) in found {
            let item = fill.item(&table, &position, row)?;
            rows.entry(item).or_default().push(Key { space, position });
        }
        remove_stale_batch(store, fill, &table, &rows).await?;
    }
    Ok(())
}

/// `rows` are those that were found, by the keys of their items.
async fn remove_stale_batch(
    store: &dyn Store,
    fill: &impl Fill,
    table: &Table,
    rows: &BTreeMap<Key, Vec<Key>>,
) -> Result<(), StoreError> {
    let keys: Vec<Key> = rows.keys().cloned().collect();
    let mut unreadable = None;
    let mut decide = |items: &[Option<Bytes>]| {
        unreadable = None;
        let mut deletes = Vec::new();
        for (key, item) in keys.iter().zip(items) {
            match self::rows(fill, table, std::slice::from_ref(key), std::slice::from_ref(item)) {
                Ok(right) => {
                    let is_stale = |row: &&Key| right.iter().all(|right| right.key != **row);
                    deletes.extend(rows[key].iter().filter(is_stale).cloned());
                }
                Err(error) => unreadable = Some(error),
            }
        }
        WriteSet { deletes, ..WriteSet::default() }
    };
    store.update(&keys, &mut decide).await?;
    unreadable.map_or(Ok(()), Err)
}

/// Writes the rows of the items at `keys`, and how far the walk has come. Returns what the rows cost.
async fn fill_batch(
    store: &dyn Store,
    fill: &impl Fill,
    table: &Table,
    keys: &[Key],
    reached: (Key, Bytes),
) -> Result<f64, StoreError> {
    let (mut unreadable, mut units) = (None, 0.0);
    let mut decide = |items: &[Option<Bytes>]| {
        unreadable = None;
        match rows(fill, table, keys, items) {
            Ok(rows) => {
                units = rows.iter().map(|row| row.units).sum();
                let mut puts: Vec<(Key, Bytes)> = rows.into_iter().map(|row| (row.key, row.value)).collect();
                puts.push(reached.clone());
                WriteSet { puts, ..WriteSet::default() }
            }
            Err(error) => {
                unreadable = Some(error);
                WriteSet::default()
            }
        }
    };
    store.update(keys, &mut decide).await?;
    unreadable.map_or(Ok(units), Err)
}

fn rows(
    fill: &impl Fill,
    table: &Table,
    keys: &[Key],
    items: &[Option<Bytes>],
) -> Result<Vec<Row>, StoreError> {
    let mut rows = Vec::with_capacity(items.len());
    for (key, item) in keys.iter().zip(items) {
        let Some(item) = item else { continue };
        let item = Item::from_stored(item.clone())
            .map_err(|error| table.unreadable(table.space(), &key.position, error))?;
        rows.extend(fill.row(table, &key.position, &item));
    }
    Ok(rows)
}
