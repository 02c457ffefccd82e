//! `cargo xtask cluster`: a three-node Patroni cluster with a synchronous standby and a Lodestone server in front.
//! Its leader is killed under load, again and again, and the data is compared with the writes that the server
//! acknowledged.
//!
//! A round:
//! 1. The cluster has a leader and a synchronous standby. The writers of `cargo xtask crash` write.
//! 2. The leader's node dies: SIGKILL for Patroni, PostgreSQL and all its processes.
//! 3. The server must acknowledge a write again within `--seconds` by itself: it finds the new leader, and finds out
//!    which commits without a reply have happened.
//! 4. The writers stop, the whole table is compared with the ledger, and the dead node starts again.
//!
//! With `--url` nothing is killed. The storage contract's suite and the engine's behaviour suite run on the cluster
//! that the URL names.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::server::Server;
use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

use crate::command::{self, Tally, cargo, run_counting};
use crate::crash::ledger::Ledger;
use crate::crash::writer::{self, Progress};
use crate::crash::{call, pulse, read_all, table, wait_until_active};
use crate::tools;

mod figures;
mod patroni;

use patroni::Cluster;

#[derive(clap::Args)]
pub struct Options {
    /// How often the leader is killed
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// How soon after a kill a write must be acknowledged
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// How many clients write at the same time
    #[arg(long, default_value_t = 16)]
    writers: usize,
    /// Run the suites on this database instead, which may be on any cluster. They make schemas in it and leave them
    /// there: use a database of its own
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Measure PutItem and GetItem beside pgbench instead
    #[arg(long, conflicts_with = "url")]
    figures: bool,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

impl Options {
    /// One kill, to see that the test itself works.
    pub fn brief() -> Options {
        Options { rounds: 1, seconds: 30, writers: 16, url: None, figures: false, lodestone: None }
    }
}

pub fn run(options: &Options) -> Result<()> {
    if let Some(url) = &options.url {
        return run_suites(url);
    }
    tools::postgres()?;
    tools::patroni()?;
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = match options.figures {
        true => runtime.block_on(figures::measure(&binary, folder.path())),
        false => runtime.block_on(rounds(options, &binary, folder.path())),
    };
    if outcome.is_err() {
        eprintln!("cluster: the data and the logs stay in {}", folder.keep().display());
    }
    outcome
}

/// The suites that every store passes, on a cluster that somebody has.
fn run_suites(url: &str) -> Result<()> {
    let mut tally = Tally::default();
    for arguments in [
        ["test", "--package", "store-postgres", "--test", "postgres", "conformance"],
        ["test", "--package", "engine", "--test", "behaviour", "on_postgres"],
    ] {
        run_counting(cargo(arguments).env("LODESTONE_POSTGRES_URL", url), &mut tally)?;
    }
    println!("cluster: {} tests passed", tally.passed);
    Ok(())
}

async fn rounds(options: &Options, binary: &Path, folder: &Path) -> Result<()> {
    println!("cluster: {} kills, {} writers", options.rounds, options.writers);
    let mut cluster = Cluster::start(folder).await?;
    let log = OpenOptions::new().create(true).append(true).open(folder.join("server.log"))?;
    let url = cluster.url();
    let serve =
        ["serve", "--host", "127.0.0.1", "--port", "0", "--studio", "off", "--postgres", &url, "--backups"];
    let backups = folder.join("backups");
    let arguments = serve.iter().map(Path::new).chain([backups.as_path()]);
    let server = Server::start(binary, arguments, log.into()).await?;
    let mut connection = Connection::open(server.address).await?;
    call(&mut connection, "CreateTable", &table()).await?;
    wait_until_active(&mut connection).await?;

    let mut load = Load::new(options.writers);
    let mut slowest = Duration::ZERO;
    for round in 0..options.rounds {
        let writers = load.start(&server).await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (node, killed) = (cluster.kill_leader().await?, Instant::now());
        let took = until_acknowledged(&server, killed + Duration::from_secs(options.seconds)).await;
        let took = took.with_context(|| format!("round {round}, node {node} was killed"))? - killed;
        slowest = slowest.max(took);
        load.stop(writers).await?;
        let mut connection = Connection::open(server.address).await?;
        load.settle(&mut connection).await.with_context(|| format!("round {round}"))?;
        println!("cluster: node {node} killed, writes again after {:.1} s", took.as_secs_f64());
        cluster.start_again(node).await?;
    }
    server.stop().await?;
    load.print(slowest);
    Ok(())
}

/// The moment of the first write that is acknowledged.
async fn until_acknowledged(server: &Server, deadline: Instant) -> Result<Instant> {
    loop {
        let written = async {
            let mut connection = Connection::open(server.address).await?;
            call(&mut connection, "PutItem", &pulse()).await
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let error = match tokio::time::timeout(left, written).await {
            Ok(Ok(_)) => return Ok(Instant::now()),
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => "no answer".to_owned(),
        };
        ensure!(Instant::now() < deadline, "no write was acknowledged in time: {error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The writers and what they know.
struct Load {
    ledger: Arc<Mutex<Ledger>>,
    progress: Arc<Progress>,
    random: fastrand::Rng,
}

impl Load {
    fn new(writers: usize) -> Load {
        let ledger = Arc::new(Mutex::new(Ledger::new(writers)));
        Load { ledger, progress: Arc::default(), random: fastrand::Rng::new() }
    }

    async fn start(&mut self, server: &Server) -> Result<JoinSet<Result<()>>> {
        self.progress.stop.store(false, Ordering::Relaxed);
        let mut writers = JoinSet::new();
        let count = self.ledger.lock().unwrap_or_else(PoisonError::into_inner).writers();
        for number in 0..count {
            let connection = Connection::open(server.address).await?;
            let (ledger, progress) = (self.ledger.clone(), self.progress.clone());
            writers.spawn(writer::write_until_stopped(
                number,
                self.random.u64(..),
                connection,
                ledger,
                progress,
            ));
        }
        Ok(writers)
    }

    async fn stop(&self, mut writers: JoinSet<Result<()>>) -> Result<()> {
        self.progress.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = writers.join_next().await {
            ended??;
        }
        Ok(())
    }

    async fn settle(&self, connection: &mut Connection) -> Result<()> {
        let found = read_all(connection).await?;
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).settle(found)
    }

    fn print(&self, slowest: Duration) {
        println!(
            "cluster: {} acknowledged writes, none lost, none invented, none half applied; {} were refused; \
             writes went on by themselves within {:.1} s",
            self.progress.acknowledged.load(Ordering::Relaxed),
            self.progress.refused.load(Ordering::Relaxed),
            slowest.as_secs_f64(),
        );
    }
}
