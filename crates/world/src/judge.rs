//! Whether what happened in a world was right. Each promise has a truth of its own: the commits in their order for items
//! and transactions, the search for an order beside it, the changes of items for streams, and cuts of them for copies.

use std::collections::BTreeMap;

use item::Item;
use serde_json::Value;
use simulation::replay::{self, Commit, Timeline};
use simulation::{Content, Event, Key};
use store::Space;

use crate::remote::Committed;
use crate::requests::{content, key_of};
use crate::run::World;

/// A copy of the table: of a backup, or of a moment.
#[derive(Clone, Debug)]
pub struct Copy {
    pub number: u32,
    pub backup_arn: Option<String>,
    /// When a backup was asked for and made, by the clock of the history.
    pub invoked: u64,
    pub returned: u64,
    /// The moment, if it is of one.
    pub time_us: u64,
    /// What was restored.
    pub found: Option<BTreeMap<Key, Content>>,
}

impl Copy {
    /// A backup that was made.
    pub fn of_backup(number: u32, arn: String, invoked: u64, returned: u64) -> Copy {
        Copy { number, backup_arn: Some(arn), invoked, returned, time_us: 0, found: None }
    }

    /// A moment to be restored.
    pub fn of_moment(number: u32, time_us: u64) -> Copy {
        Copy { number, backup_arn: None, invoked: 0, returned: 0, time_us, found: None }
    }

    /// The table that it is restored to.
    pub fn target(&self) -> String {
        let kind = if self.backup_arn.is_some() { "FromBackup" } else { "FromMoment" };
        format!("{kind}{}", self.number)
    }
}

/// What is wrong with a world, if anything is.
pub fn judge(world: &World, events: &[Event], committed: &[Committed]) -> Option<String> {
    let commits = commits(committed);
    let timeline = Timeline::new(&commits);
    replay::check(&commits, events)
        .map_err(|fault| fault.to_string())
        .and_then(|()| simulation::check(events).map(drop).map_err(|fault| fault.to_string()))
        .and_then(|()| stream(world, &timeline))
        .and_then(|()| copies(world, &commits, &timeline))
        .and_then(|()| expiry(world, committed))
        .err()
}

/// The item that a row holds, as JSON, if it holds one.
fn item(row: &bytes::Bytes) -> Option<Value> {
    let item = Item::from_stored(row.clone()).ok()?;
    let mut json = Vec::new();
    item::json::write_item(item.as_ref(), &mut json);
    serde_json::from_slice(&json).ok()
}

/// The changes of the workload's items. Their table has the lowest space of all that hold such items: indexes and
/// copies come later.
fn commits(committed: &[Committed]) -> Vec<Commit> {
    let rows = committed.iter().flat_map(|commit| &commit.rows);
    let holds_item = |row: &bytes::Bytes| item(row).is_some_and(|item| key_of(&item).is_some());
    let spaces = rows.filter(|(_, row)| row.as_ref().is_some_and(holds_item)).map(|(key, _)| key.space);
    let Some(table) = spaces.min() else { return Vec::new() };
    let mut keys: BTreeMap<store::Key, Key> = BTreeMap::new();
    let mut commits = Vec::new();
    for commit in committed {
        let mut items = BTreeMap::new();
        for (at, row) in commit.rows.iter().filter(|(at, _)| at.space == table) {
            let item = row.as_ref().and_then(item);
            if let Some(key) = item.as_ref().and_then(key_of) {
                keys.insert(at.clone(), key);
            }
            if let Some(key) = keys.get(at) {
                items.insert(*key, content(item.as_ref()));
            }
        }
        if !items.is_empty() {
            let request = usize::try_from(commit.request).ok().and_then(|number| number.checked_sub(1));
            commits.push(Commit { at: commit.at, logged_us: commit.logged_us, request, items });
        }
    }
    commits
}

/// The stream has every change once, in the order of each item.
fn stream(world: &World, timeline: &Timeline<'_>) -> Result<(), String> {
    let Some(reader) = &world.reader else { return Ok(()) };
    if let Some(fault) = reader.fault.lock().take() {
        return Err(format!("the stream: {fault}"));
    }
    let read = reader.changes.lock();
    for key in timeline.keys() {
        let (expected, found) = (timeline.changes_of(key), read.get(&key).cloned().unwrap_or_default());
        if expected != found {
            let same = expected.iter().zip(&found).take_while(|(one, other)| one == other).count();
            return Err(format!(
                "the stream of {key:?} has {} records for {} changes; the first that differs is {same}: {:?} for {:?}",
                found.len(),
                expected.len(),
                found.get(same),
                expected.get(same),
            ));
        }
    }
    Ok(())
}

/// Copies are what was there.
fn copies(world: &World, commits: &[Commit], timeline: &Timeline<'_>) -> Result<(), String> {
    for copy in world.copies.lock().iter() {
        let Some(found) = &copy.found else { continue };
        match copy.backup_arn {
            Some(_) => backup(copy, found, commits)?,
            None => {
                let expected = timeline.as_logged_through(copy.time_us);
                if expected != *found {
                    return Err(format!("{} of {}: {found:?} for {expected:?}", copy.target(), copy.time_us));
                }
            }
        }
    }
    Ok(())
}

/// Each item of a backup is what it was at some moment while the backup was asked for.
fn backup(copy: &Copy, found: &BTreeMap<Key, Content>, commits: &[Commit]) -> Result<(), String> {
    let keys: std::collections::BTreeSet<Key> =
        commits.iter().flat_map(|commit| commit.items.keys().copied()).chain(found.keys().copied()).collect();
    for key in keys {
        let mut before = None;
        let mut possible = Vec::new();
        for commit in commits.iter().filter(|commit| commit.items.contains_key(&key)) {
            if commit.at > copy.returned {
                break;
            }
            if commit.at < copy.invoked {
                possible.clear();
            } else {
                possible.push(before);
            }
            before = commit.items[&key];
        }
        possible.push(before);
        if !possible.contains(&found.get(&key).copied()) {
            return Err(format!("{}: {key:?} is {:?}, none of {possible:?}", copy.target(), found.get(&key)));
        }
    }
    Ok(())
}

/// No item is gone before its time, by any clock of the world.
fn expiry(world: &World, committed: &[Committed]) -> Result<(), String> {
    let mut until: BTreeMap<(Space, store::Position), u64> = BTreeMap::new();
    for commit in committed {
        for (key, row) in &commit.rows {
            let at = (key.space, key.position.clone());
            match row {
                Some(row) => {
                    let lives_until = || item(row)?["until"]["N"].as_str()?.parse().ok();
                    if let Some(until_s) = lives_until() {
                        until.insert(at, until_s);
                    }
                }
                None => {
                    let Some(until_s) = until.remove(&at) else { continue };
                    let latest_us = commit.time_us + world.clock_error_ms() * 1000;
                    if latest_us < until_s * 1_000_000 {
                        return Err(format!("an item is gone {} µs early", until_s * 1_000_000 - latest_us));
                    }
                }
            }
        }
    }
    Ok(())
}
