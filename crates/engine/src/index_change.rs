//! Creating and dropping global secondary indexes while their table is in use.
//!
//! Creating: the index is CREATING in the catalog, and from then on every write maintains it. When the last
//! write that doesn't know of it has ended, the back-fill walks the table's rows in batches. It reads each
//! item again under its lock and writes its index row, so that the row fits the item whatever concurrent
//! writes do. Each batch commits how far the walk has come, so that a restart goes on from there. At the
//! end the index is counted and becomes ACTIVE. An item that cannot be read stops the back-fill: the index
//! stays CREATING, and the next start tries again.
//!
//! Dropping: the index is DELETING in the catalog, and writes no longer maintain it. When the last write
//! that doesn't know of that has ended, it leaves the catalog and its rows are cleared.

use std::sync::Arc;

use bytes::Bytes;
use item::Item;
use store::{Key, Partition, Store, StoreError, WriteSet};

use crate::background::Job;
use crate::catalog::{Catalog, LiveTable};
use crate::table::{Index, IndexState, Table};
use crate::walk::{self, Walk};
use crate::{Engine, Environment, Namespace, index, sizes, space};

/// Items in a batch: few, so that a batch holds its locks for about as long as a transaction does.
const BATCH_ITEMS: usize = 50;

/// Finishes the creation or the dropping of an index.
pub struct IndexChange {
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
    environment: Arc<dyn Environment>,
    namespace: Namespace,
    table: String,
    index: String,
}

impl Job for IndexChange {
    fn name(&self) -> &'static str {
        "change of an index"
    }

    fn subject(&self) -> String {
        let (Namespace { account, region }, table) = (&self.namespace, &self.table);
        format!("index {} of table {table} of account {account} in {region}", self.index)
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Some((table, index)) = self.current() else { return Ok(()) };
        table.wait_for_writes().await;
        match index.state {
            IndexState::Creating => self.back_fill(&index).await,
            IndexState::Deleting => self.drop_index(&index).await,
            IndexState::Active => Ok(()),
        }
    }
}

impl IndexChange {
    fn current(&self) -> Option<(Arc<LiveTable>, Index)> {
        let table = self.catalog.find(&self.namespace, &self.table)?;
        let index = table.index(&self.index)?.clone();
        Some((table, index))
    }

    async fn back_fill(&self, index: &Index) -> Result<(), StoreError> {
        let Some((table, _)) = self.current() else { return Ok(()) };
        let progress = space::progress_key(index.space());
        let mut walk = Walk::after(
            walk::read_progress(&*self.store, &space::progress_key(index.space())).await?,
            table.space(),
            BATCH_ITEMS,
        );
        loop {
            let Some((table, now)) = self.current() else { return Ok(()) };
            if now.space() != index.space() || now.state != IndexState::Creating {
                return Ok(());
            }
            let mut keys = Vec::with_capacity(BATCH_ITEMS);
            let space = table.space();
            let mut visit = |key: store::KeyRef<'_>, _| keys.push(Key { space, position: key.to_position() });
            if !walk.next(&*self.store, &mut visit).await? {
                break;
            }
            let position = walk.position().expect("the walk has visited a row").clone();
            self.fill_batch(&table, index, &keys, (progress.clone(), walk::encode_progress(&position)))
                .await?;
            tokio::task::yield_now().await;
        }
        if let Some((table, _)) = self.current() {
            sizes::recount(&*self.store, &*self.environment, &table, index.space()).await?;
        }
        self.activate(index).await?;
        self.store
            .update(std::slice::from_ref(&progress), &mut |_| WriteSet {
                deletes: vec![progress.clone()],
                ..WriteSet::default()
            })
            .await
    }

    /// Writes the index rows of the items at `keys`, and how far the walk has come.
    async fn fill_batch(
        &self,
        table: &Table,
        index: &Index,
        keys: &[Key],
        progress: (Key, Bytes),
    ) -> Result<(), StoreError> {
        let mut unreadable = None;
        let mut decide = |rows: &[Option<Bytes>]| {
            unreadable = None;
            match index_rows(table, index, keys, rows) {
                Ok(mut puts) => {
                    puts.push(progress.clone());
                    WriteSet { puts, ..WriteSet::default() }
                }
                Err(error) => {
                    unreadable = Some(error);
                    WriteSet::default()
                }
            }
        };
        self.store.update(keys, &mut decide).await?;
        unreadable.map_or(Ok(()), Err)
    }

    async fn activate(&self, index: &Index) -> Result<(), StoreError> {
        let (name, space) = (self.index.clone(), index.space());
        let activated = move |table: &Table, _| {
            let mut table = table.clone();
            let index = table.indexes.iter_mut().find(|index| index.name == name && index.space() == space);
            let index = index.filter(|index| index.state == IndexState::Creating).ok_or(())?;
            index.state = IndexState::Active;
            Ok::<_, ()>(table)
        };
        self.catalog.replace(&self.namespace, &self.table, activated).await?;
        Ok(())
    }

    async fn drop_index(&self, index: &Index) -> Result<(), StoreError> {
        let (name, space) = (self.index.clone(), index.space());
        let without = move |table: &Table, _| {
            let mut table = table.clone();
            table.indexes.retain(|index| index.name != name || index.space() != space);
            table.forget_unused_definitions();
            Ok::<_, ()>(table)
        };
        self.catalog.replace(&self.namespace, &self.table, without).await?;
        self.catalog.clear(space).await
    }
}

/// How far the creation of an index has come.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexProgress {
    pub namespace: Namespace,
    pub table: String,
    pub index: String,
    /// The share of the table's rows that was walked, in the order of their hashes.
    pub percentage: f64,
}

impl Engine {
    /// Every index that is being created.
    pub async fn index_progress(&self) -> Result<Vec<IndexProgress>, StoreError> {
        let mut progress = Vec::new();
        for table in self.catalog.all() {
            for index in table.indexes.iter().filter(|index| index.state == IndexState::Creating) {
                let position = walk::read_progress(&*self.store, &space::progress_key(index.space())).await?;
                progress.push(IndexProgress {
                    namespace: table.namespace.clone(),
                    table: table.name.clone(),
                    index: index.name.clone(),
                    percentage: position.map_or(0.0, |position| share_before(&position.partition) * 100.0),
                });
            }
        }
        Ok(progress)
    }

    /// Finishes the creation or the dropping of an index in the background.
    pub(crate) fn start_index_change(&self, table: &Table, index: &Index) {
        self.background.start(IndexChange {
            store: self.store.clone(),
            catalog: self.catalog.clone(),
            environment: self.environment.clone(),
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            index: index.name.clone(),
        });
    }
}

/// The share of all hashes that lies before this one.
fn share_before(partition: &Partition) -> f64 {
    let high = u64::from_be_bytes(partition.0[..8].try_into().expect("eight bytes"));
    high as f64 / u64::MAX as f64
}

/// The index rows of the items at `keys`. Items that the index does not hold have none.
fn index_rows(
    table: &Table,
    index: &Index,
    keys: &[Key],
    rows: &[Option<Bytes>],
) -> Result<Vec<(Key, Bytes)>, StoreError> {
    let mut index_rows = Vec::with_capacity(rows.len() + 1);
    for (key, row) in keys.iter().zip(rows) {
        let Some(row) = row else { continue };
        let item = Item::from_stored(row.clone())
            .map_err(|error| table.unreadable(table.space(), &key.position, error))?;
        let entry = index::entry(table, index, item.as_ref());
        index_rows.extend(entry.map(|(key, entry)| (key, entry.into_stored())));
    }
    Ok(index_rows)
}
