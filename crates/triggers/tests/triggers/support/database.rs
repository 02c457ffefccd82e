//! A stream in memory, which follows the contract of the real one, and a clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::streams::{
    DescribeStreamInput, DescribeStreamOutput, GetRecordsInput, GetRecordsOutput, GetShardIteratorInput,
    GetShardIteratorOutput, KeySchemaElement, OperationType, Record, Shard, ShardIteratorType,
    StreamDescription, StreamRecord,
};
use api::{Error, KeyType};
use async_trait::async_trait;
use item::{Item, Value};
use parking_lot::Mutex;
use tokio::sync::watch;
use triggers::{Environment, Namespace, Sleep, Streams};

use crate::support::{START_MS, STREAM, sequence_number};

/// Records of one page: few, so that tests meet several pages.
const PAGE_RECORDS: usize = 3;
/// Shards of one page.
const PAGE_SHARDS: usize = 2;

/// One stream, [`STREAM`], of a table with the partition key `pk`.
pub struct MemoryStreams {
    shards: Mutex<BTreeMap<String, MemoryShard>>,
    last_number: AtomicU64,
    /// Iterators that were made before this one have expired.
    first_iterator: AtomicU64,
    last_iterator: AtomicU64,
    changes: watch::Sender<u64>,
    clock: Arc<Clock>,
}

#[derive(Default)]
struct MemoryShard {
    parent: Option<String>,
    is_closed: bool,
    /// The last record that was trimmed.
    trimmed: Option<String>,
    records: Vec<Record>,
}

impl MemoryStreams {
    pub fn new(clock: Arc<Clock>) -> MemoryStreams {
        let shards = BTreeMap::from([("shard-1".to_owned(), MemoryShard::default())]);
        let (changes, _) = watch::channel(0);
        MemoryStreams {
            shards: Mutex::new(shards),
            last_number: AtomicU64::new(0),
            first_iterator: AtomicU64::new(0),
            last_iterator: AtomicU64::new(0),
            changes,
            clock,
        }
    }

    /// Writes a record and returns its number.
    pub fn write(&self, shard: &str, key: &str) -> u64 {
        let number = self.last_number.fetch_add(1, Ordering::SeqCst) + 1;
        let keys = Item::from_iter([("pk", Value::from(key))]);
        let change = StreamRecord {
            approximate_creation_date_time: Some(self.clock.now_ms() as f64 / 1000.0),
            keys: Some(keys),
            sequence_number: Some(sequence_number(number)),
            ..StreamRecord::default()
        };
        let record =
            Record { event_name: Some(OperationType::Insert), dynamodb: Some(change), ..Record::default() };
        self.shards.lock().get_mut(shard).expect("a shard").records.push(record);
        self.changes.send_modify(|count| *count += 1);
        number
    }

    /// Makes every iterator expire.
    pub fn expire_iterators(&self) {
        self.first_iterator.store(self.last_iterator.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
    }

    fn iterator(&self, shard_id: &str, index: usize) -> String {
        let number = self.last_iterator.fetch_add(1, Ordering::SeqCst) + 1;
        format!("{shard_id}@{index}@{number}")
    }

    /// Removes the records of a shard up to this one.
    pub fn trim(&self, shard: &str, number: u64) {
        let mut shards = self.shards.lock();
        let shard = shards.get_mut(shard).expect("a shard");
        shard.trimmed = Some(sequence_number(number));
        let trimmed = shard.trimmed.clone();
        shard.records.retain(|record| record.dynamodb.as_ref().expect("a change").sequence_number > trimmed);
    }

    /// Closes a shard and opens its children.
    pub fn split(&self, shard: &str, children: &[&str]) {
        let mut shards = self.shards.lock();
        shards.get_mut(shard).expect("a shard").is_closed = true;
        for child in children {
            let parent = Some(shard.to_owned());
            shards.insert((*child).to_owned(), MemoryShard { parent, ..MemoryShard::default() });
        }
        drop(shards);
        self.changes.send_modify(|count| *count += 1);
    }
}

fn check_arn(arn: &str) -> Result<(), Error> {
    if arn == STREAM { Ok(()) } else { Err(Error::stream_not_found(arn)) }
}

#[async_trait]
impl Streams for MemoryStreams {
    async fn describe_stream(
        &self,
        _namespace: &Namespace,
        input: DescribeStreamInput,
    ) -> Result<DescribeStreamOutput, Error> {
        check_arn(&input.stream_arn)?;
        let shards = self.shards.lock();
        let start = input.exclusive_start_shard_id.unwrap_or_default();
        let page: Vec<Shard> = shards
            .iter()
            .filter(|(id, _)| **id > start)
            .take(PAGE_SHARDS)
            .map(|(id, shard)| Shard {
                shard_id: Some(id.clone()),
                parent_shard_id: shard.parent.clone(),
                sequence_number_range: None,
            })
            .collect();
        let last = page.last().and_then(|shard| shard.shard_id.clone());
        let is_last = last == shards.keys().next_back().cloned();
        let key_schema = vec![KeySchemaElement { attribute_name: "pk".into(), key_type: KeyType::Hash }];
        let description = StreamDescription {
            shards: Some(page),
            last_evaluated_shard_id: last.filter(|_| !is_last),
            key_schema: Some(key_schema),
            ..StreamDescription::default()
        };
        Ok(DescribeStreamOutput { stream_description: Some(description) })
    }

    async fn get_shard_iterator(
        &self,
        _namespace: &Namespace,
        input: GetShardIteratorInput,
    ) -> Result<GetShardIteratorOutput, Error> {
        check_arn(&input.stream_arn)?;
        let shards = self.shards.lock();
        let shard = shards.get(&input.shard_id).ok_or_else(Error::shard_not_found)?;
        if input.sequence_number.is_some() && input.sequence_number <= shard.trimmed {
            return Err(Error::record_trimmed());
        }
        let is_before = |record: &Record| {
            let change = record.dynamodb.as_ref().expect("a change");
            match input.shard_iterator_type {
                ShardIteratorType::TrimHorizon => false,
                ShardIteratorType::Latest => true,
                ShardIteratorType::AfterSequenceNumber => change.sequence_number <= input.sequence_number,
                ShardIteratorType::AtSequenceNumber => change.sequence_number < input.sequence_number,
                ShardIteratorType::AtTimestamp => change.approximate_creation_date_time < input.timestamp,
            }
        };
        let index = shard.records.iter().take_while(|record| is_before(record)).count();
        Ok(GetShardIteratorOutput { shard_iterator: Some(self.iterator(&input.shard_id, index)) })
    }

    async fn get_records(
        &self,
        _namespace: &Namespace,
        input: GetRecordsInput,
    ) -> Result<GetRecordsOutput, Error> {
        let parts: Vec<&str> = input.shard_iterator.split('@').collect();
        let [id, index, number] = parts[..] else { return Err(Error::iterator_invalid()) };
        let index: usize = index.parse().map_err(|_| Error::iterator_invalid())?;
        let number: u64 = number.parse().map_err(|_| Error::iterator_invalid())?;
        if number < self.first_iterator.load(Ordering::SeqCst) {
            return Err(Error::iterator_expired());
        }
        let shards = self.shards.lock();
        let shard = shards.get(id).ok_or_else(Error::shard_not_found)?;
        let records: Vec<Record> = shard.records.iter().skip(index).take(PAGE_RECORDS).cloned().collect();
        let next = index + records.len();
        let is_end = shard.is_closed && next == shard.records.len();
        Ok(GetRecordsOutput {
            records: Some(records),
            next_shard_iterator: (!is_end).then(|| self.iterator(id, next)),
        })
    }

    fn changed(&self, _stream_arn: &str) -> Sleep {
        let mut changes = self.changes.subscribe();
        Box::pin(async move {
            // The sender lives as long as the stream.
            let _ = changes.changed().await;
        })
    }
}

/// A clock that goes on by a millisecond whenever it is read, and counted numbers for random ones.
#[derive(Default)]
pub struct Clock(AtomicU64);

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        START_MS + self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst)) << 64 | 7
    }
}
