//! A random history: after each step the store agrees with an ordered map.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use bytes::Bytes;

use super::{get, key_in, scan};
use crate::chance::Chance;
use crate::{Direction, Key, Log, LogPosition, Position, Range, Read, Space, Store, WriteSet};

const STEPS: u32 = 600;

/// What the store should hold.
#[derive(Default)]
struct Model {
    rows: BTreeMap<Key, Bytes>,
    /// All records ever appended to each log, and how many of them were trimmed.
    logs: BTreeMap<Log, (Vec<Bytes>, usize)>,
}

pub async fn a_random_history_agrees_with_an_ordered_map(store: Arc<dyn Store>) {
    let mut chance = Chance::new(20_260_101);
    let mut model = Model::default();
    let mut snapshot: Option<(Arc<dyn Read>, BTreeMap<Key, Bytes>)> = None;
    for step in 0..STEPS {
        match chance.below(20) {
            0..10 => update(&*store, &mut model, &mut chance, step).await,
            10..13 => check_range(&*store, &model.rows, &any_range(&mut chance), step).await,
            13..15 => {
                let keys: Vec<Key> = (0..chance.below(6)).map(|_| any_key(&mut chance)).collect();
                check_rows(&*store, &model.rows, &keys, step).await;
            }
            15 => {
                let taken = store.snapshot().await.expect("a snapshot is taken");
                snapshot = Some((taken, model.rows.clone()));
            }
            16 => {
                if let Some((snapshot, rows)) = &snapshot {
                    check_range(&**snapshot, rows, &any_range(&mut chance), step).await;
                    check_rows(&**snapshot, rows, &[any_key(&mut chance)], step).await;
                }
            }
            17 => read_log(&*store, &model, &mut chance, step).await,
            18 => trim_log(&*store, &mut model, &mut chance).await,
            _ => {
                if chance.once_in(4) {
                    let space = any_space(&mut chance);
                    store.clear(space).await.expect("a space is cleared");
                    model.rows.retain(|key, _| key.space != space);
                }
            }
        }
    }
    for space in [Space(1), Space(2)] {
        check_range(&*store, &model.rows, &Range::all(space), STEPS).await;
    }
}

fn any_space(chance: &mut Chance) -> Space {
    Space(1 + chance.below(2))
}

/// Few enough keys that they meet often.
fn any_key(chance: &mut Chance) -> Key {
    let sort: Vec<u8> = (0..chance.below(3)).map(|_| [0, 1, 0x7f, 0xff][chance.below(4) as usize]).collect();
    key_in(any_space(chance), chance.below(4) as u8, sort)
}

fn any_range(chance: &mut Chance) -> Range {
    let mut bound = || match chance.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(any_key(chance).position),
        _ => Bound::Excluded(any_key(chance).position),
    };
    let (start, end) = (bound(), bound());
    Range { space: any_space(chance), start, end }
}

async fn update(store: &dyn Store, model: &mut Model, chance: &mut Chance, step: u32) {
    let keys: Vec<Key> = (0..chance.below(5)).map(|_| any_key(chance)).collect();
    let written: BTreeSet<Key> = keys.iter().filter(|_| !chance.once_in(4)).cloned().collect();
    let (deletes, puts): (Vec<Key>, Vec<Key>) = written.into_iter().partition(|_| chance.once_in(3));
    let puts: Vec<(Key, Bytes)> = puts
        .into_iter()
        .map(|key| (key, Bytes::from(format!("{step}").repeat(1 + chance.below(200) as usize))))
        .collect();
    let appends: Vec<(Log, Bytes)> =
        (0..chance.below(3)).map(|_| (Log(chance.below(2)), Bytes::from(format!("{step}")))).collect();

    let expected: Vec<Option<Bytes>> = keys.iter().map(|key| model.rows.get(key).cloned()).collect();
    let mut seen = Vec::new();
    let mut decide = |rows: &[Option<Bytes>]| {
        seen = rows.to_vec();
        WriteSet {
            puts: puts.clone(),
            deletes: deletes.clone(),
            appends: appends.clone(),
            now_us: u64::from(step),
            ..WriteSet::default()
        }
    };
    store.update(&keys, &mut decide).await.expect("an update succeeds");
    assert_eq!(seen, expected, "step {step}");

    model.rows.extend(puts);
    for key in &deletes {
        model.rows.remove(key);
    }
    for (log, record) in appends {
        model.logs.entry(log).or_default().0.push(record);
    }
}

async fn check_rows(store: &(impl Read + ?Sized), rows: &BTreeMap<Key, Bytes>, keys: &[Key], step: u32) {
    let expected: Vec<Option<Bytes>> = keys.iter().map(|key| rows.get(key).cloned()).collect();
    assert_eq!(get(store, keys).await, expected, "step {step}: {keys:?}");
}

async fn check_range(store: &(impl Read + ?Sized), rows: &BTreeMap<Key, Bytes>, range: &Range, step: u32) {
    let bounds = (range.start.as_ref(), range.end.as_ref());
    let inside = |key: &Key| key.space == range.space && bounds.contains(&key.position);
    let mut expected: Vec<(Position, Bytes)> = rows
        .iter()
        .filter(|(key, _)| inside(key))
        .map(|(key, value)| (key.position.clone(), value.clone()))
        .collect();
    assert_eq!(scan(store, range, Direction::Forward).await, expected, "step {step}: {range:?}");
    expected.reverse();
    assert_eq!(scan(store, range, Direction::Backward).await, expected, "step {step}: {range:?} backward");
}

/// Positions need not be dense, so what is compared is the order and number of the records.
async fn read_log(store: &dyn Store, model: &Model, chance: &mut Chance, step: u32) {
    let log = Log(chance.below(2));
    let limit = chance.below(30) as usize;
    let records = store.read_log(log, LogPosition(0), limit).await.expect("a log is read");
    let expected: &[Bytes] = model.logs.get(&log).map_or(&[], |(all, trimmed)| &all[*trimmed..]);
    let found: Vec<&Bytes> = records.iter().map(|(_, record)| record).collect();
    assert_eq!(found, expected.iter().take(limit).collect::<Vec<_>>(), "step {step}: {log:?}");
    assert!(records.is_sorted_by(|left, right| left.0 < right.0), "step {step}: {log:?}");
}

async fn trim_log(store: &dyn Store, model: &mut Model, chance: &mut Chance) {
    let log = Log(chance.below(2));
    let records = store.read_log(log, LogPosition(0), usize::MAX).await.expect("a log is read");
    if records.is_empty() {
        return;
    }
    let last = chance.below(records.len() as u64) as usize;
    store.trim_log(log, records[last].0).await.expect("a log is trimmed");
    let (_, trimmed) = model.logs.entry(log).or_default();
    *trimmed += last + 1;
}
