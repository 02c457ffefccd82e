//! `cargo xtask crash --shortage …`: the binary runs out of room on its disk, or of file descriptors, while
//! clients write.
//!
//! A round:
//! 1. The [`writer`]s write, and large items fill the log.
//! 2. A file takes all room of the disk, or the binary may open no more files. Writes must be refused with an
//!    error that says why; reads must be served, and `GET /` must say the same.
//! 3. There is room again. Writes must go on by themselves. In every third round the binary is killed
//!    instead while it is short, and started again.
//! 4. Every acknowledged write is there: the table is compared with the [`ledger`](super::ledger).
//!
//! The disk is a small one in memory (tmpfs), so this needs the right to mount one.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode;
use ::bench::server::Server;
use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::ledger::Ledger;
use super::writer::{self, Progress};
use super::{CrashOptions, Launch, TABLE, Totals, pulse, read_all, reopen};
use crate::command;
use crate::victim::call;
use crate::wait::WAIT;

/// The group of the large items.
pub const BALLAST: &str = "ballast";
const BALLAST_WRITERS: usize = 3;
const BALLAST_BYTES: usize = 300_000;
/// Room for three log segments and a few tables.
const DISK_BYTES: u64 = 256 << 20;
/// What the binary may open; half of it is for connections.
const DESCRIPTORS: u64 = 256;
/// Below what it has open already.
const DESCRIPTORS_SHORT: u64 = 8;
/// Connections that do nothing, more than the binary can have.
const IDLE_CONNECTIONS: usize = 300;

#[derive(Clone, Copy, ValueEnum)]
pub enum Shortage {
    Disk,
    Descriptors,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shortage::Disk => "a full disk",
            Shortage::Descriptors => "no descriptors",
        })
    }
}

impl Shortage {
    pub(super) async fn rounds(
        self,
        options: &CrashOptions,
        mut launch: Launch,
        ledger: &Arc<Mutex<Ledger>>,
        seed: u64,
    ) -> Result<()> {
        let place = launch.folder.join("disk");
        let disk = match self {
            Shortage::Disk => match Disk::mount(&place) {
                Ok(disk) => Some(disk),
                Err(error) => {
                    println!("crash: NOT TESTED: a full disk, for no small one can be mounted: {error:#}");
                    return Ok(());
                }
            },
            Shortage::Descriptors => {
                launch.descriptors = Some(DESCRIPTORS);
                None
            }
        };
        let ledger = ledger.clone();
        let (ballast, progress) = (Arc::default(), Arc::default());
        let random = fastrand::Rng::with_seed(seed);
        let totals = Totals::default();
        let mut run = Run { shortage: self, launch, disk, ledger, ballast, progress, random, totals };
        let started = Instant::now();
        let mut server = Some(reopen(&run.launch, &run.ledger, &mut run.totals, true).await?);
        for round in 0..options.rounds {
            let begun = server.take().context("there is a server")?;
            let went_on = run.round(begun, round % 3 == 2).await;
            server = Some(went_on.with_context(|| format!("round {round} of seed {seed}"))?);
        }
        server.context("there is a server")?.kill().await?;
        let server = reopen(&run.launch, &run.ledger, &mut run.totals, false).await?;
        run.check_ballast(&mut Connection::open(server.address).await?).await?;
        server.stop().await?;
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        println!(
            "crash: {self} {} times in {:.1} s, {} acknowledged writes, none lost, none invented, none half applied; \
             {} were refused, {} connections cut; writes went on by themselves within {} ms",
            options.rounds,
            started.elapsed().as_secs_f64(),
            count(&run.progress.acknowledged),
            count(&run.progress.refused),
            count(&run.progress.cut),
            run.totals.slowest_write.as_millis(),
        );
        Ok(())
    }

    /// What an error must say.
    fn reason(self) -> &'static str {
        match self {
            Shortage::Disk => "the store is full",
            Shortage::Descriptors => "Too many open files",
        }
    }
}

struct Run {
    shortage: Shortage,
    launch: Launch,
    disk: Option<Disk>,
    ledger: Arc<Mutex<Ledger>>,
    /// The last version of each large item that was acknowledged, and the last that was sent.
    ballast: Arc<Mutex<[(u64, u64); BALLAST_WRITERS]>>,
    progress: Arc<Progress>,
    random: fastrand::Rng,
    totals: Totals,
}

impl Run {
    async fn round(&mut self, mut server: Server, kill: bool) -> Result<Server> {
        let writers = self.start_writers(&server).await?;
        let mut connection = Connection::open(server.address).await?;
        tokio::time::sleep(Duration::from_millis(self.random.u64(50..400))).await;
        self.begin(&server).await?;
        self.wait_until_refused(&mut connection).await?;
        self.check_reads(&mut connection).await?;
        if kill {
            server.kill().await?;
            self.stop_writers(writers).await?;
            self.end(None)?;
            server = reopen(&self.launch, &self.ledger, &mut self.totals, false).await?;
            connection = Connection::open(server.address).await?;
        } else {
            self.end(Some(&server))?;
            self.wait_until_taken(&mut connection).await?;
            if matches!(self.shortage, Shortage::Descriptors) {
                self.crowd_out(&server).await?;
                // The server may have closed the one that rested.
                connection = Connection::open(server.address).await?;
            }
            self.stop_writers(writers).await?;
            let found = read_all(&mut connection).await?;
            self.ledger.lock().unwrap_or_else(PoisonError::into_inner).settle(found)?;
        }
        self.check_ballast(&mut connection).await?;
        Ok(server)
    }

    async fn start_writers(&mut self, server: &Server) -> Result<JoinSet<Result<()>>> {
        let mut writers = JoinSet::new();
        self.progress.stop.store(false, Ordering::Relaxed);
        let count = self.ledger.lock().unwrap_or_else(PoisonError::into_inner).writers();
        for number in 0..count {
            let connection = Connection::open(server.address).await?;
            let (ledger, progress) = (self.ledger.clone(), self.progress.clone());
            let seed = self.random.u64(..);
            writers.spawn(writer::write_until_stopped(number, seed, vec![connection], ledger, progress));
        }
        for number in 0..BALLAST_WRITERS {
            let connection = Connection::open(server.address).await?;
            let (ballast, progress) = (self.ballast.clone(), self.progress.clone());
            writers.spawn(write_ballast(number, connection, ballast, progress));
        }
        Ok(writers)
    }

    async fn stop_writers(&self, mut writers: JoinSet<Result<()>>) -> Result<()> {
        self.progress.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = writers.join_next().await {
            ended??;
        }
        Ok(())
    }

    /// Takes the room of the disk, or the right to open files.
    async fn begin(&mut self, server: &Server) -> Result<()> {
        match self.shortage {
            Shortage::Disk => self.disk.as_mut().context("there is a disk")?.fill(),
            Shortage::Descriptors => {
                // Some work is to fail halfway.
                for _ in 0..self.random.u32(0..100) {
                    limit_descriptors(server, DESCRIPTORS_SHORT)?;
                    tokio::time::sleep(Duration::from_micros(self.random.u64(100..2000))).await;
                    limit_descriptors(server, DESCRIPTORS)?;
                    tokio::time::sleep(Duration::from_micros(self.random.u64(100..2000))).await;
                }
                limit_descriptors(server, DESCRIPTORS_SHORT)
            }
        }
    }

    fn end(&mut self, server: Option<&Server>) -> Result<()> {
        match (&mut self.disk, server) {
            (Some(disk), _) => disk.empty(),
            (None, Some(server)) => limit_descriptors(server, DESCRIPTORS),
            (None, None) => Ok(()),
        }
    }

    async fn wait_until_refused(&mut self, connection: &mut Connection) -> Result<()> {
        let deadline = Instant::now() + WAIT;
        loop {
            let (status, reply) = connection.exchange(&encode("PutItem", &pulse())).await?;
            let text = String::from_utf8_lossy(reply);
            if status == 500 {
                ensure!(text.contains(self.shortage.reason()), "the error does not say why: {text}");
                return Ok(());
            }
            ensure!(status == 200, "{status} {text}");
            ensure!(Instant::now() < deadline, "writes are never refused");
            if let Some(disk) = &mut self.disk {
                disk.fill()?;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What was written is read, and the server says how it is.
    async fn check_reads(&self, connection: &mut Connection) -> Result<()> {
        let key = pulse()["Item"].clone();
        let read = json!({"TableName": TABLE, "Key": key, "ConsistentRead": true});
        ensure!(call(connection, "GetItem", &read).await?["Item"] == key, "an item is missing");
        if self.disk.is_some() {
            read_all(connection).await.context("while the disk is full")?;
        }
        let (status, text) = connection.exchange(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await?;
        let text = String::from_utf8_lossy(text);
        ensure!(status == 503 && text.contains(self.shortage.reason()), "health is {status} {text}");
        ensure!(text.contains("go on by themselves"), "health does not say what to do: {text}");
        Ok(())
    }

    async fn wait_until_taken(&mut self, connection: &mut Connection) -> Result<()> {
        let started = Instant::now();
        loop {
            let (status, reply) = connection.exchange(&encode("PutItem", &pulse())).await?;
            if status == 200 {
                break;
            }
            let text = String::from_utf8_lossy(reply);
            ensure!(started.elapsed() < WAIT, "writes stay refused: {status} {text}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.totals.slowest_write = self.totals.slowest_write.max(started.elapsed());
        Ok(())
    }

    /// Connections that do nothing leave room for one that does.
    async fn crowd_out(&self, server: &Server) -> Result<()> {
        let mut idle = Vec::new();
        for _ in 0..IDLE_CONNECTIONS {
            idle.push(tokio::net::TcpStream::connect(server.address).await?);
        }
        let served = async {
            let mut connection = Connection::open(server.address).await?;
            call(&mut connection, "PutItem", &pulse()).await
        };
        let served = tokio::time::timeout(WAIT, served).await;
        served.context("idle connections keep out one that has work")??;
        Ok(())
    }

    async fn check_ballast(&self, connection: &mut Connection) -> Result<()> {
        let ballast = *self.ballast.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, (acknowledged, sent)) in ballast.into_iter().enumerate() {
            let key = json!({"group": {"S": BALLAST}, "number": {"N": number.to_string()}});
            let read = json!({"TableName": TABLE, "Key": key, "ConsistentRead": true});
            let reply = call(connection, "GetItem", &read).await?;
            let version = match reply.get("Item") {
                None => 0,
                Some(item) => {
                    let version = item["version"]["N"].as_str().context("a version")?.parse()?;
                    ensure!(*item == ballast_item(number, version), "half applied: ballast {number}");
                    version
                }
            };
            let allowed = acknowledged..=sent;
            ensure!(allowed.contains(&version), "ballast {number} holds {version}, promised is {allowed:?}");
        }
        Ok(())
    }
}

async fn write_ballast(
    number: usize,
    mut connection: Connection,
    ballast: Arc<Mutex<[(u64, u64); BALLAST_WRITERS]>>,
    progress: Arc<Progress>,
) -> Result<()> {
    let entry = |change: fn(&mut (u64, u64))| {
        let mut ballast = ballast.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut ballast[number]);
        ballast[number].1
    };
    while !progress.stop.load(Ordering::Relaxed) {
        let version = entry(|(_, sent)| *sent += 1);
        let put = json!({"TableName": TABLE, "Item": ballast_item(number, version)});
        match connection.exchange(&encode("PutItem", &put)).await {
            Ok((200, _)) => {
                entry(|(acknowledged, sent)| *acknowledged = *sent);
                progress.acknowledged.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Ok((500, _)) => progress.refused.fetch_add(1, Ordering::Relaxed),
            Ok((status, reply)) => bail!("{status} {}", String::from_utf8_lossy(reply)),
            Err(_) => {
                if let Ok(again) = connection.again().await {
                    connection = again;
                }
                progress.cut.fetch_add(1, Ordering::Relaxed)
            }
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

fn ballast_item(number: usize, version: u64) -> Value {
    let payload = format!("{version:010}").repeat(BALLAST_BYTES / 10);
    json!({
        "group": {"S": BALLAST}, "number": {"N": number.to_string()},
        "version": {"N": version.to_string()}, "payload": {"S": payload},
    })
}

fn limit_descriptors(server: &Server, limit: u64) -> Result<()> {
    let process = i32::try_from(server.id()).ok().and_then(Pid::from_raw).context("a process id")?;
    let limit = Rlimit { current: Some(limit), maximum: Some(DESCRIPTORS) };
    prlimit(Some(process), Resource::Nofile, limit).context("limiting the descriptors of the server")?;
    Ok(())
}

/// A small disk in memory, and the file that fills it.
struct Disk {
    place: PathBuf,
    filler: PathBuf,
}

impl Disk {
    fn mount(place: &Path) -> Result<Disk> {
        std::fs::create_dir_all(place)?;
        let size = format!("size={DISK_BYTES}");
        let place_text = place.to_str().context("a path of text")?;
        let mut mount = command::program("mount");
        command::run(mount.args(["-t", "tmpfs", "-o", &size, "lodestone-crash", place_text]))?;
        Ok(Disk { place: place.to_owned(), filler: place.join("filler") })
    }

    /// Takes all room that is left.
    fn fill(&mut self) -> Result<()> {
        let mut file = std::fs::File::options().create(true).append(true).open(&self.filler)?;
        for bytes in [1 << 20, 4096] {
            let zeros = vec![0; bytes];
            while file.write_all(&zeros).is_ok() {}
        }
        Ok(())
    }

    fn empty(&mut self) -> Result<()> {
        std::fs::remove_file(&self.filler).context("removing the file that fills the disk")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.place).status();
    }
}
