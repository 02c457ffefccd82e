//! The change logs of the contract. A commit gets its positions in them and its position in the
//! write-ahead log under one lock for each change log, so positions follow commit order.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lsm_tree::{AbstractTree, Guard, SeqNo, Tree};
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};
use store::{Log, LogPosition, StoreError, WriteSet};

use crate::error::read_failure;
use crate::layout;

/// The state of each log that was used since the store was opened. There are as many as tables.
#[derive(Default)]
pub(crate) struct ChangeLogs(Mutex<HashMap<Log, Arc<LogState>>>);

pub(crate) struct LogState {
    /// The position of the last record that was ever appended. Held while a commit appends.
    last: Arc<Mutex<u64>>,
    /// Everything up to here is trimmed.
    trimmed: AtomicU64,
}

impl ChangeLogs {
    /// The state of a log, read from the tree at its first use.
    pub(crate) fn state(&self, log: Log, tree: &Tree) -> Result<Arc<LogState>, StoreError> {
        let mut logs = self.0.lock();
        if let Some(state) = logs.get(&log) {
            return Ok(Arc::clone(state));
        }
        // No commit appends to the log while it is read: appending needs its state.
        let state = Arc::new(LogState::read(log, tree)?);
        logs.insert(log, Arc::clone(&state));
        Ok(state)
    }
}

impl LogState {
    fn read(log: Log, tree: &Tree) -> Result<Self, StoreError> {
        let LogPosition(last) = LogState::end(log, tree, SeqNo::MAX)?;
        let trimmed = number(layout::trimmed_key(log), tree, SeqNo::MAX)?.into();
        Ok(LogState { last: Arc::new(Mutex::new(last)), trimmed })
    }

    /// The position of the last record that was ever appended, as seen at a moment.
    pub(crate) fn end(log: Log, tree: &Tree, moment: SeqNo) -> Result<LogPosition, StoreError> {
        let trimmed = LogPosition(number(layout::trimmed_key(log), tree, moment)?);
        let carried = LogPosition(number(layout::end_key(log), tree, moment)?);
        let kept = layout::record_bounds(log, trimmed, LogPosition(u64::MAX));
        let last = match tree.range(kept, moment, None).next_back() {
            Some(record) => layout::record_position(&record.key().map_err(read_failure)?)?,
            None => trimmed,
        };
        Ok(last.max(carried))
    }

    pub(crate) fn trimmed(&self) -> u64 {
        self.trimmed.load(Ordering::Acquire)
    }

    pub(crate) fn set_trimmed(&self, position: u64) {
        self.trimmed.fetch_max(position, Ordering::AcqRel);
    }
}

/// A position that is stored under `key`, as seen at a moment; 0 if there is none.
fn number(key: Vec<u8>, tree: &Tree, moment: SeqNo) -> Result<u64, StoreError> {
    match tree.get(key, moment).map_err(read_failure)? {
        Some(position) => layout::number(&position),
        None => Ok(0),
    }
}

/// The logs that one commit appends to, locked in the order of their names, and the time of the commit.
#[derive(Default)]
pub(crate) struct Appending {
    time_us: u64,
    logs: BTreeMap<Log, ArcMutexGuard<RawMutex, u64>>,
    /// The position of the last record of each log, once the commit is taken.
    ends: BTreeMap<Log, u64>,
    records: usize,
}

impl Appending {
    pub(crate) fn lock(
        write_set: &WriteSet,
        state: impl Fn(Log) -> Result<Arc<LogState>, StoreError>,
    ) -> Result<Self, StoreError> {
        let appends = write_set.appends.iter().map(|(log, _)| *log);
        let mut names: Vec<Log> = appends.chain(write_set.log_parts.iter().map(|part| part.log)).collect();
        names.sort_unstable();
        names.dedup();
        debug_assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "logs are locked in one order");
        let mut logs = BTreeMap::new();
        for log in names {
            logs.insert(log, state(log)?.last.lock_arc());
        }
        let ends = logs.values().map(|last: &ArcMutexGuard<RawMutex, u64>| LogPosition(**last));
        let time_us = LogPosition::commit_time_us(write_set.now_us, ends);
        Ok(Appending { time_us, logs, ends: BTreeMap::new(), records: 0 })
    }

    /// The position of the next record.
    pub(crate) fn next(&mut self, log: Log) -> u64 {
        let LogPosition(position) = LogPosition::new(self.time_us, self.records);
        self.records += 1;
        let before = self.ends.insert(log, position).or_else(|| self.logs.get(&log).map(|last| **last));
        // A reader that remembers a position must not miss a record before it.
        assert!(before.is_some_and(|before| before < position), "positions of {log:?} rise");
        position
    }

    /// The end of a log that came with its positions.
    pub(crate) fn carry(&mut self, log: Log, end: LogPosition) {
        let last = self.logs.get(&log).map(|last| **last);
        debug_assert!(last.is_some_and(|last| last <= end.0), "a part comes after the end of {log:?}");
        self.ends.insert(log, end.0);
    }

    /// The log has accepted the commit: later commits get greater positions.
    pub(crate) fn commit(mut self) {
        for (log, end) in self.ends {
            debug_assert!(self.logs.contains_key(&log), "{log:?} is locked");
            if let Some(last) = self.logs.get_mut(&log) {
                **last = end;
            }
        }
    }
}
