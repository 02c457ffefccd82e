//! The logs: positions are handed out and committed under one lock for each log, so they follow
//! commit order without gaps that fill up later.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use fjall::{Keyspace, Readable, Snapshot};
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};
use store::{Log, LogPosition, StoreError};

use crate::{layout, read_failure};

/// What is known about the logs used since the store was opened. There are as many as tables.
#[derive(Default)]
pub(crate) struct Logs(Mutex<HashMap<Log, Arc<LogState>>>);

pub(crate) struct LogState {
    /// The position of the last record that was ever appended. Held while a commit appends.
    last: Arc<Mutex<u64>>,
    /// Everything up to here is trimmed.
    pub(crate) trimmed: AtomicU64,
    /// Everything up to here is known to be durable.
    pub(crate) durable: AtomicU64,
}

impl Logs {
    /// The state of a log, read from disk at its first use.
    pub(crate) fn state(
        &self,
        log: Log,
        rows: &Keyspace,
        snapshot: impl Fn() -> Snapshot,
    ) -> Result<Arc<LogState>, StoreError> {
        let mut logs = self.0.lock();
        if let Some(state) = logs.get(&log) {
            return Ok(Arc::clone(state));
        }
        // Nobody appends to the log meanwhile: that takes its state.
        let state = Arc::new(LogState::read(log, rows, &snapshot())?);
        logs.insert(log, Arc::clone(&state));
        Ok(state)
    }
}

impl LogState {
    fn read(log: Log, rows: &Keyspace, snapshot: &Snapshot) -> Result<Self, StoreError> {
        let trimmed = trimmed(log, rows, snapshot)?;
        let LogPosition(last) = LogState::end(log, rows, snapshot)?;
        Ok(LogState { last: Arc::new(Mutex::new(last)), trimmed: trimmed.into(), durable: AtomicU64::new(0) })
    }

    /// The position of the last record that was ever appended.
    pub(crate) fn end(log: Log, rows: &Keyspace, snapshot: &Snapshot) -> Result<LogPosition, StoreError> {
        let trimmed = LogPosition(trimmed(log, rows, snapshot)?);
        let kept = layout::record_bounds(log, trimmed, LogPosition(u64::MAX));
        match snapshot.range(rows, kept).next_back() {
            Some(record) => layout::record_position(&record.key().map_err(read_failure)?),
            None => Ok(trimmed),
        }
    }

    pub(crate) fn raise(value: &AtomicU64, position: u64) {
        value.fetch_max(position, Ordering::AcqRel);
    }

    pub(crate) fn trimmed(&self) -> u64 {
        self.trimmed.load(Ordering::Acquire)
    }
}

/// Everything up to here is trimmed, as the snapshot has it.
fn trimmed(log: Log, rows: &Keyspace, snapshot: &Snapshot) -> Result<u64, StoreError> {
    let trimmed = snapshot.get(rows, layout::trimmed_key(log)).map_err(read_failure)?;
    trimmed.map_or(Ok(0), |position| layout::number(&position))
}

/// The logs that one commit appends to, locked in the order of their names.
#[derive(Default)]
pub(crate) struct Appending(BTreeMap<Log, ArcMutexGuard<RawMutex, u64>>);

impl Appending {
    pub(crate) fn lock(
        appends: &[(Log, Bytes)],
        state: impl Fn(Log) -> Result<Arc<LogState>, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut logs: Vec<Log> = appends.iter().map(|(log, _)| *log).collect();
        logs.sort_unstable();
        logs.dedup();
        let mut locked = BTreeMap::new();
        for log in logs {
            locked.insert(log, state(log)?.last.lock_arc());
        }
        Ok(Appending(locked))
    }

    /// The position of the next record. Dropped unused when the commit fails: then nothing more is
    /// written anyway.
    pub(crate) fn next(&mut self, log: Log) -> Option<u64> {
        let last = self.0.get_mut(&log)?;
        **last += 1;
        Some(**last)
    }
}
