//! A client that writes until its connection is cut. It notes each write in the ledger before it is sent, and
//! each reply after it has come.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::bench::connection::Connection;
use ::bench::request::encode;
use anyhow::{Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::TABLE;
use super::ledger::{
    COUNTERS, Ledger, RACES, SLOTS_PER_WRITER, race_item, slot_content, slot_group, slot_item,
};

/// What a writer did before its connection was cut.
#[derive(Default)]
pub struct Written {
    pub acknowledged: u64,
    pub slowest: Duration,
}

/// A server's answer to a write.
enum Answer {
    Done(Value),
    Refused,
    /// The connection was cut: the write may have happened or not.
    Cut,
}

struct Writer {
    number: usize,
    connection: Connection,
    ledger: Arc<Mutex<Ledger>>,
}

pub async fn write_until_cut(
    number: usize,
    seed: u64,
    connection: Connection,
    ledger: Arc<Mutex<Ledger>>,
) -> Result<Written> {
    let mut writer = Writer { number, connection, ledger };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut written = Written::default();
    loop {
        let started = Instant::now();
        let go_on = match random.u8(..10) {
            0..6 => writer.change_slot(random.usize(..SLOTS_PER_WRITER), random.u8(..10)).await?,
            6..8 => writer.raise_counter(random.usize(..COUNTERS)).await?,
            _ => writer.run_race(random.usize(..RACES)).await?,
        };
        if !go_on {
            return Ok(written);
        }
        written.acknowledged += 1;
        written.slowest = written.slowest.max(started.elapsed());
    }
}

impl Writer {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts, replaces on condition, updates or deletes an item of this writer's own.
    async fn change_slot(&mut self, slot: usize, choice: u8) -> Result<bool> {
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
            Answer::Cut => return Ok(false),
        }
        Ok(true)
    }

    async fn raise_counter(&mut self, counter: usize) -> Result<bool> {
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
            Answer::Cut => return Ok(false),
        }
        Ok(true)
    }

    async fn run_race(&mut self, race: usize) -> Result<bool> {
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
            Answer::Cut => return Ok(false),
        }
        Ok(true)
    }

    async fn ask(&mut self, operation: &str, body: &Value) -> Result<Answer> {
        let Ok((status, reply)) = self.connection.exchange(&encode(operation, body)).await else {
            return Ok(Answer::Cut);
        };
        let reply: Value = serde_json::from_slice(reply)?;
        if status == 200 {
            return Ok(Answer::Done(reply));
        }
        let kind = reply["__type"].as_str().unwrap_or_default();
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
