//! How many items and bytes each table and index holds. No request counts them: every committed write
//! adjusts a [`Tally`] in memory.
//!
//! A tally is certain if it is exact. It becomes uncertain when the database ends without being closed,
//! when nobody knows whether a write was committed (it was interrupted or failed), and while an index is
//! being filled. An uncertain tally is counted again in the background, when the database is next opened
//! or when the index is full.
//!
//! What always holds: the store has certain tallies only while the database is closed. Opening it removes
//! them, so that none is found later that writes have made wrong.

use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use item::{Item, ItemRef};
use serde::{Deserialize, Serialize};
use store::{Read, Space, Store, StoreError};

use crate::Environment;
use crate::background::Job;
use crate::catalog::LiveTable;
use crate::table::IndexState;
use crate::walk::Walk;

/// Rows that are counted at once, which takes some two milliseconds, and the rest after them: counting a
/// large table leaves time for requests.
const BATCH_ROWS: usize = 1000;
const BATCH_REST: Duration = Duration::from_millis(4);

/// A number of items and their bytes, or a difference of two such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub items: i64,
    pub bytes: i64,
}

impl Size {
    /// The size of one item.
    pub fn of(item: ItemRef<'_>) -> Size {
        Size { items: 1, bytes: item.size_bytes() as i64 }
    }

    /// The difference that replacing one item by another makes.
    pub fn growth(old: Option<ItemRef<'_>>, new: Option<ItemRef<'_>>) -> Size {
        new.map_or_else(Size::default, Size::of) - old.map_or_else(Size::default, Size::of)
    }
}

impl Add for Size {
    type Output = Size;

    fn add(self, other: Size) -> Size {
        Size { items: self.items + other.items, bytes: self.bytes + other.bytes }
    }
}

impl Sub for Size {
    type Output = Size;

    fn sub(self, other: Size) -> Size {
        Size { items: self.items - other.items, bytes: self.bytes - other.bytes }
    }
}

/// The current size of one table or index.
#[derive(Debug, Default)]
pub struct Tally {
    items: AtomicI64,
    bytes: AtomicI64,
    /// How often something happened that may have made it wrong.
    doubts: AtomicU64,
    /// How many of the doubts a later count has settled.
    resolved: AtomicU64,
}

impl Tally {
    /// An exact size.
    pub fn certain(size: Size) -> Arc<Tally> {
        Arc::new(Tally { items: size.items.into(), bytes: size.bytes.into(), ..Tally::default() })
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

    /// The exact sizes.
    pub fn certain(&self) -> impl Iterator<Item = (Space, Size)> {
        self.0.iter().filter(|(_, tally)| tally.is_certain()).map(|(space, tally)| (*space, tally.size()))
    }
}

/// Counts all uncertain tallies, one after the other. An index that is being filled is counted by its
/// back-fill.
pub struct CountAll {
    pub store: Arc<dyn Store>,
    pub environment: Arc<dyn Environment>,
    pub tables: Vec<Arc<LiveTable>>,
}

impl Job for CountAll {
    fn name(&self) -> &'static str {
        "count of items"
    }

    fn subject(&self) -> String {
        "all tables".into()
    }

    /// A table that cannot be counted doesn't keep the others from being counted.
    async fn run(&self) -> Result<(), StoreError> {
        let mut failure = None;
        for table in &self.tables {
            let indexes = table.indexes.iter().filter(|index| index.state == IndexState::Active);
            for space in std::iter::once(table.space()).chain(indexes.map(|index| index.space())) {
                if let Err(error) = recount(&*self.store, &*self.environment, table, space).await {
                    tracing::warn!(%error, table = table.full_name(), "a table was not counted");
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Counts one space of a table if its tally is uncertain. The table stays in use.
pub async fn recount(
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
