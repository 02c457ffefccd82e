//! Replaying a stream gives the table: with writers and the reader cut off at random, every record starts from
//! the image that the one before it left, none is missing and none comes twice.
//!
//! `LODESTONE_REPLAY_WRITES=100000` runs it in full.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::{Input, streams};
use engine::{Caller, Engine, Environment, Options};
use serde_json::{Value, json};

use crate::support::{until, wait_for};

const WRITERS: u64 = 8;
const KEYS: u64 = 60;
const ROUNDS: u64 = 12;

/// A clock that the test moves, and numbers that look random.
struct World {
    now_ms: AtomicU64,
    chance: AtomicU64,
    /// How many writes have ended.
    written: AtomicU64,
}

impl World {
    fn draw(&self, below: u64) -> u64 {
        let state = self.chance.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

impl Environment for World {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn random(&self) -> u128 {
        u128::from(self.draw(u64::MAX)) << 64 | u128::from(self.draw(u64::MAX))
    }
}

fn caller() -> Caller {
    Caller::new("123456789012", "us-east-1")
}

async fn open(folder: &Path, world: &Arc<World>) -> Arc<Engine> {
    let store = free_store(folder).await;
    let options = Options { stream_shards: 8, ..Options::default() };
    Arc::new(Engine::open_with(Arc::new(store), world.clone(), options).await.unwrap())
}

/// Opens the store as soon as the last tasks of the database before have let go of it.
async fn free_store(folder: &Path) -> store_lsm::LsmStore {
    wait_for("the folder is free", async || {
        let options = store_lsm::Options { durability: store_lsm::Durability::Os, ..Default::default() };
        store_lsm::LsmStore::open(folder, options).ok()
    })
    .await
}

async fn call(engine: &Engine, operation: &str, input: Value) -> Result<Value, api::Error> {
    let operation = api::Operation::from_target_name(operation).unwrap();
    let request = api::Request::decode(operation, input.to_string().as_bytes())?;
    let mut json = Vec::new();
    engine.call(&caller(), request).await?.write_json(&mut json);
    Ok(serde_json::from_slice(&json).unwrap())
}

async fn ask<I>(engine: &Engine, input: I) -> I::Output
where
    I: Input<Request = streams::Request, Response = streams::Response>,
{
    let response = engine.call_streams(&caller(), input.into_request()).await.unwrap();
    I::output(response).unwrap()
}

/// Some writes; they end at the latest when the database is closed under them.
async fn write(engine: Arc<Engine>, world: Arc<World>, writes: u64) {
    for _ in 0..writes {
        let key = |number: u64| json!({"p": {"S": format!("p{number}")}});
        let item = |number: u64, value: u64| json!({"p": {"S": format!("p{number}")}, "v": {"N": value.to_string()}});
        let (number, value) = (world.draw(KEYS), world.draw(5));
        let written = match world.draw(5) {
            0 => call(&engine, "DeleteItem", json!({"TableName": "Table", "Key": key(number)})).await,
            1 => {
                let put = |number: u64| json!({"Put": {"TableName": "Table", "Item": item(number, value)}});
                let items = [put(number), put((number + 7) % KEYS), put((number + 31) % KEYS)];
                call(&engine, "TransactWriteItems", json!({"TransactItems": items})).await
            }
            2 => {
                let add = json!({"TableName": "Table", "Key": key(number), "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}}});
                call(&engine, "UpdateItem", add).await
            }
            _ => call(&engine, "PutItem", json!({"TableName": "Table", "Item": item(number, value)})).await,
        };
        // Transactions that meet are refused, and after the end everything is.
        drop(written);
        world.written.fetch_add(1, Ordering::Relaxed);
        if world.draw(50) == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// A reader of the stream: what it has seen, and up to where.
#[derive(Clone, Default)]
struct Replica {
    items: BTreeMap<String, Value>,
    /// The last sequence number of each shard, and whether it was its end.
    read: BTreeMap<String, (Option<String>, bool)>,
    records: u64,
}

impl Replica {
    /// Reads on until there is nothing new: parents before their children.
    async fn catch_up(&mut self, engine: &Engine, arn: &str) {
        let input = streams::DescribeStreamInput { stream_arn: arn.to_owned(), ..Default::default() };
        let shards = ask(engine, input).await.stream_description.unwrap().shards.unwrap();
        for shard in shards {
            let id = shard.shard_id.unwrap();
            let is_ended = |id: &String| self.read.get(id).is_some_and(|(_, ended)| *ended);
            if is_ended(&id) || shard.parent_shard_id.as_ref().is_some_and(|parent| !is_ended(parent)) {
                continue;
            }
            self.read_shard(engine, arn, &id).await;
        }
    }

    async fn read_shard(&mut self, engine: &Engine, arn: &str, id: &str) {
        let last = self.read.get(id).and_then(|(last, _)| last.clone());
        let kind = match last {
            Some(_) => streams::ShardIteratorType::AfterSequenceNumber,
            None => streams::ShardIteratorType::TrimHorizon,
        };
        let input = streams::GetShardIteratorInput {
            stream_arn: arn.to_owned(),
            shard_id: id.to_owned(),
            shard_iterator_type: kind,
            sequence_number: last,
            timestamp: None,
        };
        let mut next = ask(engine, input).await.shard_iterator;
        while let Some(iterator) = next {
            let input = streams::GetRecordsInput { shard_iterator: iterator, limit: Some(100) };
            let page = ask(engine, input).await;
            let records = page.records.unwrap();
            let is_empty = records.is_empty();
            for record in records {
                let last = self.apply(record);
                self.read.insert(id.to_owned(), (Some(last), false));
            }
            next = page.next_shard_iterator;
            if next.is_none() {
                self.read.entry(id.to_owned()).or_default().1 = true;
            } else if is_empty {
                break;
            }
        }
    }

    fn apply(&mut self, record: streams::Record) -> String {
        let shown = record.dynamodb.unwrap();
        let json = |item: &Option<item::Item>| item.as_ref().map(|item| format!("{item:?}"));
        let key = json(&shown.keys).unwrap();
        let before = self.items.get(&key).map(|image| image.as_str().unwrap().to_owned());
        assert_eq!(json(&shown.old_image), before, "a record starts from what the one before it left: {key}");
        match json(&shown.new_image) {
            Some(image) => self.items.insert(key, Value::from(image)),
            None => self.items.remove(&key),
        };
        self.records += 1;
        shown.sequence_number.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replayed_stream_is_the_table_whatever_is_cut_off() {
    let writes: u64 =
        std::env::var("LODESTONE_REPLAY_WRITES").ok().and_then(|text| text.parse().ok()).unwrap_or(4000);
    let folder = tempfile::tempdir().unwrap();
    let world = Arc::new(World {
        now_ms: AtomicU64::new(1_800_000_000_000),
        chance: AtomicU64::new(42),
        written: AtomicU64::new(0),
    });
    let first = open(folder.path(), &world).await;
    let table = json!({
        "TableName": "Table",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    let created = call(&first, "CreateTable", table).await.unwrap();
    let arn = created["TableDescription"]["LatestStreamArn"].as_str().unwrap().to_owned();
    drop(first);

    let mut replica = Replica::default();
    for _ in 0..ROUNDS {
        let engine = open(folder.path(), &world).await;
        replica.catch_up(&engine, &arn).await;
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| tokio::spawn(write(engine.clone(), world.clone(), writes / ROUNDS / WRITERS)))
            .collect();
        let begin = world.written.load(Ordering::Relaxed);
        // The reader works beside the writers, is cut off, and begins again from what it had kept.
        let kept = replica.clone();
        for _ in 0..world.draw(4) {
            replica.catch_up(&engine, &arn).await;
        }
        if world.draw(2) == 0 {
            replica = kept;
        }
        if world.draw(2) == 0 {
            for writer in writers {
                writer.await.unwrap();
            }
        } else {
            // All writers together reach this number.
            let end = begin + world.draw(writes / ROUNDS / WRITERS * WRITERS);
            until("some have written", async || world.written.load(Ordering::Relaxed) >= end).await;
            writers.iter().for_each(tokio::task::JoinHandle::abort);
            for writer in writers {
                let _ = writer.await;
            }
        }
        drop(engine);
        world.now_ms.fetch_add(50 * 60 * 1000, Ordering::Relaxed);
    }
    let engine = open(folder.path(), &world).await;
    // Children may appear while their parents are read.
    for _ in 0..3 {
        replica.catch_up(&engine, &arn).await;
    }
    let scanned = call(&engine, "Scan", json!({"TableName": "Table"})).await.unwrap();
    assert!(replica.records > writes / 4, "{} records", replica.records);
    assert_eq!(replica.items.len(), scanned["Items"].as_array().unwrap().len());
    let request = api::Request::decode(api::Operation::Scan, br#"{"TableName": "Table"}"#).unwrap();
    let api::Response::Scan(scan) = engine.call(&caller(), request).await.unwrap() else {
        panic!("a Scan's answer")
    };
    for item in scan.items.unwrap() {
        let mut key = item::ItemBuilder::default();
        key.put("p", item.get("p").unwrap());
        let image = replica.items.get(&format!("{:?}", key.build()));
        assert_eq!(image, Some(&Value::from(format!("{item:?}"))));
    }
}
