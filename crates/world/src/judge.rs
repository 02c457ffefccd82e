//! Whether what happened in a world was right. Each promise has a truth of its own: the commits in their order for items
//! and transactions, the search for an order beside it, the changes of items for streams, and cuts of them for copies.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use item::Item;
use serde_json::Value;
use simulation::replay::{self, Commit, Timeline};
use simulation::{Content, Event, Key};
use store::Space;

use crate::remote::Committed;
use crate::requests::{content, key_of};
use crate::run::World;

/// A copy of the table.
#[derive(Clone, Debug)]
pub struct Copy {
    /// The table that it is restored to, or where it was exported.
    pub name: String,
    pub source: Source,
    /// What it has, once that is known.
    pub found: Option<BTreeMap<Key, Content>>,
}

/// What a copy was made from.
#[derive(Clone, Debug)]
pub enum Source {
    /// When it was asked for and made, by the clock of the history.
    Backup { arn: String, invoked: u64, returned: u64 },
    /// The changes up to a time.
    Moment { time_us: u64 },
    /// The changes up to a time within a millisecond of this one, which is all that clients see of it.
    About { time_us: u64 },
}

impl Copy {
    /// A backup that was made.
    pub fn of_backup(number: u32, arn: String, invoked: u64, returned: u64) -> Copy {
        let source = Source::Backup { arn, invoked, returned };
        Copy { name: format!("FromBackup{number}"), source, found: None }
    }

    /// A moment to be restored.
    pub fn of_moment(number: u32, time_us: u64) -> Copy {
        Copy { name: format!("FromMoment{number}"), source: Source::Moment { time_us }, found: None }
    }

    /// An export of a moment.
    pub fn of_export(name: &str, time_us: u64, found: BTreeMap<Key, Content>) -> Copy {
        Copy { name: name.to_owned(), source: Source::About { time_us }, found: Some(found) }
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
        .and_then(|()| walks(world, &commits))
        .and_then(|()| expiry(world, committed))
        .err()
}

/// The item that a row holds, as JSON, if it holds one.
fn item(row: &bytes::Bytes) -> Option<Value> {
    json_of(&Item::from_stored(row.clone()).ok()?)
}

/// An item as JSON.
pub fn json_of(item: &Item) -> Option<Value> {
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
    for Copy { name, source, found } in world.copies.lock().iter() {
        let Some(found) = found else { continue };
        match source {
            Source::Backup { invoked, returned, .. } => backup(name, *invoked..=*returned, found, commits)?,
            Source::Moment { time_us } => moment(name, *time_us, &[*time_us], found, timeline)?,
            Source::About { time_us } => {
                let is_near = |logged_us: &u64| logged_us.abs_diff(*time_us) <= 1000;
                let mut times: Vec<u64> =
                    commits.iter().filter_map(|commit| commit.logged_us).filter(is_near).collect();
                times.push(time_us - 1000);
                moment(name, *time_us, &times, found, timeline)?;
            }
        }
    }
    Ok(())
}

/// A copy has what was there at one of these times.
fn moment(
    name: &str,
    time_us: u64,
    times: &[u64],
    found: &BTreeMap<Key, Content>,
    timeline: &Timeline<'_>,
) -> Result<(), String> {
    match times.iter().any(|time_us| timeline.as_logged_through(*time_us) == *found) {
        true => Ok(()),
        false => {
            let expected = timeline.as_logged_through(time_us);
            Err(format!("{name} of {time_us}: {found:?} for {expected:?}"))
        }
    }
}

/// Each item of a backup is what it was at some moment while the backup was asked for.
fn backup(
    name: &str,
    asked: RangeInclusive<u64>,
    found: &BTreeMap<Key, Content>,
    commits: &[Commit],
) -> Result<(), String> {
    let keys: BTreeSet<Key> =
        commits.iter().flat_map(|commit| commit.items.keys().copied()).chain(found.keys().copied()).collect();
    for key in keys {
        let possible = states(commits, key, &asked);
        if !possible.contains(&found.get(&key).copied()) {
            return Err(format!("{name}: {key:?} is {:?}, none of {possible:?}", found.get(&key)));
        }
    }
    Ok(())
}

/// What an item was in a time, by the clock of the history.
fn states(commits: &[Commit], key: Key, time: &RangeInclusive<u64>) -> Vec<Option<Content>> {
    let mut state = None;
    let mut states = Vec::new();
    for commit in commits.iter().take_while(|commit| commit.at <= *time.end()) {
        let Some(next) = commit.items.get(&key) else { continue };
        if commit.at >= *time.start() {
            states.push(state);
        }
        state = *next;
    }
    states.push(state);
    states
}

/// A walk meets no item twice, and each as it was while its page was read. It misses none that was there all the time.
fn walks(world: &World, commits: &[Commit]) -> Result<(), String> {
    let keys: BTreeSet<Key> = commits.iter().flat_map(|commit| commit.items.keys().copied()).collect();
    for walk in world.walks.lock().iter() {
        let mut met = BTreeSet::new();
        for page in &walk.pages {
            for (key, seen) in &page.items {
                if !met.insert(*key) {
                    return Err(format!("{}: {key:?} is met twice", walk.name));
                }
                let possible = states(commits, *key, &page.time);
                if !possible.iter().flatten().any(|state| walk.shows(*state) == *seen) {
                    return Err(format!("{}: {key:?} is {seen:?}, none of {possible:?}", walk.name));
                }
            }
        }
        let Some(time) = walk.time() else { continue };
        let is_missed =
            |key: &&Key| !met.contains(key) && states(commits, **key, &time).iter().all(Option::is_some);
        if let Some(key) = keys.iter().find(is_missed) {
            return Err(format!("{}: {key:?} is missed", walk.name));
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
