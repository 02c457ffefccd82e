//! `cargo xtask cluster --figures`: PutItem and GetItem of 64 clients beside pgbench's single statements, by turns on
//! the same PostgreSQL server, through one Lodestone server and through two. Only the ratios and the processor times mean
//! something on a machine that does other work.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ::bench::connection::Connection;
use ::bench::server::Server;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::patroni::Single;
use crate::crash::{TABLE, table};
use crate::victim::{call, until_active};

const CLIENTS: u64 = 64;
const ITEMS: u64 = 10_000;
const VALUE_BYTES: usize = 400;
/// How many requests a client sends by turns.
const REQUESTS_PER_CLIENT: u64 = 100;
const TURN: Duration = Duration::from_secs(5);
const TURNS: usize = 2;

const PUT: &str = "\\set k random(1, 10000)
INSERT INTO figures VALUES (:k, repeat('x', 400)) ON CONFLICT (k) DO UPDATE SET v = excluded.v;";
const GET: &str = "\\set k random(1, 10000)
SELECT v FROM figures WHERE k = :k;";

/// `generator` is the optimised `bench`.
pub async fn measure(binary: &Path, generator: &Path, folder: &Path) -> Result<()> {
    let postgres = Single::start(folder, &[]).await?;
    let url = postgres.url();
    let servers = [start(binary, folder, &url).await?, start(binary, folder, &url).await?];
    prepare(&servers[0], &url).await?;
    println!(
        "figures: {} bytes of PostgreSQL for each item of {VALUE_BYTES} bytes",
        stored_bytes(&url)? / ITEMS
    );
    for count in 1..=servers.len() {
        for (name, script, request) in [("PutItem", PUT, put as Request), ("GetItem", GET, get as Request)] {
            for _ in 0..TURNS {
                compare(generator, &postgres, &servers[..count], folder, (name, script, request)).await?;
            }
        }
    }
    for server in servers {
        server.stop().await?;
    }
    Ok(())
}

async fn start(binary: &Path, folder: &Path, url: &str) -> Result<Server> {
    let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("server.log"))?;
    let serve =
        ["serve", "--host", "127.0.0.1", "--port", "0", "--studio", "off", "--postgres", url, "--backups"];
    let backups = folder.join("backups");
    Server::start(binary, serve.iter().map(Path::new).chain([backups.as_path()]), log.into()).await
}

/// A turn of pgbench, and one of requests.
async fn compare(
    generator: &Path,
    postgres: &Single,
    servers: &[Server],
    folder: &Path,
    (name, script, request): (&'static str, &str, Request),
) -> Result<()> {
    let of_servers = || servers.iter().map(Server::cpu_time).sum::<Result<Duration>>();
    let idle = postgres.cpu_time()?;
    let statements = pgbench(&postgres.url(), folder, script)?;
    let begun = (postgres.cpu_time()?, of_servers()?);
    let requests = closed_loop(generator, servers, folder, (name, request)).await?;
    let each = |time: Duration, rate: f64| time.as_secs_f64() * 1e6 / rate / TURN.as_secs_f64();
    println!(
        "figures: servers {}, {name} {requests:.0}/s ({:.0} µs of PostgreSQL and {:.0} µs of Lodestone each), pgbench's \
         statement {statements:.0}/s ({:.0} µs of PostgreSQL): {:.2}",
        servers.len(),
        each(postgres.cpu_time()? - begun.0, requests),
        each(of_servers()? - begun.1, requests),
        each(begun.0 - idle, statements),
        requests / statements
    );
    Ok(())
}

/// What the tables of the store take, with their indexes.
fn stored_bytes(url: &str) -> Result<u64> {
    let sum = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'lodestone%'";
    let output = Command::new("psql").args(["--tuples-only", "--command", sum, url]).output()?;
    ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// The request of a client's turn, from a number that does not repeat soon.
type Request = fn(u64) -> Value;

fn key(number: u64) -> Value {
    json!({"group": {"S": format!("item {}", number % ITEMS)}, "number": {"N": "1"}})
}

fn put(number: u64) -> Value {
    let mut item = key(number);
    item["value"] = json!({"S": "x".repeat(VALUE_BYTES)});
    item["edition"] = json!({"N": number.to_string()});
    json!({"TableName": TABLE, "Item": item})
}

fn get(number: u64) -> Value {
    json!({"TableName": TABLE, "Key": key(number), "ConsistentRead": true})
}

/// Every item and every row of pgbench's table is there before the measurement.
async fn prepare(server: &Server, url: &str) -> Result<()> {
    let mut connection = Connection::open(server.address).await?;
    call(&mut connection, "CreateTable", &table()).await?;
    until_active(&mut connection, TABLE).await?;
    for batch in (0..ITEMS).collect::<Vec<_>>().chunks(25) {
        let puts: Vec<Value> =
            batch.iter().map(|number| json!({"PutRequest": {"Item": put(*number)["Item"]}})).collect();
        call(&mut connection, "BatchWriteItem", &json!({"RequestItems": {TABLE: puts}})).await?;
    }
    let rows = "CREATE TABLE figures (k integer PRIMARY KEY, v text);
        INSERT INTO figures SELECT k, repeat('x', 400) FROM generate_series(1, 10000) AS k; ANALYZE figures";
    let status = Command::new("psql").args(["--quiet", "--command", rows, url]).status()?;
    ensure!(status.success(), "psql: {status}");
    Ok(())
}

fn pgbench(url: &str, folder: &Path, script: &str) -> Result<f64> {
    let file = folder.join("script.sql");
    fs::write(&file, script)?;
    let (clients, seconds) = (CLIENTS.to_string(), TURN.as_secs().to_string());
    let output = Command::new("pgbench")
        .args([
            "--no-vacuum",
            "--protocol=prepared",
            "--jobs=2",
            "--client",
            &clients,
            "--time",
            &seconds,
            "--file",
        ])
        .arg(&file)
        .arg(url)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
    let rate = rate.with_context(|| format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(rate.parse()?)
}

/// Each client sends its next request when it has the reply to the last.
async fn closed_loop(
    generator: &Path,
    servers: &[Server],
    folder: &Path,
    (operation, request): (&str, Request),
) -> Result<f64> {
    let file = folder.join("requests");
    // Strides that are prime to the number of items spread the clients over all of them.
    let requests = (0..REQUESTS_PER_CLIENT * CLIENTS)
        .map(|number| request(number % CLIENTS * 7919 + number / CLIENTS * 997).to_string());
    fs::write(&file, requests.collect::<Vec<_>>().join("\n"))?;
    let (clients, seconds) = (CLIENTS.to_string(), TURN.as_secs().to_string());
    let output = tokio::process::Command::new(generator)
        .args([
            "closed-loop",
            "--operation",
            operation,
            "--clients",
            &clients,
            "--seconds",
            &seconds,
            "--bodies",
        ])
        .arg(&file)
        .args(servers.iter().map(|server| server.address.to_string()))
        .output()
        .await?;
    ensure!(output.status.success(), "{operation}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}
