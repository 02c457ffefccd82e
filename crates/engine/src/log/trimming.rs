//! A job that closes shards after some hours and removes the records that no reader needs any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use api::streams::limits::RECORD_LIFETIME;
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
    pub logs: Arc<Logs>,
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
        let now_us = self.logs.clock.now_us(&*self.logs.environment);
        for table in self.logs.catalog.all() {
            self.keep_shards(&table, now_us).await?;
        }
        self.logs.catalog.forget_past_streams(now_us.saturating_sub(micros(RECORD_LIFETIME))).await?;
        let tables = self.logs.catalog.all();
        for (log, keep_from_us) in self.needed_from(now_us).await? {
            let table = tables.iter().find(|table| table.log.logs().any(|own| own == log));
            let through = LogPosition::through(keep_from_us.saturating_sub(1));
            self.logs.trim(table.map(|table| &**table), log, through).await?;
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
        let care = move |table: &Table, unused: Space, now_us: u64| {
            let mut table = table.clone();
            take_care(&mut table, unused.0, now_us, wanted);
            Ok::<_, std::convert::Infallible>(table)
        };
        self.logs.change_between_writes(table, care).await?;
        Ok(())
    }

    /// For each log the time from which on something reads it.
    async fn needed_from(&self, now_us: u64) -> Result<HashMap<Log, u64>, StoreError> {
        let mut needed: HashMap<Log, u64> = HashMap::new();
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

fn take_care(table: &mut Table, unused: u64, now_us: u64, wanted: u16) {
    table.log.forget_closed_before(now_us.saturating_sub(micros(RECORD_LIFETIME)));
    if !table.log.is_open() {
        return;
    }
    if table.log.open_count() * 2 <= usize::from(wanted) {
        table.log.split(unused, now_us);
    } else if table
        .log
        .shards
        .iter()
        .any(|shard| shard.is_open() && now_us.saturating_sub(shard.opened_us) >= micros(SHARD_LIFETIME))
    {
        table.log.roll(now_us);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
