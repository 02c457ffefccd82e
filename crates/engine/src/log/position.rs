//! How far a reader of a table's changes has come: a position in each of its logs. A member of a global table that is
//! sent changes is such a reader, under the name of its Region, and so is a Kinesis destination.
//!
//! The positions are rows, stored now and then: what is sent twice after a restart changes nothing. The log is
//! trimmed behind them.

use std::collections::BTreeMap;

use bytes::Bytes;
use store::{Consistency, Key, Log, LogPosition, StoreError, WriteSet};

use crate::base::membership::Replica;
use crate::base::space;
use crate::base::table::Table;
use crate::log::Logs;
use crate::tables::catalog::LiveTable;

/// A position in each log. One that is missing is at the beginning.
pub type Positions = BTreeMap<Log, LogPosition>;

/// Beside the logs: up to when everything was sent. It is rounded down, so that it is seldom stored.
pub const CAUGHT_UP: Log = Log(u64::MAX);
const CAUGHT_UP_STEP_US: u64 = 60 * 60 * 1_000_000;
/// How long the log is kept for a member that can't be reached. Afterwards all items are sent to it.
pub const KEPT_US: u64 = 24 * 60 * 60 * 1_000_000;
/// The log may be incomplete for who was last up to date so long ago: some hours less, because that time is rounded.
const COMPLETE_US: u64 = KEPT_US - 2 * CAUGHT_UP_STEP_US;

/// The position of [`CAUGHT_UP`] at a time when everything is sent.
pub fn caught_up(now_us: u64) -> LogPosition {
    LogPosition::new(now_us - now_us % CAUGHT_UP_STEP_US, 0)
}

/// Whether the log still has all that a member needs.
pub fn is_complete(positions: &Positions, replica: &Replica, now_us: u64) -> bool {
    let caught_up_us = positions.get(&CAUGHT_UP).map_or(0, |position| position.time_us());
    now_us.saturating_sub(caught_up_us.max(replica.since_us)) < COMPLETE_US
}

/// The rows of a pair.
fn logs_of(source: &Table) -> impl Iterator<Item = Log> {
    source.log.logs().chain([CAUGHT_UP])
}

/// Where sending begins in a log that has no position yet.
pub fn start(replica: &Replica) -> LogPosition {
    LogPosition::through(replica.since_us)
}

/// Whether a log has records behind a position. Its end alone does not say it: where servers share the store, a log is
/// raised to a time without a record.
pub async fn has_more(logs: &Logs, log: Log, after: LogPosition) -> Result<bool, StoreError> {
    Ok(after < logs.store.log_end(log).await? && !logs.store.read_log(log, after, 1).await?.is_empty())
}

/// The stored positions.
pub async fn read(logs: &Logs, source: &Table, reader: &str) -> Result<Positions, StoreError> {
    let read: Vec<Log> = logs_of(source).collect();
    let keys: Vec<Key> = read.iter().map(|log| space::sent_key(source.space(), reader, *log)).collect();
    let rows = logs.store.get(&keys, Consistency::Latest).await?;
    let positions = read.into_iter().zip(rows).filter_map(|(log, row)| Some((log, row?)));
    positions.map(|(log, row)| Ok((log, LogPosition(space::decode_number(&row)?)))).collect()
}

/// Stores positions.
pub async fn write(
    logs: &Logs,
    source: &Table,
    reader: &str,
    positions: &Positions,
) -> Result<(), StoreError> {
    let rows = positions.iter();
    let rows = rows.map(|(log, position)| {
        (space::sent_key(source.space(), reader, *log), space::encode_number(position.0))
    });
    let rows: Vec<(Key, Bytes)> = rows.collect();
    let keys: Vec<Key> = rows.iter().map(|(key, _)| key.clone()).collect();
    logs.store.update(&keys, &mut |_| WriteSet { puts: rows.clone(), ..WriteSet::default() }).await
}

/// Forgets positions.
pub async fn forget(logs: &Logs, source: &Table, reader: &str) -> Result<(), StoreError> {
    let keys: Vec<Key> = logs_of(source).map(|log| space::sent_key(source.space(), reader, log)).collect();
    logs.store.update(&keys, &mut |_| WriteSet { deletes: keys.clone(), ..WriteSet::default() }).await
}

/// The time from which on other members need a table's log; none if they have all of it.
pub async fn needed_from_us(logs: &Logs, table: &LiveTable) -> Result<Option<u64>, StoreError> {
    let Some(membership) = &table.membership else { return Ok(None) };
    let mut needed: Option<u64> = None;
    for replica in &membership.replicas {
        let from_us = needed_by(logs, table, &replica.region, start(replica), KEPT_US).await?;
        needed = [needed, from_us].into_iter().flatten().min();
    }
    Ok(needed)
}

/// The same for one reader, which began at `start` and for which records are kept for `kept_us`.
pub async fn needed_by(
    logs: &Logs,
    table: &LiveTable,
    reader: &str,
    start: LogPosition,
    kept_us: u64,
) -> Result<Option<u64>, StoreError> {
    let mut needed: Option<u64> = None;
    let oldest_us = logs.date_us().saturating_sub(kept_us);
    let positions = read(logs, table, reader).await?;
    for log in table.log.logs() {
        let sent = positions.get(&log).copied().unwrap_or(start);
        if has_more(logs, log, sent).await? {
            needed = Some(needed.unwrap_or(u64::MAX).min(sent.time_us().max(oldest_us)));
        }
    }
    Ok(needed)
}
