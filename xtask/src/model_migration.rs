//! `cargo xtask model-migration`: `lodestone model migrate` on a large provisioned table that an application writes to,
//! killed twice on the way. At the end no item may be missed, none may be written twice, the job must have kept to its
//! share of the capacity in every second, and no write of the application may have been throttled because of it.
//!
//! The command is killed when its record says that a third, and two thirds, of the table are done. Writes of the job
//! are told apart from those of the application by the stream: the application gives an item a new version each time.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode_for;
use ::bench::server::Server;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::victim::{Victim, call, call_streams, scan_pages};

const TABLE: &str = "app";
const CUSTOMERS: u64 = 1_000;
const CONNECTIONS: u64 = 8;
/// Writers of the application, each with its own new items.
const WRITERS: u64 = 8;
/// Before a write that was throttled is tried again.
const PAUSE: Duration = Duration::from_millis(50);
const SEGMENTS: u32 = 16;
/// Their items begin here.
const OWN: u64 = 1_000_000_000;
const OWN_PER_WRITER: u64 = 100_000_000;

#[derive(clap::Args)]
pub struct ModelMigrationOptions {
    /// How many items the table holds
    #[arg(long, default_value_t = 1_000_000)]
    items: u64,
    /// Write units per second that the table and its index have, and as many read units
    #[arg(long, default_value_t = 2_000)]
    capacity: u32,
    /// How much of it the job may use, in percent
    #[arg(long, default_value_t = 25)]
    share: u32,
    /// Writes per second of the application
    #[arg(long, default_value_t = 1_000)]
    writes: u32,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

pub fn run(options: &ModelMigrationOptions) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(campaign(options))
}

async fn campaign(options: &ModelMigrationOptions) -> Result<()> {
    let victim =
        Victim::new("model-migration", options.lodestone.as_ref(), None, &["--capacity", "declared"])?;
    let server = victim.start().await?;
    let folder = tempfile::tempdir()?;
    let capacity = options.capacity;
    std::fs::write(folder.path().join("empty.yaml"), model(None, false))?;
    std::fs::write(folder.path().join("model.yaml"), model(Some(capacity), false))?;
    std::fs::write(folder.path().join("next.yaml"), model(Some(capacity), true))?;
    let cli = Cli { binary: victim.binary(), folder: folder.path(), server: &server };
    cli.success(&["model", "apply", "empty.yaml"]).await?;
    fill(server.address, options.items).await?;
    cli.success(&["model", "apply", "model.yaml"]).await?;
    println!("model-migration: {} items", options.items);

    let (share, segments) = (options.share.to_string(), SEGMENTS.to_string());
    let arguments = [
        "model",
        "migrate",
        "model.yaml",
        "next.yaml",
        "--deployed",
        "4",
        "--share",
        &share,
        "--rate",
        // The share alone is to bind.
        "1000000",
        "--segments",
        &segments,
        "--json",
    ];
    let application = Application::start(server.address, options.writes).await?;
    let began = Instant::now();
    for third in 1..=2 {
        cli.kill_at(&arguments, options.items * third / 3).await?;
    }
    let report = cli.success(&arguments).await?;
    let took = began.elapsed().as_secs_f64();
    println!("model-migration: done after {took:.1} s, {}", report["history"][2]["jobs"][0]);
    let Load { created, writes, throttled } = application.end().await?;
    ensure!(throttled == 0, "{throttled} of {writes} writes of the application were throttled");

    let items = check(&server, options.items + created).await?;
    let job = writes_of_the_job(&server).await?;
    let allowed = u64::from(capacity * options.share / 100);
    // Requests that are on their way when a second begins count in it, and each start begins with one of each segment.
    let at_most = allowed + 2 * u64::from(SEGMENTS) + 1;
    ensure!(job.busiest_second <= at_most, "{} writes in one second, {allowed} allowed", job.busiest_second);
    println!(
        "model-migration: {items} items are right; {} were written by the job, each once, two kills; {took:.1} s in all. \
         In the {} seconds in which it wrote, it made {:.0} writes each on average and {} at most, {allowed} are its \
         share ({} % of {capacity}). {writes} writes of the application in that time, {:.0} each second, none throttled",
        job.items,
        job.seconds,
        job.items as f64 / job.seconds as f64,
        job.busiest_second,
        options.share,
        writes as f64 / took,
    );
    server.stop().await?;
    victim.passed();
    Ok(())
}

/// Without capacity, the table is as it is filled: on demand, and nothing is recorded.
fn model(capacity: Option<u32>, with_index: bool) -> String {
    let settings = match capacity {
        Some(units) => {
            format!("stream: new-and-old, billing: provisioned, read: {units}, write: {units}")
        }
        None => "billing: on-demand".to_owned(),
    };
    let (index, units, pattern) = match (with_index, capacity) {
        (true, Some(capacity)) => (
            "    indexes: { open: { when: status = OPEN, openPK: \"OPEN#{customerId}\", openSK: \"{orderId}\" } }\n",
            format!("indexes: {{ open: {{ read: {capacity}, write: {capacity} }} }}\n"),
            "  A4: { query: Order, by: customerId, where: status = OPEN, order: orderId, limit: 20, rate: 1/s, consistency: eventual }\n",
        ),
        _ => ("", String::new(), ""),
    };
    format!(
        "model: orders\ntable: {{ name: {TABLE}, partition: PK, sort: SK, {settings} }}\nentities:\n  Order:\n    \
         key: {{ PK: \"CUST#{{customerId}}\", SK: \"ORDER#{{orderId}}\" }}\n    \
         attributes: {{ status: {{ values: {{ OPEN: 50%, SHIPPED: 50% }} }}, version: number }}\n    \
         size: 200 B\n{index}{units}patterns:\n  \
         A1: {{ query: Order, by: customerId, rate: 10/s, consistency: eventual }}\n  \
         A2: {{ create: Order, set: {{ status: OPEN }}, rate: 10/s }}\n{pattern}"
    )
}

/// The item with this number: every second order is open.
fn item(number: u64, open: bool, version: u64, both: bool) -> Value {
    let (customer, id) = (format!("c{}", number % CUSTOMERS), format!("{number:010}"));
    let mut item = json!({
        "PK": { "S": format!("CUST#{customer}") }, "SK": { "S": format!("ORDER#{id}") },
        "customerId": { "S": customer }, "orderId": { "S": id },
        "status": { "S": if open { "OPEN" } else { "SHIPPED" } }, "version": { "N": version.to_string() },
    });
    if both && open {
        item["openPK"] = json!({ "S": format!("OPEN#{customer}") });
        item["openSK"] = json!({ "S": id });
    }
    item
}

async fn fill(address: SocketAddr, items: u64) -> Result<()> {
    let mut fillers = JoinSet::new();
    for filler in 0..CONNECTIONS {
        fillers.spawn(async move {
            let mut connection = Connection::open(address).await?;
            let numbers: Vec<u64> = (filler..items).step_by(CONNECTIONS as usize).collect();
            for chunk in numbers.chunks(25) {
                let put = |number: &u64| json!({ "PutRequest": { "Item": item(*number, number.is_multiple_of(2), 1, false) } });
                let mut puts = json!({ TABLE: chunk.iter().map(put).collect::<Vec<_>>() });
                while puts != json!({}) {
                    let answer =
                        call(&mut connection, "BatchWriteItem", &json!({ "RequestItems": puts })).await?;
                    puts = answer["UnprocessedItems"].clone();
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(filled) = fillers.join_next().await {
        filled??;
    }
    Ok(())
}

/// The command, with models in a folder.
struct Cli<'a> {
    binary: &'a Path,
    folder: &'a Path,
    server: &'a Server,
}

impl Cli<'_> {
    fn start(&self, arguments: &[&str]) -> Result<Child> {
        let url = format!("http://{}", self.server.address);
        let mut command = Command::new(self.binary);
        command.current_dir(self.folder).args(arguments).args(["--endpoint-url", &url]);
        Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn()?)
    }

    async fn success(&self, arguments: &[&str]) -> Result<Value> {
        let Output { status, stdout, stderr } = self.start(arguments)?.wait_with_output().await?;
        let (text, problems) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        ensure!(status.success(), "{arguments:?}: {text}{problems}");
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Kills the command when its record says that it has read this many items.
    async fn kill_at(&self, arguments: &[&str], items: u64) -> Result<()> {
        let mut process = self.start(arguments)?;
        loop {
            if let Some(status) = process.try_wait()? {
                bail!("it ended with {status} before it was killed");
            }
            let record = std::fs::read(self.folder.join("next.migration.json")).unwrap_or_default();
            let record: Value = serde_json::from_slice(&record).unwrap_or_default();
            if record["job"]["found"]["read"].as_u64().unwrap_or(0) >= items {
                process.kill().await?;
                println!("model-migration: killed after {} items", record["job"]["found"]["read"]);
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Writers that write both forms, at a fixed total rate.
struct Application {
    end: Arc<AtomicBool>,
    writers: JoinSet<Result<Load>>,
}

/// What the application did.
#[derive(Default)]
struct Load {
    created: u64,
    writes: u64,
    throttled: u64,
}

impl Application {
    async fn start(address: SocketAddr, writes_per_s: u32) -> Result<Application> {
        let mut application = Application { end: Arc::default(), writers: JoinSet::new() };
        for writer in 0..WRITERS {
            let end = application.end.clone();
            let connection = Connection::open(address).await?;
            let every = Duration::from_secs_f64(WRITERS as f64 / f64::from(writes_per_s.max(1)));
            application.writers.spawn(write(connection, writer, every, end));
        }
        Ok(application)
    }

    async fn end(mut self) -> Result<Load> {
        self.end.store(true, Ordering::Relaxed);
        let mut all = Load::default();
        while let Some(ended) = self.writers.join_next().await {
            let load = ended??;
            all.created += load.created;
            all.writes += load.writes;
            all.throttled += load.throttled;
        }
        Ok(all)
    }
}

async fn write(
    mut connection: Connection,
    writer: u64,
    every: Duration,
    end: Arc<AtomicBool>,
) -> Result<Load> {
    let mut load = Load::default();
    let mut clock = tokio::time::interval(every);
    while !end.load(Ordering::Relaxed) {
        clock.tick().await;
        // One after the other is created, and an earlier one of the same writer is changed.
        let turn = load.writes;
        let (number, version) = match turn % 3 {
            0 => (turn, 1),
            _ => (turn * 7919 % (turn / 3 + 1) * 3, turn + 2),
        };
        let number = OWN + writer * OWN_PER_WRITER + number;
        let put = item(number, (number + version).is_multiple_of(2), version, true);
        let request = encode_for("DynamoDB_20120810", "PutItem", &json!({ "TableName": TABLE, "Item": put }));
        loop {
            let (status, reply) = connection.exchange(&request).await?;
            let reply = String::from_utf8_lossy(reply);
            if status == 200 {
                break;
            }
            ensure!(reply.contains("ProvisionedThroughputExceededException"), "{status} {reply}");
            load.throttled += 1;
            tokio::time::sleep(PAUSE).await;
        }
        load.created += u64::from(turn.is_multiple_of(3));
        load.writes += 1;
    }
    Ok(load)
}

/// Every item has exactly what the new model says.
async fn check(server: &Server, expected: u64) -> Result<u64> {
    let mut connection = Connection::open(server.address).await?;
    let (mut items, mut open) = (0, 0);
    let visit = |page: &[Value]| {
        for found in page {
            let number = found["orderId"]["S"].as_str().context("an id")?.parse()?;
            let version = found["version"]["N"].as_str().context("a version")?.parse()?;
            let is_open = found["status"]["S"] == "OPEN";
            ensure!(*found == item(number, is_open, version, true), "{found}");
            items += 1;
            open += u64::from(is_open);
        }
        Ok(())
    };
    scan_pages(&mut connection, TABLE, None, visit).await?;
    ensure!(items == expected, "{items} items, expected {expected}");
    let mut in_index = 0;
    let count = |page: &[Value]| {
        in_index += page.len() as u64;
        Ok(())
    };
    scan_pages(&mut connection, TABLE, Some("open"), count).await?;
    ensure!(in_index == open, "{in_index} items in the index, expected {open}");
    Ok(items)
}

/// What the job wrote, by the stream.
struct Written {
    items: u64,
    /// In which at least one of them was written.
    seconds: usize,
    busiest_second: u64,
}

/// No item may be written twice.
async fn writes_of_the_job(server: &Server) -> Result<Written> {
    let mut connection = Connection::open(server.address).await?;
    let table = call(&mut connection, "DescribeTable", &json!({ "TableName": TABLE })).await?;
    let arn = table["Table"]["LatestStreamArn"].clone();
    let stream = call_streams(&mut connection, "DescribeStream", &json!({ "StreamArn": arn })).await?;
    let mut writes: HashMap<String, u32> = HashMap::new();
    let mut by_second: BTreeMap<u64, u64> = BTreeMap::new();
    for shard in stream["StreamDescription"]["Shards"].as_array().context("shards")? {
        let of =
            json!({ "StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON" });
        let mut place =
            call_streams(&mut connection, "GetShardIterator", &of).await?["ShardIterator"].clone();
        // All writes are done, so an empty page is the end.
        while !place.is_null() {
            let page =
                call_streams(&mut connection, "GetRecords", &json!({ "ShardIterator": place })).await?;
            let records = page["Records"].as_array().context("records")?;
            for record in records {
                let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
                if record["eventName"] == "MODIFY" && old["version"] == new["version"] {
                    *writes.entry(new["orderId"]["S"].to_string()).or_default() += 1;
                    let second = &record["dynamodb"]["ApproximateCreationDateTime"];
                    *by_second.entry(second.as_f64().context("a time")? as u64).or_default() += 1;
                }
            }
            if records.is_empty() {
                break;
            }
            place = page["NextShardIterator"].clone();
        }
    }
    let twice = writes.iter().find(|(_, count)| **count != 1);
    ensure!(twice.is_none(), "written twice: {twice:?}");
    Ok(Written {
        items: writes.len() as u64,
        seconds: by_second.len(),
        busiest_second: by_second.values().copied().max().unwrap_or(0),
    })
}
