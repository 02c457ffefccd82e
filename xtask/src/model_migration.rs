//! `cargo xtask model-migration`: `lodestone model migrate` on a large table that an application writes to, killed
//! twice on the way. At the end no item may be missed, none may be written twice, and the job must have kept to its
//! rate.
//!
//! The command is killed when its record says that a third, and two thirds, of the table are done. Writes of the job
//! are told from those of the application by the stream: the application gives an item a new version each time.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::server::Server;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::victim::{Victim, call, call_streams, scan_pages};

const TABLE: &str = "app";
const CUSTOMERS: u64 = 1_000;
const CONNECTIONS: u64 = 8;
/// Writers of the application, each with its own new items, and a pause between two writes.
const WRITERS: u64 = 4;
const PAUSE: Duration = Duration::from_millis(5);
/// Their items begin here.
const OWN: u64 = 1_000_000_000;
const OWN_PER_WRITER: u64 = 100_000_000;

#[derive(clap::Args)]
pub struct Options {
    /// How many items the table holds
    #[arg(long, default_value_t = 1_000_000)]
    items: u64,
    /// Write units per second that the job may use
    #[arg(long, default_value_t = 2_000)]
    rate: u32,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(campaign(options))
}

async fn campaign(options: &Options) -> Result<()> {
    let victim = Victim::new(options.lodestone.as_ref(), None, &[])?;
    let server = victim.start().await?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("model.yaml"), model(false))?;
    std::fs::write(folder.path().join("next.yaml"), model(true))?;
    let cli = Cli { binary: victim.binary(), folder: folder.path(), server: &server };
    cli.success(&["model", "apply", "model.yaml"]).await?;
    fill(server.address, options.items).await?;
    println!("model-migration: {} items", options.items);

    let rate = options.rate.to_string();
    let arguments = [
        "model",
        "migrate",
        "model.yaml",
        "next.yaml",
        "--deployed",
        "4",
        "--share",
        "100",
        "--rate",
        &rate,
        "--segments",
        "16",
        "--json",
    ];
    let application = Application::start(server.address).await?;
    let began = Instant::now();
    for third in 1..=2 {
        cli.kill_at(&arguments, options.items * third / 3).await?;
    }
    let report = cli.success(&arguments).await?;
    let took = began.elapsed().as_secs_f64();
    let (created, writes) = application.end().await?;
    let job = &report["history"][2]["jobs"][0];
    let units = job["all"]["write_units"].as_f64().context("units")?;
    // Each write takes one unit of the table and one of the index.
    ensure!(units / 2.0 <= took * f64::from(options.rate) + 100.0, "{units} units within {took} s");

    let items = check(&server, options.items + created).await?;
    let written = writes_of_the_job(&server).await?;
    println!(
        "model-migration: {items} items are right; {} were written by the job, each once, {writes} writes of the \
         application meanwhile, two kills; {took:.1} s in all, {:.0} of at most {} write units of the table each second",
        written,
        written as f64 / took,
        options.rate,
    );
    server.stop().await
}

fn model(with_index: bool) -> String {
    let (index, pattern) = match with_index {
        true => (
            "    indexes: { open: { when: status = OPEN, openPK: \"OPEN#{customerId}\", openSK: \"{orderId}\" } }\n",
            "  A4: { query: Order, by: customerId, where: status = OPEN, order: orderId, limit: 20, rate: 1/s, consistency: eventual }\n",
        ),
        false => ("", ""),
    };
    format!(
        "model: orders\ntable: {{ name: {TABLE}, partition: PK, sort: SK, stream: new-and-old }}\nentities:\n  Order:\n    \
         key: {{ PK: \"CUST#{{customerId}}\", SK: \"ORDER#{{orderId}}\" }}\n    \
         attributes: {{ status: {{ values: {{ OPEN: 50%, SHIPPED: 50% }} }}, version: number }}\n    \
         size: 200 B\n{index}patterns:\n  \
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

    /// Kills the command when its record says that it has read so many items.
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

/// Writers that write both forms.
struct Application {
    end: Arc<AtomicBool>,
    created: Arc<AtomicU64>,
    writes: Arc<AtomicU64>,
    writers: JoinSet<Result<()>>,
}

impl Application {
    async fn start(address: SocketAddr) -> Result<Application> {
        let mut application = Application {
            end: Arc::default(),
            created: Arc::default(),
            writes: Arc::default(),
            writers: JoinSet::new(),
        };
        for writer in 0..WRITERS {
            let (end, created, writes) =
                (application.end.clone(), application.created.clone(), application.writes.clone());
            let mut connection = Connection::open(address).await?;
            application.writers.spawn(async move {
                for turn in 0_u64.. {
                    if end.load(Ordering::Relaxed) {
                        break;
                    }
                    // One after the other is created, and an earlier one of the same writer is changed.
                    let (number, version) = match turn % 3 {
                        0 => (turn, 1),
                        _ => (turn * 7919 % (turn / 3 + 1) * 3, turn + 2),
                    };
                    let number = OWN + writer * OWN_PER_WRITER + number;
                    let put = item(number, (number + version).is_multiple_of(2), version, true);
                    call(&mut connection, "PutItem", &json!({ "TableName": TABLE, "Item": put })).await?;
                    created.fetch_add(u64::from(turn.is_multiple_of(3)), Ordering::Relaxed);
                    writes.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(())
            });
        }
        Ok(application)
    }

    /// How many items were created, and how many writes there were.
    async fn end(mut self) -> Result<(u64, u64)> {
        self.end.store(true, Ordering::Relaxed);
        while let Some(ended) = self.writers.join_next().await {
            ended??;
        }
        Ok((self.created.load(Ordering::Relaxed), self.writes.load(Ordering::Relaxed)))
    }
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

/// How many items the job wrote; none may be written twice.
async fn writes_of_the_job(server: &Server) -> Result<usize> {
    let mut connection = Connection::open(server.address).await?;
    let table = call(&mut connection, "DescribeTable", &json!({ "TableName": TABLE })).await?;
    let arn = table["Table"]["LatestStreamArn"].clone();
    let stream = call_streams(&mut connection, "DescribeStream", &json!({ "StreamArn": arn })).await?;
    let mut writes: HashMap<String, u32> = HashMap::new();
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
    Ok(writes.len())
}
