//! `bench latency`: how long clients wait at 70 % of the highest rate.
//!
//! A load is measured in rounds. In each, a closed loop finds the highest rate first; then requests
//! come due at 70 % of it, in an open loop (see `schedule`); then the bare server gets requests at the same rate: its
//! latency is that of the machine and the generator.
//!
//! The last row does the same with puts while indexes are added to the table, filled from all its items, and deleted
//! again, one after the other.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use comfy_table::Table;
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::bare;
use crate::connection::Connection;
use crate::contender::{Contender, Places};
use crate::data::{self, Data, TABLE};
use crate::goals::{self, Bound, Goal};
use crate::load::{Clients, Failures, Outcome, Until};
use crate::place::Place;
use crate::progress;
use crate::report::{self, number};
use crate::schedule::Schedule;
use crate::server::Server;
use crate::table;
use crate::workload::{Mix, Requests, Workload};

/// The fraction of the highest rate that is requested.
const LOAD: f64 = 0.7;
/// The closed loop that finds the highest rate.
const CLOSED_CONNECTIONS: usize = 32;
/// More than are ever in flight at 70 %, so that a request that is due never waits for a connection.
const OPEN_CONNECTIONS: usize = 128;
/// How many times the highest rate is measured and 70 % of it requested. A shared machine becomes slower and
/// faster by a third within seconds; 70 % of what it could do a minute ago may be all that it can do now.
const ROUNDS: u32 = 8;
const FILLED_INDEX: &str = "filled-during-the-run";

/// See how long clients wait at 70 % of the highest rate, counted from when each request was due
#[derive(clap::Args, Clone, Debug)]
pub struct LatencyOptions {
    /// Measure these loads only
    #[arg(long, value_delimiter = ',', value_name = "LOAD")]
    pub only: Vec<Load>,
    /// How long each row is measured, all its rounds together
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// How many items of about 500 bytes the table holds
    #[arg(long, value_name = "COUNT", default_value_t = 500_000)]
    pub items: u64,
    /// See only that everything works: a small table and short rows
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Load {
    /// GetItem
    Get,
    /// Query of 20 items
    Query,
    /// PutItem
    Put,
    /// Two gets to a query and a put
    Mix,
    /// PutItem while indexes are filled
    PutWhileFilling,
}

impl Load {
    fn title(self) -> &'static str {
        match self {
            Load::Get => "get",
            Load::Query => "query of 20",
            Load::Put => "put",
            Load::Mix => "mix",
            Load::PutWhileFilling => "put while an index is filled",
        }
    }

    /// Puts while indexes are filled have one round: clients don't send less because the table is busy.
    fn rounds(self) -> u32 {
        if self == Load::PutWhileFilling { 1 } else { ROUNDS }
    }

    fn source(self, data: Data) -> Mix {
        let workloads: &[Workload] = match self {
            Load::Get => &[Workload::Get],
            Load::Query => &[Workload::Query],
            Load::Put | Load::PutWhileFilling => &[Workload::Put],
            Load::Mix => &[Workload::Get, Workload::Query, Workload::Get, Workload::Put],
        };
        Mix::of(workloads, data)
    }
}

impl LatencyOptions {
    fn loads(&self) -> Vec<Load> {
        let all = <Load as clap::ValueEnum>::value_variants().iter().copied();
        all.filter(|load| self.only.is_empty() || self.only.contains(load)).collect()
    }

    fn data(&self) -> Data {
        Data::new(if self.quick { 1_000 } else { self.items })
    }

    fn duration(&self) -> Duration {
        Duration::from_secs_f64(if self.quick { 0.2 } else { self.seconds })
    }
}

struct Row {
    load: Load,
    /// The result of the closed loop.
    fastest: Outcome,
    /// At 70 % of its rate.
    outcome: Outcome,
    /// The bare server's, at the same rate.
    bare: Outcome,
    /// How long filling each index took.
    fillings: Vec<Duration>,
}

impl Row {
    fn empty(load: Load) -> Result<Row> {
        let (fastest, outcome, bare) = (Outcome::empty()?, Outcome::empty()?, Outcome::empty()?);
        Ok(Row { load, fastest, outcome, bare, fillings: Vec::new() })
    }
}

pub async fn run(options: &LatencyOptions) -> Result<()> {
    ensure!(options.seconds > 0.0 && options.seconds.is_finite(), "--seconds must be more than 0");
    let folder = options.place.scratch()?;
    let places = Places {
        lodestone: options.place.lodestone()?,
        before: None,
        data: folder.path().to_owned(),
        replies: folder.path().join("replies.json"),
        peers: None,
    };
    bare::record_replies(&places.lodestone, Data::new(100), &places.replies).await?;
    let bare = places.start(Contender::Bare).await?;
    let durable = places.start(Contender::Durable).await?;
    fill(&durable, options.data()).await?;
    if !options.quick {
        durable.come_to_rest().await?;
    }

    let loads = options.loads();
    let progress = progress::bar(loads.iter().map(|load| u64::from(load.rounds())).sum());
    let mut rows = Vec::new();
    for load in loads {
        rows.push(measure(load, &durable, &bare, options, &progress).await.with_context(|| load.title())?);
    }
    progress.finish_and_clear();

    let text = markdown(&rows);
    println!("{text}");
    options.place.write(&[("latency.md", &text)])?;
    let mut failures = Failures::default();
    rows.into_iter()
        .flat_map(|row| [row.fastest, row.outcome, row.bare])
        .for_each(|outcome| failures.add(outcome.failures));
    ensure!(failures.count == 0, "{} requests failed, the first: {:?}", failures.count, failures.first);
    Ok(())
}

async fn fill(server: &Server, data: Data) -> Result<()> {
    table::create(&mut Connection::open(server.address).await?, &data::table()).await?;
    let mut clients = Clients::connect(server.address, CLOSED_CONNECTIONS).await?;
    let requests = Requests::of(Workload::Load, data);
    let loaded = progress::of_items(&requests, data.items(), clients.drive(&requests, Until::Walked)).await?;
    let failures = &loaded.failures;
    ensure!(failures.count == 0, "{} batches failed, the first: {:?}", failures.count, failures.first);
    Ok(())
}

/// In each round the closed loop finds the highest rate, the open loop requests 70 % of it, and the bare server gets
/// the same while ours is paused.
async fn measure(
    load: Load,
    durable: &Server,
    bare: &Server,
    options: &LatencyOptions,
    progress: &ProgressBar,
) -> Result<Row> {
    let source = load.source(options.data());
    let mut row = Row::empty(load)?;
    for _ in 0..load.rounds() {
        let duration = options.duration() / load.rounds();
        progress.set_message(format!("{}: the highest rate", load.title()));
        let mut clients = Clients::connect(durable.address, CLOSED_CONNECTIONS).await?;
        let fastest = clients.drive(&source, Until::Passed(duration / 2)).await?;
        if load == Load::PutWhileFilling && !options.quick {
            durable.come_to_rest().await?;
        }
        let schedule = Schedule { per_second: fastest.rate() * LOAD, duration };
        row.fastest.add_after(fastest)?;

        progress.set_message(format!("{}: 70 % of it", load.title()));
        let mut clients = Clients::connect(durable.address, OPEN_CONNECTIONS).await?;
        let driven = clients.keep_to(schedule, &source);
        if load == Load::PutWhileFilling {
            let (outcome, fillings) = tokio::join!(driven, fill_indexes(durable, duration));
            row.outcome.add_after(outcome?)?;
            row.fillings.extend(fillings?);
        } else {
            row.outcome.add_after(driven.await?)?;
        }

        progress.set_message(format!("{}: the bare server", load.title()));
        durable.pause()?;
        let schedule = Schedule { duration: duration / 2, ..schedule };
        let mut clients = Clients::connect(bare.address, OPEN_CONNECTIONS).await?;
        row.bare.add_after(clients.keep_to(schedule, &source).await?)?;
        durable.resume()?;
        progress.inc(1);
    }
    Ok(row)
}

/// Adds an index, waits until it is filled, deletes it, and repeats until the time is over and the last is done.
async fn fill_indexes(server: &Server, duration: Duration) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(server.address).await?;
    let deadline = Instant::now() + duration;
    let mut fillings = Vec::new();
    while Instant::now() < deadline {
        let started = Instant::now();
        table::call(&mut connection, "UpdateTable", &added_index()).await?;
        wait_for_index(&mut connection, Some("ACTIVE")).await?;
        fillings.push(started.elapsed());
        let drop = json!({"TableName": TABLE, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": FILLED_INDEX}}]});
        table::call(&mut connection, "UpdateTable", &drop).await?;
        wait_for_index(&mut connection, None).await?;
    }
    Ok(fillings)
}

fn added_index() -> Value {
    json!({
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "placed", "AttributeType": "N"},
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": FILLED_INDEX,
            "KeySchema": [
                {"AttributeName": "customer", "KeyType": "HASH"},
                {"AttributeName": "placed", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    })
}

/// Waits until the index has a status; `None` waits until it is deleted.
async fn wait_for_index(connection: &mut Connection, status: Option<&str>) -> Result<()> {
    for _ in 0..6_000 {
        let table = table::describe(connection).await?;
        let indexes = table["GlobalSecondaryIndexes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let index = indexes.iter().find(|index| index["IndexName"] == FILLED_INDEX);
        if index.map(|index| index["IndexStatus"].as_str().unwrap_or_default()) == status {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bail!("the index did not become {status:?} within five minutes")
}

fn markdown(rows: &[Row]) -> String {
    let mut text = format!(
        "## Latency at 70 % of the highest rate\n\n\
         Durable, from the moment each request was due. In parentheses: the bare server at the same rate, which \
         shows what the machine and the generator take.\n\n{}\n",
        table_of(rows)
    );
    for row in rows.iter().filter(|row| !row.fillings.is_empty()) {
        let seconds: Vec<String> = row.fillings.iter().map(|took| number(took.as_secs_f64())).collect();
        text += &format!("\n{}: filling took {} s.\n", row.load.title(), seconds.join(", "));
    }
    text + &format!("\n## Goals\n\n{}\n", goals::table(&reached(rows)))
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn table_of(rows: &[Row]) -> Table {
    let mut table = report::table(&[
        "load",
        "highest rate/s",
        "asked/s",
        "done/s",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "errors",
    ]);
    for row in rows {
        let beside = |figure: &dyn Fn(&Histogram<u64>) -> u64| {
            let [ours, bare] =
                [&row.outcome, &row.bare].map(|outcome| number(milliseconds(figure(&outcome.latencies))));
            format!("{ours} ({bare})")
        };
        let quantile = |quantile| beside(&|latencies| latencies.value_at_quantile(quantile));
        table.add_row([
            row.load.title().to_owned(),
            number(row.fastest.rate()),
            number(row.fastest.rate() * LOAD),
            number(row.outcome.rate()),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            beside(&Histogram::max),
            row.outcome.failures.count.to_string(),
        ]);
    }
    report::align_right(&mut table, &[1, 2, 3, 4, 5, 6, 7, 8]);
    table
}

fn reached(rows: &[Row]) -> Vec<Goal> {
    let goal = |row: &Row, name: &str, quantile: f64, most: f64| Goal {
        what: format!("{}: {name} ms", row.load.title()),
        measured: milliseconds(row.outcome.latencies.value_at_quantile(quantile)),
        bound: Bound::AtMost(most),
    };
    let quiet = rows.iter().filter(|row| row.load != Load::PutWhileFilling);
    let p99 = quiet.map(|row| goal(row, "p99", 0.99, 10.0));
    let writing = rows.iter().filter(|row| matches!(row.load, Load::Put | Load::Mix | Load::PutWhileFilling));
    p99.chain(writing.map(|row| goal(row, "p99.9", 0.999, 100.0))).collect()
}
