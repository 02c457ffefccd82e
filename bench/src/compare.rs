//! `bench`: all contenders on the same data, workload by workload.
//!
//! All are started and loaded first. Then each row is measured in rounds over the contenders, so that other load on
//! the machine affects them equally. Contenders that are not being measured are stopped, so that
//! only one of them ever runs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use indicatif::ProgressBar;

use crate::bare;
use crate::chart;
use crate::connection::Connection;
use crate::contender::{Contender, Places};
use crate::data::{self, Data};
use crate::load::{Clients, Until};
use crate::measurement::Measurement;
use crate::place::Place;
use crate::progress;
use crate::protocol::Protocol;
use crate::report::Report;
use crate::server::Server;
use crate::table;
use crate::workload::{Requests, Workload};

/// How many rounds over the contenders a row takes.
const ROUNDS: u32 = 3;

/// Compare Lodestone, durable and in memory, with a bare server that does no work, other emulators, PostgreSQL and Redis
#[derive(clap::Args, Clone, Debug)]
pub struct CompareOptions {
    /// Measure these workloads only
    #[arg(long, value_delimiter = ',', value_name = "WORKLOAD")]
    pub only: Vec<Workload>,
    /// Measure these contenders only; peers among them are installed
    #[arg(long, value_delimiter = ',', value_name = "CONTENDER")]
    pub contender: Vec<Contender>,
    /// Measure the peers as well, and install them
    #[arg(long)]
    pub peers: bool,
    /// Measure this earlier build of Lodestone as well, side by side
    #[arg(long, value_name = "BINARY")]
    pub before: Option<PathBuf>,
    /// Where peers are installed
    #[arg(long, hide = true)]
    pub peers_folder: Option<PathBuf>,
    /// How long each row is measured
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// How many connections at once; a row for each number
    #[arg(long, value_delimiter = ',', value_name = "COUNT", default_values_t = [1, 32])]
    pub connections: Vec<usize>,
    /// How many items of about 500 bytes the table holds
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    pub items: u64,
    /// See only that everything works: rows of 30 ms on a small table
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

impl CompareOptions {
    /// The contenders that were chosen; by default our own.
    pub fn contenders(&self) -> Vec<Contender> {
        let chosen = |contender: &Contender| match self.contender.as_slice() {
            _ if *contender == Contender::Before => self.before.is_some(),
            [] => contender.is_ours() && *contender != Contender::Uncounted,
            chosen => chosen.contains(contender),
        };
        let all = Contender::value_variants().iter().copied();
        all.filter(|contender| chosen(contender) || self.peers && !contender.is_ours()).collect()
    }

    fn wants(&self, workload: Workload) -> bool {
        self.only.is_empty() || self.only.contains(&workload)
    }

    /// The workloads that are measured after all contenders are loaded.
    fn workloads(&self) -> Vec<Workload> {
        let all = Workload::value_variants().iter().copied();
        all.filter(|&workload| workload != Workload::Load && self.wants(workload)).collect()
    }

    fn data(&self) -> Data {
        // Even a quick row ends before it reaches an item twice: two concurrent transactions would conflict.
        Data::new(if self.quick { 5_000 } else { self.items })
    }

    fn slice(&self) -> Duration {
        Duration::from_secs_f64(if self.quick { 0.01 } else { self.seconds / f64::from(ROUNDS) })
    }
}

pub async fn run(options: &CompareOptions) -> Result<()> {
    ensure!(options.seconds > 0.0 && options.seconds.is_finite(), "--seconds must be more than 0");
    ensure!(options.connections.iter().all(|&count| count > 0), "--connections must be more than 0");
    let folder = options.place.scratch()?;
    let places = Places {
        lodestone: options.place.lodestone()?,
        before: options.before.clone(),
        data: folder.path().to_owned(),
        replies: folder.path().join("replies.json"),
        peers: options.peers_folder.clone(),
    };
    bare::record_replies(&places.lodestone, options.data(), &places.replies).await?;
    let measurements = Comparison::start(options, &places).await?.measure().await?;
    let report = Report::new(measurements);
    let text = report.markdown();
    println!("{text}");
    options.place.write(&[("compare.md", &text), ("compare.svg", &chart::svg(&report))])?;
    report.ensure_sound()?;
    if options.quick {
        println!("Everything works. The figures mean nothing: rows were too short.");
    }
    Ok(())
}

struct Comparison<'a> {
    options: &'a CompareOptions,
    servers: Vec<(Contender, Server)>,
    measurements: Vec<Measurement>,
    progress: ProgressBar,
}

impl<'a> Comparison<'a> {
    /// Starts and loads the contenders.
    async fn start(options: &'a CompareOptions, places: &Places) -> Result<Comparison<'a>> {
        let contenders = options.contenders();
        let slices =
            contenders.len() * (1 + options.workloads().len() * options.connections.len() * ROUNDS as usize);
        let progress = progress::bar(slices as u64);
        let mut comparison = Comparison { options, servers: Vec::new(), measurements: Vec::new(), progress };
        for contender in contenders {
            match comparison.join(contender, places).await {
                // A comparison with fewer peers is better than none, but a try of what works is not.
                Err(error) if !contender.is_ours() && !options.quick => {
                    eprintln!("{} is left out: {error:#}", contender.title());
                }
                joined => joined?,
            }
        }
        Ok(comparison)
    }

    async fn join(&mut self, contender: Contender, places: &Places) -> Result<()> {
        let server = places.start(contender).await?;
        self.load(contender, &server).await?;
        server.pause()?;
        self.servers.push((contender, server));
        Ok(())
    }

    async fn load(&mut self, contender: Contender, server: &Server) -> Result<()> {
        self.progress.set_message(format!("loading {}", contender.title()));
        let protocol = contender.protocol();
        if contender.stores() {
            let mut connection = Connection::greet(protocol, server.address).await?;
            match protocol {
                Protocol::DynamoDb => table::create(&mut connection, &data::table()).await?,
                Protocol::Postgres | Protocol::Redis => connection.exchange_all(protocol.creation()).await?,
            }
        }
        let connections = self.options.connections.iter().copied().max().unwrap_or(1);
        let mut clients = Clients::connect_for(protocol, server.address, connections).await?;
        let requests = Requests::finished(protocol, Workload::Load, self.options.data());
        let cpu_before = server.cpu_time()?;
        let outcome = clients.drive(&requests, Until::Walked).await?;
        ensure!(
            outcome.failures.count == 0,
            "{} can't be loaded: {}",
            contender.title(),
            outcome.failures.first.unwrap_or_default()
        );
        let mut row = Measurement::new(contender, Workload::Load, connections)?;
        row.add(outcome, server.cpu_time()? - cpu_before, server.resident_bytes()?)?;
        if self.options.wants(Workload::Load) {
            self.measurements.push(row);
        }
        self.progress.inc(1);
        Ok(())
    }

    async fn measure(mut self) -> Result<Vec<Measurement>> {
        for workload in self.options.workloads() {
            let walks = self.walks(workload);
            for &connections in &self.options.connections {
                let rows = self.rows(workload, connections, &walks).await?;
                self.measurements.extend(rows);
            }
        }
        self.progress.finish_and_clear();
        Ok(self.measurements)
    }

    /// The requests for each contender; contenders of one protocol share the bytes.
    fn walks(&self, workload: Workload) -> Vec<Requests> {
        let mut made: Vec<Requests> = Vec::new();
        for (contender, _) in &self.servers {
            let protocol = contender.protocol();
            let same = made.iter().find(|walk| walk.protocol() == protocol).map(Requests::restarted);
            made.push(same.unwrap_or_else(|| Requests::finished(protocol, workload, self.options.data())));
        }
        made
    }

    /// A row for each contender that has the workload, measured in turns.
    async fn rows(
        &mut self,
        workload: Workload,
        connections: usize,
        walks: &[Requests],
    ) -> Result<Vec<Measurement>> {
        let mut rows = Vec::new();
        for (contender, _) in &self.servers {
            rows.push(Measurement::new(*contender, workload, connections)?);
        }
        for _ in 0..ROUNDS {
            for ((row, walk), (contender, server)) in rows.iter_mut().zip(walks).zip(&self.servers) {
                if !contender.protocol().has(workload) {
                    continue;
                }
                self.progress.set_message(format!(
                    "{}, {}, {connections} connections",
                    contender.title(),
                    workload.title()
                ));
                server.resume()?;
                match row.take_turn(walk, server, self.options.slice()).await {
                    // A peer that failed becomes a row with an error.
                    Err(error) if !contender.is_ours() && !self.options.quick => {
                        row.outcome.failures.record(|| error.to_string())
                    }
                    turn => turn.with_context(|| format!("{}: {}", contender.title(), workload.title()))?,
                }
                server.pause()?;
                self.progress.inc(1);
            }
        }
        rows.retain(|row| row.contender.protocol().has(workload));
        Ok(rows)
    }
}
