//! A client that writes until its connection is cut, or through shortages and failures until it is stopped. It notes each
//! write in the ledger before it is sent, and each reply after it has come. Where there are several servers, it sends
//! its requests to them by turns.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::TABLE;
use super::ledger::{
    COUNTERS, Ledger, RACES, SLOTS_PER_WRITER, race_item, slot_content, slot_group, slot_item,
};
use crate::wait::WAIT;

/// What a writer did before its connection was cut.
#[derive(Default)]
pub struct Written {
    pub acknowledged: u64,
    pub slowest: Duration,
}

/// What the writers of a shortage have in common.
#[derive(Default)]
pub struct Progress {
    pub stop: AtomicBool,
    pub acknowledged: AtomicU64,
    /// Writes that a server in a shortage did not take.
    pub refused: AtomicU64,
    /// Connections that were closed, or not served for long.
    pub cut: AtomicU64,
    /// Slots that were read and held what the ledger says.
    pub read: AtomicU64,
}

/// The way to a server.
struct Way {
    address: SocketAddr,
    /// None when it was cut.
    connection: Option<Connection>,
}

/// A server's answer to a write.
enum Answer {
    Done(Value),
    Refused,
    /// The connection was cut: the write may have happened or not.
    Cut,
    /// The server is short of something. It says that nothing was written if its disk is full.
    Short {
        is_full: bool,
    },
}

struct Writer {
    number: usize,
    ways: Vec<Way>,
    /// The way of the next request.
    turn: usize,
    ledger: Arc<Mutex<Ledger>>,
    /// The slot whose last write has no certain outcome, and whether it must not have happened.
    unsettled: Option<(usize, bool)>,
    /// Slots whose last write was on its way to a server that died. It may still happen until that server is
    /// expelled, so these slots are left alone until all slots are compared.
    in_doubt: BTreeSet<usize>,
}

const RETRY_TIME: Duration = Duration::from_millis(20);

pub async fn write_until_cut(
    number: usize,
    seed: u64,
    connection: Connection,
    ledger: Arc<Mutex<Ledger>>,
) -> Result<Written> {
    let mut writer = Writer::new(number, vec![connection], ledger)?;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut written = Written::default();
    loop {
        let started = Instant::now();
        match writer.write(&mut random).await? {
            Ended::Answered => {}
            Ended::Cut => return Ok(written),
            Ended::Short => bail!("the server can't serve a write"),
        }
        written.acknowledged += 1;
        written.slowest = written.slowest.max(started.elapsed());
    }
}

/// Writes until the campaign stops it. A write that the server refuses is tried again, or another one is.
pub async fn write_until_stopped(
    number: usize,
    seed: u64,
    connections: Vec<Connection>,
    ledger: Arc<Mutex<Ledger>>,
    progress: Arc<Progress>,
) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut writer = Writer::new(number, connections, ledger)?;
    while !progress.stop.load(Ordering::Relaxed) {
        if !writer.take_turn().await {
            tokio::time::sleep(RETRY_TIME).await;
            continue;
        }
        let mut done = &progress.acknowledged;
        let ended = match writer.unsettled {
            Some((slot, must_be_unchanged)) => writer.settle(slot, must_be_unchanged).await?,
            None if writer.ways.len() > 1 && random.u8(..4) == 0 => {
                done = &progress.read;
                writer.look_at_slot(random.usize(..SLOTS_PER_WRITER)).await?
            }
            None => writer.write(&mut random).await?,
        };
        match ended {
            Ended::Answered => {
                done.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Ended::Short => progress.refused.fetch_add(1, Ordering::Relaxed),
            Ended::Cut => progress.cut.fetch_add(1, Ordering::Relaxed),
        };
        tokio::time::sleep(RETRY_TIME).await;
    }
    Ok(())
}

/// How a request has ended.
enum Ended {
    Answered,
    Cut,
    Short,
}

impl Writer {
    fn new(number: usize, connections: Vec<Connection>, ledger: Arc<Mutex<Ledger>>) -> Result<Writer> {
        let way =
            |connection: Connection| Ok(Way { address: connection.address()?, connection: Some(connection) });
        let ways = connections.into_iter().map(way).collect::<Result<Vec<Way>>>()?;
        Ok(Writer { number, ways, turn: 0, ledger, unsettled: None, in_doubt: BTreeSet::new() })
    }

    /// Turns to the next server that can be reached. Returns whether there is one.
    async fn take_turn(&mut self) -> bool {
        for _ in 0..self.ways.len() {
            self.turn = (self.turn + 1) % self.ways.len();
            let way = &mut self.ways[self.turn];
            if way.connection.is_none() {
                way.connection = Connection::open(way.address).await.ok();
            }
            if way.connection.is_some() {
                return true;
            }
        }
        false
    }

    /// Reads a slot whose state is known, through whichever server has its turn.
    async fn look_at_slot(&mut self, slot: usize) -> Result<Ended> {
        match self.in_doubt.contains(&slot) {
            true => Ok(Ended::Answered),
            false => self.settle(slot, false).await,
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&mut self, random: &mut fastrand::Rng) -> Result<Ended> {
        match random.u8(..10) {
            0..6 => self.change_slot(random.usize(..SLOTS_PER_WRITER), random.u8(..10)).await,
            6..8 => self.raise_counter(random.usize(..COUNTERS)).await,
            _ => self.run_race(random.usize(..RACES)).await,
        }
    }

    /// Finds out whether the last write to a slot has happened.
    async fn settle(&mut self, slot: usize, must_be_unchanged: bool) -> Result<Ended> {
        let key = key(&slot_group(self.number), slot);
        let body = json!({"TableName": TABLE, "Key": key, "ConsistentRead": true});
        let reply = match self.ask("GetItem", &body).await? {
            Answer::Done(reply) => reply,
            Answer::Refused => bail!("a read was refused"),
            Answer::Cut => return Ok(Ended::Cut),
            Answer::Short { .. } => return Ok(Ended::Short),
        };
        let mut ledger = self.ledger();
        let before = ledger.slot(self.number, slot).certain();
        ledger.settle_slot(self.number, slot, reply.get("Item"))?;
        let after = ledger.slot(self.number, slot).certain();
        ensure!(!must_be_unchanged || after == before, "a write that found a full disk has happened");
        drop(ledger);
        self.unsettled = None;
        Ok(Ended::Answered)
    }

    /// Puts, replaces on condition, updates or deletes an item of this writer's own.
    async fn change_slot(&mut self, slot: usize, choice: u8) -> Result<Ended> {
        if self.in_doubt.contains(&slot) {
            return self.raise_counter(slot % COUNTERS).await;
        }
        let (operation, body) = {
            let number = self.number;
            let mut ledger = self.ledger();
            let entry = ledger.slot(number, slot);
            let before = entry.certain();
            if choice == 0 {
                entry.sent(None);
                ("DeleteItem", json!({"TableName": TABLE, "Key": key(&slot_group(number), slot)}))
            } else {
                let version = entry.next_version();
                entry.sent(Some(version));
                match choice {
                    1..4 => {
                        ("PutItem", json!({"TableName": TABLE, "Item": slot_item(number, slot, version)}))
                    }
                    4..7 => ("PutItem", guarded(slot_item(number, slot, version), before)),
                    _ => ("UpdateItem", update(number, slot, version, before)),
                }
            }
        };
        match self.ask(operation, &body).await? {
            Answer::Done(_) => self.ledger().slot(self.number, slot).acknowledged(),
            Answer::Refused => bail!("slot {slot} of writer {} was changed by somebody else", self.number),
            Answer::Cut if self.ways.len() > 1 => {
                self.in_doubt.insert(slot);
                return Ok(Ended::Cut);
            }
            Answer::Cut => {
                self.unsettled = Some((slot, false));
                return Ok(Ended::Cut);
            }
            Answer::Short { is_full } => {
                self.unsettled = Some((slot, is_full));
                return Ok(Ended::Short);
            }
        }
        Ok(Ended::Answered)
    }

    async fn raise_counter(&mut self, counter: usize) -> Result<Ended> {
        self.ledger().counter(counter).sent();
        let body = json!({
            "TableName": TABLE,
            "Key": key("counter", counter),
            "UpdateExpression": "ADD raised :one, mirror :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        });
        match self.ask("UpdateItem", &body).await? {
            Answer::Done(reply) => self.ledger().counter(counter).acknowledged(&reply["Attributes"])?,
            Answer::Refused => bail!("a raise without a condition was refused"),
            Answer::Cut => return Ok(Ended::Cut),
            Answer::Short { .. } => return Ok(Ended::Short),
        }
        Ok(Ended::Answered)
    }

    async fn run_race(&mut self, race: usize) -> Result<Ended> {
        let writer = self.number;
        let (before, version) = {
            let mut ledger = self.ledger();
            let entry = ledger.race(race);
            let before = entry.version();
            let version = before.unwrap_or(0) + 1;
            entry.sent(version, writer);
            (before, version)
        };
        match self.ask("PutItem", &guarded(race_item(race, version, writer), before)).await? {
            Answer::Done(_) => self.ledger().race(race).acknowledged(version, writer)?,
            Answer::Refused => self.ledger().race(race).refused(version, writer),
            Answer::Cut => return Ok(Ended::Cut),
            Answer::Short { .. } => return Ok(Ended::Short),
        }
        Ok(Ended::Answered)
    }

    async fn ask(&mut self, operation: &str, body: &Value) -> Result<Answer> {
        let request = encode(operation, body);
        let way = &mut self.ways[self.turn];
        let Some(connection) = &mut way.connection else { return Ok(Answer::Cut) };
        let exchange = tokio::time::timeout(WAIT, connection.exchange(&request));
        let Ok((status, reply)) = exchange.await.with_context(|| format!("no answer to {operation}"))? else {
            way.connection = None;
            return Ok(Answer::Cut);
        };
        let reply: Value = serde_json::from_slice(reply)?;
        if status == 200 {
            return Ok(Answer::Done(reply));
        }
        let kind = reply["__type"].as_str().unwrap_or_default();
        if kind.ends_with("#InternalServerError") {
            let is_full = reply["message"].as_str().is_some_and(|text| text.contains("the store is full"));
            return Ok(Answer::Short { is_full });
        }
        ensure!(kind.ends_with("#ConditionalCheckFailedException"), "{operation}: {status} {reply}");
        Ok(Answer::Refused)
    }
}

fn key(group: &str, number: usize) -> Value {
    json!({"group": {"S": group}, "number": {"N": number.to_string()}})
}

/// A put on the condition that the item is still in the version known before.
fn guarded(item: Value, before: Option<u64>) -> Value {
    let mut body = json!({"TableName": TABLE, "Item": item});
    match before {
        None => body["ConditionExpression"] = json!("attribute_not_exists(version)"),
        Some(version) => {
            body["ConditionExpression"] = json!("version = :before");
            body["ExpressionAttributeValues"] = json!({":before": {"N": version.to_string()}});
        }
    }
    body
}

/// One update that takes every attribute to the new version. It sets nested values if the item exists, whole
/// attributes if not.
fn update(writer: usize, slot: usize, version: u64, before: Option<u64>) -> Value {
    let mut sets = Vec::new();
    let mut values = Map::new();
    for (name, value) in slot_content(writer, slot, version) {
        match (name, before) {
            ("nested", Some(_)) => sets.push("nested.version = :version".to_owned()),
            _ => sets.push(format!("#{name} = :{name}")),
        }
        values.insert(format!(":{name}"), value);
    }
    let mut names: Map<String, Value> = ["version", "twin", "list", "payload"]
        .map(|name| (format!("#{name}"), json!(name)))
        .into_iter()
        .collect();
    match before {
        Some(_) => values.remove(":nested"),
        None => names.insert("#nested".to_owned(), json!("nested")),
    };
    json!({
        "TableName": TABLE,
        "Key": key(&slot_group(writer), slot),
        "UpdateExpression": format!("SET {}", sets.join(", ")),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    })
}
