//! What was written when, and which states a table may have had at a time.
//!
//! Each name belongs to one writer, which has one write in flight. The server commits it between the moment at which
//! the write was sent and the one at which it was acknowledged. So at a time T an item is as the last write that was
//! acknowledged by T left it, or as a later one that was sent by T. An item whose time to live is over may be there or
//! not; once it was seen gone at a time, it is gone at every later one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use ::bench::connection::Connection;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::TABLE;
use crate::victim::{call, now_us};

/// Names of each writer that are written again and again.
const SLOTS: u64 = 12;
/// Pairs of each writer that are only ever written by transactions.
const PAIRS: u64 = 4;

/// The version of an item; none if there is no item.
type State = Option<u64>;

#[derive(Clone, Copy, Debug)]
struct Write {
    state: State,
    sent_us: u64,
    acknowledged_us: Option<u64>,
}

/// Everything about one name.
#[derive(Debug, Default)]
struct Item {
    writes: Vec<Write>,
    expires_s: Option<u64>,
    /// The latest time at which it was seen after its expiry, and the earliest at which it was gone.
    seen_us: u64,
    gone_us: Option<u64>,
}

#[derive(Debug, Default)]
pub struct TableHistory {
    items: BTreeMap<String, Item>,
    begun_us: u64,
    seconds: BTreeSet<u64>,
    writes: u64,
}

impl TableHistory {
    /// The time from which on the table can be restored.
    pub fn begin(&mut self, now_us: u64) {
        self.begun_us = now_us;
    }

    pub fn begun_us(&self) -> u64 {
        self.begun_us
    }

    /// The seconds in which something was written.
    pub fn seconds(&self) -> impl Iterator<Item = u64> {
        self.seconds.iter().copied()
    }

    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// A write that was acknowledged.
    pub fn note(&mut self, name: String, state: State, expires_s: Option<u64>, sent_us: u64, now_us: u64) {
        self.sent(&name, state, expires_s, sent_us);
        self.acknowledged(&name, now_us);
    }

    fn sent(&mut self, name: &str, state: State, expires_s: Option<u64>, sent_us: u64) {
        let item = self.items.entry(name.to_owned()).or_default();
        item.expires_s = expires_s;
        item.writes.push(Write { state, sent_us, acknowledged_us: None });
    }

    fn acknowledged(&mut self, name: &str, now_us: u64) {
        self.writes += 1;
        self.seconds.insert(now_us / 1_000_000);
        let last = self.items.get_mut(name).and_then(|item| item.writes.last_mut());
        last.expect("it was sent").acknowledged_us = Some(now_us);
    }

    /// Decides for each write in flight whether it happened, by what the table holds.
    pub fn settle(&mut self, found: &[Value], now_us: u64) -> Result<()> {
        let found = by_name(found)?;
        for (name, item) in &mut self.items {
            let Some(last) = item.writes.last_mut() else { continue };
            if last.acknowledged_us.is_some() {
                continue;
            }
            if found.get(name).copied() == last.state {
                last.acknowledged_us = Some(now_us);
            } else if item.expires_s.is_some() {
                // It did not happen, or it did and has expired. Either is possible at every later time.
                last.acknowledged_us = Some(u64::MAX);
            } else {
                item.writes.pop();
            }
        }
        Ok(())
    }

    /// Compares the items of a restored table with what the table held at the time.
    pub fn compare(&mut self, found: &[Value], time_us: u64) -> Result<()> {
        let mut found = by_name(found)?;
        for name in self.items.keys().filter(|name| name.ends_with("/a")) {
            let other = name.replace("/a", "/b");
            let (first, second) = (found.get(name), found.get(&other));
            ensure!(first == second, "a transaction is split: {name} is {first:?}, {other} is {second:?}");
        }
        for (name, item) in &mut self.items {
            let state = found.remove(name);
            item.check(state, time_us).with_context(|| format!("{name} at {time_us}"))?;
        }
        match found.into_iter().next() {
            Some((name, version)) => bail!("{name} has version {version}, which was never written"),
            None => Ok(()),
        }
    }
}

impl Item {
    fn check(&mut self, state: State, time_us: u64) -> Result<()> {
        let is_over = self.expires_s.is_some_and(|expires_s| time_us > expires_s * 1_000_000);
        let certain = self.writes.iter().rfind(|write| write.acknowledged_us.is_some_and(|us| us <= time_us));
        if is_over && state.is_none() {
            self.gone_us = Some(self.gone_us.map_or(time_us, |gone_us| gone_us.min(time_us)));
        } else {
            // The server's clock has milliseconds.
            let later = |write: &&Write| {
                write.sent_us / 1000 <= time_us / 1000 && write.acknowledged_us.is_none_or(|us| us > time_us)
            };
            let mut possible = self.writes.iter().filter(later).chain(certain).map(|write| write.state);
            let none_yet = certain.is_none() && state.is_none();
            ensure!(
                none_yet || possible.any(|possible| possible == state),
                "has {state:?}: {:?}",
                self.writes
            );
            if is_over {
                self.seen_us = self.seen_us.max(time_us);
            }
        }
        let is_back = self.gone_us.is_some_and(|gone_us| gone_us <= self.seen_us);
        ensure!(!is_back, "it was gone at {:?} and there at {}", self.gone_us, self.seen_us);
        Ok(())
    }
}

fn by_name(items: &[Value]) -> Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    for item in items {
        let (name, version) = (name(item)?, item["version"]["N"].as_str().context("a version")?.parse()?);
        let expires_s = item["expires"]["N"].as_str().map(str::parse).transpose()?;
        ensure!(*item == self::item(&name, version, expires_s), "half applied: {item}");
        ensure!(found.insert(name, version).is_none(), "twice: {item}");
    }
    Ok(found)
}

/// The name of an item: its two key attributes.
pub fn name(item: &Value) -> Result<String> {
    let part = |attribute: &str| item[attribute]["S"].as_str().context("a key");
    Ok(format!("{}/{}", part("group")?, part("name")?))
}

/// The item of a name in a version. All attributes follow from these.
pub fn item(name: &str, version: u64, expires_s: Option<u64>) -> Value {
    let mut item = key(name);
    item["version"] = json!({"N": version.to_string()});
    item["color"] = json!({"S": format!("color {}", version % 5)});
    item["payload"] = json!({"S": format!("{name} {version} ").repeat(8)});
    if let Some(expires_s) = expires_s {
        item["expires"] = json!({"N": expires_s.to_string()});
    }
    item
}

fn key(name: &str) -> Value {
    let (group, name) = name.split_once('/').unwrap_or((name, ""));
    json!({"group": {"S": group}, "name": {"S": name}})
}

/// Writes what comes to its mind until the connection breaks.
pub async fn write_until_cut(
    writer: usize,
    seed: u64,
    mut connection: Connection,
    history: std::sync::Arc<Mutex<TableHistory>>,
    ahead_s: u64,
) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        let version = random.u64(2..1 << 40);
        let (operation, request, writes, expires_s) = next_write(writer, version, &mut random, ahead_s);
        {
            let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
            writes.iter().for_each(|(name, state)| history.sent(name, *state, expires_s, now_us(ahead_s)));
        }
        match call(&mut connection, operation, &request).await {
            Ok(_) => {
                let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
                writes.iter().for_each(|(name, _)| history.acknowledged(name, now_us(ahead_s)));
            }
            Err(error) if error.downcast_ref::<std::io::Error>().is_some() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

type NextWrite = (&'static str, Value, Vec<(String, State)>, Option<u64>);

fn next_write(writer: usize, version: u64, random: &mut fastrand::Rng, ahead_s: u64) -> NextWrite {
    let slot = format!("w{writer}/{}", random.u64(0..SLOTS));
    match random.u8(0..10) {
        0..4 => {
            let request = json!({"TableName": TABLE, "Item": item(&slot, version, None)});
            ("PutItem", request, vec![(slot, Some(version))], None)
        }
        4..6 => {
            let new = item(&slot, version, None);
            let request = json!({
                "TableName": TABLE, "Key": key(&slot),
                "UpdateExpression": "SET version = :v, color = :c, payload = :p",
                "ExpressionAttributeValues": {":v": new["version"], ":c": new["color"], ":p": new["payload"]},
            });
            ("UpdateItem", request, vec![(slot, Some(version))], None)
        }
        6 => ("DeleteItem", json!({"TableName": TABLE, "Key": key(&slot)}), vec![(slot, None)], None),
        7 | 8 => {
            let pair = random.u64(0..PAIRS);
            let names = ["a", "b"].map(|side| format!("w{writer}-pair-{pair}/{side}"));
            let state = (random.u8(0..4) > 0).then_some(version);
            let action = |name: &String| match state {
                Some(version) => json!({"Put": {"TableName": TABLE, "Item": item(name, version, None)}}),
                None => json!({"Delete": {"TableName": TABLE, "Key": key(name)}}),
            };
            let request = json!({"TransactItems": names.iter().map(action).collect::<Vec<Value>>()});
            ("TransactWriteItems", request, names.into_iter().map(|name| (name, state)).collect(), None)
        }
        _ => {
            let expires_s = now_us(ahead_s) / 1_000_000 + random.u64(1..4);
            let name = format!("w{writer}/expiring/{version}");
            let request = json!({"TableName": TABLE, "Item": item(&name, version, Some(expires_s))});
            ("PutItem", request, vec![(name, Some(version))], Some(expires_s))
        }
    }
}
