//! The reference store: everything in memory, one writer at a time, nothing clever.
//!
//! Rows and log records live in persistent maps, so a copy of all of them costs one reference count.
//! Three properties follow:
//! - A scan or a snapshot copies the maps under a short lock and walks its copy: it never waits for
//!   a writer longer than that, and never sees a later write.
//! - A writer holds `writing` from reading its rows until its changes are applied, so updates are
//!   serial; readers wait only while the finished write set is applied.
//! - Nothing awaits: every future is ready at its first poll.

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
    /// Held for the whole of an update. The mutex is fair after half a millisecond, so no update starves.
    writing: Mutex<()>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    contents: Contents,
    closed: bool,
}

/// All rows and logs at one moment: also what a snapshot is.
#[derive(Clone, Default)]
struct Contents {
    rows: Rows,
    logs: OrdMap<Log, Records>,
}

/// The rows of all spaces. A space without rows may be absent.
#[derive(Clone, Default)]
struct Rows(OrdMap<Space, OrdMap<SharedPosition, Bytes>>);

/// A [`Position`] that is cheap to copy: the maps copy whole nodes of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SharedPosition {
    partition: Partition,
    sort: Bytes,
}

/// The records of one log that were not trimmed, and the position of the last one ever appended.
#[derive(Clone, Default)]
struct Records {
    end: LogPosition,
    kept: OrdMap<LogPosition, Bytes>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy of everything; it costs the same whatever the number of rows.
    fn contents(&self) -> Result<Contents, StoreError> {
        let state = self.state.read();
        state.check_open()?;
        Ok(state.contents.clone())
    }
}

#[async_trait]
impl Read for MemoryStore {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let state = self.state.read();
        state.check_open()?;
        Ok(state.contents.rows.get(keys))
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.contents()?.rows.scan(range, direction, visit);
        Ok(())
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let state = self.state.read();
        state.check_open()?;
        Ok(state.contents.read_log(log, after, limit))
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        let state = self.state.read();
        state.check_open()?;
        Ok(state.contents.log_end(log))
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let _writing = self.writing.lock();
        let rows = {
            let state = self.state.read();
            state.check_open()?;
            state.contents.rows.get(keys)
        };
        let write_set = decide(&rows);
        let mut state = self.state.write();
        state.check_open()?;
        state.contents.apply(write_set);
        Ok(())
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        let _writing = self.writing.lock();
        let removed = {
            let mut state = self.state.write();
            state.check_open()?;
            state.contents.rows.0.remove(&space)
        };
        // Freeing a large space takes a while: no reader waits for it here.
        drop(removed);
        Ok(())
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        Ok(Arc::new(self.contents()?))
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        let mut state = self.state.write();
        state.check_open()?;
        if let Some(records) = state.contents.logs.get_mut(&log) {
            records.trim(through);
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        let _writing = self.writing.lock();
        self.state.write().closed = true;
        Ok(())
    }
}

#[async_trait]
impl Read for Contents {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(self.rows.get(keys))
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.rows.scan(range, direction, visit);
        Ok(())
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        Ok(Contents::read_log(self, log, after, limit))
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        Ok(Contents::log_end(self, log))
    }
}

impl State {
    fn check_open(&self) -> Result<(), StoreError> {
        if self.closed { Err(StoreError::closed()) } else { Ok(()) }
    }
}

impl Contents {
    fn apply(&mut self, write_set: WriteSet) {
        write_set.debug_assert_distinct();
        for (key, value) in write_set.puts {
            self.rows.0.entry(key.space).or_default().insert(SharedPosition::from(key.position), value);
        }
        for key in write_set.deletes {
            if let Some(rows) = self.rows.0.get_mut(&key.space) {
                rows.remove(&SharedPosition::from(key.position));
            }
        }
        let ends = write_set.appends.iter().map(|(log, _)| self.log_end(*log));
        let time_us = LogPosition::commit_time_us(write_set.now_us, ends);
        for (number, (log, record)) in write_set.appends.into_iter().enumerate() {
            self.logs.entry(log).or_default().append(LogPosition::new(time_us, number), record);
        }
    }

    fn read_log(&self, log: Log, after: LogPosition, limit: usize) -> Vec<(LogPosition, Bytes)> {
        self.logs.get(&log).map(|records| records.read(after, limit)).unwrap_or_default()
    }

    fn log_end(&self, log: Log) -> LogPosition {
        self.logs.get(&log).map_or(LogPosition(0), |records| records.end)
    }
}

impl Rows {
    fn get(&self, keys: &[Key]) -> Vec<Option<Bytes>> {
        let row = |key: &Key| self.0.get(&key.space)?.get(&SharedPosition::of(&key.position)).cloned();
        keys.iter().map(row).collect()
    }

    fn scan(&self, range: &Range, direction: Direction, visit: &mut Visit<'_>) {
        let Some(rows) = self.0.get(&range.space) else { return };
        if range.is_empty() {
            return;
        }
        let shared = |bound: &Bound<Position>| bound.as_ref().map(SharedPosition::of);
        let mut found = rows.range((shared(&range.start), shared(&range.end)));
        let next = || match direction {
            Direction::Forward => found.next(),
            Direction::Backward => found.next_back(),
        };
        for (position, value) in std::iter::from_fn(next) {
            let key = KeyRef { partition: &position.partition, sort: &position.sort };
            if visit(key, value.clone()).is_break() {
                return;
            }
        }
    }
}

impl SharedPosition {
    fn of(position: &Position) -> Self {
        SharedPosition { partition: position.partition, sort: Bytes::copy_from_slice(&position.sort) }
    }
}

impl From<Position> for SharedPosition {
    fn from(position: Position) -> Self {
        SharedPosition { partition: position.partition, sort: Bytes::from(position.sort) }
    }
}

impl Records {
    fn append(&mut self, position: LogPosition, record: Bytes) {
        self.kept.insert(position, record);
        self.end = position;
    }

    fn read(&self, after: LogPosition, limit: usize) -> Vec<(LogPosition, Bytes)> {
        let records = self.kept.range((Bound::Excluded(after), Bound::Unbounded));
        records.take(limit).map(|(position, record)| (*position, record.clone())).collect()
    }

    fn trim(&mut self, through: LogPosition) {
        let (_, _, later) = self.kept.split_lookup(&through);
        self.kept = later;
    }
}
