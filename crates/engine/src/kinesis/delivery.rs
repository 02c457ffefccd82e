//! Delivering the changes of a table to one stream: a job for each destination that is on.
//!
//! The log is read shard by shard. Shards are opened and closed together, and within one such generation an item's
//! changes are all in one log; so a generation is delivered to its end before the next one begins, and the changes of
//! an item stay in order when shards are divided.
//!
//! Positions are rows, stored once a second and whenever everything is delivered. What was delivered after the last
//! stored position is delivered again after a crash.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use store::{LogPosition, Space, StoreError};

use super::destination::{Destination, stream_name};
use super::record::record;
use super::{KinesisRecord, KinesisStream};
use crate::background::Job;
use crate::catalog::LiveTable;
use crate::change::{Change, Shard};
use crate::replication::position::{self, Positions};
use crate::shared::Core;

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

/// The destinations that are delivered to on this server, by table and reader.
#[derive(Default)]
pub struct Deliveries(Mutex<HashSet<(Space, String)>>);

/// Delivers to one destination for as long as it is on.
struct Delivery {
    core: Arc<Core>,
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

impl Core {
    /// Delivers to every destination of the table that is on and not delivered to yet.
    pub(crate) fn start_deliveries(self: &Arc<Core>, table: &Arc<LiveTable>) {
        for destination in &table.destinations {
            let Some(reader) = destination.reader() else { continue };
            if self.deliveries.0.lock().insert((table.space(), reader.clone())) {
                let (core, table) = (self.clone(), table.clone());
                let stream_arn = destination.stream_arn.clone();
                self.background.start(Delivery { core, table, stream_arn, reader });
            }
        }
    }
}

/// The time from which on destinations need a table's log; none if all is delivered.
pub async fn needed_from_us(core: &Core, table: &LiveTable) -> Result<Option<u64>, StoreError> {
    let mut needed: Option<u64> = None;
    for destination in &table.destinations {
        let (Some(reader), Some(since_us)) = (destination.reader(), destination.since_us) else { continue };
        let start = LogPosition::through(since_us);
        let from_us = position::needed_by(core, table, &reader, start).await?;
        needed = [needed, from_us].into_iter().flatten().min();
    }
    Ok(needed)
}

impl Delivery {
    /// The destination as it is now; none if it is off or the table is gone.
    fn destination(&self, table: &LiveTable) -> Option<Destination> {
        let destination = table.destination(&self.stream_arn)?;
        (destination.reader().as_ref() == Some(&self.reader)).then(|| destination.clone())
    }

    fn stream(&self) -> Option<Arc<dyn KinesisStream>> {
        let name = stream_name(&self.table.namespace, &self.stream_arn).ok()?;
        self.core.options.kinesis.get(name)
    }

    /// Puts once from each shard of the oldest generation that is not delivered to its end.
    async fn deliver(
        &self,
        table: &LiveTable,
        destination: &Destination,
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
        destination: &Destination,
        shard: &Shard,
        stream: &dyn KinesisStream,
        progress: &mut Progress,
    ) -> Result<Round, StoreError> {
        let start = LogPosition::through(destination.since_us.unwrap_or(0)).max(shard.start());
        let after = progress.positions.get(&shard.log()).copied().unwrap_or(start).max(start);
        if shard.end().is_some_and(|end| after >= end) {
            return Ok(Round::Idle);
        }
        let found = self.read(table, destination, shard, after).await?;
        let (positions, records): (Vec<LogPosition>, Vec<KinesisRecord>) = found.into_iter().unzip();
        if records.is_empty() {
            shard.end().into_iter().for_each(|end| progress.set(shard, end));
            return Ok(Round::Idle);
        }
        let arrived = match stream.put(&records).await {
            Ok(arrived) => arrived.min(records.len()),
            Err(reason) => return Ok(Round::Refused(reason)),
        };
        let Some(last) = arrived.checked_sub(1) else {
            return Ok(Round::Refused("the stream takes no records".to_owned()));
        };
        progress.set(shard, positions[last]);
        Ok(if arrived == records.len() { Round::Delivered } else { Round::Partly })
    }

    /// The next records of a shard, as many as are put at once.
    async fn read(
        &self,
        table: &LiveTable,
        destination: &Destination,
        shard: &Shard,
        mut after: LogPosition,
    ) -> Result<Vec<(LogPosition, KinesisRecord)>, StoreError> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        let log = shard.log();
        loop {
            let read = self.core.store.read_log(log, after, READ_RECORDS).await?;
            let is_last = read.len() < READ_RECORDS;
            for (position, change) in read {
                let change = Change::decode(change)?;
                let record = record(table, destination.precision, log, position, &change);
                bytes += record.data.len();
                let is_full = found.len() == PUT_RECORDS || (bytes > PUT_BYTES && !found.is_empty());
                if is_full || shard.end().is_some_and(|end| position > end) {
                    return Ok(found);
                }
                after = position;
                found.push((position, record));
            }
            if is_last {
                return Ok(found);
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
        let now_ms = self.core.environment.now_ms();
        if progress.is_stored || now_ms.saturating_sub(progress.stored_ms) < interval_ms {
            return Ok(());
        }
        position::write(&self.core, table, &self.reader, &progress.positions).await?;
        (progress.is_stored, progress.stored_ms) = (true, now_ms);
        Ok(())
    }

    async fn work(&self) -> Result<(), StoreError> {
        let core = &*self.core;
        // It may have more logs than when the job was started.
        let mut table = core.catalog.successor(&self.table).unwrap_or_else(|| self.table.clone());
        let positions = position::read(core, &table, &self.reader).await?;
        let mut progress = Progress { positions, is_stored: true, stored_ms: core.environment.now_ms() };
        let (mut back_off, mut obstacle) = (BACK_OFF_MIN, None);
        loop {
            // Made before the work, so that no change is missed in between.
            let changed = self.table.changed.clone().notified_owned();
            let Some(current) = core.catalog.successor(&self.table) else { break };
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
                    core.environment.sleep(BACK_OFF_MIN).await;
                }
                Round::Idle => tokio::select! {
                    () = changed => {}
                    () = core.environment.sleep(REST) => {}
                },
                Round::Refused(reason) => {
                    if obstacle.as_ref() != Some(&reason) {
                        tracing::warn!(reason, subject = self.subject(), "changes wait for a Kinesis stream");
                        obstacle = Some(reason);
                    }
                    core.environment.sleep(back_off).await;
                    back_off = (back_off * 2).min(BACK_OFF_MAX);
                }
            }
        }
        position::forget(core, &table, &self.reader).await
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
        self.core.deliveries.0.lock().remove(&(self.table.space(), self.reader.clone()));
    }
}

/// The shards that were opened together, the oldest first.
fn generations(shards: &[Shard]) -> impl Iterator<Item = &[Shard]> {
    shards.chunk_by(|one, other| one.opened_us == other.opened_us)
}
