//! Making and dropping global secondary indexes while their table is served.
//!
//! Making: the index stands in the catalog as CREATING, and from then on every write maintains it. When
//! the last write that does not know of it has ended, the rows of the table are walked in batches; each
//! item is read again under its lock and its index row written, so whatever a concurrent write does, the
//! row is that of the item as it is. How far the walk has come is committed with each batch, so a restart
//! goes on from there. At the end the index is counted and becomes ACTIVE.
//!
//! Dropping: the index stands as DELETING and is no longer written; when the last write that does not
//! know of that has ended, it leaves the catalog and its rows are cleared.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use item::Item;
use store::{Consistency, Direction, Key, Partition, Position, Range, Space, Store, StoreError, WriteSet};

use crate::catalog::{Catalog, LiveTable};
use crate::index;
use crate::operation::delete_table;
use crate::sizes;
use crate::table::{Index, IndexState, Table};
use crate::{Caller, Engine};

/// Items a batch: small, so that a batch holds its locks for about as long as a transaction does.
const BATCH_ITEMS: usize = 50;
/// After a fault of the store. A change that can't be finished goes on when the database is next opened.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_secs(1);

/// A change of an index, to be carried through in the background.
pub struct IndexChange {
    pub store: Arc<dyn Store>,
    pub catalog: Arc<Catalog>,
    pub caller: Caller,
    pub table: String,
    pub index: String,
}

impl IndexChange {
    /// Carries the change through, whatever state it is in.
    pub async fn run(self) {
        for _ in 0..TRIES {
            match self.carry_through().await {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, index = self.index, "a change of an index has to wait"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn carry_through(&self) -> Result<(), StoreError> {
        let Some((table, index)) = self.current() else { return Ok(()) };
        drop(table.gate.write().await);
        match index.state {
            IndexState::Creating => self.back_fill(&index).await,
            IndexState::Deleting => self.drop_index(&index).await,
            IndexState::Active => Ok(()),
        }
    }

    fn current(&self) -> Option<(Arc<LiveTable>, Index)> {
        let table = self.catalog.find(&self.caller, &self.table)?;
        let index = table.index(&self.index)?.clone();
        Some((table, index))
    }

    async fn back_fill(&self, index: &Index) -> Result<(), StoreError> {
        let progress = Catalog::progress_key(index.space());
        let done = self.store.get(std::slice::from_ref(&progress), Consistency::Latest).await?;
        let mut done = done.into_iter().next().flatten().map(|row| decode(&row)).transpose()?;
        loop {
            let Some((table, now)) = self.current() else { return Ok(()) };
            if now.space() != index.space() || now.state != IndexState::Creating {
                return Ok(());
            }
            let keys = next_keys(&*self.store, table.space(), done).await?;
            let Some(last) = keys.last().map(|key| key.position.clone()) else { break };
            self.store
                .update(&keys, &mut |rows| {
                    let mut writes = WriteSet::default();
                    writes.puts.extend(rows.iter().flatten().filter_map(|row| row_of(&table, index, row)));
                    writes.puts.push((progress.clone(), encode(&last)));
                    writes
                })
                .await?;
            done = Some(last);
            tokio::task::yield_now().await;
        }
        if let Some((table, _)) = self.current() {
            sizes::recount(&*self.store, &table, index.space()).await?;
        }
        self.change(|index| index.state = IndexState::Active).await?;
        self.store
            .update(std::slice::from_ref(&progress), &mut |_| WriteSet {
                deletes: vec![progress.clone()],
                ..WriteSet::default()
            })
            .await
    }

    async fn drop_index(&self, index: &Index) -> Result<(), StoreError> {
        let (name, space) = (self.index.clone(), index.space());
        let without = move |table: &Table, _| {
            let mut table = table.clone();
            table.indexes.retain(|index| index.name != name || index.space() != space);
            table.forget_unused_definitions();
            Ok::<_, ()>(table)
        };
        self.catalog.replace(&self.caller, &self.table, without).await?;
        delete_table::clear(self.store.clone(), space).await;
        Ok(())
    }

    async fn change(&self, change: impl Fn(&mut Index) + Send + Sync + 'static) -> Result<(), StoreError> {
        let name = self.index.clone();
        let changed = move |table: &Table, _| {
            let mut table = table.clone();
            table.indexes.iter_mut().filter(|index| index.name == name).for_each(&change);
            Ok::<_, ()>(table)
        };
        self.catalog.replace(&self.caller, &self.table, changed).await?;
        Ok(())
    }
}

/// How far the making of an index has come.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexProgress {
    pub caller: Caller,
    pub table: String,
    pub index: String,
    /// Of the table's rows, which are walked in the order of their hashes.
    pub percentage: f64,
}

impl Engine {
    /// Every index that is being made.
    pub async fn index_progress(&self) -> Result<Vec<IndexProgress>, StoreError> {
        let mut progress = Vec::new();
        for table in self.catalog.all() {
            for index in table.indexes.iter().filter(|index| index.state == IndexState::Creating) {
                let row =
                    self.store.get(&[Catalog::progress_key(index.space())], Consistency::Latest).await?;
                let done = row.into_iter().next().flatten().map(|row| decode(&row)).transpose()?;
                progress.push(IndexProgress {
                    caller: table.caller(),
                    table: table.name.clone(),
                    index: index.name.clone(),
                    percentage: done.map_or(0.0, |position| share_walked(&position.partition) * 100.0),
                });
            }
        }
        Ok(progress)
    }
}

/// Which part of all hashes lies before this one.
fn share_walked(partition: &Partition) -> f64 {
    let high = u64::from_be_bytes(partition.0[..8].try_into().expect("eight bytes"));
    high as f64 / u64::MAX as f64
}

/// The keys of the next rows of the table.
async fn next_keys(store: &dyn Store, space: Space, after: Option<Position>) -> Result<Vec<Key>, StoreError> {
    let start = after.map_or(Bound::Unbounded, Bound::Excluded);
    let range = Range { space, start, end: Bound::Unbounded };
    let mut keys = Vec::with_capacity(BATCH_ITEMS);
    store
        .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, _| {
            let position = Position { partition: *key.partition, sort: key.sort.to_vec() };
            keys.push(Key { space, position });
            if keys.len() < BATCH_ITEMS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .await?;
    Ok(keys)
}

/// The index row of a stored item. An item that can't be read is passed over here; whoever asks for it
/// is told.
fn row_of(table: &Table, index: &Index, row: &Bytes) -> Option<(Key, Bytes)> {
    let item = Item::from_stored(row.clone()).ok()?;
    let (key, entry) = index::entry(table, index, item.as_ref())?;
    Some((key, entry.into_stored()))
}

fn encode(position: &Position) -> Bytes {
    Bytes::from([&position.partition.0, position.sort.as_slice()].concat())
}

fn decode(bytes: &[u8]) -> Result<Position, StoreError> {
    let corrupt = || StoreError::Corrupt("how far the making of an index has come".into());
    let (partition, sort) = bytes.split_at_checked(Partition::LENGTH).ok_or_else(corrupt)?;
    let partition = Partition(partition.try_into().map_err(|_| corrupt())?);
    Ok(Position { partition, sort: sort.to_vec() })
}
