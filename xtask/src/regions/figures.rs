//! What replication costs: how long a write takes to the other Region at rest, and how much processor time a write takes with
//! one replica on the same server against without.

use std::path::Path;
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode_in;
use ::bench::server::Server;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use super::{TABLE, call, table, until_active};

const LAG_WRITES: usize = 300;
const CONNECTIONS: usize = 8;
const WRITES_PER_CONNECTION: usize = 1000;
/// Rounds with and without a replica, by turns: what the machine does beside them is in both.
const ROUNDS: usize = 3;
/// The bytes of an item.
const PAYLOAD: usize = 200;

pub async fn measure(binary: &Path) -> Result<()> {
    println!("binary: {}", binary.display());
    let mut alone = Vec::new();
    let mut replicated = Vec::new();
    let mut lags = Vec::new();
    for _ in 0..ROUNDS {
        alone.push(cost_per_write(binary, false, &mut lags).await?);
        replicated.push(cost_per_write(binary, true, &mut lags).await?);
    }
    lags.sort();
    let at = |share: f64| lags[((lags.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!("lag at rest, {} writes: median {:.1} ms, p99 {:.1} ms", lags.len(), at(0.5), at(0.99));
    let middle = |mut costs: Vec<Duration>| {
        costs.sort();
        costs[costs.len() / 2].as_secs_f64() * 1e6
    };
    let (alone, replicated) = (middle(alone), middle(replicated));
    println!(
        "processor time of a write, {} connections, {ROUNDS} rounds of {} each: {alone:.1} µs alone, {replicated:.1} µs with a \
         replica on the same server: {:.2} times",
        CONNECTIONS,
        CONNECTIONS * WRITES_PER_CONNECTION,
        replicated / alone
    );
    Ok(())
}

/// The processor time of a write, until it is in the replica as well. With a replica the lag at rest is measured first.
async fn cost_per_write(binary: &Path, has_replica: bool, lags: &mut Vec<Duration>) -> Result<Duration> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data").display().to_string();
    let serve = ["serve", "--host", "127.0.0.1", "--port", "0", "--data", &data];
    let server = Server::start(binary, serve, std::process::Stdio::null()).await?;
    let mut home = Connection::open(server.address).await?;
    call(&mut home, 0, "CreateTable", &table()).await?;
    if has_replica {
        let updates = json!([{"Create": {"RegionName": "eu-west-1"}}]);
        call(&mut home, 0, "UpdateTable", &json!({"TableName": TABLE, "ReplicaUpdates": updates})).await?;
        until_active(&mut home, 0, "eu-west-1").await?;
        for number in 0..LAG_WRITES / ROUNDS {
            tokio::time::sleep(Duration::from_millis(20)).await;
            lags.push(lag(&mut home, number).await?);
        }
    }
    server.come_to_rest().await?;
    let before = server.cpu_time()?;
    let mut writers = JoinSet::new();
    for writer in 0..CONNECTIONS {
        let mut connection = Connection::open(server.address).await?;
        writers.spawn(async move {
            for number in 0..WRITES_PER_CONNECTION {
                put(&mut connection, &format!("{writer} {number}")).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended??;
    }
    if has_replica {
        for writer in 0..CONNECTIONS {
            until_there(&mut home, &format!("{writer} {}", WRITES_PER_CONNECTION - 1)).await?;
        }
    }
    let spent = server.cpu_time()? - before;
    server.stop().await?;
    Ok(spent / u32::try_from(CONNECTIONS * WRITES_PER_CONNECTION)?)
}

/// How long after its answer a single write is in the other Region.
async fn lag(connection: &mut Connection, number: usize) -> Result<Duration> {
    let key = format!("lag {number}");
    put(connection, &key).await?;
    let acknowledged = Instant::now();
    until_there(connection, &key).await?;
    Ok(acknowledged.elapsed())
}

async fn put(connection: &mut Connection, key: &str) -> Result<()> {
    let item = json!({"PK": {"S": key}, "payload": {"S": "x".repeat(PAYLOAD)}});
    let request = encode_in("us-east-1", "PutItem", &json!({"TableName": TABLE, "Item": item}));
    let (status, reply) = connection.exchange(&request).await.context("PutItem")?;
    ensure!(status == 200, "PutItem: {status} {}", String::from_utf8_lossy(reply));
    Ok(())
}

async fn until_there(connection: &mut Connection, key: &str) -> Result<()> {
    let request = json!({"TableName": TABLE, "Key": {"PK": {"S": key}}, "ConsistentRead": true});
    let request = encode_in("eu-west-1", "GetItem", &request);
    let deadline = Instant::now() + super::WAIT;
    while Instant::now() < deadline {
        let (status, reply) = connection.exchange(&request).await.context("GetItem")?;
        ensure!(status == 200, "GetItem: {status}");
        if reply.windows(9).any(|part| part == b"\"payload\"") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    bail!("{key} is not in the other Region")
}
