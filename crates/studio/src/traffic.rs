//! What clients asked of tables lately, key by key, for the screen *Heat*: the busiest keys. Heat by key range and all
//! figures are the engine's.
//!
//! The recorder is an [`Observer`] of the engine's usage. It must cost next to nothing on a busy server, so it records
//! [`RECORDED_PER_SECOND`] reports a second one by one, and of more than that every n-th, which counts n times.
//! Everything that it keeps is bounded: [`PARTS_MAX`] tables and indexes, each with one sketch of keys (0.9 MB at most).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use capacity::contributors::{Minute, Rolling};
use capacity::heat::{RANGES, range_of};
use engine::{Access, HeatColumn, Namespace, Observer, PartUsed, RequestDone, ResourceHeat};
use serde_json::{Value, json};

/// Reports that are recorded one by one in a second: at some microseconds each, less than a hundredth of a core.
const RECORDED_PER_SECOND: u32 = 500;
/// Tables and indexes that are watched. Those that come later are not.
const PARTS_MAX: usize = 64;
/// Minutes of busiest keys.
const KEY_MINUTES: usize = 15;
const KEYS_SHOWN: usize = 20;
/// Characters of a key's value.
const TEXT_MAX: usize = 100;

/// Remembers what is used.
#[derive(Default)]
pub struct Recorder {
    parts: RwLock<HashMap<u64, Arc<Mutex<Part>>>>,
    sample: Sample,
}

/// Which reports are recorded, and for how many each counts.
#[derive(Default)]
pub struct Sample {
    second: AtomicU64,
    /// Reports of this second.
    seen: AtomicU32,
    /// For how many each counted at the end of the second before.
    weight: AtomicU32,
}

impl Sample {
    /// How often a report counts; none if others stand for it. Threads that meet at the turn of a second may
    /// count a report too many or too few.
    pub fn weight(&self, now_ms: u64) -> Option<u32> {
        let second = now_ms / 1000;
        if self.second.swap(second, Ordering::Relaxed) != second {
            let seen = self.seen.swap(0, Ordering::Relaxed);
            self.weight.store(seen / RECORDED_PER_SECOND, Ordering::Relaxed);
        }
        let number = self.seen.fetch_add(1, Ordering::Relaxed);
        let weight = self.weight.load(Ordering::Relaxed).max(1 + number / RECORDED_PER_SECOND);
        number.is_multiple_of(weight).then_some(weight)
    }
}

/// One table or index.
struct Part {
    namespace: Namespace,
    table: String,
    index: Option<String>,
    keys: Rolling,
    minutes: VecDeque<Minute>,
}

impl Observer for Recorder {
    fn part(&self, used: &PartUsed<'_>) {
        let Some(weight) = self.sample.weight(used.now_ms) else { return };
        let Some(part) = self.find(used) else { return };
        lock(&part).note(used, weight);
    }

    /// The engine's metrics have them.
    fn request(&self, _: &RequestDone<'_>) {}
}

impl Recorder {
    fn find(&self, used: &PartUsed<'_>) -> Option<Arc<Mutex<Part>>> {
        let space = used.space();
        let known = self.parts.read().unwrap_or_else(PoisonError::into_inner).get(&space).cloned();
        if known.is_some() {
            return known;
        }
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        if parts.len() >= PARTS_MAX {
            return None;
        }
        Some(parts.entry(space).or_insert_with(|| Arc::new(Mutex::new(Part::of(used)))).clone())
    }

    /// What happened with a table and its indexes, whose heat is given. Those without requests are left out.
    pub fn of_table(&self, namespace: &Namespace, table: &str, heat: &[ResourceHeat]) -> Vec<Value> {
        let parts: Vec<Arc<Mutex<Part>>> =
            self.parts.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let of_resource = |resource: &ResourceHeat| {
            let part = parts.iter().map(|part| lock(part)).find(|part| {
                part.namespace == *namespace && part.table == table && part.index == resource.index
            });
            (part.is_some() || !resource.columns.is_empty()).then(|| {
                json!({
                    "index": resource.index,
                    "ranges": RANGES,
                    "columns": resource.columns.iter().map(column).collect::<Vec<_>>(),
                    "keys": part.as_ref().map_or_else(Vec::new, |part| part.busiest()),
                })
            })
        };
        heat.iter().filter_map(of_resource).collect()
    }
}

/// A column of the heat map. Most ranges of most minutes are idle, and left out.
fn column(column: &HeatColumn) -> Value {
    let squares = column.squares.iter().enumerate().filter(|(_, square)| **square != [0.0; 3]);
    let squares = squares.map(|(range, [read, write, throttled])| json!([range, read, write, throttled]));
    json!({ "minute": column.minute, "minutes": column.minutes, "squares": squares.collect::<Vec<_>>() })
}

impl Part {
    fn of(used: &PartUsed<'_>) -> Part {
        Part {
            namespace: used.namespace().clone(),
            table: used.table_name().to_owned(),
            index: used.index_name().map(str::to_owned),
            keys: Rolling::default(),
            minutes: VecDeque::new(),
        }
    }

    fn note(&mut self, used: &PartUsed<'_>, weight: u32) {
        let Some(key_hash) = used.key_hash else { return };
        let units = used.units * f64::from(weight);
        // Reads and writes of a key are counted apart: a partition sustains different numbers of them.
        let counted_as = key_hash ^ u64::from(used.access == Access::Write);
        let ended = self.keys.add(counted_as, units, used.now_ms, || name_of(used, key_hash));
        self.minutes.extend(ended);
        while self.minutes.len() > KEY_MINUTES {
            self.minutes.pop_front();
        }
    }

    /// The keys that used most in the minutes that are kept, each with its units by minute.
    fn busiest(&self) -> Vec<Value> {
        let open = self.keys.open_minute();
        let mut keys: BTreeMap<u64, Busy> = BTreeMap::new();
        for minute in self.minutes.iter().chain(std::iter::once(&open)) {
            for one in &minute.contributors {
                let Some((hash, is_write, key)) = read_name(&one.key) else { continue };
                let busy = keys.entry(hash).or_insert_with(|| Busy { key, ..Busy::default() });
                busy.minutes.entry(minute.minute).or_default()[usize::from(is_write)] += one.value;
            }
        }
        let mut keys: Vec<(u64, Busy)> = keys.into_iter().collect();
        keys.sort_by(|(_, one), (_, other)| other.load().total_cmp(&one.load()));
        keys.truncate(KEYS_SHOWN);
        let shown = keys.into_iter().map(|(hash, busy)| {
            let minutes = busy.minutes.iter().map(|(minute, [read, write])| json!([minute, read, write]));
            json!({ "key": busy.key, "range": range_of(hash), "minutes": minutes.collect::<Vec<_>>() })
        });
        shown.collect()
    }
}

/// A key, and its read and write units by minute.
#[derive(Default)]
struct Busy {
    key: Value,
    minutes: BTreeMap<u64, [f64; 2]>,
}

impl Busy {
    /// What it takes of a partition, which sustains three times as many reads as writes.
    fn load(&self) -> f64 {
        self.minutes.values().map(|[read, write]| read / 3.0 + write).sum()
    }
}

/// What a key is counted as: its hash, whether it is written, and the item of its key attributes. It is made for
/// every new key of a minute, so it stays bytes until a page asks for it.
fn name_of(used: &PartUsed<'_>, key_hash: u64) -> Box<[u8]> {
    let mut name = key_hash.to_be_bytes().to_vec();
    name.push(u8::from(used.access == Access::Write));
    name.extend(used.key().map(item::Item::into_stored).unwrap_or_default());
    name.into()
}

/// The values of a key by their attributes: the page knows which of them is the partition key.
fn read_name(name: &[u8]) -> Option<(u64, bool, Value)> {
    let (hash, rest) = name.split_first_chunk()?;
    let (is_write, key) = rest.split_first()?;
    let shown = |(name, value): (&str, item::ValueRef<'_>)| {
        (name.to_owned(), Value::String(text(value).chars().take(TEXT_MAX).collect()))
    };
    let key = item::Item::from_stored(bytes::Bytes::copy_from_slice(key)).ok()?;
    Some((u64::from_be_bytes(*hash), *is_write == 1, key.as_ref().iter().map(shown).collect()))
}

fn text(value: item::ValueRef<'_>) -> String {
    match value.to_value() {
        item::Value::S(text) => text,
        item::Value::N(number) => number.to_string(),
        _ => "binary".to_owned(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_with_few_reports_is_recorded_whole_and_one_with_many_by_every_nth() {
        let sample = Sample::default();
        let recorded = |second: u64, reports: u32| -> (usize, u32) {
            let weights: Vec<u32> = (0..reports).filter_map(|_| sample.weight(second * 1000)).collect();
            (weights.len(), weights.iter().sum())
        };
        assert_eq!(recorded(1, 500), (500, 500));
        let (count, total) = recorded(2, 50_000);
        assert!(count < 4000, "the first busy second is found out while it lasts: {count}");
        assert!((45_000..=55_000).contains(&total), "{total} stand for 50,000");
        assert_eq!(recorded(3, 50_000), (500, 50_000));
        assert_eq!(recorded(4, 100), (1, 100), "the second after a busy one is still sampled");
        assert_eq!(recorded(5, 100), (100, 100));
    }
}
