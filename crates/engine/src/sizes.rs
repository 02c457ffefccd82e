//! How many items and bytes each table and index holds. It is never counted for a request: every
//! committed write adjusts a [`Tally`] in memory.
//!
//! A tally is certain if it is exact. It is not after the database ended without being closed, after a
//! write that was cut off or failed so that nobody knows whether it was committed, and while an index is
//! being filled; then it is counted again, in the background, when the database is next opened, or when
//! the index is full.
//!
//! What always holds: certain tallies rest in the catalog only while the database is closed. Whoever
//! opens it takes them out, so none can be found that later writes have made wrong.

use std::ops::{Add, Bound, ControlFlow, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use item::{Item, ItemRef};
use serde::{Deserialize, Serialize};
use store::{Consistency, Direction, Position, Range, Read, Space, Store, StoreError};

use crate::catalog::LiveTable;
use crate::table::IndexState;

/// Rows counted in one go, some two milliseconds, and the rest before the next: counting a large table
/// leaves room for others.
const BATCH_ROWS: usize = 1000;
const BATCH_REST: Duration = Duration::from_millis(4);

/// Items and their bytes, or by how much they change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub items: i64,
    pub bytes: i64,
}

impl Size {
    pub fn of(item: ItemRef<'_>) -> Size {
        Size { items: 1, bytes: item.size_bytes() as i64 }
    }

    /// What replacing one by the other changes.
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

/// The size of one table or index as it changes.
#[derive(Debug, Default)]
pub struct Tally {
    items: AtomicI64,
    bytes: AtomicI64,
    /// How often something happened that may have made it wrong, and how many of these a later count has
    /// made good.
    doubts: AtomicU64,
    resolved: AtomicU64,
}

impl Tally {
    pub fn certain(size: Size) -> Arc<Tally> {
        Arc::new(Tally { items: size.items.into(), bytes: size.bytes.into(), ..Tally::default() })
    }

    pub fn uncertain() -> Arc<Tally> {
        Arc::new(Tally { doubts: 1.into(), ..Tally::default() })
    }

    /// An uncertain tally may be below nothing, which is not shown.
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

/// The tallies of a table and its indexes, by their spaces.
#[derive(Clone, Debug, Default)]
pub struct Sizes(Vec<(Space, Arc<Tally>)>);

impl Sizes {
    pub fn new(spaces: impl Iterator<Item = Space>, tally: impl Fn(Space) -> Arc<Tally>) -> Sizes {
        Sizes(spaces.map(|space| (space, tally(space))).collect())
    }

    pub fn get(&self, space: Space) -> Option<&Arc<Tally>> {
        self.0.iter().find(|(of, _)| *of == space).map(|(_, tally)| tally)
    }

    /// What is shown of a space.
    pub fn shown(&self, space: Space) -> Size {
        self.get(space).map_or_else(Size::default, |tally| tally.shown())
    }

    /// Takes in what a committed write changed.
    pub fn adjust(&self, space: Space, growth: Size) {
        if let Some(tally) = self.get(space) {
            tally.adjust(growth);
        }
    }

    /// A write has ended of which nobody knows whether it was committed.
    pub fn doubt(&self) {
        for (_, tally) in &self.0 {
            tally.doubts.fetch_add(1, Relaxed);
        }
    }

    /// What can be relied on when the database is next opened.
    pub fn certain(&self) -> impl Iterator<Item = (Space, Size)> {
        self.0.iter().filter(|(_, tally)| tally.is_certain()).map(|(space, tally)| (*space, tally.size()))
    }
}

/// Counts what is uncertain, one after the other. An index that is still being filled is counted by
/// whoever fills it.
pub async fn recount_all(store: Arc<dyn Store>, tables: Vec<Arc<LiveTable>>) {
    for table in tables {
        let indexes = table.indexes.iter().filter(|index| index.state == IndexState::Active);
        for space in std::iter::once(table.space()).chain(indexes.map(|index| index.space())) {
            if let Err(error) = recount(&*store, &table, space).await {
                tracing::warn!(%error, table = table.name, "a table was not counted; the next start tries again");
            }
        }
    }
}

/// Counts one space of a table if its tally is uncertain, while the table is served.
pub async fn recount(store: &dyn Store, table: &LiveTable, space: Space) -> Result<(), StoreError> {
    let Some(tally) = table.sizes.get(space).filter(|tally| !tally.is_certain()) else { return Ok(()) };
    let (snapshot, before, doubts) = {
        // No write is between its commit and its adjustment now.
        let _still = table.gate.write().await;
        (store.snapshot().await?, tally.size(), tally.doubts.load(Relaxed))
    };
    let counted = count(&*snapshot, space).await?;
    tally.adjust(counted - before);
    tally.resolved.store(doubts, Relaxed);
    Ok(())
}

async fn count(store: &dyn Read, space: Space) -> Result<Size, StoreError> {
    let mut size = Size::default();
    let mut start = Bound::Unbounded;
    loop {
        let range = Range { space, start, end: Bound::Unbounded };
        let (mut rows, mut last) = (0, None);
        store
            .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, row| {
                // An item that can't be read is passed over here; whoever asks for it is told.
                size = size
                    + Item::from_stored(row).map_or_else(|_| Size::default(), |item| Size::of(item.as_ref()));
                rows += 1;
                if rows < BATCH_ROWS {
                    return ControlFlow::Continue(());
                }
                last = Some(Position { partition: *key.partition, sort: key.sort.to_vec() });
                ControlFlow::Break(())
            })
            .await?;
        let Some(last) = last else { return Ok(size) };
        start = Bound::Excluded(last);
        tokio::time::sleep(BATCH_REST).await;
    }
}
