//! `cargo xtask cluster`: a three-node Patroni cluster with a synchronous standby and two Lodestone servers in front.
//! Leaders and servers are killed under load, again and again, and the data is compared with the writes that the
//! servers acknowledged.
//!
//! A round:
//! 1. The cluster has a leader and a synchronous standby. The writers of `cargo xtask crash` write and read, through
//!    both servers by turns.
//! 2. A server dies by SIGKILL. The other goes on, and the dead one starts again.
//! 3. The leader's node dies: SIGKILL for Patroni, PostgreSQL and all its processes. In every second round, this and the
//!    death of a server are one moment.
//! 4. Each server must acknowledge a write again within `--seconds` by itself: it finds the new leader, and finds out
//!    which commits without a reply have happened.
//! 5. The writers stop. A change of the table is acknowledged, which shows that the dead server was expelled. The whole
//!    table, read through each server, is compared with the ledger, and the dead node starts again.
//!
//! With `--url` nothing is killed. The storage contract's suite, the engine's behaviour suite and random histories, with
//! one server and with two, run on the cluster that the URL names.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::server::Server;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::command::{self, cargo, run_counting};
use crate::crash::ledger::Ledger;
use crate::crash::writer::{self, Progress};
use crate::crash::{TABLE, pulse, read_all, table};
use crate::evidence::Scratch;
use crate::tools;
use crate::victim::{call, until_active};
use crate::wait::WAIT;

mod figures;
pub mod patroni;

use patroni::Cluster;

const SERVERS: usize = 2;
/// How long writers write before something is killed.
const LOAD_TIME: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub struct ClusterOptions {
    /// How often a leader and a server are killed
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// How soon after a kill a write must be acknowledged
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// How many clients write at the same time
    #[arg(long, default_value_t = 16)]
    writers: usize,
    /// Repeats the load of an earlier run, though not its moments
    #[arg(long)]
    seed: Option<u64>,
    /// Run the suites on this database instead, which may be on any cluster. They make schemas in it and leave them
    /// there: use a database of its own
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Measure PutItem and GetItem beside pgbench instead, with one server and with two
    #[arg(long, conflicts_with = "url")]
    figures: bool,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

impl ClusterOptions {
    /// One kill, to see that nothing is lost. How soon writes go on is measured by the full campaign: it depends on how
    /// busy the machine is.
    pub fn brief() -> ClusterOptions {
        let seconds = WAIT.as_secs();
        ClusterOptions {
            rounds: 1,
            seconds,
            writers: 16,
            seed: None,
            url: None,
            figures: false,
            lodestone: None,
        }
    }
}

pub fn run(options: &ClusterOptions) -> Result<()> {
    if let Some(url) = &options.url {
        return run_suites(url);
    }
    tools::postgres()?;
    tools::patroni()?;
    let binary = command::lodestone(options.lodestone.as_ref())?;
    let scratch = Scratch::new("cluster")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = match options.figures {
        true => {
            let generator = command::build_release()?.join("bench");
            runtime.block_on(figures::measure(&binary, &generator, scratch.path()))
        }
        false => runtime.block_on(campaign(options, &binary, &scratch)),
    };
    if outcome.is_ok() {
        scratch.passed();
    }
    outcome
}

/// The suites that every store passes, on a cluster that somebody has.
fn run_suites(url: &str) -> Result<()> {
    let mut passed = 0;
    let suites: [&[&str]; 5] = [
        // The statements for single keys are tried on our own PostgreSQL.
        &["store-postgres", "--test", "postgres", "conformance", "--", "--skip", "by_single_keys"],
        &["engine", "--test", "behaviour", "on_postgres"],
        &["engine", "--test", "behaviour", "on_two_servers_of_postgres", "--", "--include-ignored"],
        &["lodestone", "--test", "program", "histories::on_"],
        &["lodestone", "--test", "program", "verify_command"],
    ];
    for suite in suites {
        let mut test = cargo(["test", "--package"]);
        passed += run_counting(test.args(suite).env("LODESTONE_POSTGRES_URL", url))?.passed;
    }
    println!("cluster: {passed} tests passed");
    Ok(())
}

async fn campaign(options: &ClusterOptions, binary: &Path, scratch: &Scratch) -> Result<()> {
    let (rounds, writers) = (options.rounds, options.writers);
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("cluster: {rounds} leaders and servers to be killed, {writers} writers, seed {seed}");
    scratch.note("seed", seed);
    let mut load = Load::new(writers, seed);
    let outcome = self::rounds(options, binary, scratch.path(), &mut load).await;
    if outcome.is_err() {
        let ledger = load.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.note("ledger", format!("{ledger:#?}"));
    }
    outcome.with_context(|| format!("seed {seed}"))
}

async fn rounds(options: &ClusterOptions, binary: &Path, folder: &Path, load: &mut Load) -> Result<()> {
    let mut cluster = Cluster::start(folder).await?;
    let mut servers = Servers::start(binary, folder, &cluster.url()).await?;
    let mut connection = Connection::open(servers.addresses[0]).await?;
    call(&mut connection, "CreateTable", &table()).await?;
    until_active(&mut connection, TABLE).await?;

    let within = Duration::from_secs(options.seconds);
    let mut slowest = Slowest::default();
    for round in 0..options.rounds {
        let writers = load.start(&servers.addresses).await?;
        let victim = round as usize % SERVERS;
        let killing = kill_and_wait(&mut cluster, &mut servers, victim, round % 2 == 1, within);
        let (node, took) = killing.await.with_context(|| format!("round {round}"))?;
        slowest = slowest.max(took);
        load.stop(writers).await?;
        load.settle(&servers.addresses, round).await.with_context(|| format!("round {round}"))?;
        let of_leader = took.of_leader.as_secs_f64();
        match took.of_server.map(|took| took.as_secs_f64()) {
            Some(of_server) => println!(
                "cluster: server {victim} killed, writes through the other after {of_server:.1} s; node {node} killed, \
                 writes again after {of_leader:.1} s"
            ),
            None => println!(
                "cluster: server {victim} and node {node} killed at once, writes again after {of_leader:.1} s"
            ),
        }
        cluster.start_again(node).await?;
    }
    servers.stop().await?;
    load.print(slowest);
    Ok(())
}

/// Kills a server and the leader under load, one after the other or both at once, and waits until both servers
/// acknowledge writes again. Returns the leader's number, and how long it took.
async fn kill_and_wait(
    cluster: &mut Cluster,
    servers: &mut Servers,
    victim: usize,
    at_once: bool,
    within: Duration,
) -> Result<(usize, Slowest)> {
    let other = servers.addresses[(victim + 1) % SERVERS];
    tokio::time::sleep(LOAD_TIME).await;
    if at_once {
        servers.kill(victim).await?;
        let (node, killed) = (cluster.kill_leader().await?, Instant::now());
        let of_leader = until_acknowledged(other, killed, within).await.context("after both were killed")?;
        servers.start_again(victim).await?;
        until_acknowledged(servers.addresses[victim], Instant::now(), within).await?;
        return Ok((node, Slowest { of_leader, of_server: None }));
    }
    let killed = Instant::now();
    servers.kill(victim).await?;
    let of_server = until_acknowledged(other, killed, within).await.context("after a server was killed")?;
    servers.start_again(victim).await?;
    until_acknowledged(servers.addresses[victim], Instant::now(), within).await?;
    tokio::time::sleep(LOAD_TIME).await;
    let (node, killed) = (cluster.kill_leader().await?, Instant::now());
    let mut of_leader = Duration::ZERO;
    for address in servers.addresses {
        let took = until_acknowledged(address, killed, within).await;
        of_leader = of_leader.max(took.with_context(|| format!("after node {node} was killed"))?);
    }
    Ok((node, Slowest { of_leader, of_server: Some(of_server) }))
}

/// The longest that writes were not acknowledged after a kill.
#[derive(Clone, Copy, Default)]
struct Slowest {
    of_leader: Duration,
    /// None if it was killed together with the leader.
    of_server: Option<Duration>,
}

impl Slowest {
    fn max(self, other: Slowest) -> Slowest {
        Slowest {
            of_leader: self.of_leader.max(other.of_leader),
            of_server: self.of_server.max(other.of_server),
        }
    }
}

/// The servers in front of the cluster. One that starts again has the address that it had before.
struct Servers {
    binary: PathBuf,
    folder: PathBuf,
    url: String,
    addresses: [SocketAddr; SERVERS],
    /// None while it is dead.
    running: [Option<Server>; SERVERS],
}

impl Servers {
    async fn start(binary: &Path, folder: &Path, url: &str) -> Result<Servers> {
        let [one, two] = [patroni::free_port()?, patroni::free_port()?];
        let addresses = [one, two].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let (binary, folder, url) = (binary.to_owned(), folder.to_owned(), url.to_owned());
        let mut servers = Servers { binary, folder, url, addresses, running: [None, None] };
        for number in 0..SERVERS {
            servers.start_again(number).await?;
        }
        Ok(servers)
    }

    async fn start_again(&mut self, number: usize) -> Result<()> {
        let log = self.folder.join(format!("server{number}.log"));
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let port = self.addresses[number].port().to_string();
        let serve =
            ["serve", "--host", "127.0.0.1", "--port", &port, "--studio", "off", "--postgres", &self.url];
        let backups = self.folder.join("backups");
        let arguments = serve.iter().map(Path::new).chain([Path::new("--backups"), backups.as_path()]);
        self.running[number] = Some(Server::start(&self.binary, arguments, log.into()).await?);
        Ok(())
    }

    async fn kill(&mut self, number: usize) -> Result<()> {
        self.running[number].take().context("the server runs")?.kill().await
    }

    async fn stop(self) -> Result<()> {
        for server in self.running.into_iter().flatten() {
            server.stop().await?;
        }
        Ok(())
    }
}

/// How long after the kill the first write is acknowledged.
async fn until_acknowledged(address: SocketAddr, killed: Instant, within: Duration) -> Result<Duration> {
    until_answered(address, "PutItem", &pulse(), killed, within).await?;
    Ok(killed.elapsed())
}

/// Sends a request again and again, as an SDK does, until it is answered.
async fn until_answered(
    address: SocketAddr,
    operation: &str,
    body: &Value,
    since: Instant,
    within: Duration,
) -> Result<()> {
    for tries in 1.. {
        let answered = async {
            let mut connection = Connection::open(address).await?;
            call(&mut connection, operation, body).await
        };
        let left = within.saturating_sub(since.elapsed());
        let error = match tokio::time::timeout(left, answered).await {
            Ok(Ok(_)) => break,
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => "no answer".to_owned(),
        };
        // Writes are refused while there is no leader; anything else should be rare.
        if tries == 1 && operation != "PutItem" {
            println!("cluster: {operation} is tried again: {error}");
        }
        ensure!(since.elapsed() < within, "no {operation} was answered in time: {error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// The writers and what they know.
struct Load {
    ledger: Arc<Mutex<Ledger>>,
    progress: Arc<Progress>,
    random: fastrand::Rng,
}

impl Load {
    fn new(writers: usize, seed: u64) -> Load {
        let ledger = Arc::new(Mutex::new(Ledger::new(writers)));
        Load { ledger, progress: Arc::default(), random: fastrand::Rng::with_seed(seed) }
    }

    async fn start(&mut self, addresses: &[SocketAddr]) -> Result<JoinSet<Result<()>>> {
        self.progress.stop.store(false, Ordering::Relaxed);
        let mut writers = JoinSet::new();
        let count = self.ledger.lock().unwrap_or_else(PoisonError::into_inner).writers();
        for number in 0..count {
            let mut connections = Vec::new();
            for address in addresses {
                connections.push(Connection::open(*address).await?);
            }
            let (ledger, progress) = (self.ledger.clone(), self.progress.clone());
            let seed = self.random.u64(..);
            writers.spawn(writer::write_until_stopped(number, seed, connections, ledger, progress));
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

    /// Compares what each server reads with the ledger, when nothing that was on its way can happen any more.
    async fn settle(&self, addresses: &[SocketAddr], round: u32) -> Result<()> {
        let change = json!({"TableName": TABLE, "DeletionProtectionEnabled": round.is_multiple_of(2)});
        let mut seen = Vec::new();
        for (number, address) in addresses.iter().enumerate() {
            if number == 0 {
                // It waits until the server that died is expelled, after 15 seconds.
                until_answered(*address, "UpdateTable", &change, Instant::now(), WAIT).await?;
            }
            let found = read_all(&mut Connection::open(*address).await?).await?;
            self.ledger.lock().unwrap_or_else(PoisonError::into_inner).settle(found.clone())?;
            seen.push(found);
        }
        ensure!(seen.windows(2).all(|pair| pair[0] == pair[1]), "the servers read different items");
        Ok(())
    }

    fn print(&self, slowest: Slowest) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        println!(
            "cluster: {} acknowledged writes, none lost, none invented, none half applied; {} reads, all of the latest \
             write; {} requests were refused, {} cut; writes went on by themselves within {:.1} s of a lost leader and \
             {:.1} s of a lost server",
            count(&self.progress.acknowledged),
            count(&self.progress.read),
            count(&self.progress.refused),
            count(&self.progress.cut),
            slowest.of_leader.as_secs_f64(),
            slowest.of_server.unwrap_or_default().as_secs_f64(),
        );
    }
}
