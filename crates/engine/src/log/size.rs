//! How much room change logs take, and what happens when it is too much.
//!
//! The bytes of each table's records are counted in memory: from the logs when the database is opened, then with each
//! commit and each trimming. While all logs together take more than the limit, writes to tables that record changes
//! are refused; the others go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use store::{Log, LogPosition, StoreError};

use crate::Namespace;
use crate::background::Job;
use crate::log::Logs;
use crate::tables::catalog::LiveTable;

/// Records that are read at once.
const STEP_RECORDS: usize = 64;
/// How often a server counts the records that other servers write and trim.
const SHARED_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// How much room the change records of a table take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeLogSize {
    pub namespace: Namespace,
    pub table: String,
    pub bytes: u64,
}

impl Logs {
    /// The room that the change records of each table take, for tables that have some.
    pub fn change_log_sizes(&self) -> Vec<ChangeLogSize> {
        let size = |table: &Arc<LiveTable>| ChangeLogSize {
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            bytes: table.log_bytes.load(Ordering::Relaxed),
        };
        self.catalog
            .all_rows_once()
            .iter()
            .filter(|table| table.log.last_number().is_some())
            .map(size)
            .collect()
    }
}

impl Logs {
    /// Refuses writes that would be recorded while the logs take more room than they may.
    pub(crate) fn check_log_size<'t>(
        &self,
        mut written: impl Iterator<Item = &'t LiveTable>,
    ) -> Result<(), StoreError> {
        let Some(bytes_max) = self.change_log_bytes_max else { return Ok(()) };
        if !written.any(|table| table.log.is_open()) {
            return Ok(());
        }
        let bytes: u64 =
            self.catalog.all_rows_once().iter().map(|table| table.log_bytes.load(Ordering::Relaxed)).sum();
        if bytes < bytes_max {
            return Ok(());
        }
        Err(StoreError::Full(format!(
            "change records take {bytes} bytes, and {bytes_max} is the most. Switch off streams or point-in-time \
             recovery, or raise --change-log-max"
        )))
    }

    /// Counts what a commit recorded and wakes those who wait for changes. A commit over several tables is
    /// counted at the first of them: only the sum matters.
    pub(crate) fn note_changes<'t>(&self, written: impl Iterator<Item = &'t LiveTable>, bytes: u64) {
        let mut recording = written.filter(|table| table.log.is_open());
        if let Some(table) = recording.next() {
            table.log_bytes.fetch_add(bytes, Ordering::Relaxed);
            table.changed.notify_waiters();
        }
        recording.for_each(|table| table.changed.notify_waiters());
    }

    /// Removes the records of a table's log up to a position.
    pub(crate) async fn trim(
        &self,
        table: Option<&LiveTable>,
        log: Log,
        through: LogPosition,
    ) -> Result<(), StoreError> {
        if let Some(table) = table {
            let trimmed = self.bytes_between(log, LogPosition(0), through).await?;
            let less = |bytes: u64| Some(bytes.saturating_sub(trimmed));
            // The closure always gives a number.
            let _ = table.log_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
        self.store.trim_log(log, through).await
    }

    /// The bytes of the records after one position, up to another.
    async fn bytes_between(
        &self,
        log: Log,
        after: LogPosition,
        through: LogPosition,
    ) -> Result<u64, StoreError> {
        let (mut bytes, mut after) = (0, after);
        loop {
            let mut records = self.store.read_log(log, after, STEP_RECORDS).await?;
            records.retain(|(position, _)| *position <= through);
            let Some((last, _)) = records.last() else { return Ok(bytes) };
            after = *last;
            bytes += records.iter().map(|(_, record)| record.len() as u64).sum::<u64>();
        }
    }
}

/// Counts the records that were there when the database was opened. A record that is written in the
/// meantime may be counted twice.
pub struct CountLogs {
    pub logs: Arc<Logs>,
}

impl Job for CountLogs {
    fn name(&self) -> &'static str {
        "count of change records"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    /// Other servers append and trim, too. From time to time their part is counted.
    fn interval(&self) -> Option<Duration> {
        self.logs.members.is_some().then_some(SHARED_INTERVAL)
    }

    /// Each server counts for itself.
    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        for table in self.logs.catalog.all_rows_once() {
            let mut bytes = 0;
            for log in table.log.logs() {
                let end = self.logs.store.log_end(log).await?;
                bytes += self.logs.bytes_between(log, LogPosition(0), end).await?;
            }
            match self.logs.members.is_some() {
                true => table.log_bytes.store(bytes, Ordering::Relaxed),
                false => drop(table.log_bytes.fetch_add(bytes, Ordering::Relaxed)),
            }
        }
        Ok(())
    }
}
