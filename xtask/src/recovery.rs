//! `cargo xtask recovery`: a random history, killed and restored to random seconds again and again.
//!
//! A round:
//! 1. Start the binary, often with a clock that is some hours ahead of the last round's, so that records become too
//!    old and are trimmed. Find out which writes in flight happened.
//! 2. Writers put, update and delete items, alone and in transactions, and put items that expire soon. In the meantime
//!    the clock may leap two days ahead and come back, the table is restored to a random second, and the binary is killed at a random moment of the copy.
//! 3. Start it again, wait for the restored table, and compare it and its indexes with the [`history`].

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::bench::connection::Connection;
use ::bench::server::Server;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use crate::victim::{Victim, call, scan, until_active};
use crate::wait;

mod history;

use history::TableHistory;

const TABLE: &str = "History";
const INDEXES: [&str; 2] = ["Global", "Local"];
const WRITERS: usize = 4;
/// Items that never change: they make the copy last.
const STILL_ITEMS: usize = 1500;
const SECOND_US: u64 = 1_000_000;
const DAY_US: u64 = 24 * 60 * 60 * SECOND_US;
/// The window of recovery moves on while a request is on its way.
const REQUEST_WITHIN_US: u64 = 10 * 60 * SECOND_US;

#[derive(clap::Args)]
pub struct RecoveryOptions {
    /// How often the table is restored
    #[arg(long, default_value_t = 50)]
    rounds: u32,
    /// Keep the data in this database of PostgreSQL, which must be empty
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Repeats the load of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// Test this binary instead of building one
    #[arg(long, value_name = "BINARY")]
    lodestone: Option<PathBuf>,
}

impl RecoveryOptions {
    pub fn brief() -> RecoveryOptions {
        RecoveryOptions { rounds: 3, postgres: None, seed: None, lodestone: None }
    }
}

pub fn run(options: &RecoveryOptions) -> Result<()> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("recovery: {} restores, seed {seed}", options.rounds);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let serve = ["--stream-shards", "4"];
        let mut victim =
            Victim::new("recovery", options.lodestone.as_ref(), options.postgres.as_deref(), &serve)?;
        victim.note("seed", seed);
        let history = Arc::default();
        let outcome = rounds(options, &mut victim, &history, seed).await;
        match &outcome {
            Ok(()) => victim.passed(),
            Err(_) => victim.note("history", format!("{:#?}", locked(&history))),
        }
        outcome
    })
}

fn locked(history: &Mutex<TableHistory>) -> MutexGuard<'_, TableHistory> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn rounds(
    options: &RecoveryOptions,
    victim: &mut Victim,
    history: &Arc<Mutex<TableHistory>>,
    seed: u64,
) -> Result<()> {
    let progress = indicatif::ProgressBar::new(u64::from(options.rounds));
    if !std::io::stderr().is_terminal() {
        progress.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let mut random = fastrand::Rng::with_seed(seed);
    prepare(victim, history).await?;
    let mut kills = 0;
    for round in 0..options.rounds {
        let done = one_round(victim, history, &mut random, round, &mut kills).await;
        done.with_context(|| format!("round {round} of seed {seed}"))?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    let history = locked(history);
    println!(
        "recovery: {} restores after {} writes and {kills} kills equal the history, indexes included; no transaction split",
        options.rounds,
        history.writes()
    );
    Ok(())
}

/// Makes the table, with everything that a restore has to get right.
async fn prepare(victim: &Victim, history: &Mutex<TableHistory>) -> Result<()> {
    let server = victim.start().await?;
    let mut connection = Connection::open(server.address).await?;
    call(&mut connection, "CreateTable", &table()).await?;
    until_active(&mut connection, TABLE).await?;
    let expiry = json!({"AttributeName": "expires", "Enabled": true});
    call(
        &mut connection,
        "UpdateTimeToLive",
        &json!({"TableName": TABLE, "TimeToLiveSpecification": expiry}),
    )
    .await?;
    let recovery = json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 1});
    let request = json!({"TableName": TABLE, "PointInTimeRecoverySpecification": recovery});
    call(&mut connection, "UpdateContinuousBackups", &request).await?;
    for first in (0..STILL_ITEMS).step_by(25) {
        let keys = first..(first + 25).min(STILL_ITEMS);
        let items: Vec<Value> =
            keys.map(|number| history::item(&format!("still/{number}"), 1, None)).collect();
        let puts: Vec<Value> = items.iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
        let batch = json!({"RequestItems": {TABLE: puts}});
        let sent_us = victim.now_us();
        call(&mut connection, "BatchWriteItem", &batch).await?;
        let mut history = locked(history);
        for item in &items {
            history.note(history::name(item)?, Some(1), None, sent_us, victim.now_us());
        }
    }
    locked(history).begin(victim.now_us());
    server.kill().await
}

async fn one_round(
    victim: &mut Victim,
    history: &Arc<Mutex<TableHistory>>,
    random: &mut fastrand::Rng,
    round: u32,
    kills: &mut u32,
) -> Result<()> {
    if random.bool() {
        victim.ahead_s += random.u64(60..8 * 3600);
    }
    let mut server = victim.start().await?;
    settle(&server, history, victim).await?;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let connection = Connection::open(server.address).await?;
        let (history, ahead_s) = (history.clone(), victim.ahead_s);
        writers.spawn(history::write_until_cut(writer, random.u64(..), connection, history, ahead_s));
    }
    tokio::time::sleep(Duration::from_millis(random.u64(300..1500))).await;
    // The first round leaps, so that a short campaign does, too.
    if round == 0 || random.bool() {
        leap_and_return(victim, &server).await?;
    }

    let time_s = random_second(victim, history, random).await?;
    let target = format!("Restored-{round}");
    let restore = json!({"SourceTableName": TABLE, "TargetTableName": target, "RestoreDateTime": time_s});
    let mut connection = Connection::open(server.address).await?;
    call(&mut connection, "RestoreTableToPointInTime", &restore).await?;
    // A debug build copies for about a second, a release build for a tenth of that.
    tokio::time::sleep(Duration::from_millis(random.u64(0..400))).await;
    server.kill().await?;
    *kills += 1;
    while let Some(finished) = writers.join_next().await {
        finished??;
    }
    server = victim.start().await?;
    settle(&server, history, victim).await?;
    let mut connection = Connection::open(server.address).await?;
    until_active(&mut connection, &target).await?;
    compare(&mut connection, &target, history, time_s * SECOND_US)
        .await
        .with_context(|| format!("restored to {time_s}, clock {} s ahead", victim.ahead_s))?;
    call(&mut connection, "DeleteTable", &json!({"TableName": target})).await?;
    server.kill().await?;
    *kills += 1;
    Ok(())
}

/// Sets the clock of the server two days ahead, until the server has noticed it, and back.
async fn leap_and_return(victim: &Victim, server: &Server) -> Result<()> {
    victim.leap(2 * DAY_US / SECOND_US)?;
    wait::until("the leap is noticed", async || Ok(health(server).await?.contains("\nclock: "))).await?;
    // Some records are written while the clock is wrong.
    tokio::time::sleep(Duration::from_millis(500)).await;
    victim.leap(0)?;
    wait::until("the clock is right again", async || Ok(!health(server).await?.contains("\nclock: "))).await
}

/// The whole answer of `GET /`.
async fn health(server: &Server) -> Result<String> {
    let mut stream = tokio::net::TcpStream::connect(server.address).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// A whole second of the last day, most often one in which there were writes.
async fn random_second(
    victim: &Victim,
    history: &Mutex<TableHistory>,
    random: &mut fastrand::Rng,
) -> Result<u64> {
    let mut chosen = None;
    wait::until("there is a second that the table can be restored to", async || {
        let history = locked(history);
        chosen = choose_second(history.begun_us(), victim.now_us(), history.seconds(), random);
        Ok(chosen.is_some())
    })
    .await?;
    chosen.context("a second was chosen")
}

/// A second that the table can be restored to; none while the one in which recovery began is not over. A quarter are any,
/// the others are of the `busy` ones if there are some.
fn choose_second(
    begun_us: u64,
    now_us: u64,
    busy: impl Iterator<Item = u64>,
    random: &mut fastrand::Rng,
) -> Option<u64> {
    let earliest_us = begun_us.max((now_us + REQUEST_WITHIN_US).saturating_sub(DAY_US));
    let possible = earliest_us.div_ceil(SECOND_US)..=now_us / SECOND_US;
    if possible.is_empty() {
        return None;
    }
    let busy: Vec<u64> = busy.filter(|second| possible.contains(second)).collect();
    let any = random.u64(possible);
    match random.u8(0..4) {
        0 => Some(any),
        _ => random.choice(&busy).copied().or(Some(any)),
    }
}

/// Finds out which writes in flight at the kill have happened.
async fn settle(server: &Server, history: &Mutex<TableHistory>, victim: &Victim) -> Result<()> {
    let mut connection = Connection::open(server.address).await?;
    let items = scan(&mut connection, TABLE, None).await?;
    locked(history).settle(&items, victim.now_us())
}

async fn compare(
    connection: &mut Connection,
    table: &str,
    history: &Mutex<TableHistory>,
    time_us: u64,
) -> Result<()> {
    let items = scan(connection, table, None).await?;
    for index in INDEXES {
        let mut rows = scan(connection, table, Some(index)).await?;
        let mut items = items.clone();
        let by_name = |item: &Value| item["group"]["S"].to_string() + &item["name"]["S"].to_string();
        items.sort_by_key(by_name);
        rows.sort_by_key(by_name);
        ensure!(rows == items, "the index {index} has {} rows, the table {} items", rows.len(), items.len());
    }
    locked(history).compare(&items, time_us)
}

fn table() -> Value {
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let text = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let number = |name: &str| json!({"AttributeName": name, "AttributeType": "N"});
    let all = json!({"ProjectionType": "ALL"});
    json!({
        "TableName": TABLE,
        "AttributeDefinitions": [text("group"), text("name"), text("color"), number("version")],
        "KeySchema": [key("group", "HASH"), key("name", "RANGE")],
        "GlobalSecondaryIndexes": [{
            "IndexName": "Global", "KeySchema": [key("color", "HASH"), key("version", "RANGE")], "Projection": all,
        }],
        "LocalSecondaryIndexes": [{
            "IndexName": "Local", "KeySchema": [key("group", "HASH"), key("version", "RANGE")], "Projection": all,
        }],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_US: u64 = 1_800_000_000 * SECOND_US;

    #[test]
    fn no_second_is_chosen_before_one_is_over_since_recovery_began() {
        let mut random = fastrand::Rng::with_seed(1);
        let begun_us = NOON_US + 200_000;
        let mut choose = |now_us| choose_second(begun_us, now_us, [1_800_000_000].into_iter(), &mut random);
        assert_eq!(choose(begun_us), None);
        assert_eq!(choose(NOON_US + 999_999), None, "its only second began before recovery did");
        for _ in 0..100 {
            assert_eq!(choose(NOON_US + SECOND_US), Some(1_800_000_001));
        }
        assert_eq!(
            choose_second(NOON_US, NOON_US, std::iter::empty(), &mut random),
            Some(1_800_000_000),
            "recovery began with the second"
        );
    }

    #[test]
    fn every_chosen_second_can_be_restored_to() {
        for seed in 0..1000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let begun_us = NOON_US + random.u64(0..3 * SECOND_US);
            let now_us = begun_us + random.u64(0..2 * DAY_US);
            let busy: Vec<u64> = (0..20).map(|_| random.u64(begun_us..=now_us) / SECOND_US).collect();
            let Some(second) = choose_second(begun_us, now_us, busy.into_iter(), &mut random) else {
                assert!(now_us - begun_us < SECOND_US);
                continue;
            };
            let time_us = second * SECOND_US;
            assert!(begun_us <= time_us && time_us <= now_us && now_us - time_us < DAY_US, "seed {seed}");
        }
    }
}
