//! Creating and dropping global secondary indexes and vector indexes while their table is in use.
//!
//! Creating: the index is CREATING in the catalog, and from then on every write maintains it. The rows of the items
//! that are there already are made by a fill (`filling.rs`). At the end the index is counted and becomes ACTIVE. An
//! item that cannot be read stops the back-fill: the index stays CREATING, and the next start tries again.
//!
//! Dropping: the index is DELETING in the catalog, and writes no longer maintain it. When the last write
//! that doesn't know of that has ended, it leaves the catalog and its rows are cleared.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::sync::Arc;

use capacity::metric::Metric;
use capacity::{Enforcement, RowChange};
use item::Item;
use store::{Key, Partition, Position, Space, Store, StoreError};

use crate::background::Job;
use crate::base::table::{Index, IndexState, Table};
use crate::base::{index, space, walk};
use crate::tables::Tables;
use crate::tables::catalog::{Catalog, LiveTable};
use crate::tables::filling::{self, Fill, Row};
use crate::throughput::dimensions::CellSet;
use crate::throughput::usage::Usage;
use crate::{Environment, Namespace};

/// Finishes the creation or the dropping of an index.
pub struct IndexChange {
    tables: Arc<Tables>,
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
    environment: Arc<dyn Environment>,
    usage: Arc<Usage>,
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
        self.catalog.wait_for_writes(Some(&table)).await?;
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
        let (store, fill) = (&*self.store, BackFill { change: self, space: index.space() });
        if !filling::fill(store, &self.catalog, &*self.environment, &fill).await? {
            return Ok(());
        }
        if let Some((table, _)) = self.current() {
            self.note_progress(&table, index, 100.0);
            self.tables.recount(&table, index.space()).await?;
        }
        self.activate(index).await?;
        walk::forget_progress(store, &space::progress_key(index.space())).await
    }

    /// Counts what a batch cost. Where AWS's limits are enforced, it uses the index's write throughput; elsewhere
    /// clients can use all of that in the meantime.
    fn count(&self, table: &LiveTable, index: &Index, units: f64) {
        if self.usage.is_off() {
            return;
        }
        let (figures, now_ms) = (&table.meter.figures, self.usage.now().ms);
        let consumed = (Metric::OnlineIndexConsumedWriteCapacity, units);
        figures.add(CellSet::Index(&index.name), &[consumed], now_ms);
        if self.usage.enforcement == Enforcement::Aws && index.is_global() {
            table.meter.charge_back_fill(index.space(), units, now_ms);
        }
    }

    fn note_progress(&self, table: &LiveTable, index: &Index, percentage: f64) {
        if !self.usage.is_off() {
            let (figures, now_ms) = (&table.meter.figures, self.usage.now().ms);
            let progress = (Metric::OnlineIndexPercentageProgress, percentage);
            figures.add(CellSet::Index(&index.name), &[progress], now_ms);
        }
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
        let Some(_) = self.catalog.replace(&self.namespace, &self.table, without).await? else {
            // The table is gone. Its strong replicas in other Regions, if it has any, still use the space.
            return Ok(());
        };
        self.catalog.clear(space).await
    }
}

/// The rows of an index that is being created.
struct BackFill<'a> {
    change: &'a IndexChange,
    space: Space,
}

impl BackFill<'_> {
    fn current(&self) -> Option<(Arc<LiveTable>, Index)> {
        let is_same = |index: &Index| index.space() == self.space && index.state == IndexState::Creating;
        self.change.current().filter(|(_, index)| is_same(index))
    }
}

impl Fill for BackFill<'_> {
    fn space(&self) -> Space {
        self.space
    }

    fn table(&self) -> Option<Arc<LiveTable>> {
        self.current().map(|(table, _)| table)
    }

    fn item(&self, table: &Table, position: &Position, row: Bytes) -> Result<Key, StoreError> {
        let unreadable = |error: String| table.unreadable(self.space, position, error);
        let entry = Item::from_stored(row).map_err(|error| unreadable(error.to_string()))?;
        table.key_of_item(entry.as_ref()).map_err(|error| unreadable(format!("{error:?}")))
    }

    /// An item that the index does not hold has no row.
    fn row(&self, table: &Table, _: &Position, item: &Item) -> Option<Row> {
        let index = table.index(&self.change.index)?;
        let (key, entry) = index::entry(table, index, item)?;
        let units = match index.vector {
            Some(_) => 0.0,
            None => RowChange::Enter(entry.size_bytes()).units(),
        };
        Some(Row { key, value: entry.into_stored(), units })
    }

    fn is_held_up(&self, table: &LiveTable) -> bool {
        let usage = &self.change.usage;
        let now_ms = usage.now().ms;
        // A vector index has no throughput.
        let is_held_up = usage.enforcement == Enforcement::Aws
            && table.global_index(self.space).is_some()
            && !table.meter.admits_back_fill(self.space, now_ms);
        if is_held_up {
            let throttled = (Metric::OnlineIndexThrottleEvents, 1.0);
            table.meter.figures.add(CellSet::Index(&self.change.index), &[throttled], now_ms);
        }
        is_held_up
    }

    fn note_batch(&self, table: &LiveTable, units: f64, reached: &Position) {
        if let Some(index) = table.index(&self.change.index) {
            self.change.count(table, index, units);
            self.change.note_progress(table, index, share_before(&reached.partition) * 100.0);
        }
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

impl Tables {
    /// Every index that is being created.
    pub fn index_progress(&self) -> BoxFuture<'_, Result<Vec<IndexProgress>, StoreError>> {
        Box::pin(async move {
            let mut progress = Vec::new();
            for table in self.catalog.all_rows_once() {
                for index in table.indexes.iter().filter(|index| index.state == IndexState::Creating) {
                    let position =
                        walk::read_progress(&*self.store, &space::progress_key(index.space())).await?;
                    progress.push(IndexProgress {
                        namespace: table.namespace.clone(),
                        table: table.name.clone(),
                        index: index.name.clone(),
                        percentage: position
                            .map_or(0.0, |position| share_before(&position.partition) * 100.0),
                    });
                }
            }
            Ok(progress)
        })
    }
}

impl Tables {
    /// Finishes the creation or the dropping of an index in the background.
    pub(crate) fn start_index_change(self: &Arc<Tables>, table: &Table, index: &Index) {
        self.background.start(self.index_change(table, index));
    }

    /// What finishes the creation or the dropping of an index. Strong replicas have one index, so one of them does it for
    /// all.
    pub(crate) fn index_change(self: &Arc<Tables>, table: &Table, index: &Index) -> IndexChange {
        IndexChange {
            tables: self.clone(),
            store: self.store.clone(),
            catalog: self.catalog.clone(),
            environment: self.environment.clone(),
            usage: self.usage.clone(),
            namespace: table.rows_home(),
            table: table.name.clone(),
            index: index.name.clone(),
        }
    }
}

/// The share of all hashes that are less than this one.
fn share_before(partition: &Partition) -> f64 {
    let high = u64::from_be_bytes(partition.0[..8].try_into().expect("eight bytes"));
    high as f64 / u64::MAX as f64
}
