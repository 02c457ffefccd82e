//! The reference store: everything in memory, one writer at a time, nothing clever.
//!
//! Rows and log records live in persistent maps, so a copy of all of them costs one reference count.
//! Three properties follow:
//! - A scan or a snapshot copies the maps under a short lock and walks its copy: it never waits for
//!   a writer longer than that, and never sees a later write.
//! - A writer holds `writing` from reading its rows until its changes are applied, so updates are
//!   serial; readers wait only while the finished write set is applied.
//! - Nothing awaits, except that a long scan gives way to others: all other futures are ready at their first poll.
//!
//! A [`MemoryCluster`] is one set of rows and logs with several handles, as if several processes shared it.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::{Mutex, RwLock};

use crate::turns::{ROW_WORK, Slices};
use crate::{
    Cluster, Consistency, Decide, Direction, Key, KeyRef, Log, LogPosition, Member, Partition, Position,
    Range, Read, Space, Store, StoreError, Visit, WriteSet,
};

/// Keeps rows and logs in memory until it is dropped.
#[derive(Default)]
pub struct MemoryStore {
    data: Arc<Data>,
    /// What makes it one of several handles.
    handle: Option<Handle>,
}

/// Rows and logs in memory that several handles share.
#[derive(Clone, Default)]
pub struct MemoryCluster(Arc<Data>);

/// One handle of a cluster.
#[derive(Default)]
struct Handle {
    /// Its member; 0 before it has joined.
    member: AtomicU64,
    closed: AtomicBool,
}

#[derive(Default)]
struct Data {
    /// Held for the whole of an update. The mutex is fair after half a millisecond, so no update starves.
    writing: Mutex<()>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    contents: Contents,
    closed: bool,
    members: HashSet<Member>,
    last_member: u64,
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
        let state = self.data.state.read();
        self.check_open(&state)?;
        Ok(state.contents.clone())
    }

    fn check_open(&self, state: &State) -> Result<(), StoreError> {
        let is_closed = self.handle.as_ref().is_some_and(|handle| handle.closed.load(Ordering::Acquire));
        if state.closed || is_closed { Err(StoreError::closed()) } else { Ok(()) }
    }

    /// Refuses updates of a member that was removed.
    fn check_member(&self, state: &State) -> Result<(), StoreError> {
        let Some(handle) = &self.handle else { return Ok(()) };
        match handle.member.load(Ordering::Acquire) {
            0 => Ok(()),
            member if state.members.contains(&Member(member)) => Ok(()),
            member => Err(StoreError::Fenced(format!("member {member} was expelled"))),
        }
    }
}

impl MemoryCluster {
    /// An empty cluster.
    pub fn new() -> MemoryCluster {
        MemoryCluster::default()
    }

    /// Another handle of the same rows and logs. Closing it does not close the others.
    pub fn handle(&self) -> MemoryStore {
        MemoryStore { data: self.0.clone(), handle: Some(Handle::default()) }
    }
}

#[async_trait]
impl Cluster for MemoryStore {
    async fn join(&self) -> Result<Member, StoreError> {
        let mut state = self.data.state.write();
        self.check_open(&state)?;
        state.last_member += 1;
        let member = Member(state.last_member);
        state.members.insert(member);
        if let Some(handle) = &self.handle {
            handle.member.store(member.0, Ordering::Release);
        }
        Ok(member)
    }

    async fn expel(&self, member: Member) -> Result<(), StoreError> {
        let _writing = self.data.writing.lock();
        self.data.state.write().members.remove(&member);
        Ok(())
    }

    async fn settle(&self) -> Result<(), StoreError> {
        drop(self.data.writing.lock());
        Ok(())
    }

    async fn raise_logs(&self, logs: &[Log], time_us: u64) -> Result<(), StoreError> {
        let _writing = self.data.writing.lock();
        let mut state = self.data.state.write();
        for log in logs {
            let records = state.contents.logs.entry(*log).or_default();
            records.end = records.end.max(LogPosition::through(time_us));
        }
        Ok(())
    }
}

#[async_trait]
impl Read for MemoryStore {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let state = self.data.state.read();
        self.check_open(&state)?;
        Ok(state.contents.rows.get(keys))
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.contents()?.rows.scan(range, direction, visit).await;
        Ok(())
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let state = self.data.state.read();
        self.check_open(&state)?;
        Ok(state.contents.read_log(log, after, limit))
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        let state = self.data.state.read();
        self.check_open(&state)?;
        Ok(state.contents.log_end(log))
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let _writing = self.data.writing.lock();
        let rows = {
            let state = self.data.state.read();
            self.check_open(&state)?;
            state.contents.rows.get(keys)
        };
        let write_set = decide(&rows);
        let mut state = self.data.state.write();
        self.check_open(&state)?;
        self.check_member(&state)?;
        state.contents.apply(write_set);
        Ok(())
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        let _writing = self.data.writing.lock();
        let removed = {
            let mut state = self.data.state.write();
            self.check_open(&state)?;
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
        let mut state = self.data.state.write();
        self.check_open(&state)?;
        if let Some(records) = state.contents.logs.get_mut(&log) {
            records.trim(through);
        }
        Ok(())
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        self.handle.is_some().then_some(self as &dyn Cluster)
    }

    async fn close(&self) -> Result<(), StoreError> {
        let _writing = self.data.writing.lock();
        match &self.handle {
            Some(handle) => handle.closed.store(true, Ordering::Release),
            None => self.data.state.write().closed = true,
        }
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
        self.rows.scan(range, direction, visit).await;
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
        for part in write_set.log_parts {
            let records = self.logs.entry(part.log).or_default();
            debug_assert!(records.end <= part.end, "a part comes after the end of {:?}", part.log);
            records.kept.extend(part.records);
            records.end = part.end;
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

    async fn scan(&self, range: &Range, direction: Direction, visit: &mut Visit<'_>) {
        let Some(rows) = self.0.get(&range.space) else { return };
        if range.is_empty() {
            return;
        }
        let shared = |bound: &Bound<Position>| bound.as_ref().map(SharedPosition::of);
        let mut found = rows.range((shared(&range.start), shared(&range.end)));
        let mut next = || match direction {
            Direction::Forward => found.next(),
            Direction::Backward => found.next_back(),
        };
        let mut slices = Slices::begin();
        while let Some((position, value)) = next() {
            let key = KeyRef { partition: &position.partition, sort: &position.sort };
            if visit(key, value.clone()).is_break() {
                return;
            }
            slices.spend(ROW_WORK + value.len()).await;
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
        assert!(self.end < position, "positions of a log rise");
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
