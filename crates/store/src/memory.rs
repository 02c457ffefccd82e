//! The reference store: everything in memory, one writer at a time, nothing clever.
//!
//! Rows live in persistent maps, one for each space, so copying all of them is a matter of one
//! reference count. That gives the three properties asked of it:
//! - A scan or a snapshot copies the map under a short lock and walks its copy: it never waits for
//!   a writer longer than that, and never sees a later write.
//! - A writer holds `writing` from reading its rows until its changes are in, so updates are serial;
//!   readers are kept out only while the finished write set is put in place.
//! - Nothing awaits: every future is done at its first poll.

use std::collections::BTreeMap;
use std::collections::vec_deque::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::{Mutex, RwLock};

use crate::{
    Consistency, Decide, Direction, Key, KeyRef, Log, LogPosition, Partition, Position, Range, Read, Space,
    Store, StoreError, Visit, WriteSet,
};

/// Keeps rows and logs in memory until it is dropped.
#[derive(Default)]
pub struct MemoryStore {
    /// Held for the whole of an update. Fair after half a millisecond, so nobody starves.
    writing: Mutex<()>,
    contents: RwLock<Contents>,
}

#[derive(Default)]
struct Contents {
    rows: Rows,
    logs: BTreeMap<Log, Records>,
    closed: bool,
}

/// The rows of all spaces. A space without rows may be absent.
#[derive(Clone, Default)]
struct Rows(OrdMap<Space, OrdMap<Place, Bytes>>);

/// A [`Position`] that is cheap to copy: the maps copy whole nodes of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    partition: Partition,
    sort: Bytes,
}

/// The kept records of one log. The front one is at position `trimmed` + 1.
#[derive(Default)]
struct Records {
    trimmed: u64,
    kept: VecDeque<Bytes>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// The rows as they are now; the copy costs the same whatever their number.
    fn rows(&self) -> Result<Rows, StoreError> {
        let contents = self.contents.read();
        contents.check_open()?;
        Ok(contents.rows.clone())
    }
}

#[async_trait]
impl Read for MemoryStore {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let contents = self.contents.read();
        contents.check_open()?;
        Ok(contents.rows.get(keys))
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.rows()?.scan(range, direction, visit);
        Ok(())
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let _writing = self.writing.lock();
        let rows = {
            let contents = self.contents.read();
            contents.check_open()?;
            contents.rows.get(keys)
        };
        let write_set = decide(&rows);
        self.contents.write().apply(write_set)
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        let _writing = self.writing.lock();
        let removed = {
            let mut contents = self.contents.write();
            contents.check_open()?;
            contents.rows.0.remove(&space)
        };
        // Freeing a large space takes a while; by now no reader waits for it.
        drop(removed);
        Ok(())
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        Ok(Arc::new(self.rows()?))
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let contents = self.contents.read();
        contents.check_open()?;
        Ok(contents.logs.get(&log).map(|records| records.read(after, limit)).unwrap_or_default())
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        let mut contents = self.contents.write();
        contents.check_open()?;
        if let Some(records) = contents.logs.get_mut(&log) {
            records.trim(through);
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        let _writing = self.writing.lock();
        self.contents.write().closed = true;
        Ok(())
    }
}

/// A snapshot: the rows of the moment it was taken.
#[async_trait]
impl Read for Rows {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(Rows::get(self, keys))
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        Rows::scan(self, range, direction, visit);
        Ok(())
    }
}

impl Contents {
    fn check_open(&self) -> Result<(), StoreError> {
        if self.closed { Err(StoreError::closed()) } else { Ok(()) }
    }

    fn apply(&mut self, write_set: WriteSet) -> Result<(), StoreError> {
        self.check_open()?;
        write_set.debug_assert_distinct();
        for (key, value) in write_set.puts {
            self.rows.0.entry(key.space).or_default().insert(Place::from(key.position), value);
        }
        for key in write_set.deletes {
            if let Some(rows) = self.rows.0.get_mut(&key.space) {
                rows.remove(&Place::from(key.position));
            }
        }
        for (log, record) in write_set.appends {
            self.logs.entry(log).or_default().kept.push_back(record);
        }
        Ok(())
    }
}

impl Rows {
    fn get(&self, keys: &[Key]) -> Vec<Option<Bytes>> {
        let row = |key: &Key| self.0.get(&key.space)?.get(&Place::of(&key.position)).cloned();
        keys.iter().map(row).collect()
    }

    fn scan(&self, range: &Range, direction: Direction, visit: &mut Visit<'_>) {
        let Some(rows) = self.0.get(&range.space) else { return };
        if range.is_empty() {
            return;
        }
        let place = |bound: &Bound<Position>| bound.as_ref().map(Place::of);
        let mut found = rows.range((place(&range.start), place(&range.end)));
        let next = || match direction {
            Direction::Forward => found.next(),
            Direction::Backward => found.next_back(),
        };
        for (place, value) in std::iter::from_fn(next) {
            let key = KeyRef { partition: &place.partition, sort: &place.sort };
            if visit(key, value.clone()).is_break() {
                return;
            }
        }
    }
}

impl Place {
    fn of(position: &Position) -> Self {
        Place { partition: position.partition, sort: Bytes::copy_from_slice(&position.sort) }
    }
}

impl From<Position> for Place {
    fn from(position: Position) -> Self {
        Place { partition: position.partition, sort: Bytes::from(position.sort) }
    }
}

impl Records {
    fn read(&self, after: LogPosition, limit: usize) -> Vec<(LogPosition, Bytes)> {
        let skipped = usize::try_from(after.0.saturating_sub(self.trimmed)).unwrap_or(usize::MAX);
        let first = self.trimmed.max(after.0).saturating_add(1);
        let records = self.kept.iter().skip(skipped).take(limit);
        (first..).zip(records).map(|(position, record)| (LogPosition(position), record.clone())).collect()
    }

    /// Trimming further than the last record leaves the positions of records to come as they were.
    fn trim(&mut self, through: LogPosition) {
        let reached = usize::try_from(through.0.saturating_sub(self.trimmed)).unwrap_or(usize::MAX);
        let count = reached.min(self.kept.len());
        self.kept.drain(..count);
        self.trimmed += count as u64;
    }
}
