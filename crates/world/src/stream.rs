//! A reader of the table's stream, as a careful application reads it: parents before children, each shard from where it
//! was.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use simulation::{Content, Key};

use crate::requests::{TABLE, content, key_of};
use crate::servers::{Failure, Servers};

/// How long a reader waits for an answer.
const WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(400);

/// The changes of each item that the stream had, old and new, in their order.
pub type Changes = BTreeMap<Key, Vec<(Option<Content>, Option<Content>)>>;

/// Reads until it is asked to end and there is nothing new.
pub struct StreamReader {
    pub servers: Arc<Servers>,
    pub chance: Mutex<fastrand::Rng>,
    pub changes: Mutex<Changes>,
    /// What is wrong with the stream itself.
    pub fault: Mutex<Option<String>>,
    pub ends: AtomicBool,
    pub is_done: AtomicBool,
}

#[derive(Default)]
struct Progress {
    last: Option<String>,
    is_finished: bool,
}

impl StreamReader {
    /// A reader that has read nothing.
    pub fn new(servers: &Arc<Servers>) -> Arc<StreamReader> {
        Arc::new(StreamReader {
            servers: servers.clone(),
            chance: Mutex::new(servers.executor.chance("stream reader")),
            changes: Mutex::default(),
            fault: Mutex::default(),
            ends: AtomicBool::new(false),
            is_done: AtomicBool::new(false),
        })
    }

    /// Reads for as long as the world goes on.
    pub async fn run(self: Arc<StreamReader>) {
        let mut shards: BTreeMap<String, Progress> = BTreeMap::new();
        let mut idle = 0;
        loop {
            let ends = self.ends.load(Ordering::Relaxed);
            match self.pass(&mut shards).await {
                Ok(0) if ends => idle += 1,
                _ => idle = 0,
            }
            if idle == 2 {
                self.is_done.store(true, Ordering::Relaxed);
                return;
            }
            self.servers.executor.sleep(PAUSE).await;
        }
    }

    async fn call(&self, operation: &str, input: Value) -> Result<Value, Failure> {
        let server = self.chance.lock().usize(0..self.servers.count());
        self.servers.call(server, 0, operation, input, WAIT).await
    }

    /// Reads every shard that may be read, and says how many records there were.
    async fn pass(&self, shards: &mut BTreeMap<String, Progress>) -> Result<usize, Failure> {
        let table = self.call("DescribeTable", json!({"TableName": TABLE})).await?;
        let arn = table["Table"]["LatestStreamArn"].clone();
        let described = self.call("DescribeStream", json!({"StreamArn": arn})).await?;
        let listed = described["StreamDescription"]["Shards"].as_array().cloned().unwrap_or_default();
        let ids: Vec<String> =
            listed.iter().filter_map(|shard| Some(shard["ShardId"].as_str()?.to_owned())).collect();
        let mut read = 0;
        for (shard, id) in listed.iter().zip(&ids) {
            let parent = shard["ParentShardId"].as_str().filter(|parent| ids.iter().any(|id| id == parent));
            let is_ready =
                parent.is_none_or(|parent| shards.get(parent).is_some_and(|parent| parent.is_finished));
            let progress = shards.entry(id.clone()).or_default();
            if is_ready && !progress.is_finished {
                read += self.read_shard(&arn, id, progress).await?;
            }
        }
        Ok(read)
    }

    async fn read_shard(&self, arn: &Value, id: &str, progress: &mut Progress) -> Result<usize, Failure> {
        let mut input = json!({"StreamArn": arn, "ShardId": id, "ShardIteratorType": "TRIM_HORIZON"});
        if let Some(last) = &progress.last {
            input["ShardIteratorType"] = json!("AFTER_SEQUENCE_NUMBER");
            input["SequenceNumber"] = json!(last);
        }
        let mut iterator = self.call("GetShardIterator", input).await?["ShardIterator"].take();
        let mut read = 0;
        loop {
            let limit = self.chance.lock().u64(1..50);
            let input = json!({"ShardIterator": iterator, "Limit": limit});
            let mut page = self.call("GetRecords", input).await?;
            let records = page["Records"].as_array().cloned().unwrap_or_default();
            records.iter().for_each(|record| self.note(record, progress));
            read += records.len();
            iterator = page["NextShardIterator"].take();
            if iterator.is_null() {
                progress.is_finished = true;
                return Ok(read);
            }
            if records.is_empty() {
                return Ok(read);
            }
        }
    }

    fn note(&self, record: &Value, progress: &mut Progress) {
        let change = &record["dynamodb"];
        let number = change["SequenceNumber"].as_str().unwrap_or_default().to_owned();
        let is_later = progress.last.as_ref().is_none_or(|last| (last.len(), last) < (number.len(), &number));
        if !is_later {
            self.fault.lock().get_or_insert(format!("{number} comes after {:?}", progress.last));
        }
        progress.last = Some(number);
        if let Some(key) = key_of(&change["Keys"]) {
            let image = |name: &str| content(change.get(name));
            self.changes.lock().entry(key).or_default().push((image("OldImage"), image("NewImage")));
        }
    }
}
