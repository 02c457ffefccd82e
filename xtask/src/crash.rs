//! `cargo xtask crash`: kill the binary under load, again and again, and compare the data with the writes
//! that it acknowledged.
//!
//! A round:
//! 1. Start the binary on the folder of the rounds before; the first write must be acknowledged within a
//!    second of the start.
//! 2. Read the whole table and compare it with the [`ledger`]: no acknowledged write lost, none invented,
//!    none half applied. A write without an answer is found to have happened or not.
//! 3. Let the [`writer`]s write for a random moment, then SIGKILL.
//!
//! The load comes from a seed, which is printed. The moment of the kill does not, so the same seed repeats
//! the load but not the crash.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode;
use ::bench::server::Server;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::command;

mod ledger;
mod writer;

use ledger::Ledger;

const TABLE: &str = "Crash";
const FIRST_WRITE_WITHIN: Duration = Duration::from_secs(1);

#[derive(clap::Args)]
pub struct Options {
    /// How often the binary is killed
    #[arg(long, default_value_t = 100)]
    rounds: u32,
    /// How many clients write at the same time
    #[arg(long, default_value_t = 32)]
    writers: usize,
    /// Repeats the load of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// The longest time that a round writes before the kill
    #[arg(long, default_value_t = 500)]
    milliseconds: u64,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

impl Options {
    /// A few rounds, to see that the test itself works.
    pub fn brief() -> Options {
        Options { rounds: 5, writers: 32, seed: None, milliseconds: 300, lodestone: None }
    }
}

pub fn run(options: &Options) -> Result<()> {
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let folder = tempfile::tempdir()?;
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("crash: {} rounds, {} writers, seed {seed}", options.rounds, options.writers);

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(rounds(options, &binary, folder.path(), seed));
    if outcome.is_err() {
        let kept = folder.keep();
        eprintln!("crash: the data and the server's log stay in {}", kept.display());
    }
    let Totals { acknowledged, slowest_start, slowest_write } = outcome?;
    println!(
        "crash: {} kills, {acknowledged} acknowledged writes, none lost, none invented, none half applied; \
         first write after a start within {} ms, slowest write {} ms",
        options.rounds,
        slowest_start.as_millis(),
        slowest_write.as_millis(),
    );
    Ok(())
}

#[derive(Default)]
struct Totals {
    acknowledged: u64,
    slowest_start: Duration,
    slowest_write: Duration,
}

async fn rounds(options: &Options, binary: &Path, folder: &Path, seed: u64) -> Result<Totals> {
    let progress = indicatif::ProgressBar::new(u64::from(options.rounds));
    if !std::io::stderr().is_terminal() {
        progress.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let ledger = Arc::new(Mutex::new(Ledger::new(options.writers)));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut totals = Totals::default();
    for round in 0..options.rounds {
        let writing = Duration::from_millis(random.u64(20..=options.milliseconds.max(20)));
        let seeds: Vec<u64> = (0..options.writers).map(|_| random.u64(..)).collect();
        let written = one_round(binary, folder, &ledger, &seeds, writing, &mut totals, round == 0);
        written.await.with_context(|| format!("round {round} of seed {seed}"))?;
        progress.inc(1);
    }
    let server = reopen(binary, folder, &ledger, &mut totals, false).await.context("after the last round")?;
    server.kill().await?;
    progress.finish_and_clear();
    Ok(totals)
}

async fn one_round(
    binary: &Path,
    folder: &Path,
    ledger: &Arc<Mutex<Ledger>>,
    seeds: &[u64],
    writing: Duration,
    totals: &mut Totals,
    first: bool,
) -> Result<()> {
    let server = reopen(binary, folder, ledger, totals, first).await?;
    let mut writers = JoinSet::new();
    for (number, &seed) in seeds.iter().enumerate() {
        let connection = Connection::open(server.address).await?;
        writers.spawn(writer::write_until_cut(number, seed, connection, ledger.clone()));
    }
    tokio::time::sleep(writing).await;
    server.kill().await?;
    while let Some(finished) = writers.join_next().await {
        let written = finished??;
        totals.acknowledged += written.acknowledged;
        totals.slowest_write = totals.slowest_write.max(written.slowest);
    }
    Ok(())
}

/// Starts the binary, times its first write, and compares the ledger with the table.
async fn reopen(
    binary: &Path,
    folder: &Path,
    ledger: &Mutex<Ledger>,
    totals: &mut Totals,
    first: bool,
) -> Result<Server> {
    let data = folder.join("data");
    let arguments = ["serve", "--host", "127.0.0.1", "--port", "0", "--data"].map(PathBuf::from);
    let log: File = OpenOptions::new().create(true).append(true).open(folder.join("server.log"))?;
    let started = Instant::now();
    let server = Server::start(binary, arguments.iter().chain([&data]), log.into()).await?;
    let mut connection = Connection::open(server.address).await?;
    if first {
        call(&mut connection, "CreateTable", &table()).await?;
        wait_until_active(&mut connection).await?;
    }
    let pulse = json!({"TableName": TABLE, "Item": {"group": {"S": "pulse"}, "number": {"N": "0"}}});
    call(&mut connection, "PutItem", &pulse).await?;
    let took = started.elapsed();
    ensure!(took < FIRST_WRITE_WITHIN, "the first write came {} ms after the start", took.as_millis());
    totals.slowest_start = totals.slowest_start.max(took);

    let found = read_all(&mut connection).await?;
    ledger.lock().unwrap_or_else(PoisonError::into_inner).settle(found)?;
    Ok(server)
}

/// Every item by key, except the one that times the first write.
async fn read_all(connection: &mut Connection) -> Result<BTreeMap<(String, u64), Value>> {
    let mut found = BTreeMap::new();
    let mut request = json!({"TableName": TABLE, "ConsistentRead": true});
    loop {
        let page = call(connection, "Scan", &request).await?;
        for item in page["Items"].as_array().context("a page has items")? {
            let group = item["group"]["S"].as_str().context("a group")?.to_owned();
            let number = item["number"]["N"].as_str().context("a number")?.parse()?;
            if group != "pulse" {
                let twice = found.insert((group, number), item.clone());
                ensure!(twice.is_none(), "the scan returned an item twice: {item}");
            }
        }
        match page.get("LastEvaluatedKey") {
            Some(key) => request["ExclusiveStartKey"] = key.clone(),
            None => return Ok(found),
        }
    }
}

async fn wait_until_active(connection: &mut Connection) -> Result<()> {
    for _ in 0..40 {
        let reply = call(connection, "DescribeTable", &json!({"TableName": TABLE})).await?;
        if reply["Table"]["TableStatus"] == "ACTIVE" {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bail!("the table did not become ACTIVE")
}

async fn call(connection: &mut Connection, operation: &str, body: &Value) -> Result<Value> {
    let (status, reply) =
        connection.exchange(&encode(operation, body)).await.context(operation.to_owned())?;
    ensure!(status == 200, "{operation}: {status} {}", String::from_utf8_lossy(reply));
    Ok(serde_json::from_slice(reply)?)
}

fn table() -> Value {
    json!({
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": "group", "AttributeType": "S"},
            {"AttributeName": "number", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "group", "KeyType": "HASH"},
            {"AttributeName": "number", "KeyType": "RANGE"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    })
}
