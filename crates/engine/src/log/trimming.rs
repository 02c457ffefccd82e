//! A job that closes shards after some hours and removes the records that no reader needs any more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use api::streams::limits::RECORD_LIFETIME;
use parking_lot::Mutex;
use store::{Log, LogPosition, Space, StoreError};

use crate::background::Job;
use crate::base::change_log::Shard;
use crate::base::table::Table;
use crate::log::Logs;
use crate::log::kinesis;
use crate::log::position;
use crate::tables::catalog::LiveTable;

/// How long a shard takes records before its children follow.
const SHARD_LIFETIME: Duration = Duration::from_secs(4 * 60 * 60);
const INTERVAL: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Looks after the logs of all tables, for as long as the database is open.
pub struct Trimming {
    logs: Arc<Logs>,
    /// Up to which time each log is known to have no records, so that logs at rest are not read again and again.
    empty_until_us: Mutex<HashMap<Log, u64>>,
}

impl Trimming {
    /// Of all logs.
    pub fn new(logs: Arc<Logs>) -> Trimming {
        Trimming { logs, empty_until_us: Mutex::default() }
    }
}

impl Job for Trimming {
    fn name(&self) -> &'static str {
        "trimming of change logs"
    }

    fn subject(&self) -> String {
        "all tables".to_owned()
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    async fn run(&self) -> Result<(), StoreError> {
        let now_us = self.logs.date_us();
        for table in self.logs.catalog.all_rows_once() {
            self.keep_shards(&table, now_us).await?;
        }
        self.logs.catalog.forget_past_streams(now_us.saturating_sub(micros(RECORD_LIFETIME))).await?;
        let needed = self.needed_from(now_us).await?;
        self.empty_until_us.lock().retain(|log, _| needed.contains_key(log));
        let tables = self.logs.catalog.all_rows_once();
        let owners: HashMap<Log, &LiveTable> =
            tables.iter().flat_map(|table| table.log.logs().map(|log| (log, &**table))).collect();
        for (log, keep_from_us) in needed {
            if self.empty_until_us.lock().get(&log).is_none_or(|until_us| keep_from_us > *until_us) {
                self.trim(owners.get(&log).copied(), log, keep_from_us, now_us).await?;
            }
        }
        self.logs.catalog.trim_dropped_logs().await
    }
}

impl Trimming {
    /// Closes and opens the table's shards where it is time to, and forgets those whose records are gone.
    async fn keep_shards(&self, table: &LiveTable, now_us: u64) -> Result<(), StoreError> {
        if !needs_care(table, now_us, self.logs.stream_shards) {
            return Ok(());
        }
        let wanted = self.logs.stream_shards;
        let care = move |table: &Table, unused: Space, cut_us: u64| {
            let mut table = table.clone();
            take_care(&mut table, unused.0, now_us, cut_us, wanted);
            Ok::<_, std::convert::Infallible>(table)
        };
        self.logs.change_between_writes(table, care).await?;
        Ok(())
    }

    /// Removes the records before a time, and notes when the next one is from. A record to come is not older than now.
    async fn trim(
        &self,
        table: Option<&LiveTable>,
        log: Log,
        keep_from_us: u64,
        now_us: u64,
    ) -> Result<(), StoreError> {
        let through = LogPosition::through(keep_from_us.saturating_sub(1));
        self.logs.trim(table, log, through).await?;
        let next = self.logs.store.read_log(log, through, 1).await?;
        let until_us = next.first().map_or(now_us, |(position, _)| position.time_us());
        self.empty_until_us.lock().insert(log, until_us);
        Ok(())
    }

    /// For each log the time from which on something reads it.
    async fn needed_from(&self, now_us: u64) -> Result<BTreeMap<Log, u64>, StoreError> {
        let mut needed: BTreeMap<Log, u64> = BTreeMap::new();
        let mut need = |log: Log, from_us: u64| {
            needed.entry(log).and_modify(|known| *known = from_us.min(*known)).or_insert(from_us);
        };
        let stream_from_us = now_us.saturating_sub(micros(RECORD_LIFETIME));
        for table in self.logs.catalog.all() {
            let recovery =
                table.recovery.as_ref().map(|recovery| now_us.saturating_sub(micros(DAY * recovery.days)));
            let copies = table.copies.iter().map(|copy| copy.from_us);
            let stream = table.stream.as_ref().map(|_| stream_from_us);
            let replicas = position::needed_from_us(&self.logs, &table).await?;
            let kinesis = kinesis::needed_from_us(&self.logs, &table).await?;
            let readers = copies.chain(recovery).chain(stream).chain(replicas).chain(kinesis);
            let from_us = readers.min().unwrap_or(now_us);
            table.log.logs().for_each(|log| need(log, from_us));
        }
        for stream in self.logs.catalog.past_streams() {
            stream.shards.iter().map(Shard::log).for_each(|log| need(log, stream_from_us));
        }
        Ok(needed)
    }
}

fn needs_care(table: &Table, now_us: u64, wanted: u16) -> bool {
    let open = table.log.shards.iter().find(|shard| shard.is_open());
    let is_old = |shard: &Shard| now_us.saturating_sub(shard.opened_us) >= micros(SHARD_LIFETIME);
    let too_few = table.log.is_open() && table.log.open_count() * 2 <= usize::from(wanted);
    let oldest_us = now_us.saturating_sub(micros(RECORD_LIFETIME));
    let forgotten =
        table.log.shards.iter().any(|shard| shard.closed_us.is_some_and(|closed| closed < oldest_us));
    open.is_some_and(is_old) || too_few || forgotten
}

/// What is old is decided by the date; shards are closed at the time that divides the records.
fn take_care(table: &mut Table, unused: u64, now_us: u64, cut_us: u64, wanted: u16) {
    table.log.forget_closed_before(now_us.saturating_sub(micros(RECORD_LIFETIME)));
    if !table.log.is_open() {
        return;
    }
    if table.log.open_count() * 2 <= usize::from(wanted) {
        table.log.split(unused, cut_us);
    } else if table
        .log
        .shards
        .iter()
        .any(|shard| shard.is_open() && now_us.saturating_sub(shard.opened_us) >= micros(SHARD_LIFETIME))
    {
        table.log.roll(cut_us);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
