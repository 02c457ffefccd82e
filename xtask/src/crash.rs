//! `cargo xtask crash`: kill the binary under load, again and again, and compare the data with the writes
//! that it acknowledged.
//!
//! A round:
//! 1. Start the binary on the folder of the rounds before; the first write must be acknowledged within
//!    `--first-write` milliseconds of the start. The short round of `cargo xtask test` does not look at the time: the
//!    machine may be busy.
//! 2. Read the whole table and compare it with the [`ledger`]: no acknowledged write lost, none invented,
//!    none half applied. A write without an answer is found to have happened or not.
//! 3. Let the [`writer`]s write for a random moment, then SIGKILL.
//!
//! With `--shortage` the binary runs out of room on its disk, or of file descriptors, again and again while the
//! writers go on ([`shortage`]).
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
use ::bench::server::Server;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::command;
use crate::evidence::Scratch;
use crate::victim::{call, until_active};

pub mod ledger;
mod shortage;
pub mod writer;

use ledger::Ledger;
use shortage::Shortage;

pub const TABLE: &str = "Crash";

#[derive(clap::Args)]
pub struct CrashOptions {
    /// How often the binary is killed; with --shortage, how often it runs short
    #[arg(long, default_value_t = 100)]
    rounds: u32,
    /// Let it run out of something instead, and have it back
    #[arg(long, value_enum)]
    shortage: Option<Shortage>,
    /// How many clients write at the same time
    #[arg(long, default_value_t = 32)]
    writers: usize,
    /// Repeats the load of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// The longest time that a round writes before the kill
    #[arg(long, default_value_t = 500)]
    milliseconds: u64,
    /// How long after its start the first write must be acknowledged, in milliseconds
    #[arg(long, default_value = "1000")]
    first_write: Option<u64>,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

impl CrashOptions {
    /// A few rounds, to see that the test itself works.
    pub fn brief(shortage: Option<Shortage>) -> CrashOptions {
        let rounds = if shortage.is_some() { 2 } else { 5 };
        CrashOptions {
            rounds,
            shortage,
            writers: 32,
            seed: None,
            milliseconds: 300,
            first_write: None,
            lodestone: None,
        }
    }
}

/// A few rounds of everything.
pub fn run_brief() -> Result<()> {
    let shortages = Shortage::value_variants().iter().copied().map(Some);
    let kinds = std::iter::once(None).chain(shortages);
    // Each runs, also when another fails.
    let outcomes: Vec<Result<()>> = kinds.map(|shortage| run(&CrashOptions::brief(shortage))).collect();
    outcomes.into_iter().collect()
}

pub fn run(options: &CrashOptions) -> Result<()> {
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let scratch = Scratch::new("crash")?;
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    let what = options.shortage.map_or(String::new(), |shortage| format!(" of {shortage}"));
    println!("crash: {} rounds{what}, {} writers, seed {seed}", options.rounds, options.writers);
    scratch.note("seed", seed);

    let first_write_within = options.first_write.map(Duration::from_millis);
    let launch = Launch { binary, folder: scratch.path().to_owned(), first_write_within, descriptors: None };
    let ledger = Arc::new(Mutex::new(Ledger::new(options.writers)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = match options.shortage {
        Some(shortage) => runtime.block_on(shortage.rounds(options, launch, &ledger, seed)),
        None => runtime.block_on(rounds(options, &launch, &ledger, seed)).map(|totals| totals.print(options)),
    };
    match &outcome {
        Ok(()) => scratch.passed(),
        Err(_) => {
            let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            scratch.note("ledger", format!("{ledger:#?}"));
        }
    }
    outcome
}

/// How the binary is started.
struct Launch {
    binary: PathBuf,
    /// Where its data and its log are.
    folder: PathBuf,
    first_write_within: Option<Duration>,
    /// How many files it may have open, if not as many as it likes.
    descriptors: Option<u64>,
}

impl Launch {
    fn data(&self) -> PathBuf {
        self.folder.join("disk").join("data")
    }

    async fn start(&self) -> Result<Server> {
        let log: File = OpenOptions::new().create(true).append(true).open(self.folder.join("server.log"))?;
        let data = self.data();
        std::fs::create_dir_all(&data)?;
        let serve = ["serve", "--host", "127.0.0.1", "--port", "0", "--data"].map(PathBuf::from);
        let serve = serve.iter().chain([&data]);
        match self.descriptors {
            None => Server::start(&self.binary, serve, log.into()).await,
            Some(descriptors) => {
                let script = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
                let shell = [PathBuf::from("-c"), PathBuf::from(script), self.binary.clone()];
                Server::start(Path::new("/bin/sh"), shell.iter().chain(serve), log.into()).await
            }
        }
    }
}

impl Totals {
    fn print(&self, options: &CrashOptions) {
        let Totals { acknowledged, slowest_start, slowest_write } = self;
        println!(
            "crash: {} kills, {acknowledged} acknowledged writes, none lost, none invented, none half applied; \
             first write after a start within {} ms, slowest write {} ms",
            options.rounds,
            slowest_start.as_millis(),
            slowest_write.as_millis(),
        );
    }
}

#[derive(Default)]
struct Totals {
    acknowledged: u64,
    slowest_start: Duration,
    slowest_write: Duration,
}

async fn rounds(
    options: &CrashOptions,
    launch: &Launch,
    ledger: &Arc<Mutex<Ledger>>,
    seed: u64,
) -> Result<Totals> {
    let progress = indicatif::ProgressBar::new(u64::from(options.rounds));
    if !std::io::stderr().is_terminal() {
        progress.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut totals = Totals::default();
    for round in 0..options.rounds {
        let writing = Duration::from_millis(random.u64(20..=options.milliseconds.max(20)));
        let seeds: Vec<u64> = (0..options.writers).map(|_| random.u64(..)).collect();
        let written = one_round(launch, ledger, &seeds, writing, &mut totals, round == 0);
        written.await.with_context(|| format!("round {round} of seed {seed}"))?;
        progress.inc(1);
    }
    let server = reopen(launch, ledger, &mut totals, false).await.context("after the last round")?;
    server.kill().await?;
    progress.finish_and_clear();
    Ok(totals)
}

async fn one_round(
    launch: &Launch,
    ledger: &Arc<Mutex<Ledger>>,
    seeds: &[u64],
    writing: Duration,
    totals: &mut Totals,
    first: bool,
) -> Result<()> {
    let server = reopen(launch, ledger, totals, first).await?;
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
async fn reopen(launch: &Launch, ledger: &Mutex<Ledger>, totals: &mut Totals, first: bool) -> Result<Server> {
    let started = Instant::now();
    let server = launch.start().await?;
    let mut connection = Connection::open(server.address).await?;
    if first {
        call(&mut connection, "CreateTable", &table()).await?;
        until_active(&mut connection, TABLE).await?;
    }
    call(&mut connection, "PutItem", &pulse()).await?;
    let took = started.elapsed();
    let is_soon = launch.first_write_within.is_none_or(|within| took < within);
    ensure!(is_soon, "the first write came {} ms after the start", took.as_millis());
    totals.slowest_start = totals.slowest_start.max(took);

    let found = read_all(&mut connection).await?;
    ledger.lock().unwrap_or_else(PoisonError::into_inner).settle(found)?;
    Ok(server)
}

/// An item that only shows whether writes are taken.
pub fn pulse() -> Value {
    json!({"TableName": TABLE, "Item": {"group": {"S": "pulse"}, "number": {"N": "0"}}})
}

/// Every item by key, except those that are not in the ledger.
pub async fn read_all(connection: &mut Connection) -> Result<BTreeMap<(String, u64), Value>> {
    let mut found = BTreeMap::new();
    let mut request = json!({"TableName": TABLE, "ConsistentRead": true});
    loop {
        let page = call(connection, "Scan", &request).await?;
        for item in page["Items"].as_array().context("a page has items")? {
            let group = item["group"]["S"].as_str().context("a group")?.to_owned();
            let number = item["number"]["N"].as_str().context("a number")?.parse()?;
            if group != "pulse" && group != shortage::BALLAST {
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

pub fn table() -> Value {
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
