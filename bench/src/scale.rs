//! `bench scale`: what grows when the table grows.
//!
//! 1. Each size is loaded into a durable server of its own, which is then stopped in good order.
//! 2. Each is opened again, timed to its first answer.
//! 3. Get, query and put are measured in turns round the sizes, so that whatever else the machine does hits
//!    them alike. The requests go to all of the table, evenly: no cache holds what is asked for next.
//! 4. Each is killed and opened again, timed to its first answer.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use comfy_table::Table;

use crate::connection::Connection;
use crate::contender::{Contender, serve};
use crate::data::{self, Data};
use crate::goals::{self, Bound, Goal};
use crate::load::{Clients, Until};
use crate::measurement::Measurement;
use crate::place::Place;
use crate::progress;
use crate::report::{self, number};
use crate::server::Server;
use crate::table;
use crate::workload::{Requests, Source, Workload};

const WORKLOADS: [Workload; 3] = [Workload::Get, Workload::Query, Workload::Put];
/// How many times a row goes round the sizes.
const ROUNDS: u32 = 3;
/// An item lies in the table and in its index, and once more while either is compacted.
const DISK_BYTES_AN_ITEM: u64 = 2_000;
/// How long a server may still be busy after its load before it is measured all the same.
const SETTLE_WITHIN: Duration = Duration::from_secs(120);

/// Load tables of several sizes and see what grows
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// How many items of about 500 bytes; a table for each number
    #[arg(long, value_delimiter = ',', value_name = "COUNT", default_values_t = [10_000, 1_000_000, 10_000_000])]
    pub items: Vec<u64>,
    /// How long each row is measured
    #[arg(long, default_value_t = 9.0)]
    pub seconds: f64,
    /// How many connections at once
    #[arg(long, default_value_t = 32)]
    pub connections: usize,
    /// See only that everything works: small tables and short rows
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

impl Options {
    fn sizes(&self) -> Vec<Data> {
        let items = if self.quick { &[200, 1_000] } else { self.items.as_slice() };
        let mut items = items.to_vec();
        items.sort_unstable();
        items.dedup();
        items.into_iter().map(Data::new).collect()
    }

    fn slice(&self) -> Duration {
        Duration::from_secs_f64(if self.quick { 0.02 } else { self.seconds / f64::from(ROUNDS) })
    }
}

pub async fn run(options: &Options) -> Result<()> {
    ensure!(options.seconds > 0.0 && options.seconds.is_finite(), "--seconds must be more than 0");
    ensure!(options.connections > 0, "--connections must be more than 0");
    let folder = options.place.scratch()?;
    let sizes = options.sizes();
    ensure_room(folder.path(), sizes.iter().map(|data| data.items()).sum())?;
    let lodestone = options.place.lodestone()?;

    let mut subjects = Vec::new();
    for data in sizes {
        subjects.push(Subject::load(options, &lodestone, folder.path(), data).await?);
    }
    for subject in &mut subjects {
        let (server, took) = subject.open().await?;
        subject.opened_after_stop = took;
        server.pause()?;
        subject.server = Some(server);
    }
    measure(options, &mut subjects).await?;
    for subject in &mut subjects {
        subject.opened_after_kill = subject.kill_and_open().await?;
    }

    let text = markdown(&subjects);
    println!("{text}");
    options.place.write(&[("scale.md", &text)])?;
    let failed: u64 =
        subjects.iter().flat_map(|subject| &subject.rows).map(|row| row.outcome.failures.count).sum();
    ensure!(failed == 0, "{failed} requests failed");
    Ok(())
}

fn ensure_room(folder: &Path, items: u64) -> Result<()> {
    let disk = nix::sys::statvfs::statvfs(folder).context("asking how full the disk is")?;
    let free = disk.blocks_available() as u64 * disk.fragment_size() as u64;
    let needed = items * DISK_BYTES_AN_ITEM;
    ensure!(
        needed <= free,
        "{} GB are needed in {} and {} GB are free. Choose fewer --items, or another disk with --output.",
        number(needed as f64 / 1e9),
        folder.display(),
        number(free as f64 / 1e9),
    );
    Ok(())
}

/// A table of one size, and what was found about it.
struct Subject {
    data: Data,
    lodestone: PathBuf,
    folder: PathBuf,
    connections: usize,
    /// While it runs.
    server: Option<Server>,
    items_per_second: f64,
    retries: u64,
    resident_bytes_max_loading: u64,
    disk_bytes: u64,
    opened_after_stop: Duration,
    opened_after_kill: Duration,
    resident_bytes_max: u64,
    rows: Vec<Measurement>,
}

impl Subject {
    async fn load(options: &Options, lodestone: &Path, folder: &Path, data: Data) -> Result<Subject> {
        let folder = folder.join(data.items().to_string());
        let server = serve(lodestone, ["--data".into(), folder.clone()]).await?;
        table::create(&mut Connection::open(server.address).await?, &data::table()).await?;
        let mut clients = Clients::connect(server.address, options.connections).await?;
        let requests = Requests::of(Workload::Load, data);
        let loaded =
            progress::of_items(&requests, data.items(), clients.drive(&requests, Until::Walked)).await?;
        let failures = &loaded.failures;
        ensure!(failures.count == 0, "{} batches failed, the first: {:?}", failures.count, failures.first);
        settle(&server).await?;
        let resident_bytes_max_loading = server.resident_bytes_max()?;
        drop(clients);
        server.stop().await?;
        Ok(Subject {
            data,
            lodestone: lodestone.to_owned(),
            connections: options.connections,
            server: None,
            items_per_second: data.items() as f64 / loaded.elapsed.as_secs_f64(),
            retries: loaded.retries,
            resident_bytes_max_loading,
            disk_bytes: disk_bytes(&folder)?,
            folder,
            opened_after_stop: Duration::ZERO,
            opened_after_kill: Duration::ZERO,
            resident_bytes_max: 0,
            rows: WORKLOADS
                .iter()
                .map(|&workload| Measurement::new(Contender::Durable, workload, options.connections))
                .collect::<Result<_>>()?,
        })
    }

    /// Starts the server and says how long it took to the answer of a first get.
    async fn open(&self) -> Result<(Server, Duration)> {
        let started = Instant::now();
        let server = serve(&self.lodestone, ["--data".into(), self.folder.clone()]).await?;
        let mut connection = Connection::open(server.address).await?;
        let (status, body) = connection.exchange(&Requests::of(Workload::Get, self.data).next().1).await?;
        let took = started.elapsed();
        Workload::Get.check(status, body).context("the first get after an opening")?;
        Ok((server, took))
    }

    /// The updates before the kill are in the journal and not yet anywhere else.
    async fn kill_and_open(&mut self) -> Result<Duration> {
        let server = self.server.take().context("the server runs")?;
        server.resume()?;
        self.resident_bytes_max = server.resident_bytes_max()?;
        let requests = Requests::of(Workload::Update, self.data);
        let mut clients = Clients::connect(server.address, self.connections).await?;
        clients.drive(&requests, Until::Passed(Duration::from_millis(500))).await?;
        server.kill().await?;
        let (server, took) = self.open().await?;
        server.kill().await?;
        Ok(took)
    }

    fn row(&self, workload: Workload) -> Option<&Measurement> {
        self.rows.iter().find(|row| row.workload == workload)
    }
}

/// Waits until what the load left to do in the background is done: until a second takes hardly any CPU.
async fn settle(server: &Server) -> Result<()> {
    let spinner = progress::spinner("waiting for the server to come to rest");
    let deadline = Instant::now() + SETTLE_WITHIN;
    loop {
        let before = server.cpu_time()?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        if server.cpu_time()? - before < Duration::from_millis(30) || Instant::now() > deadline {
            spinner.finish_and_clear();
            return Ok(());
        }
    }
}

async fn measure(options: &Options, subjects: &mut [Subject]) -> Result<()> {
    let turns = WORKLOADS.len() * ROUNDS as usize * subjects.len();
    let progress = progress::bar(turns as u64);
    for (place, workload) in WORKLOADS.into_iter().enumerate() {
        let walks: Vec<Requests> =
            subjects.iter().map(|subject| Requests::of(workload, subject.data)).collect();
        for _ in 0..ROUNDS {
            for (subject, walk) in subjects.iter_mut().zip(&walks) {
                progress.set_message(format!("{} of {} items", workload.title(), subject.data.items()));
                let server = subject.server.as_ref().context("the server runs")?;
                server.resume()?;
                subject.rows[place].take_turn(walk, server, options.slice()).await?;
                server.pause()?;
                progress.inc(1);
            }
        }
    }
    progress.finish_and_clear();
    Ok(())
}

/// What the files of a folder take on the disk, holes not counted.
fn disk_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

fn markdown(subjects: &[Subject]) -> String {
    let goals = reached(subjects);
    format!(
        "## Scale\n\n{}\n\n{}\n\n## Goals\n\n{}\n",
        costs(subjects),
        sizes(subjects),
        goals::table(&goals)
    )
}

fn costs(subjects: &[Subject]) -> Table {
    let mut table = report::table(&[
        "workload",
        "items",
        "operations/s",
        "p50 µs",
        "p99 µs",
        "CPU µs/op",
        "times the smallest",
        "errors",
    ]);
    for workload in WORKLOADS {
        let smallest =
            subjects.first().and_then(|subject| subject.row(workload)).map_or(f64::NAN, |row| row.cpu_us());
        for subject in subjects {
            let Some(row) = subject.row(workload) else { continue };
            table.add_row([
                workload.title().to_owned(),
                number(subject.data.items() as f64),
                number(row.rate()),
                number(row.latency_us(0.5)),
                number(row.latency_us(0.99)),
                number(row.cpu_us()),
                number(row.cpu_us() / smallest),
                row.outcome.failures.count.to_string(),
            ]);
        }
    }
    report::align_right(&mut table, &[1, 2, 3, 4, 5, 6, 7]);
    table
}

fn sizes(subjects: &[Subject]) -> Table {
    let mut table = report::table(&[
        "items",
        "loaded items/s",
        "batches retried",
        "most memory while loading, MB",
        "most memory while measured, MB",
        "on disk, MB",
        "first answer after a stop, s",
        "first answer after a kill, s",
    ]);
    for subject in subjects {
        table.add_row([
            number(subject.data.items() as f64),
            number(subject.items_per_second),
            subject.retries.to_string(),
            number(subject.resident_bytes_max_loading as f64 / 1e6),
            number(subject.resident_bytes_max as f64 / 1e6),
            number(subject.disk_bytes as f64 / 1e6),
            number(subject.opened_after_stop.as_secs_f64()),
            number(subject.opened_after_kill.as_secs_f64()),
        ]);
    }
    report::align_right(&mut table, &[0, 1, 2, 3, 4, 5, 6, 7]);
    table
}

/// The largest against the smallest.
fn reached(subjects: &[Subject]) -> Vec<Goal> {
    let [smallest, .., largest] = subjects else { return Vec::new() };
    let growth = |workload: Workload| {
        let growth = largest.row(workload)?.cpu_us() / smallest.row(workload)?.cpu_us();
        let what = format!("{}: growth of CPU", workload.title());
        Some(Goal { what, measured: growth, bound: Bound::AtMost(1.4) })
    };
    let most = |what: &str, measured: f64, most: f64| {
        Some(Goal { what: what.to_owned(), measured, bound: Bound::AtMost(most) })
    };
    let memory = largest.resident_bytes_max.max(largest.resident_bytes_max_loading) as f64 / 1e6;
    [
        growth(Workload::Get),
        growth(Workload::Query),
        growth(Workload::Put),
        most("most memory, MB", memory, 400.0),
        most("first answer after a stop, s", largest.opened_after_stop.as_secs_f64(), 2.0),
        most("first answer after a kill, s", largest.opened_after_kill.as_secs_f64(), 2.0),
    ]
    .into_iter()
    .flatten()
    .collect()
}
