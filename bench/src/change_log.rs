//! `bench change-log`: what the change log and its readers cost.
//!
//! 1. PutItem on tables without a log, with a stream, and with a stream and recovery, measured in turns.
//! 2. How long after the answer to a write a function has its record, on a server at rest.
//! 3. How fast expired items are deleted, and what other clients notice of it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::connection::Connection;
use crate::contender::{Contender, serve};
use crate::data::{self, Data, TABLE};
use crate::goals::{self, Bound, Goal};
use crate::load::{Clients, Until};
use crate::measurement::Measurement;
use crate::place::Place;
use crate::progress;
use crate::report::{self, number};
use crate::request::encode;
use crate::schedule::Schedule;
use crate::server::Server;
use crate::table::{self, call};
use crate::workload::{Mix, Requests, Workload};

const CONNECTIONS: usize = 32;
const ROUNDS: u32 = 9;
/// Longer than a delivery, so that each write finds everything at rest.
const BETWEEN_WRITES: Duration = Duration::from_millis(30);
const DELIVERED_WITHIN: Duration = Duration::from_secs(30);
const EXPIRING: &str = "Sessions";
/// Requests each second that other clients send while items expire.
const OTHERS_PER_SECOND: f64 = 1_000.0;
const SWEPT_WITHIN: Duration = Duration::from_secs(300);

/// See what streams, recovery, triggers and time to live cost
#[derive(clap::Args, Clone, Debug)]
pub struct ChangeLogOptions {
    /// How long PutItem is measured on each table
    #[arg(long, default_value_t = 9.0)]
    pub seconds: f64,
    /// How many items the tables hold
    #[arg(long, value_name = "COUNT", default_value_t = 50_000)]
    pub items: u64,
    /// How many writes the function waits for, one after the other
    #[arg(long, default_value_t = 300)]
    pub deliveries: u32,
    /// How many items expire at the same moment
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    pub expiring: u64,
    /// See only that everything works
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub place: Place,
}

impl ChangeLogOptions {
    fn or_quick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

pub async fn run(options: &ChangeLogOptions) -> Result<()> {
    let folder = options.place.scratch()?;
    let lodestone = options.place.lodestone()?;
    let start = |name: &str, more: Vec<String>| {
        let storage = ["--data".into(), folder.path().join(name)];
        let more: Vec<PathBuf> = more.into_iter().map(PathBuf::from).collect();
        let lodestone = lodestone.clone();
        async move { serve(&lodestone, storage.into_iter().chain(more)).await }
    };
    let mut rows = Vec::new();
    for log in [Log::None, Log::Stream, Log::StreamAndRecovery] {
        rows.push(Row::new(log, start(log.title(), vec![]).await?, options).await?);
    }
    measure_puts(&mut rows, options).await?;
    let costs = rows.iter().map(|row| (row.log, row.measurement.cpu_us())).collect::<Vec<_>>();
    let failed: u64 = rows.iter().map(|row| row.measurement.outcome.failures.count).sum();
    ensure!(failed == 0, "{failed} requests failed");
    drop(rows);

    let (address, calls) = function().await?;
    let server = start("trigger", vec!["--function".into(), format!("bench=http://{address}")]).await?;
    let delays = deliver(&server, calls, options.or_quick(options.deliveries, 5)).await?;
    drop(server);

    let server = start("expiry", vec![]).await?;
    let sweep = sweep(&server, options).await?;

    let text = markdown(&costs, &delays, &sweep);
    println!("{text}");
    options.place.write(&[("change-log.md", &text)])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    None,
    Stream,
    StreamAndRecovery,
}

impl Log {
    fn title(self) -> &'static str {
        match self {
            Log::None => "no log",
            Log::Stream => "stream",
            Log::StreamAndRecovery => "stream and recovery",
        }
    }
}

/// PutItem on one table.
struct Row {
    log: Log,
    server: Server,
    requests: Requests,
    measurement: Measurement,
}

impl Row {
    async fn new(log: Log, server: Server, options: &ChangeLogOptions) -> Result<Row> {
        let data = Data::new(options.or_quick(options.items, 200));
        let mut connection = Connection::open(server.address).await?;
        let mut input = data::table();
        if log != Log::None {
            input["StreamSpecification"] = stream();
        }
        table::create(&mut connection, &input).await?;
        if log == Log::StreamAndRecovery {
            let on = json!({"PointInTimeRecoveryEnabled": true});
            let input = json!({"TableName": TABLE, "PointInTimeRecoverySpecification": on});
            call(&mut connection, "UpdateContinuousBackups", &input).await?;
        }
        let mut clients = Clients::connect(server.address, CONNECTIONS).await?;
        clients.drive(&Requests::of(Workload::Load, data), Until::Walked).await?;
        if !options.quick {
            server.come_to_rest().await?;
        }
        server.pause()?;
        let measurement = Measurement::new(Contender::Durable, Workload::Put, CONNECTIONS)?;
        Ok(Row { log, server, requests: Requests::of(Workload::Put, data), measurement })
    }
}

async fn measure_puts(rows: &mut [Row], options: &ChangeLogOptions) -> Result<()> {
    let slice = Duration::from_secs_f64(options.or_quick(options.seconds / f64::from(ROUNDS), 0.02));
    let progress = progress::bar(u64::from(ROUNDS) * rows.len() as u64);
    for _ in 0..ROUNDS {
        for row in &mut *rows {
            progress.set_message(row.log.title());
            row.server.resume()?;
            row.measurement.take_turn(&row.requests, &row.server, slice).await?;
            row.server.pause()?;
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    rows.iter().try_for_each(|row| row.server.resume())
}

/// A function that says when it is called, and its address.
async fn function() -> Result<(SocketAddr, mpsc::UnboundedReceiver<Instant>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (called, calls) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let called = called.clone();
            let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let called = called.clone();
                async move {
                    // It has the record when it has read all of it.
                    let _ = request.into_body().collect().await;
                    let _ = called.send(Instant::now());
                    Ok::<_, Infallible>(hyper::Response::new(Full::new(Bytes::from_static(b"null"))))
                }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), answer));
        }
    });
    Ok((address, calls))
}

/// The delay from the answer to a write to the function's receipt of its record, in nanoseconds.
async fn deliver(
    server: &Server,
    mut calls: mpsc::UnboundedReceiver<Instant>,
    deliveries: u32,
) -> Result<Histogram<u64>> {
    let mut connection = Connection::open(server.address).await?;
    let mut input = data::table();
    input["StreamSpecification"] = stream();
    table::create(&mut connection, &input).await?;
    let stream = table::describe(&mut connection).await?["LatestStreamArn"].clone();
    let mapping = json!({
        "EventSourceArn": stream, "FunctionName": "bench", "StartingPosition": "TRIM_HORIZON", "BatchSize": 1,
    });
    create_mapping(&mut connection, &mapping).await?;
    let data = Data::new(u64::from(deliveries));
    let mut delays = Histogram::new(3)?;
    for number in 0..=u64::from(deliveries) {
        let item: Value = serde_json::from_str(&data.item(number, 0))?;
        call(&mut connection, "PutItem", &json!({"TableName": TABLE, "Item": item})).await?;
        let answered = Instant::now();
        let called = tokio::time::timeout(DELIVERED_WITHIN, calls.recv()).await;
        let called = called.context("the function was not called")?.context("the function is there")?;
        // The first write also waits for the mapping to begin. A call can overtake the answer.
        if number > 0 {
            delays.record(called.saturating_duration_since(answered).as_nanos() as u64)?;
        }
        tokio::time::sleep(BETWEEN_WRITES).await;
    }
    Ok(delays)
}

async fn create_mapping(connection: &mut Connection, mapping: &Value) -> Result<()> {
    let call = String::from_utf8(encode("", mapping))?;
    let call = call.replacen("POST / ", "POST /2015-03-31/event-source-mappings/ ", 1);
    let call = call.replacen("/dynamodb/aws4_request", "/lambda/aws4_request", 1);
    let call: Vec<&str> = call.split("\r\n").filter(|line| !line.starts_with("X-Amz-Target")).collect();
    let (status, body) = connection.exchange(call.join("\r\n").as_bytes()).await?;
    ensure!((200..300).contains(&status), "the mapping: {status} {}", String::from_utf8_lossy(body));
    Ok(())
}

/// What happened while items expired.
struct Sweep {
    items: u64,
    took: Duration,
    /// The 99th percentile of other requests before and in the meantime, in nanoseconds.
    p99_before: u64,
    p99_during: u64,
}

impl Sweep {
    fn per_second(&self) -> f64 {
        self.items as f64 / self.took.as_secs_f64()
    }
}

async fn sweep(server: &Server, options: &ChangeLogOptions) -> Result<Sweep> {
    let data = Data::new(options.or_quick(options.items, 200));
    let items = options.or_quick(options.expiring, 200);
    let mut connection = Connection::open(server.address).await?;
    table::create(&mut connection, &data::table()).await?;
    let mut clients = Clients::connect(server.address, CONNECTIONS).await?;
    clients.drive(&Requests::of(Workload::Load, data), Until::Walked).await?;
    let progress = progress::spinner("loading items that expire");
    load_expiring(&mut connection, items).await?;
    if !options.quick {
        server.come_to_rest().await?;
    }
    progress.set_message("other requests alone");
    let others = Mix::of(&[Workload::Get, Workload::Query, Workload::Get, Workload::Put], data);
    let mut clients = Clients::connect(server.address, CONNECTIONS).await?;
    let duration = Duration::from_secs_f64(options.or_quick(10.0, 0.1));
    let schedule = Schedule { per_second: OTHERS_PER_SECOND, duration };
    let before = clients.keep_to(schedule, &others).await?;

    progress.set_message("items expire");
    let on = json!({"AttributeName": "expires", "Enabled": true});
    call(&mut connection, "UpdateTimeToLive", &json!({"TableName": EXPIRING, "TimeToLiveSpecification": on}))
        .await?;
    let swept = async {
        let started = Instant::now();
        while count(&mut connection).await? > 0 {
            ensure!(started.elapsed() < SWEPT_WITHIN, "items are still there after {SWEPT_WITHIN:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(started.elapsed())
    };
    tokio::pin!(swept);
    let mut during = crate::load::Outcome::empty()?;
    let slice = Schedule { duration: Duration::from_secs(1), ..schedule };
    let took = loop {
        let (outcome, took) = tokio::join!(clients.keep_to(slice, &others), async {
            tokio::time::timeout(slice.duration, &mut swept).await
        });
        during.add_after(outcome?)?;
        if let Ok(took) = took {
            break took?;
        }
    };
    progress.finish_and_clear();
    let failures = before.failures.count + during.failures.count;
    ensure!(failures == 0, "{failures} other requests failed");
    Ok(Sweep {
        items,
        took,
        p99_before: before.latencies.value_at_quantile(0.99),
        p99_during: during.latencies.value_at_quantile(0.99),
    })
}

/// Items of about 300 bytes that expired an hour ago, in a table without time to live.
async fn load_expiring(connection: &mut Connection, items: u64) -> Result<()> {
    let input = json!({
        "TableName": EXPIRING, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    });
    call(connection, "CreateTable", &input).await?;
    let expired = hour_ago()?.to_string();
    for first in (0..items).step_by(25) {
        let put = |number: u64| {
            let id = format!("SESSION#{number:08}");
            json!({"PutRequest": {"Item": {
                "id": {"S": id}, "expires": {"N": expired}, "state": {"S": "x".repeat(230)},
            }}})
        };
        let puts: Vec<Value> = (first..items.min(first + 25)).map(put).collect();
        call(connection, "BatchWriteItem", &json!({"RequestItems": {EXPIRING: puts}})).await?;
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "the server goes by the same clock")]
fn hour_ago() -> Result<u64> {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH)?;
    Ok(now.as_secs() - 3600)
}

async fn count(connection: &mut Connection) -> Result<u64> {
    let shown = call(connection, "DescribeTable", &json!({"TableName": EXPIRING})).await?;
    shown["Table"]["ItemCount"].as_u64().context("a table has a number of items")
}

fn stream() -> Value {
    json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"})
}

fn markdown(costs: &[(Log, f64)], delays: &Histogram<u64>, sweep: &Sweep) -> String {
    let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    let plain = costs.first().map_or(f64::NAN, |(_, cpu_us)| *cpu_us);
    let mut table = report::table(&["PutItem", "CPU µs/op", "times no log"]);
    for (log, cpu_us) in costs {
        table.add_row([log.title().to_owned(), number(*cpu_us), number(cpu_us / plain)]);
    }
    report::align_right(&mut table, &[1, 2]);
    let both = costs.last().map_or(f64::NAN, |(_, cpu_us)| cpu_us / plain);
    let p50 = milliseconds(delays.value_at_quantile(0.5));
    let others = sweep.p99_during as f64 / sweep.p99_before as f64;
    let goals = [
        ("PutItem with a stream and recovery, times without", both, Bound::AtMost(1.5)),
        ("a trigger's delay at rest, p50 ms", p50, Bound::AtMost(100.0)),
        ("expired items deleted each second", sweep.per_second(), Bound::AtLeast(5_000.0)),
        ("p99 of others in the meantime, times before", others, Bound::AtMost(2.0)),
    ];
    let goals: Vec<Goal> = goals
        .into_iter()
        .map(|(what, measured, bound)| Goal { what: what.to_owned(), measured, bound })
        .collect();
    format!(
        "## The change log\n\n{table}\n\n\
         A function has a record {} ms (p50) and {} ms (p99) after the answer to its write, {} deliveries.\n\n\
         {} expired items were deleted in {} s, from the moment time to live was switched on. The p99 of {} other \
         requests each second went from {} to {} ms.\n\n## Goals\n\n{}\n",
        number(p50),
        number(milliseconds(delays.value_at_quantile(0.99))),
        delays.len(),
        sweep.items,
        number(sweep.took.as_secs_f64()),
        number(OTHERS_PER_SECOND),
        number(milliseconds(sweep.p99_before)),
        number(milliseconds(sweep.p99_during)),
        goals::table(&goals)
    )
}
