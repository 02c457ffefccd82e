//! `cargo xtask replay`: writers write, a reader follows the stream into a journal, and both the server and the reader
//! are killed again and again. At the end the journal must equal the table: each record starts from the image that the
//! one before it left, so nothing is missing and nothing comes twice.
//!
//! The reader is a process of its own (this program, as `replay --read`). All that it knows of an earlier life is its
//! journal: one line for each record, with its shard and sequence number.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ::bench::connection::Connection;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::victim::{Victim, call, call_streams, scan, until_active};
use crate::wait;

const TABLE: &str = "Replay";
const WRITERS: u64 = 8;
const NAMES_PER_WRITER: u64 = 50;

#[derive(clap::Args)]
pub struct ReplayOptions {
    /// How many writes there are
    #[arg(long, default_value_t = 100_000)]
    writes: u64,
    #[arg(long, default_value_t = 8)]
    shards: u32,
    /// Keep the data in this database of PostgreSQL, which must be empty
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    #[arg(long)]
    seed: Option<u64>,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
    /// Follow the stream of the server at this address into a journal, until killed
    #[arg(long, hide = true, requires = "journal")]
    read: Option<SocketAddr>,
    #[arg(long, hide = true)]
    journal: Option<PathBuf>,
}

impl ReplayOptions {
    pub fn brief() -> ReplayOptions {
        ReplayOptions {
            writes: 5_000,
            shards: 8,
            postgres: None,
            seed: None,
            lodestone: None,
            read: None,
            journal: None,
        }
    }
}

pub fn run(options: &ReplayOptions) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if let (Some(address), Some(journal)) = (options.read, &options.journal) {
        return runtime.block_on(read(address, journal));
    }
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("replay: {} writes on {} shards, seed {seed}", options.writes, options.shards);
    runtime.block_on(async {
        let shards = options.shards.to_string();
        let serve = ["--stream-shards", &shards];
        let victim = Victim::new("replay", options.lodestone.as_ref(), options.postgres.as_deref(), &serve)?;
        victim.note("seed", seed);
        campaign(options, &victim, seed).await.with_context(|| format!("seed {seed}"))?;
        victim.passed();
        Ok(())
    })
}

async fn campaign(options: &ReplayOptions, victim: &Victim, seed: u64) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    let journal = victim.folder().join("journal");
    let mut server = victim.start().await?;
    let mut connection = Connection::open(server.address).await?;
    call(&mut connection, "CreateTable", &table()).await?;
    until_active(&mut connection, TABLE).await?;
    let written = Arc::new(AtomicU64::new(0));
    let (mut server_kills, mut reader_kills) = (0, 0);
    while written.load(Ordering::Relaxed) < options.writes {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let connection = Connection::open(server.address).await?;
            let (written, is_over) = (written.clone(), is_over.clone());
            writers.spawn(write(writer, random.u64(..), connection, written, options.writes, is_over));
        }
        // Several readers live and die while the server lives.
        for _ in 0..random.u32(1..4) {
            let mut reader = start_reader(server.address, &journal)?;
            tokio::time::sleep(Duration::from_millis(random.u64(200..1500))).await;
            reader.kill().await?;
            reader_kills += 1;
        }
        server.kill().await?;
        server_kills += 1;
        is_over.store(true, Ordering::Relaxed);
        while let Some(finished) = writers.join_next().await {
            finished??;
        }
        server = victim.start().await?;
    }
    let mut connection = Connection::open(server.address).await?;
    let items = scan(&mut connection, TABLE, None).await?;
    let mut reader = start_reader(server.address, &journal)?;
    let mut records = 0;
    wait::until("the journal equals the table, so that no record is missing", async || {
        let replayed = replay(&journal)?;
        records = replayed.records;
        let is_right = |item| name(item).is_ok_and(|name| replayed.items.get(&name) == Some(item));
        Ok(replayed.items.len() == items.len() && items.iter().all(is_right))
    })
    .await?;
    // Nothing may come behind the last record.
    tokio::time::sleep(Duration::from_secs(1)).await;
    ensure!(replay(&journal)?.records == records, "records came behind the last one");
    reader.kill().await?;
    server.kill().await?;
    println!(
        "replay: {records} records after {server_kills} kills of the server and {reader_kills} of the reader equal \
         the table, none missing, none twice"
    );
    Ok(())
}

/// Writes until enough was written or the connection breaks. A write in flight at the kill may have happened or not.
async fn write(
    writer: u64,
    seed: u64,
    mut connection: Connection,
    written: Arc<AtomicU64>,
    enough: u64,
    is_over: Arc<AtomicBool>,
) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    while written.load(Ordering::Relaxed) < enough && !is_over.load(Ordering::Relaxed) {
        let name = format!("{writer}-{}", random.u64(0..NAMES_PER_WRITER));
        // A new value each time, so that every write but a deletion of nothing changes something.
        let value = random.u64(..).to_string();
        let key = json!({"name": {"S": name}});
        let done = match random.u8(0..10) {
            0 => call(&mut connection, "DeleteItem", &json!({"TableName": TABLE, "Key": key})).await,
            1..4 => {
                let request = json!({
                    "TableName": TABLE, "Key": key, "UpdateExpression": "SET v = :v",
                    "ExpressionAttributeValues": {":v": {"N": value}},
                });
                call(&mut connection, "UpdateItem", &request).await
            }
            _ => {
                let item = json!({"name": {"S": name}, "v": {"N": value}});
                call(&mut connection, "PutItem", &json!({"TableName": TABLE, "Item": item})).await
            }
        };
        match done {
            Ok(_) => drop(written.fetch_add(1, Ordering::Relaxed)),
            Err(error) if error.downcast_ref::<std::io::Error>().is_some() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn start_reader(address: SocketAddr, journal: &Path) -> Result<Child> {
    let log = OpenOptions::new().create(true).append(true).open(journal.with_extension("log"))?;
    Command::new(std::env::current_exe()?)
        .args(["replay", "--read", &address.to_string(), "--journal"])
        .arg(journal)
        .stderr(Stdio::from(log))
        .kill_on_drop(true)
        .spawn()
        .context("starting the reader")
}

/// What a journal comes to.
#[derive(Default)]
struct Replayed {
    items: BTreeMap<String, Value>,
    records: u64,
    /// The last sequence number of each shard.
    positions: HashMap<String, String>,
}

/// Applies the records of the journal in their order. A last line that was cut off does not count.
fn replay(journal: &Path) -> Result<Replayed> {
    let text = if journal.exists() { std::fs::read_to_string(journal)? } else { String::new() };
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut replayed = Replayed::default();
    let mut known = HashSet::new();
    for line in whole.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("the journal has {line:?}"))?;
        let (shard, record) = (line["shard"].as_str().context("a shard")?, &line["record"]);
        let number = record["SequenceNumber"].as_str().context("a sequence number")?;
        // Numbers are unique in a shard: commits to different logs can have the same time.
        ensure!(
            known.insert((shard.to_owned(), number.to_owned())),
            "the record {number} of {shard} comes twice"
        );
        let name = name(&record["Keys"])?;
        let (old, new) = (record.get("OldImage"), record.get("NewImage"));
        ensure!(
            replayed.items.get(&name) == old,
            "the record {number} of {name} starts from {old:?}, but the one before left {:?}",
            replayed.items.get(&name)
        );
        match new {
            Some(new) => drop(replayed.items.insert(name, new.clone())),
            None => drop(replayed.items.remove(&name)),
        }
        replayed.records += 1;
        replayed.positions.insert(shard.to_owned(), number.to_owned());
    }
    Ok(replayed)
}

fn name(item: &Value) -> Result<String> {
    Ok(item["name"]["S"].as_str().context("a name")?.to_owned())
}

/// Follows the stream from where the journal ends, until it is killed. Children are read when their parents are
/// finished, so records of one item come in their order.
async fn read(address: SocketAddr, journal: &Path) -> Result<()> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(journal)?;
    cut_last_line(journal, &file)?;
    let positions = replay(journal)?.positions;
    let mut connection = Connection::open(address).await?;
    let shown = call(&mut connection, "DescribeTable", &json!({"TableName": TABLE})).await?;
    let stream = shown["Table"]["LatestStreamArn"].clone();
    let mut iterators: HashMap<String, Option<String>> = HashMap::new();
    loop {
        let shards = shards(&mut connection, &stream).await?;
        for shard in &shards {
            let id = shard["ShardId"].as_str().context("a shard has an id")?;
            let parent_is_finished = shard["ParentShardId"].as_str().is_none_or(|parent| {
                !shards.iter().any(|shard| shard["ShardId"] == parent) || iterators.get(parent) == Some(&None)
            });
            if !parent_is_finished {
                continue;
            }
            if !iterators.contains_key(id) {
                let mut request =
                    json!({"StreamArn": stream, "ShardId": id, "ShardIteratorType": "TRIM_HORIZON"});
                if let Some(position) = positions.get(id) {
                    request["ShardIteratorType"] = json!("AFTER_SEQUENCE_NUMBER");
                    request["SequenceNumber"] = json!(position);
                }
                let answer = call_streams(&mut connection, "GetShardIterator", &request).await?;
                iterators.insert(id.to_owned(), answer["ShardIterator"].as_str().map(str::to_owned));
            }
            let Some(Some(iterator)) = iterators.get(id).cloned() else { continue };
            let page =
                call_streams(&mut connection, "GetRecords", &json!({"ShardIterator": iterator})).await?;
            let mut lines = String::new();
            for record in page["Records"].as_array().context("a page has records")? {
                lines += &json!({"shard": id, "record": record["dynamodb"]}).to_string();
                lines.push('\n');
            }
            file.write_all(lines.as_bytes())?;
            iterators.insert(id.to_owned(), page["NextShardIterator"].as_str().map(str::to_owned));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A reader that was killed may have left a part of a line.
fn cut_last_line(journal: &Path, file: &std::fs::File) -> Result<()> {
    let content = std::fs::read(journal)?;
    let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    Ok(file.set_len(whole as u64)?)
}

async fn shards(connection: &mut Connection, stream: &Value) -> Result<Vec<Value>> {
    let mut shards = Vec::new();
    let mut request = json!({"StreamArn": stream});
    loop {
        let page = call_streams(connection, "DescribeStream", &request).await?;
        let page = &page["StreamDescription"];
        shards.extend(page["Shards"].as_array().context("a stream has shards")?.iter().cloned());
        match page.get("LastEvaluatedShardId") {
            Some(last) => request["ExclusiveStartShardId"] = last.clone(),
            None => return Ok(shards),
        }
    }
}

fn table() -> Value {
    json!({
        "TableName": TABLE,
        "AttributeDefinitions": [{"AttributeName": "name", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "BillingMode": "PAY_PER_REQUEST",
    })
}
