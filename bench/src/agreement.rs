//! `bench agreement`: does `lodestone simulate` say what really happens?
//!
//! A model is simulated. Then the same traffic is sent to a server with `--capacity aws` that lets time pass faster, and
//! what tables and indexes consumed and refused there is compared with the simulation.
//!
//! The model is made so that limits are met: saved units are used up and saved again, the table refuses reads, and an
//! index refuses the writes of its table.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::contender;
use crate::place::Place;
use crate::report::{self, number};
use crate::request::encode;
use crate::table;

/// How far consumed units may differ.
const UNITS_APART_MAX: f64 = 0.02;
/// How far the numbers of refused requests may differ.
const REFUSED_APART_MAX: f64 = 0.05;
/// Requests that are later than this by the server's clock make the run worthless: the machine was too busy.
const LATE_MAX: Duration = Duration::from_secs(20);
const CONNECTIONS: usize = 16;
/// Partition keys of the index.
const KINDS: usize = 50;
const TABLE: &str = "things";
const INDEX: &str = "byKind";
/// Units each second. The table's writes are within its units, and beyond those of the index.
const TABLE_UNITS: (u64, u64) = (2, 8);
const INDEX_UNITS: (u64, u64) = (1, 3);
/// Requests each second, on the average.
const ADDS: f64 = 3.0;
const GETS: f64 = 5.0;
/// So large that an item costs one write unit, and half a read unit.
const ITEM_BYTES: usize = 900;
/// What the rates are multiplied by in each part of the time: quiet, busy, as usual, quiet.
const FACTORS: [f64; 5] = [0.5, 2.0, 1.0, 0.2, 1.5];

/// Compare what `lodestone simulate` says with what a server does
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// How many minutes of traffic there are, by the server's clock
    #[arg(long, default_value_t = 40)]
    pub minutes: usize,
    /// How many times as fast as real time the server's clock runs
    #[arg(long, default_value_t = 60)]
    pub time_scale: u32,
    /// Ten minutes in five seconds. Late requests and small differences are no failure
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

/// What was consumed and refused, simulated or real.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    read_units: f64,
    write_units: f64,
    index_write_units: f64,
    reads_refused: f64,
    writes_refused: f64,
}

pub async fn run(options: &Options) -> Result<()> {
    let (minutes, time_scale) = if options.quick { (10, 120) } else { (options.minutes, options.time_scale) };
    ensure!(
        minutes >= FACTORS.len() && time_scale > 0,
        "there must be a minute for each part of the traffic"
    );
    let lodestone = options.place.lodestone()?;
    let folder = options.place.scratch()?;
    let simulated = simulate(&lodestone, folder.path(), minutes)?;
    let server = contender::serve(
        &lodestone,
        ["--in-memory", "--capacity", "aws", "--time-scale", &time_scale.to_string()].map(Into::into),
    )
    .await?;
    let mut connection = Connection::open(server.address).await?;
    table::call(&mut connection, "CreateTable", &table_definition()).await?;
    let sent = Traffic::new(minutes, time_scale).send(server.address).await?;
    server.stop().await?;
    println!("{}", report(&simulated, &sent.figures));
    let late = sent.latest * time_scale;
    println!(
        "{} requests; the latest was {:.1} s late by the server's clock.",
        sent.count,
        late.as_secs_f64()
    );
    if options.quick {
        return Ok(());
    }
    ensure!(late <= LATE_MAX, "requests were late: the machine is too busy for this comparison");
    simulated.check(&sent.figures)
}

fn model() -> String {
    let (read, write) = TABLE_UNITS;
    let (index_read, index_write) = INDEX_UNITS;
    format!(
        "model: agreement\n\
         table: {{ name: {TABLE}, partition: PK, billing: provisioned, read: {read}, write: {write} }}\n\
         entities:\n  \
           Thing:\n    \
             key: {{ PK: \"THING#{{thingId}}\" }}\n    \
             attributes: {{ kind: string }}\n    \
             count: 1M\n    \
             size: {ITEM_BYTES} B\n\
         indexes:\n  \
           {INDEX}: {{ partition: kind, project: all, read: {index_read}, write: {index_write} }}\n\
         patterns:\n  \
           Add: {{ create: Thing, rate: {ADDS}/s }}\n  \
           Get: {{ get: Thing, by: thingId, rate: {GETS}/s }}\n"
    )
}

fn table_definition() -> Value {
    let units = |(read, write): (u64, u64)| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    json!({
        "TableName": TABLE, "ProvisionedThroughput": units(TABLE_UNITS),
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "AttributeDefinitions": [attribute("PK"), attribute("kind")],
        "GlobalSecondaryIndexes": [{
            "IndexName": INDEX, "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(INDEX_UNITS),
        }],
    })
}

/// What the rates are multiplied by in a minute.
fn factor(minute: usize, minutes: usize) -> f64 {
    FACTORS[minute * FACTORS.len() / minutes]
}

fn simulate(lodestone: &Path, folder: &Path, minutes: usize) -> Result<Figures> {
    let (model_file, curve_file) = (folder.join("model.yaml"), folder.join("curve.csv"));
    let line = |minute| format!("{minute}m,{}\n", factor(minute, minutes));
    std::fs::write(&model_file, model())?;
    std::fs::write(&curve_file, format!("time,factor\n{}", (0..minutes).map(line).collect::<String>()))?;
    let mut command = Command::new(lodestone);
    command.arg("simulate").arg(&model_file).arg("--traffic").arg(&curve_file).arg("--json");
    let output = command.output().context("running lodestone simulate")?;
    ensure!(output.status.success(), "lodestone simulate: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let place = |name: &str| {
        let places = report["ways"][0]["places"].as_array().into_iter().flatten();
        places
            .clone()
            .find(|place| place["name"] == name)
            .cloned()
            .with_context(|| format!("{name} is missing"))
    };
    let (table, index) = (place(TABLE)?, place(&format!("{TABLE}/{INDEX}"))?);
    let figure = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    Ok(Figures {
        read_units: figure(&table["read"]["consumed"]),
        write_units: figure(&table["write"]["consumed"]),
        index_write_units: figure(&index["write"]["consumed"]),
        reads_refused: figure(&table["read"]["refused"]),
        writes_refused: figure(&table["write"]["refused"]),
    })
}

/// The requests, each with its time.
struct Traffic {
    due: Vec<(Duration, bool)>,
}

/// What became of them.
#[derive(Debug, Default)]
struct Sent {
    count: usize,
    /// What the answers say.
    figures: Figures,
    /// How late the latest was sent.
    latest: Duration,
}

impl Traffic {
    fn new(minutes: usize, time_scale: u32) -> Traffic {
        let mut due = Vec::new();
        for (is_write, per_second) in [(true, ADDS), (false, GETS)] {
            let mut sum = 0.0;
            for second in 0..minutes * 60 {
                let rate = per_second * factor(second / 60, minutes);
                let (before, after) = (sum, sum + rate);
                // Evenly within the second.
                for number in before.floor() as u64..after.floor() as u64 {
                    let part = ((number + 1) as f64 - before) / rate;
                    let time = Duration::from_secs_f64(second as f64 + part.clamp(0.0, 1.0));
                    due.push((time / time_scale, is_write));
                }
                sum = after;
            }
        }
        due.sort_unstable();
        Traffic { due }
    }

    /// Sends each request when it is due, over a few connections.
    async fn send(self, address: std::net::SocketAddr) -> Result<Sent> {
        let (due, next, started) = (Arc::new(self.due), Arc::new(AtomicUsize::new(0)), Instant::now());
        let mut connections = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (due, next) = (due.clone(), next.clone());
            connections.spawn(async move {
                let mut connection = Connection::open(address).await?;
                let mut sent = Sent::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((time, is_write)) = due.get(number) else { return Ok(sent) };
                    tokio::time::sleep_until((started + *time).into()).await;
                    sent.latest = sent.latest.max(started.elapsed().saturating_sub(*time));
                    sent.note(&mut connection, number, *is_write).await?;
                }
            });
        }
        let mut all = Sent::default();
        while let Some(sent) = connections.join_next().await {
            let sent: Result<Sent> = sent?;
            let sent = sent?;
            all.count += sent.count;
            all.figures.add(&sent.figures);
            all.latest = all.latest.max(sent.latest);
        }
        Ok(all)
    }
}

impl Sent {
    async fn note(&mut self, connection: &mut Connection, number: usize, is_write: bool) -> Result<()> {
        let key = format!("THING#{number}");
        let request = match is_write {
            true => {
                let kind = format!("kind-{}", number % KINDS);
                let filling = "v".repeat(ITEM_BYTES - "PK".len() - key.len() - "kind".len() - kind.len() - 1);
                let item = json!({"PK": {"S": key}, "kind": {"S": kind}, "v": {"S": filling}});
                let input = json!({"TableName": TABLE, "Item": item, "ReturnConsumedCapacity": "INDEXES"});
                encode("PutItem", &input)
            }
            false => {
                let key = json!({"PK": {"S": key}});
                encode(
                    "GetItem",
                    &json!({"TableName": TABLE, "Key": key, "ReturnConsumedCapacity": "INDEXES"}),
                )
            }
        };
        let (status, body) = connection.exchange(&request).await?;
        self.count += 1;
        let figures = &mut self.figures;
        match status {
            200 => {
                let answer: Value = serde_json::from_slice(body)?;
                let consumed = &answer["ConsumedCapacity"];
                let units = |part: &Value| part["CapacityUnits"].as_f64().unwrap_or(f64::NAN);
                match is_write {
                    true => {
                        figures.write_units += units(&consumed["Table"]);
                        figures.index_write_units += units(&consumed["GlobalSecondaryIndexes"][INDEX]);
                    }
                    false => figures.read_units += units(&consumed["Table"]),
                }
            }
            400 if String::from_utf8_lossy(body).contains("ProvisionedThroughputExceeded") => {
                match is_write {
                    true => figures.writes_refused += 1.0,
                    false => figures.reads_refused += 1.0,
                }
            }
            _ => bail!("{status}: {}", String::from_utf8_lossy(body)),
        }
        Ok(())
    }
}

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.index_write_units += other.index_write_units;
        self.reads_refused += other.reads_refused;
        self.writes_refused += other.writes_refused;
    }

    /// Each figure with its name and how far two runs may differ in it.
    fn each(&self) -> [(&'static str, f64, f64); 5] {
        [
            ("read units of the table", self.read_units, UNITS_APART_MAX),
            ("write units of the table", self.write_units, UNITS_APART_MAX),
            ("write units of the index", self.index_write_units, UNITS_APART_MAX),
            ("reads refused", self.reads_refused, REFUSED_APART_MAX),
            ("writes refused", self.writes_refused, REFUSED_APART_MAX),
        ]
    }

    fn check(&self, real: &Figures) -> Result<()> {
        for ((name, simulated, apart_max), (_, real, _)) in self.each().into_iter().zip(real.each()) {
            ensure!(
                simulated > 0.0,
                "{name}: the simulation has none, so the traffic is too weak to compare"
            );
            ensure!(
                apart(simulated, real) <= apart_max,
                "{name}: simulated {simulated}, really {real}; more than {} % apart",
                apart_max * 100.0
            );
        }
        Ok(())
    }
}

fn apart(simulated: f64, real: f64) -> f64 {
    (simulated - real).abs() / simulated.max(real).max(f64::MIN_POSITIVE)
}

fn report(simulated: &Figures, real: &Figures) -> String {
    let mut table = report::table(&["figure", "simulated", "really", "apart"]);
    for ((name, simulated, _), (_, real, _)) in simulated.each().into_iter().zip(real.each()) {
        let apart = format!("{:.2} %", apart(simulated, real) * 100.0);
        table.add_row([name, &number(simulated), &number(real), &apart]);
    }
    report::align_right(&mut table, &[1, 2, 3]);
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traffic_has_the_requests_of_its_rates() {
        let traffic = Traffic::new(10, 60);
        let expected = |per_second: f64| per_second * 120.0 * FACTORS.iter().sum::<f64>();
        let count =
            |is_write: bool| traffic.due.iter().filter(|(_, write)| *write == is_write).count() as f64;
        assert!((count(true) - expected(ADDS)).abs() <= 1.0, "{}", count(true));
        assert!((count(false) - expected(GETS)).abs() <= 1.0, "{}", count(false));
        assert!(traffic.due.last().is_some_and(|(time, _)| *time <= Duration::from_secs(10)));
        assert!(traffic.due.is_sorted());
    }

    #[test]
    fn figures_that_differ_too_much_are_named() {
        let figures = |reads_refused| Figures {
            read_units: 100.0,
            write_units: 100.0,
            index_write_units: 50.0,
            reads_refused,
            writes_refused: 10.0,
        };
        figures(100.0).check(&figures(96.0)).unwrap();
        let refused = figures(100.0).check(&figures(90.0)).unwrap_err().to_string();
        assert!(refused.starts_with("reads refused"), "{refused}");
    }
}
