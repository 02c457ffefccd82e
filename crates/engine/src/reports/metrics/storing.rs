//! Storing: what changed, every few seconds, one row for a subject and minute. Rows that are too old are removed.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use store::{Key, Partition, Position, Range, StoreError, WriteSet};

use super::HOUR_MINUTES;
use super::list::Names;
use crate::Namespace;
use crate::background::Job;
use crate::base::rows::{ROWS_PER_COMMIT, delete_rows, put_rows, visit_rows};
use crate::base::space;
use crate::reports::Reports;
use crate::throughput::counting::MINUTE_MS;
use crate::throughput::counting::{Figures, Sets};

/// How often what changed is stored: a killed process loses no more than this.
const STORE_INTERVAL: Duration = Duration::from_secs(5);
/// How long minutes are kept.
const KEPT_MINUTES: u64 = 15 * 24 * 60;

/// After this number of runs that found nothing new, the database is at rest: two minutes.
const RUNS_UNTIL_REST: u32 = 24;

/// Stores figures for as long as the database is open. At rest it looks at tables once an hour: there may be thousands.
pub struct KeepMetrics {
    reports: Arc<Reports>,
    /// Runs since figures last changed.
    quiet_runs: AtomicU32,
    /// When it last looked at all tables.
    looked_minute: AtomicU64,
}

impl KeepMetrics {
    /// Of all tables and accounts.
    pub fn new(reports: Arc<Reports>) -> KeepMetrics {
        KeepMetrics { reports, quiet_runs: AtomicU32::new(0), looked_minute: AtomicU64::new(0) }
    }

    fn is_at_rest(&self, minute: u64) -> bool {
        if self.reports.usage.metrics.has_unstored() {
            self.quiet_runs.store(0, Ordering::Relaxed);
            return false;
        }
        self.quiet_runs.fetch_add(1, Ordering::Relaxed) >= RUNS_UNTIL_REST
            && minute < self.looked_minute.load(Ordering::Relaxed) + HOUR_MINUTES
    }
}

impl Job for KeepMetrics {
    fn name(&self) -> &'static str {
        "keeping of metrics"
    }

    fn subject(&self) -> String {
        "all tables".into()
    }

    fn delay(&self) -> Duration {
        STORE_INTERVAL
    }

    fn interval(&self) -> Option<Duration> {
        Some(STORE_INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    /// Each server stores what it counted.
    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        let reports = &*self.reports;
        let now_ms = reports.usage.now().ms;
        if self.is_at_rest(now_ms / MINUTE_MS) {
            return reports.keep_clock(STORE_INTERVAL).await;
        }
        self.looked_minute.store(now_ms / MINUTE_MS, Ordering::Relaxed);
        reports.sample_tables(now_ms);
        reports.log_shadow(now_ms);
        reports.trim_heat(now_ms);
        reports.keep_figures(STORE_INTERVAL).await?;
        reports.keep_learned().await?;
        reports.usage.metrics.forget_unused(now_ms / MINUTE_MS);
        reports.trim_metrics(now_ms / MINUTE_MS).await
    }
}

impl Reports {
    /// Stores everything that was counted and the store lacks. It is done again in `interval`, or not at all.
    pub(crate) async fn keep_figures(&self, interval: Duration) -> Result<(), StoreError> {
        self.keep_metrics().await?;
        self.keep_insights().await?;
        self.keep_clock(interval).await
    }

    /// Notes what tables declare: every five minutes while they are used, and otherwise every hour.
    fn sample_tables(&self, now_ms: u64) {
        let minute = now_ms / MINUTE_MS;
        for table in self.catalog.all() {
            table.meter.set_sizes(&table.table, |space| table.sizes.shown(space));
            let last = table.meter.sampled_minute.load(Ordering::Relaxed);
            let is_used = table.meter.figures.open.lock().is_changed;
            let interval = if is_used { 5 } else { HOUR_MINUTES };
            if minute >= last + interval {
                table.meter.sampled_minute.store(minute, Ordering::Relaxed);
                table.meter.figures.sample(&table, now_ms);
            }
        }
    }

    /// Stores all figures that the store lacks.
    async fn keep_metrics(&self) -> Result<(), StoreError> {
        // First, because minutes that ended are not in memory any more when they are stored.
        self.note_metrics().await?;
        let run = self.usage.metrics.run;
        let mut unstored: Vec<(Arc<Figures>, u64)> = Vec::new();
        let mut rows: Vec<(Key, Bytes)> = Vec::new();
        for figures in self.usage.metrics.all() {
            for (minute, sets) in figures.open.lock().unstored() {
                unstored.push((figures.clone(), minute));
                rows.push((row_key(&figures.namespace, &figures.subject, minute, run), sets.encode()));
            }
        }
        for (unstored, rows) in unstored.chunks(ROWS_PER_COMMIT).zip(rows.chunks(ROWS_PER_COMMIT)) {
            put_rows(&*self.store, rows).await?;
            for ((figures, minute), (_, row)) in unstored.iter().zip(rows) {
                figures.is_stored(*minute, row);
            }
        }
        Ok(())
    }

    /// Stores what tables have learned from their traffic, where that changed.
    async fn keep_learned(&self) -> Result<(), StoreError> {
        if !self.usage.enforcement.models_aws() {
            return Ok(());
        }
        let mut learned = Vec::new();
        // They are kept by space: of strong replicas, one stands for all.
        for table in self.catalog.all_rows_once() {
            learned.extend(table.meter.learned(&table));
        }
        let known = &self.usage.metrics.learned;
        learned.retain(|(space, learned)| known.lock().get(space) != Some(learned));
        let row = |(space, learned): &(_, Vec<u8>)| (space::learned_key(*space), learned.clone().into());
        let rows: Vec<(Key, Bytes)> = learned.iter().map(row).collect();
        put_rows(&*self.store, &rows).await?;
        known.lock().extend(learned);
        Ok(())
    }

    /// Removes minutes that are too old, once an hour.
    async fn trim_metrics(&self, minute: u64) -> Result<(), StoreError> {
        let last = self.usage.metrics.trimmed_minute.load(Ordering::Relaxed);
        if minute < last + HOUR_MINUTES {
            return Ok(());
        }
        let mut subjects = Vec::new();
        visit_rows(&*self.store, &Range::all(space::METRIC_NAMES), |key, row| {
            subjects.push((key, Names::decode(&row)?));
            Ok(())
        })
        .await?;
        for (key, names) in subjects {
            let old =
                minutes_range(&names.namespace(), &names.subject, 0..minute.saturating_sub(KEPT_MINUTES));
            delete_rows(&*self.store, &old).await?;
            if names.last_minute() + KEPT_MINUTES < minute {
                let delete = || WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
                self.store.update(std::slice::from_ref(&key), &mut |_| delete()).await?;
            }
        }
        self.trim_insights(minute).await?;
        self.usage.metrics.trimmed_minute.store(minute, Ordering::Relaxed);
        Ok(())
    }
}

impl Figures {
    /// The row of a minute is stored. The minute may have more than that by now, whether it ended or not.
    fn is_stored(&self, minute: u64, row: &Bytes) {
        let mut open = self.open.lock();
        open.ended.retain(|(ended, sets)| *ended != minute || sets.encode() != *row);
        if open.minute == minute && open.sets.encode() == *row {
            open.is_changed = false;
        }
    }
}

/// The minute and the run of a row, and its figures.
pub fn read_row(key: &Key, row: &[u8]) -> Result<(u64, u64, Sets), StoreError> {
    let corrupt = |reason: String| StoreError::Corrupt(format!("a minute of metrics: {reason}"));
    let (minute, run) = key.position.sort.split_at_checked(8).unwrap_or_default();
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
    let (minute, run) =
        number(minute).zip(number(run)).ok_or_else(|| corrupt("its key is no minute".to_owned()))?;
    Ok((minute, run, Sets::decode(row).map_err(corrupt)?))
}

/// The rows of a subject in some minutes.
pub fn minutes_range(namespace: &Namespace, subject: &str, minutes: std::ops::Range<u64>) -> Range {
    let partition = partition(namespace, subject);
    let at = |minute: u64| Position { partition, sort: minute.to_be_bytes().to_vec() };
    let (start, end) = (Bound::Included(at(minutes.start)), Bound::Excluded(at(minutes.end)));
    Range { space: space::METRICS, start, end }
}

fn row_key(namespace: &Namespace, subject: &str, minute: u64, run: u64) -> Key {
    let sort = [minute.to_be_bytes(), run.to_be_bytes()].concat();
    Key { space: space::METRICS, position: Position { partition: partition(namespace, subject), sort } }
}

fn partition(namespace: &Namespace, subject: &str) -> Partition {
    space::hashed(&format!("{}/{}/{subject}", namespace.account, namespace.region))
}
