//! Runs one mapping: finds its shards, reads each in order of lineage, and does what its poller decides.
//!
//! ```text
//! describe the stream    shards whose parents are finished are started
//! for each shard:
//!   read                   until the poller has no room, or there is nothing new
//!   step                   report failures, then store the position, then call the function
//!   wait                   for an outcome, a new record, the poller's time, or the end
//! ```
//!
//! A failure of the stream or the store is tried again after a pause, for as long as the mapping is enabled. A
//! driver can be stopped at any await: it goes on from the stored positions.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use api::streams::{
    DescribeStreamInput, GetRecordsInput, GetShardIteratorInput, KeySchemaElement, Record, Shard,
    ShardIteratorType,
};
use api::{ErrorKind, KeyType};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::batch::{Failure, Outcome};
use crate::destination::Destinations;
use crate::event::Entry;
use crate::function::Functions;
use crate::mapping::{Delivery, Mapping, StartingPosition};
use crate::metrics::Metrics;
use crate::outside::{Environment, Rows, RowsError, Streams};
use crate::poller::{Invocation, Poller, Position};

/// How often a shard is read without a sign of new records.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often the stream is asked for new shards without a sign of them.
const DESCRIBE_INTERVAL: Duration = Duration::from_secs(10);
/// The pause after a failure of the stream or the store.
const FAULT_PAUSE: Duration = Duration::from_secs(1);
/// Tries to report a failure.
const REPORT_TRIES: u32 = 5;
/// Pages of shards that one look at a stream reads: 100,000 shards.
const DESCRIBE_PAGES_MAX: usize = 1000;

/// What drivers use.
pub struct Outside {
    pub streams: Arc<dyn Streams>,
    pub rows: Arc<dyn Rows>,
    pub environment: Arc<dyn Environment>,
    pub functions: Functions,
    pub destinations: Destinations,
}

/// What a driver tells about itself.
#[derive(Debug)]
pub struct Status {
    pub metrics: Mutex<Metrics>,
    /// In Lambda's words.
    pub last_result: Mutex<String>,
}

impl Default for Status {
    fn default() -> Status {
        Status { metrics: Mutex::default(), last_result: Mutex::new("No records processed".to_owned()) }
    }
}

/// Runs one mapping.
pub struct Driver {
    pub mapping: Arc<Mapping>,
    pub delivery: Arc<Delivery>,
    pub outside: Arc<Outside>,
    pub status: Arc<Status>,
    /// True when no more calls are to be started.
    pub stop: watch::Receiver<bool>,
}

/// Why a step did not succeed.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("reading the stream: {0}")]
    Stream(#[from] api::Error),
    #[error("storing a position: {0}")]
    Rows(#[from] RowsError),
    #[error("{0}")]
    Unreadable(String),
}

/// The shards of a stream, and the name of its table's partition key.
struct Description {
    shards: Vec<Shard>,
    partition_key: String,
}

/// Where the reading of a shard is.
struct Reader {
    shard_id: String,
    partition_key: String,
    iterator: Option<String>,
    /// The last record that was read.
    sequence_number: Option<String>,
    start: StartingPosition,
}

type ShardRun<'d> = Pin<Box<dyn Future<Output = String> + Send + 'd>>;

/// The row of a shard's position.
pub fn position_row(uuid: &str, shard_id: &str) -> String {
    format!("{}{shard_id}", position_prefix(uuid))
}

/// What the rows of a mapping's positions begin with.
pub fn position_prefix(uuid: &str) -> String {
    format!("trigger/position/{uuid}/")
}

impl Driver {
    /// Works until it is stopped. Calls under way are waited for.
    pub async fn run(self) {
        let mut shards: FuturesUnordered<ShardRun<'_>> = FuturesUnordered::new();
        let mut active = BTreeSet::new();
        let mut stop = self.stop.clone();
        while !*stop.borrow() {
            let pause = match self.startable(&active).await {
                Ok(startable) => {
                    for (reader, position) in startable {
                        active.insert(reader.shard_id.clone());
                        shards.push(Box::pin(self.run_shard(reader, position)));
                    }
                    DESCRIBE_INTERVAL
                }
                Err(fault) => {
                    self.note_fault(&fault);
                    if fault.is_shard_gone() { DESCRIBE_INTERVAL } else { FAULT_PAUSE }
                }
            };
            tokio::select! {
                biased;
                Some(shard_id) = shards.next(), if !shards.is_empty() => {
                    active.remove(&shard_id);
                }
                () = self.outside.environment.sleep(pause) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
        while shards.next().await.is_some() {}
    }

    /// The shards that are neither read nor finished, and whose parents are finished.
    async fn startable(&self, active: &BTreeSet<String>) -> Result<Vec<(Reader, Position)>, Fault> {
        let description = self.describe().await?;
        let ids: BTreeSet<&str> = description.shards.iter().filter_map(|s| s.shard_id.as_deref()).collect();
        let mut positions = self.positions().await?;
        for gone in positions.keys().filter(|shard| !ids.contains(shard.as_str())) {
            self.outside.rows.delete(&position_row(&self.mapping.uuid, gone)).await?;
        }
        let is_finished = |positions: &BTreeMap<String, Position>, shard: &str| {
            positions.get(shard).is_some_and(|position| position.is_finished)
        };
        let mut startable = Vec::new();
        for shard in &description.shards {
            let Some(id) = shard.shard_id.as_deref() else { continue };
            let parent = shard.parent_shard_id.as_deref().filter(|parent| ids.contains(parent));
            let waits = parent.is_some_and(|parent| !is_finished(&positions, parent));
            if waits || active.contains(id) || is_finished(&positions, id) {
                continue;
            }
            let position = positions.remove(id).unwrap_or_default();
            startable.push((self.reader(id, &description.partition_key, &position), position));
        }
        Ok(startable)
    }

    fn reader(&self, shard_id: &str, partition_key: &str, position: &Position) -> Reader {
        Reader {
            shard_id: shard_id.to_owned(),
            partition_key: partition_key.to_owned(),
            iterator: None,
            sequence_number: position.sequence_number.clone(),
            start: self.mapping.starting_position,
        }
    }

    async fn describe(&self) -> Result<Description, Fault> {
        let (mut shards, mut start) = (Vec::new(), None);
        for _ in 0..DESCRIBE_PAGES_MAX {
            let input = DescribeStreamInput {
                stream_arn: self.mapping.stream_arn.clone(),
                exclusive_start_shard_id: start,
                ..DescribeStreamInput::default()
            };
            let output = self.outside.streams.describe_stream(&self.mapping.namespace, input).await?;
            let page = output.stream_description.unwrap_or_default();
            shards.extend(page.shards.unwrap_or_default());
            start = page.last_evaluated_shard_id;
            if start.is_none() {
                let partition_key = partition_key(page.key_schema.unwrap_or_default());
                let partition_key = partition_key
                    .ok_or_else(|| Fault::Unreadable("the stream shows no key schema".into()))?;
                return Ok(Description { shards, partition_key });
            }
        }
        Err(Fault::Unreadable("the stream has too many shards".into()))
    }

    async fn positions(&self) -> Result<BTreeMap<String, Position>, Fault> {
        let prefix = position_prefix(&self.mapping.uuid);
        let rows = self.outside.rows.list(&prefix).await?;
        rows.into_iter()
            .map(|(name, row)| {
                let position = serde_json::from_slice(&row)
                    .map_err(|error| Fault::Unreadable(format!("the row {name}: {error}")))?;
                Ok((name[prefix.len()..].to_owned(), position))
            })
            .collect()
    }

    /// Reads and delivers one shard until it is finished or gone, or the driver is stopped. Returns its id.
    async fn run_shard(&self, mut reader: Reader, position: Position) -> String {
        let environment = &self.outside.environment;
        let mut poller = Poller::new(self.delivery.clone(), &reader.shard_id, position, environment.now_ms());
        let mut calls = FuturesUnordered::new();
        let mut unstored = None;
        let mut stop = self.stop.clone();
        loop {
            let is_stopping = *stop.borrow();
            // Asked for before reading, so that no record falls between the two.
            let mut changed = self.outside.streams.changed(&self.mapping.stream_arn);
            if is_stopping {
                poller.stop();
            }
            let read = self.read(&mut reader, &mut poller).await;
            let now_ms = environment.now_ms();
            let step = poller.step(now_ms);
            self.report(step.failures).await;
            unstored = poller.take_position().or(unstored);
            let stored = self.store(&reader.shard_id, &mut unstored).await;
            self.publish(&mut poller);
            calls.extend(step.invocations.into_iter().map(|invocation| self.call(invocation)));

            let fault = read.and(stored).err();
            let is_gone = fault.as_ref().is_some_and(Fault::is_shard_gone);
            fault.iter().for_each(|fault| self.note_fault(fault));
            let is_finished = poller.is_finished() && unstored.is_none();
            if is_finished || ((is_stopping || is_gone) && calls.is_empty()) {
                // A shard that is gone is looked for no sooner than after a pause.
                environment.sleep(if is_gone { FAULT_PAUSE } else { Duration::ZERO }).await;
                return reader.shard_id;
            }
            let is_reading = fault.is_none() && poller.has_room();
            let pause = if fault.is_some() { FAULT_PAUSE } else { POLL_INTERVAL };
            let until_wake = step.wake_at_ms.map(|time| Duration::from_millis(time.saturating_sub(now_ms)));
            tokio::select! {
                biased;
                Some((lane, outcome)) = calls.next(), if !calls.is_empty() => {
                    poller.finish(lane, &outcome, environment.now_ms());
                }
                () = &mut changed, if is_reading => {}
                () = environment.sleep(until_wake.map_or(pause, |time| time.min(pause))) => {}
                _ = stop.wait_for(|stop| *stop), if !is_stopping => {}
            }
        }
    }

    /// Reads until the poller has no room or there is nothing new.
    async fn read(&self, reader: &mut Reader, poller: &mut Poller) -> Result<(), Fault> {
        while poller.has_room() {
            let is_new = reader.iterator.is_none();
            let iterator = match reader.iterator.take() {
                Some(iterator) => iterator,
                None => match self.iterator(reader).await {
                    Ok(iterator) => iterator,
                    Err(Fault::Stream(error)) if self.skips_trimmed(reader, &error) => continue,
                    Err(fault) => return Err(fault),
                },
            };
            let input = GetRecordsInput { shard_iterator: iterator, limit: None };
            let output = match self.outside.streams.get_records(&self.mapping.namespace, input).await {
                Ok(output) => output,
                // After a long stall. A new iterator goes on from the last record.
                Err(error) if error.kind == ErrorKind::ExpiredIterator && !is_new => continue,
                Err(error) if self.skips_trimmed(reader, &error) => continue,
                Err(error) => return Err(error.into()),
            };
            let records = output.records.unwrap_or_default();
            let entries = self.entries(reader, &records)?;
            reader.sequence_number =
                entries.last().map(|entry| entry.sequence_number.clone()).or(reader.sequence_number.take());
            poller.offer(entries, self.outside.environment.now_ms());
            reader.iterator = output.next_shard_iterator;
            if reader.iterator.is_none() {
                poller.close();
            }
            if records.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn entries(&self, reader: &Reader, records: &[Record]) -> Result<Vec<Entry>, Fault> {
        let entries =
            records.iter().map(|record| Entry::new(record, &self.mapping.stream_arn, &reader.partition_key));
        entries.collect::<Result<_, _>>().map_err(|error| Fault::Unreadable(error.to_string()))
    }

    async fn iterator(&self, reader: &Reader) -> Result<String, Fault> {
        let mut input = GetShardIteratorInput {
            stream_arn: self.mapping.stream_arn.clone(),
            shard_id: reader.shard_id.clone(),
            sequence_number: reader.sequence_number.clone(),
            ..GetShardIteratorInput::default()
        };
        input.shard_iterator_type = match (&reader.sequence_number, reader.start) {
            (Some(_), _) => ShardIteratorType::AfterSequenceNumber,
            (None, StartingPosition::TrimHorizon) => ShardIteratorType::TrimHorizon,
            (None, StartingPosition::Latest) => {
                // Latest at the create call, for every shard that there is or will be.
                input.timestamp = Some(self.mapping.created_ms as f64 / 1000.0);
                ShardIteratorType::AtTimestamp
            }
        };
        let output = self.outside.streams.get_shard_iterator(&self.mapping.namespace, input).await?;
        output.shard_iterator.ok_or_else(|| Fault::Unreadable("the stream gives no iterator".into()))
    }

    /// A position that is older than every record of the stream: reading goes on from the oldest that is left.
    /// That is no loss after a quiet day, and one if records could not be delivered for a day.
    fn skips_trimmed(&self, reader: &mut Reader, error: &api::Error) -> bool {
        let is_at_oldest = reader.sequence_number.is_none() && reader.start == StartingPosition::TrimHorizon;
        if error.kind != ErrorKind::TrimmedDataAccess || is_at_oldest {
            return false;
        }
        let (mapping, shard) = (&self.mapping.uuid, &reader.shard_id);
        tracing::warn!(
            mapping,
            shard,
            "the position is older than the stream: going on from its oldest record"
        );
        (reader.sequence_number, reader.start) = (None, StartingPosition::TrimHorizon);
        true
    }

    async fn call(&self, invocation: Invocation) -> (usize, Outcome) {
        let environment = &self.outside.environment;
        let begun_ms = environment.now_ms();
        let outcome = match self.outside.functions.get(&self.mapping.function_name) {
            Some(function) => function.invoke(invocation.event).await,
            None => Outcome::Unreachable {
                reason: format!("no function {} is configured", self.mapping.function_name),
                throttled: false,
            },
        };
        self.status.metrics.lock().duration_ms += environment.now_ms().saturating_sub(begun_ms);
        if let Outcome::FunctionError(reason) | Outcome::Unreachable { reason, .. } = &outcome {
            let (mapping, records) = (&self.mapping.uuid, invocation.records);
            tracing::warn!(
                mapping,
                records,
                function = self.mapping.function_name,
                "a call failed: {reason}"
            );
        }
        (invocation.lane, outcome)
    }

    /// Reports records that were given up. What can't be reported is in the log.
    async fn report(&self, failures: Vec<Failure>) {
        for failure in failures {
            let Some(destination) = self.mapping.failure_destination() else {
                let report = failure.to_json("", self.outside.environment.now_ms());
                tracing::warn!(mapping = self.mapping.uuid, "records were given up: {report}");
                continue;
            };
            let records = failure.records.len() as u64;
            let is_delivered = self.deliver_report(destination, failure).await;
            let mut metrics = self.status.metrics.lock();
            match is_delivered {
                true => metrics.on_failure_destination_delivered_event_count += records,
                false => metrics.destination_delivery_failures += 1,
            }
        }
    }

    async fn deliver_report(&self, destination: &str, failure: Failure) -> bool {
        let environment = &self.outside.environment;
        let failure = Arc::new(failure);
        for _ in 0..REPORT_TRIES {
            let (random, now_ms) = (environment.random(), environment.now_ms());
            let (destinations, arn) = (self.outside.destinations.clone(), destination.to_owned());
            let given = failure.clone();
            let written = move || destinations.deliver(&arn, &given, random, now_ms);
            match tokio::task::spawn_blocking(written).await {
                Ok(Ok(())) => return true,
                Ok(Err(error)) => tracing::error!(destination, %error, "a failed batch can't be reported"),
                Err(error) => tracing::error!(destination, %error, "a failed batch can't be reported"),
            }
            environment.sleep(FAULT_PAUSE).await;
        }
        let report = failure.to_json("", environment.now_ms());
        tracing::error!(destination, "records were given up and not reported: {report}");
        false
    }

    /// Stores a position that is not stored yet. It stays there if that fails.
    async fn store(&self, shard_id: &str, unstored: &mut Option<Position>) -> Result<(), Fault> {
        let Some(position) = unstored.as_ref() else { return Ok(()) };
        let row = serde_json::to_vec(position).map_err(|error| Fault::Unreadable(error.to_string()))?;
        self.outside.rows.put(&position_row(&self.mapping.uuid, shard_id), row).await?;
        *unstored = None;
        Ok(())
    }

    fn publish(&self, poller: &mut Poller) {
        self.status.metrics.lock().add(poller.take_metrics());
        if let Some(result) = poller.last_result() {
            result.clone_into(&mut self.status.last_result.lock());
        }
    }

    fn note_fault(&self, fault: &Fault) {
        tracing::warn!(mapping = self.mapping.uuid, "a trigger pauses: {fault}");
        *self.status.last_result.lock() = format!("PROBLEM: {fault}");
    }
}

impl Fault {
    /// The shard, or its whole stream, is no longer there.
    fn is_shard_gone(&self) -> bool {
        matches!(self, Fault::Stream(error) if error.kind == ErrorKind::ResourceNotFound)
    }
}

fn partition_key(schema: Vec<KeySchemaElement>) -> Option<String> {
    let key = schema.into_iter().find(|element| element.key_type == KeyType::Hash);
    key.map(|element| element.attribute_name)
}
