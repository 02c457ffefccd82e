//! How many items and bytes each table and index holds. No request counts them: every committed write
//! adjusts a [`Tally`] in memory.
//!
//! A tally is certain if it is exact. It becomes uncertain when the database ends without being closed,
//! when it is unknown whether a write was committed (it was interrupted or failed), and while an index is
//! being filled. An uncertain tally is counted again in the background, when the database is next opened
//! or when the index is full.
//!
//! If several servers share the store, the sizes are rows that all of them add to, every few seconds ([`share`]). A
//! row that is missing is made by a count. It is removed when it may be wrong: when a server ended without leaving,
//! or does not know whether it wrote.
//!
//! What always holds if the store belongs to one process: it has certain tallies only while the database is closed. Opening it removes
//! them, so that none is found later that writes have made wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use item::Item;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store::{Consistency, Key, Read, Space, Store, StoreError, WriteSet};

use crate::Environment;
use crate::background::Job;
use crate::base::size::Size;
use crate::base::space;
use crate::base::table::IndexState;
use crate::base::walk::Walk;
use crate::cluster::members::Members;
use crate::tables::Tables;
use crate::tables::catalog::LiveTable;

/// Rows that are counted at once, which takes some two milliseconds, and the rest after them: counting a
/// large table leaves time for requests.
const BATCH_ROWS: usize = 1000;
const BATCH_REST: Duration = Duration::from_millis(4);
/// How often a server adds to the sizes that it shares with others.
const SHARE_INTERVAL: Duration = Duration::from_secs(2);
/// How often it is looked for sizes that are to be counted, if several servers share them.
const COUNT_INTERVAL: Duration = Duration::from_secs(30);
/// Sizes that one commit changes.
const SHARED_PER_COMMIT: usize = 100;

/// The current size of one table or index.
#[derive(Debug, Default)]
pub struct Tally {
    items: AtomicI64,
    bytes: AtomicI64,
    /// How often something happened that may have made it wrong.
    doubts: AtomicU64,
    /// How many of the doubts a later count has settled.
    resolved: AtomicU64,
    /// The size that all servers share, as it was last seen. What the tally is more than that is this server's.
    shared: Mutex<Size>,
}

impl Tally {
    /// An exact size.
    pub fn certain(size: Size) -> Arc<Tally> {
        let (items, bytes) = (size.items.into(), size.bytes.into());
        Arc::new(Tally { items, bytes, shared: Mutex::new(size), ..Tally::default() })
    }

    /// A size that is to be counted.
    pub fn uncertain() -> Arc<Tally> {
        Arc::new(Tally { doubts: 1.into(), ..Tally::default() })
    }

    /// The size for clients. An uncertain tally may be negative, which is shown as zero.
    pub fn shown(&self) -> Size {
        let Size { items, bytes } = self.size();
        Size { items: items.max(0), bytes: bytes.max(0) }
    }

    fn size(&self) -> Size {
        Size { items: self.items.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }

    fn adjust(&self, growth: Size) {
        if growth.items != 0 {
            self.items.fetch_add(growth.items, Relaxed);
        }
        if growth.bytes != 0 {
            self.bytes.fetch_add(growth.bytes, Relaxed);
        }
    }

    /// The shared size is this, and `growth` of this server is part of it.
    fn take_over(&self, size: Size, growth: Size) {
        let mut shared = self.shared.lock();
        self.adjust(size - (*shared + growth));
        *shared = size;
    }

    /// What this server's writes did is no longer to be shared.
    fn forget_growth(&self) {
        *self.shared.lock() = self.size();
    }

    fn is_certain(&self) -> bool {
        self.doubts.load(Relaxed) == self.resolved.load(Relaxed)
    }
}

/// The tallies of a table and its indexes, by space.
#[derive(Clone, Debug, Default)]
pub struct Sizes(Vec<(Space, Arc<Tally>)>);

impl Sizes {
    /// One tally for each space.
    pub fn new(spaces: impl Iterator<Item = Space>, tally: impl Fn(Space) -> Arc<Tally>) -> Sizes {
        Sizes(spaces.map(|space| (space, tally(space))).collect())
    }

    /// The tally of a space.
    pub fn get(&self, space: Space) -> Option<&Arc<Tally>> {
        self.0.iter().find(|(of, _)| *of == space).map(|(_, tally)| tally)
    }

    /// The size of a space for clients.
    pub fn shown(&self, space: Space) -> Size {
        self.get(space).map_or_else(Size::default, |tally| tally.shown())
    }

    /// What this server's writes did is no longer to be shared, for sizes that are not known.
    pub fn forget_growth(&self) {
        self.0.iter().for_each(|(_, tally)| tally.forget_growth());
    }

    /// Adds the growth that a committed write made.
    pub fn adjust(&self, space: Space, growth: Size) {
        if let Some(tally) = self.get(space) {
            tally.adjust(growth);
        }
    }

    /// Makes all tallies uncertain, after a write that may or may not have been committed.
    pub fn doubt(&self) {
        for (_, tally) in &self.0 {
            tally.doubts.fetch_add(1, Relaxed);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &(Space, Arc<Tally>)> {
        self.0.iter()
    }

    /// The exact sizes.
    pub fn certain(&self) -> impl Iterator<Item = (Space, Size)> {
        self.0.iter().filter(|(_, tally)| tally.is_certain()).map(|(space, tally)| (*space, tally.size()))
    }
}

/// The row of a size that servers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SharedSize {
    #[serde(flatten)]
    size: Size,
    /// Whether a count is still to be added.
    #[serde(default)]
    is_counted: bool,
}

impl SharedSize {
    fn decode(row: &Option<Bytes>) -> Result<Option<SharedSize>, StoreError> {
        let corrupt = |error| StoreError::Corrupt(format!("a size in the catalog: {error}"));
        row.as_deref().map(|row| serde_json::from_slice(row).map_err(corrupt)).transpose()
    }

    fn encode(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).expect("numbers only"))
    }
}

/// The row of a table or index that is empty.
pub fn empty_row() -> Bytes {
    SharedSize { is_counted: true, ..SharedSize::default() }.encode()
}

/// Adds what this server's writes did to the sizes that all servers share, and takes over theirs.
pub async fn share(store: &dyn Store, tables: &[Arc<LiveTable>]) -> Result<(), StoreError> {
    let tallies: Vec<&(Space, Arc<Tally>)> = tables.iter().flat_map(|table| table.sizes.iter()).collect();
    for tallies in tallies.chunks(SHARED_PER_COMMIT) {
        let keys: Vec<Key> = tallies.iter().map(|(space, _)| space::size_key(*space)).collect();
        let rows = store.get(&keys, Consistency::Latest).await?;
        let mut changes = Vec::new();
        for (((_, tally), key), row) in tallies.iter().zip(keys).zip(&rows) {
            let growth = tally.size() - *tally.shared.lock();
            let doubts = tally.doubts.load(Relaxed);
            if growth != Size::default() || !tally.is_certain() {
                changes.push(Growth { key, tally, growth, doubts });
            } else if let Some(row) = SharedSize::decode(row)? {
                tally.take_over(row.size, Size::default());
            }
        }
        commit_growth(store, &changes).await?;
    }
    Ok(())
}

/// What a server's writes did since the size was last shared.
struct Growth<'a> {
    key: Key,
    tally: &'a Tally,
    growth: Size,
    doubts: u64,
}

async fn commit_growth(store: &dyn Store, changes: &[Growth<'_>]) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let keys: Vec<Key> = changes.iter().map(|change| change.key.clone()).collect();
    let mut shared = Ok(Vec::new());
    let mut decide = |rows: &[Option<Bytes>]| {
        let mut writes = WriteSet::default();
        shared = changes.iter().zip(rows).map(|(change, row)| change.applied(row, &mut writes)).collect();
        if shared.is_ok() { writes } else { WriteSet::default() }
    };
    store.update(&keys, &mut decide).await?;
    for (change, size) in changes.iter().zip(shared?) {
        change.tally.resolved.fetch_max(change.doubts, Relaxed);
        if let Some(size) = size {
            change.tally.take_over(size, change.growth);
        }
    }
    Ok(())
}

impl Growth<'_> {
    /// The size that is shared from here on. A size that is in doubt is forgotten, and counted again.
    fn applied(&self, row: &Option<Bytes>, writes: &mut WriteSet) -> Result<Option<Size>, StoreError> {
        let Some(row) = SharedSize::decode(row)? else { return Ok(None) };
        if self.doubts != self.tally.resolved.load(Relaxed) {
            writes.deletes.push(self.key.clone());
            return Ok(None);
        }
        let grown = SharedSize { size: row.size + self.growth, ..row };
        writes.puts.push((self.key.clone(), grown.encode()));
        Ok(Some(grown.size))
    }
}

/// Shares the sizes, for as long as the database is open.
pub struct ShareSizes {
    pub tables: Arc<Tables>,
}

impl Job for ShareSizes {
    fn name(&self) -> &'static str {
        "sharing of sizes"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    fn interval(&self) -> Option<Duration> {
        Some(SHARE_INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        share(&*self.tables.store, &self.tables.catalog.all_rows_once()).await
    }
}

/// Counts all uncertain tallies, one after the other. An index that is being filled is counted by its
/// back-fill.
pub struct CountAll {
    pub tables: Arc<Tables>,
}

impl Job for CountAll {
    fn name(&self) -> &'static str {
        "count of items"
    }

    fn subject(&self) -> String {
        "all tables".into()
    }

    fn interval(&self) -> Option<Duration> {
        self.tables.members.is_some().then_some(COUNT_INTERVAL)
    }

    /// A table that cannot be counted doesn't keep the others from being counted.
    async fn run(&self) -> Result<(), StoreError> {
        let mut failure = None;
        for table in &self.tables.catalog.all_rows_once() {
            let indexes = table.indexes.iter().filter(|index| index.state == IndexState::Active);
            for space in std::iter::once(table.space()).chain(indexes.map(|index| index.space())) {
                if let Err(error) = self.tables.recount(table, space).await {
                    tracing::warn!(%error, table = table.full_name(), "a table was not counted");
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

impl Tables {
    /// Counts one space of a table if its size is uncertain. The table stays in use.
    pub(crate) async fn recount(&self, table: &LiveTable, space: Space) -> Result<(), StoreError> {
        match &self.members {
            Some(members) => recount_shared(self, members, table, space).await,
            None => recount_own(&*self.store, &*self.environment, table, space).await,
        }
    }
}

/// Counts a space whose size is shared, if it is not known. While the table is frozen, every server has forgotten
/// or shared what its writes did, and the row begins with nothing; from then on all add to it.
async fn recount_shared(
    tables: &Tables,
    members: &Members,
    table: &LiveTable,
    space: Space,
) -> Result<(), StoreError> {
    let key = space::size_key(space);
    let row = tables.store.get(std::slice::from_ref(&key), Consistency::Latest).await?.pop().flatten();
    if SharedSize::decode(&row)?.is_some_and(|row| row.is_counted) {
        return Ok(());
    }
    let begin = async {
        let mut put = |_: &[Option<Bytes>]| WriteSet {
            puts: vec![(key.clone(), SharedSize::default().encode())],
            ..WriteSet::default()
        };
        tables.store.update(std::slice::from_ref(&key), &mut put).await?;
        if let Some(tally) = table.sizes.get(space) {
            tally.forget_growth();
        }
        tables.store.snapshot().await
    };
    let snapshot = members.while_frozen(table.space(), &table.gate, begin).await?;
    let counted = count(&*snapshot, &*tables.environment, table, space).await?;
    let mut unreadable = None;
    let mut add = |rows: &[Option<Bytes>]| match SharedSize::decode(&rows[0]) {
        Ok(Some(row)) => {
            let counted = SharedSize { size: row.size + counted, is_counted: true };
            WriteSet { puts: vec![(key.clone(), counted.encode())], ..WriteSet::default() }
        }
        // It was in doubt in the meantime: the next run counts again.
        Ok(None) => WriteSet::default(),
        Err(error) => {
            unreadable = Some(error);
            WriteSet::default()
        }
    };
    tables.store.update(std::slice::from_ref(&key), &mut add).await?;
    unreadable.map_or(Ok(()), Err)
}

/// Forgets the sizes that servers share, because one of them ended without sharing what it did.
pub async fn forget_shared(store: &dyn Store, tables: &[Arc<LiveTable>]) -> Result<(), StoreError> {
    let spaces = tables.iter().flat_map(|table| table.sizes.iter()).map(|(space, _)| *space);
    let keys: Vec<Key> = spaces.map(space::size_key).collect();
    for keys in keys.chunks(SHARED_PER_COMMIT) {
        store.update(keys, &mut |_| WriteSet { deletes: keys.to_vec(), ..WriteSet::default() }).await?;
    }
    Ok(())
}

async fn recount_own(
    store: &dyn Store,
    environment: &dyn Environment,
    table: &LiveTable,
    space: Space,
) -> Result<(), StoreError> {
    let Some(tally) = table.sizes.get(space).filter(|tally| !tally.is_certain()) else { return Ok(()) };
    let (snapshot, before, doubts) = {
        // While the gate is held, no write is between its commit and its adjustment.
        let _gate = table.gate.write().await;
        (store.snapshot().await?, tally.size(), tally.doubts.load(Relaxed))
    };
    let counted = count(&*snapshot, environment, table, space).await?;
    tally.adjust(counted - before);
    tally.resolved.fetch_max(doubts, Relaxed);
    assert!(tally.resolved.load(Relaxed) <= tally.doubts.load(Relaxed), "only doubts can be resolved");
    Ok(())
}

async fn count(
    rows: &dyn Read,
    environment: &dyn Environment,
    table: &LiveTable,
    space: Space,
) -> Result<Size, StoreError> {
    let mut size = Size::default();
    let mut unreadable = None;
    let mut walk = Walk::new(space, BATCH_ROWS);
    let mut visit = |key: store::KeyRef<'_>, row| match Item::from_stored(row) {
        Ok(item) => size = size + Size::of(item.as_ref()),
        Err(error) => unreadable = Some(table.unreadable(space, &key.to_position(), error)),
    };
    while walk.next(rows, &mut visit).await? {
        environment.sleep(BATCH_REST).await;
    }
    unreadable.map_or(Ok(size), Err)
}
