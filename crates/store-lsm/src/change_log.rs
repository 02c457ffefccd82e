//! The change logs of the contract: positions are handed out under one lock for each log, together
//! with the commit's place in the write-ahead log, so they follow commit order without gaps.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lsm_tree::{AbstractTree, Guard, SeqNo, Tree};
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};
use store::{Log, LogPosition, StoreError};

use crate::error::read_failure;
use crate::layout;

/// What is known about the logs used since the store was opened. There are as many as tables.
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
        // Nobody appends to the log meanwhile: that takes its state.
        let state = Arc::new(LogState::read(log, tree)?);
        logs.insert(log, Arc::clone(&state));
        Ok(state)
    }
}

impl LogState {
    fn read(log: Log, tree: &Tree) -> Result<Self, StoreError> {
        let LogPosition(last) = LogState::end(log, tree, SeqNo::MAX)?;
        let trimmed = trimmed(log, tree, SeqNo::MAX)?.into();
        Ok(LogState { last: Arc::new(Mutex::new(last)), trimmed })
    }

    /// The position of the last record that was ever appended, as seen at a moment.
    pub(crate) fn end(log: Log, tree: &Tree, moment: SeqNo) -> Result<LogPosition, StoreError> {
        let trimmed = LogPosition(trimmed(log, tree, moment)?);
        let kept = layout::record_bounds(log, trimmed, LogPosition(u64::MAX));
        match tree.range(kept, moment, None).next_back() {
            Some(record) => layout::record_position(&record.key().map_err(read_failure)?),
            None => Ok(trimmed),
        }
    }

    pub(crate) fn trimmed(&self) -> u64 {
        self.trimmed.load(Ordering::Acquire)
    }

    pub(crate) fn set_trimmed(&self, position: u64) {
        self.trimmed.fetch_max(position, Ordering::AcqRel);
    }
}

/// Up to where a log is trimmed, as seen at a moment.
fn trimmed(log: Log, tree: &Tree, moment: SeqNo) -> Result<u64, StoreError> {
    match tree.get(layout::trimmed_key(log), moment).map_err(read_failure)? {
        Some(position) => layout::number(&position),
        None => Ok(0),
    }
}

/// The logs that one commit appends to, locked in the order of their names, with the position that
/// was given last.
#[derive(Default)]
pub(crate) struct Appending(BTreeMap<Log, (ArcMutexGuard<RawMutex, u64>, u64)>);

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
            let last = state(log)?.last.lock_arc();
            let given = *last;
            locked.insert(log, (last, given));
        }
        Ok(Appending(locked))
    }

    /// The position of the next record.
    pub(crate) fn next(&mut self, log: Log) -> Option<u64> {
        let (_, given) = self.0.get_mut(&log)?;
        *given += 1;
        Some(*given)
    }

    /// The commit was taken: the positions are used for good.
    pub(crate) fn commit(self) {
        for (mut last, given) in self.0.into_values() {
            *last = given;
        }
    }
}
