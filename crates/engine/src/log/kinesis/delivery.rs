//! Delivering the changes of a table to one stream: a job for each destination that is on.
//!
//! The log is read shard by shard. Shards are opened and closed together, and within one such generation an item's
//! changes are all in one log; so a generation is delivered to its end before the next one begins, and the changes of
//! an item stay in order when shards are divided.
//!
//! A record that is a day old is given up, as at AWS, so that one that the stream never takes does not hold up the others
//! for longer.
//!
//! Positions are rows, stored once a second and whenever everything is delivered. What was delivered after the last
//! stored position is delivered again after a crash.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use capacity::metric::Metric;
use parking_lot::Mutex;
use store::{LogPosition, Space, StoreError};

use super::record::record;
use super::{KinesisRecord, KinesisStream, PutOutcome};
use crate::background::Job;
use crate::base::change_log::Shard;
use crate::base::kinesis_destination::{KinesisDestination, stream_name};
use crate::log::Logs;
use crate::log::position::{self, Positions};
use crate::log::record::ChangeRecord;
use crate::tables::catalog::LiveTable;
use crate::throughput::dimensions::CellSet;

/// Records that are read from the log at once: two images of 400 KB each fit 32 times into 25 MB.
const READ_RECORDS: usize = 32;
/// Records, and bytes of records, that are put at once: as many as Kinesis takes. One that is larger is put alone.
const PUT_RECORDS: usize = 500;
const PUT_BYTES: usize = 4 << 20;
/// How long a job rests that has nothing to do. It is woken by changes.
const REST: Duration = Duration::from_secs(1);
/// The pauses after a stream took nothing.
const BACK_OFF_MIN: Duration = Duration::from_millis(100);
const BACK_OFF_MAX: Duration = Duration::from_secs(30);
/// How often positions are stored while there is work.
const STORE_INTERVAL_MS: u64 = 1000;
/// How long a record is tried, and how much longer the log has it: a delivery looks at least every [`BACK_OFF_MAX`], so
/// it sees what it gives up.
const TRIED_US: u64 = position::KEPT_US;
const KEPT_US: u64 = TRIED_US + 60 * 60 * 1_000_000;
/// `DelegatedOperation` of the metrics: what is called on behalf of the table.
const PUT_RECORD: CellSet<'_> = CellSet::Delegated("PutRecord");

/// The destinations that are delivered to on this server, by table and reader.
#[derive(Default)]
pub struct Deliveries(Mutex<HashSet<(Space, String)>>);

/// Delivers to one destination for as long as it is on.
struct Delivery {
    logs: Arc<Logs>,
    table: Arc<LiveTable>,
    stream_arn: String,
    /// What tells the destination apart from a later one of the same stream.
    reader: String,
}

/// How far a delivery has come.
struct Progress {
    positions: Positions,
    is_stored: bool,
    stored_ms: u64,
}

/// The next records of a shard, as many as are put at once.
#[derive(Default)]
struct Batch {
    records: Vec<KinesisRecord>,
    /// Where each record is in the log, and how many units of change data capture it takes.
    marks: Vec<(LogPosition, f64)>,
    /// How many records before them are too old, and where the last of these is.
    given_up: usize,
    given_up_through: Option<LogPosition>,
}

/// What a round of deliveries has met.
enum Round {
    /// There was nothing to deliver.
    Idle,
    /// Something was delivered, and there may be more.
    Delivered,
    /// The stream took some of it, and not all.
    Partly,
    /// The stream took nothing, for this reason.
    Refused(String),
}

impl Logs {
    /// Delivers to every destination of the table that is on and not delivered to yet.
    pub(crate) fn start_deliveries(self: &Arc<Logs>, table: &Arc<LiveTable>) {
        for destination in &table.destinations {
            let Some(reader) = destination.reader() else { continue };
            if self.deliveries.0.lock().insert((table.space(), reader.clone())) {
                let (logs, table) = (self.clone(), table.clone());
                let stream_arn = destination.stream_arn.clone();
                self.background.start(Delivery { logs, table, stream_arn, reader });
            }
        }
    }
}

/// The time from which on destinations need a table's log; none if all is delivered.
pub async fn needed_from_us(logs: &Logs, table: &LiveTable) -> Result<Option<u64>, StoreError> {
    let mut needed: Option<u64> = None;
    for destination in &table.destinations {
        let (Some(reader), Some(since_us)) = (destination.reader(), destination.since_us) else { continue };
        let start = LogPosition::through(since_us);
        let from_us = position::needed_by(logs, table, &reader, start, KEPT_US).await?;
        needed = [needed, from_us].into_iter().flatten().min();
    }
    Ok(needed)
}

impl Delivery {
    /// The destination as it is now; none if it is off or the table is gone.
    fn destination(&self, table: &LiveTable) -> Option<KinesisDestination> {
        let destination = table.destination(&self.stream_arn)?;
        (destination.reader().as_ref() == Some(&self.reader)).then(|| destination.clone())
    }

    fn stream(&self) -> Option<Arc<dyn KinesisStream>> {
        let name = stream_name(&self.table.namespace, &self.stream_arn).ok()?;
        self.logs.kinesis.get(name)
    }

    /// Puts once from each shard of the oldest generation that is not delivered to its end.
    async fn deliver(
        &self,
        table: &LiveTable,
        destination: &KinesisDestination,
        progress: &mut Progress,
    ) -> Result<Round, StoreError> {
        let Some(stream) = self.stream() else {
            return Ok(Round::Refused("the server knows no such stream".to_owned()));
        };
        for generation in generations(&table.log.shards) {
            let mut is_idle = true;
            for shard in generation {
                match self.deliver_shard(table, destination, shard, &*stream, progress).await? {
                    Round::Idle => {}
                    Round::Delivered => is_idle = false,
                    round @ (Round::Partly | Round::Refused(_)) => return Ok(round),
                }
            }
            if !is_idle {
                return Ok(Round::Delivered);
            }
        }
        Ok(Round::Idle)
    }

    async fn deliver_shard(
        &self,
        table: &LiveTable,
        destination: &KinesisDestination,
        shard: &Shard,
        stream: &dyn KinesisStream,
        progress: &mut Progress,
    ) -> Result<Round, StoreError> {
        let start = LogPosition::through(destination.since_us.unwrap_or(0)).max(shard.start());
        let after = progress.positions.get(&shard.log()).copied().unwrap_or(start).max(start);
        if shard.end().is_some_and(|end| after >= end) {
            return Ok(Round::Idle);
        }
        let batch = self.read(table, destination, shard, after).await?;
        if let Some(through) = batch.given_up_through {
            tracing::warn!(
                records = batch.given_up,
                subject = self.subject(),
                "changes are given up after a day"
            );
            self.count(table, &[(Metric::FailedToReplicateRecordCount, batch.given_up as f64)]);
            progress.set(shard, through);
        }
        let Some((oldest, _)) = batch.marks.first() else {
            if batch.given_up > 0 {
                return Ok(Round::Delivered);
            }
            shard.end().into_iter().for_each(|end| progress.set(shard, end));
            return Ok(Round::Idle);
        };
        let age_us = self.logs.environment.now_us().saturating_sub(oldest.time_us());
        self.count(table, &[(Metric::AgeOfOldestUnreplicatedRecord, age_us as f64 / 1000.0)]);
        let PutOutcome { arrived, throttled, obstacle } = stream.put(&batch.records).await;
        if throttled > 0 {
            self.count(table, &[(Metric::ThrottledPutRecordCount, throttled as f64)]);
        }
        let arrived = &batch.marks[..arrived.min(batch.marks.len())];
        let Some((last, _)) = arrived.last() else {
            return Ok(Round::Refused(obstacle.unwrap_or_else(|| "the stream takes no records".to_owned())));
        };
        let units = |(_, units): &(LogPosition, f64)| (Metric::ConsumedChangeDataCaptureUnits, *units);
        self.count(table, &arrived.iter().map(units).collect::<Vec<_>>());
        progress.set(shard, *last);
        Ok(if arrived.len() == batch.marks.len() { Round::Delivered } else { Round::Partly })
    }

    fn count(&self, table: &LiveTable, values: &[(Metric, f64)]) {
        if !self.logs.usage.is_off() {
            table.meter.figures.add(PUT_RECORD, values, self.logs.usage.now().ms);
        }
    }

    async fn read(
        &self,
        table: &LiveTable,
        destination: &KinesisDestination,
        shard: &Shard,
        mut after: LogPosition,
    ) -> Result<Batch, StoreError> {
        let tried_since_us = self.logs.environment.now_us().saturating_sub(TRIED_US);
        let (mut batch, mut bytes) = (Batch::default(), 0);
        let log = shard.log();
        loop {
            let read = self.logs.store.read_log(log, after, READ_RECORDS).await?;
            let is_last = read.len() < READ_RECORDS;
            for (position, change) in read {
                let is_full = batch.marks.len() + batch.given_up == PUT_RECORDS;
                if is_full || shard.end().is_some_and(|end| position > end) {
                    return Ok(batch);
                }
                after = position;
                if position.time_us() < tried_since_us {
                    batch.given_up += 1;
                    batch.given_up_through = Some(position);
                    continue;
                }
                let change = ChangeRecord::decode(change)?;
                let record = record(table, destination.precision, log, position, &change);
                bytes += record.data.len();
                if bytes > PUT_BYTES && !batch.records.is_empty() {
                    return Ok(batch);
                }
                batch.marks.push((position, change.write_units()));
                batch.records.push(record);
            }
            if is_last {
                return Ok(batch);
            }
        }
    }

    /// Stores how far it is, unless that was done a moment ago.
    async fn store(
        &self,
        table: &LiveTable,
        progress: &mut Progress,
        interval_ms: u64,
    ) -> Result<(), StoreError> {
        let now_ms = self.logs.environment.now_ms();
        if progress.is_stored || now_ms.saturating_sub(progress.stored_ms) < interval_ms {
            return Ok(());
        }
        position::write(&self.logs, table, &self.reader, &progress.positions).await?;
        (progress.is_stored, progress.stored_ms) = (true, now_ms);
        Ok(())
    }

    async fn work(&self) -> Result<(), StoreError> {
        let logs = &*self.logs;
        // It may have more logs than when the job was started.
        let mut table = logs.catalog.successor(&self.table).unwrap_or_else(|| self.table.clone());
        let positions = position::read(logs, &table, &self.reader).await?;
        let mut progress = Progress { positions, is_stored: true, stored_ms: logs.environment.now_ms() };
        let (mut back_off, mut obstacle) = (BACK_OFF_MIN, None);
        loop {
            // Made before the work, so that no change is missed in between.
            let changed = self.table.changed.clone().notified_owned();
            let Some(current) = logs.catalog.successor(&self.table) else { break };
            table = current;
            let Some(destination) = self.destination(&table) else { break };
            let round = self.deliver(&table, &destination, &mut progress).await?;
            let interval_ms = if matches!(round, Round::Delivered) { STORE_INTERVAL_MS } else { 0 };
            self.store(&table, &mut progress, interval_ms).await?;
            match round {
                Round::Delivered => {
                    (back_off, obstacle) = (BACK_OFF_MIN, None);
                    tokio::task::yield_now().await;
                }
                Round::Partly => {
                    (back_off, obstacle) = (BACK_OFF_MIN, None);
                    logs.environment.sleep(BACK_OFF_MIN).await;
                }
                Round::Idle => tokio::select! {
                    biased;
                    () = changed => {}
                    () = logs.environment.sleep(REST) => {}
                },
                Round::Refused(reason) => {
                    if obstacle.as_ref() != Some(&reason) {
                        tracing::warn!(reason, subject = self.subject(), "changes wait for a Kinesis stream");
                        obstacle = Some(reason);
                    }
                    logs.environment.sleep(back_off).await;
                    back_off = (back_off * 2).min(BACK_OFF_MAX);
                }
            }
        }
        position::forget(logs, &table, &self.reader).await
    }
}

impl Progress {
    fn set(&mut self, shard: &Shard, position: LogPosition) {
        self.positions.insert(shard.log(), position);
        self.is_stored = false;
    }
}

impl Job for Delivery {
    fn name(&self) -> &'static str {
        "Kinesis delivery"
    }

    fn subject(&self) -> String {
        format!("{} to {}", self.table.full_name(), self.reader)
    }

    /// It works for as long as the destination is on, so it must not take the turn of others.
    fn is_short(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StoreError> {
        self.work().await
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.logs.deliveries.0.lock().remove(&(self.table.space(), self.reader.clone()));
    }
}

/// The shards that were opened together, the oldest first.
fn generations(shards: &[Shard]) -> impl Iterator<Item = &[Shard]> {
    shards.chunk_by(|one, other| one.opened_us == other.opened_us)
}
