//! `bench scale`: what grows with the table.
//!
//! 1. Each size is loaded into a durable server of its own, which is then stopped cleanly.
//! 2. Each is opened again, with the time to its first answer measured, and gets requests until its caches are warm.
//! 3. Get, query and put are measured in turns over the sizes, so that other load on the machine affects
//!    them equally. The requests go to the whole table evenly: no cache holds what is asked for next.
//! 4. Each is killed and opened again, with the time to its first answer measured.

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
/// How many rounds over the sizes a row takes.
const ROUNDS: u32 = 9;
/// How long a server gets requests before it is measured, until its caches are warm.
const WARM_UP: Duration = Duration::from_secs(4);
/// An item is stored in the table and in its index, and once more while either is compacted.
const DISK_BYTES_PER_ITEM: u64 = 2_000;

/// Load tables of several sizes and see what grows
#[derive(clap::Args, Clone, Debug)]
pub struct ScaleOptions {
    /// How many items of about 500 bytes; a table for each number
    #[arg(long, value_delimiter = ',', value_name = "COUNT", default_values_t = [10_000, 1_000_000, 10_000_000])]
    pub items: Vec<u64>,
    /// How long each row is measured
    #[arg(long, default_value_t = 9.0)]
    pub seconds: f64,
    /// How many connections at once
    #[arg(long, default_value_t = 32)]
    pub connections: usize,
    /// Keep the tables in this folder, and load only those that are not there yet
    #[arg(long, value_name = "DIR")]
    pub tables: Option<PathBuf>,
    /// See only that everything works: small tables and short rows
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

impl ScaleOptions {
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

pub async fn run(options: &ScaleOptions) -> Result<()> {
    ensure!(options.seconds > 0.0 && options.seconds.is_finite(), "--seconds must be more than 0");
    ensure!(options.connections > 0, "--connections must be more than 0");
    let scratch = options.place.scratch()?;
    let folder = options.tables.as_deref().unwrap_or(scratch.path());
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let lodestone = options.place.lodestone()?;

    let mut subjects: Vec<Subject> = Vec::new();
    for data in options.sizes() {
        subjects.push(Subject::new(options, &lodestone, folder, data)?);
    }
    let missing = subjects.iter().filter(|subject| !subject.folder.exists());
    ensure_room(folder, missing.map(|subject| subject.data.items()).sum())?;
    for subject in subjects.iter_mut().filter(|subject| !subject.folder.exists()) {
        subject.loading = Some(subject.load().await?);
    }
    for subject in &mut subjects {
        subject.disk_bytes = disk_bytes(&subject.folder)?;
    }
    for subject in &mut subjects {
        let (server, took) = subject.open().await?;
        subject.opened_after_stop = took;
        if !options.quick {
            server.come_to_rest().await?;
            read_once(&subject.folder)?;
            let mut clients = Clients::connect(server.address, subject.connections).await?;
            let gets = Requests::of(Workload::Get, subject.data);
            clients.drive(&gets, Until::Passed(WARM_UP)).await?;
        }
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
    let needed = items * DISK_BYTES_PER_ITEM;
    ensure!(
        needed <= free,
        "{} GB are needed in {} and {} GB are free. Choose fewer --items, or another disk with --output.",
        number(needed as f64 / 1e9),
        folder.display(),
        number(free as f64 / 1e9),
    );
    Ok(())
}

/// A table of one size, and its measurements.
struct Subject {
    data: Data,
    lodestone: PathBuf,
    folder: PathBuf,
    connections: usize,
    kept: bool,
    /// Present while it runs.
    server: Option<Server>,
    /// `None` if the table already existed.
    loading: Option<Loading>,
    disk_bytes: u64,
    opened_after_stop: Duration,
    opened_after_kill: Duration,
    resident_bytes_max: u64,
    rows: Vec<Measurement>,
}

struct Loading {
    items_per_second: f64,
    retries: u64,
    resident_bytes_max: u64,
}

impl Subject {
    fn new(options: &ScaleOptions, lodestone: &Path, folder: &Path, data: Data) -> Result<Subject> {
        let row = |&workload| Measurement::new(Contender::Durable, workload, options.connections);
        Ok(Subject {
            data,
            lodestone: lodestone.to_owned(),
            folder: folder.join(data.items().to_string()),
            connections: options.connections,
            kept: options.tables.is_some(),
            server: None,
            loading: None,
            disk_bytes: 0,
            opened_after_stop: Duration::ZERO,
            opened_after_kill: Duration::ZERO,
            resident_bytes_max: 0,
            rows: WORKLOADS.iter().map(row).collect::<Result<_>>()?,
        })
    }

    /// The folder gets its name only when everything is in it.
    async fn load(&self) -> Result<Loading> {
        let folder = self.folder.with_extension("loading");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).context("removing what an earlier run did not finish")?;
        }
        let server = serve(&self.lodestone, ["--data".into(), folder.clone()]).await?;
        table::create(&mut Connection::open(server.address).await?, &data::table()).await?;
        let mut clients = Clients::connect(server.address, self.connections).await?;
        let requests = Requests::of(Workload::Load, self.data);
        let loaded =
            progress::of_items(&requests, self.data.items(), clients.drive(&requests, Until::Walked)).await?;
        let failures = &loaded.failures;
        ensure!(failures.count == 0, "{} batches failed, the first: {:?}", failures.count, failures.first);
        server.come_to_rest().await?;
        let resident_bytes_max = server.resident_bytes_max()?;
        drop(clients);
        server.stop().await?;
        std::fs::rename(&folder, &self.folder).context("naming a loaded folder")?;
        let items_per_second = self.data.items() as f64 / loaded.elapsed.as_secs_f64();
        Ok(Loading { items_per_second, retries: loaded.retries, resident_bytes_max })
    }

    /// Starts the server and returns it with the time to the answer of a first get.
    async fn open(&self) -> Result<(Server, Duration)> {
        let started = Instant::now();
        let server = serve(&self.lodestone, ["--data".into(), self.folder.clone()]).await?;
        let mut connection = Connection::open(server.address).await?;
        let (status, body) = connection.exchange(&Requests::of(Workload::Get, self.data).next().1).await?;
        let took = started.elapsed();
        Workload::Get.check(status, body).context("the first get after an opening")?;
        Ok((server, took))
    }

    /// The updates before the kill are in the journal and nowhere else yet.
    async fn kill_and_open(&mut self) -> Result<Duration> {
        let server = self.server.take().context("the server runs")?;
        server.resume()?;
        self.resident_bytes_max = server.resident_bytes_max()?;
        let requests = Requests::of(Workload::Update, self.data);
        let mut clients = Clients::connect(server.address, self.connections).await?;
        clients.drive(&requests, Until::Passed(Duration::from_millis(500))).await?;
        server.kill().await?;
        let (server, took) = self.open().await?;
        if self.kept {
            // The next run finds the table as after a load: flushed and compacted.
            server.come_to_rest().await?;
            server.stop().await?;
        }
        Ok(took)
    }

    fn row(&self, workload: Workload) -> Option<&Measurement> {
        self.rows.iter().find(|row| row.workload == workload)
    }
}

async fn measure(options: &ScaleOptions, subjects: &mut [Subject]) -> Result<()> {
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

/// Reads the files of a folder into the system's page cache, as far as there is memory: the server is measured, not
/// the disk.
fn read_once(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.metadata()?.is_dir() {
            read_once(&entry.path())?;
        } else {
            std::io::copy(&mut std::fs::File::open(entry.path())?, &mut std::io::sink())?;
        }
    }
    Ok(())
}

/// The disk space of a folder's files, without holes.
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
        let loading = |figure: fn(&Loading) -> f64| {
            subject.loading.as_ref().map_or("–".to_owned(), |loading| number(figure(loading)))
        };
        table.add_row([
            number(subject.data.items() as f64),
            loading(|loading| loading.items_per_second),
            subject.loading.as_ref().map_or("–".to_owned(), |loading| loading.retries.to_string()),
            loading(|loading| loading.resident_bytes_max as f64 / 1e6),
            number(subject.resident_bytes_max as f64 / 1e6),
            number(subject.disk_bytes as f64 / 1e6),
            number(subject.opened_after_stop.as_secs_f64()),
            number(subject.opened_after_kill.as_secs_f64()),
        ]);
    }
    report::align_right(&mut table, &[0, 1, 2, 3, 4, 5, 6, 7]);
    table
}

/// Compares the largest with the smallest.
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
    let loading = largest.loading.as_ref().map_or(0, |loading| loading.resident_bytes_max);
    let memory = largest.resident_bytes_max.max(loading) as f64 / 1e6;
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
