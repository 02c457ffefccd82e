//! What clients asked of tables lately, key by key, for the screen *Heat*: the busiest keys. Heat by key range and all
//! figures are the engine's.
//!
//! The recorder is an [`Observer`] of the engine's usage. It must cost next to nothing on a busy server, so it records
//! [`RECORDED_PER_SECOND`] reports a second one by one, and of more than that about one in n, chosen at random, which
//! counts n times. Everything that it keeps is bounded: [`PARTS_MAX`] tables and indexes, each with one sketch of keys
//! (0.9 MB at most). A new one takes the place of the one that was used least lately, such as a deleted table.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use capacity::contributors::{Minute, Rolling};
use capacity::heat::{RANGES, range_of};
use engine::{Access, HeatColumn, Namespace, Observer, PartUsed, RequestDone, ResourceHeat};
use serde_json::{Value, json};

/// Reports that are recorded one by one in a second: at some microseconds each, less than a hundredth of a core.
const RECORDED_PER_SECOND: u32 = 500;
/// Tables and indexes that are watched.
const PARTS_MAX: usize = 64;
const MINUTE_MS: u64 = 60_000;
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
    /// How many choices were made.
    choices: AtomicU64,
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
        (weight == 1 || self.choose(weight)).then_some(weight)
    }

    /// Whether a report is one of those that are recorded. Every n-th would always be the same of requests that come in
    /// turns.
    fn choose(&self, weight: u32) -> bool {
        mixed(self.choices.fetch_add(1, Ordering::Relaxed)).is_multiple_of(u64::from(weight))
    }
}

/// SplitMix64: the numbers that follow each other become numbers without a pattern.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// How much a table or index was used lately: its units and requests, halved with every minute.
#[derive(Clone, Copy, Default)]
struct RecentUse {
    minute: u64,
    amount: f64,
}

impl RecentUse {
    fn add(&mut self, minute: u64, amount: f64) {
        *self = RecentUse { minute: self.minute.max(minute), amount: self.at(minute) + amount };
    }

    fn at(&self, minute: u64) -> f64 {
        let halvings = minute.saturating_sub(self.minute).min(1000);
        self.amount * 0.5_f64.powi(halvings as i32)
    }
}

/// One table or index.
struct Part {
    namespace: Namespace,
    table: String,
    index: Option<String>,
    keys: Rolling,
    minutes: VecDeque<Minute>,
    recently: RecentUse,
    /// The last minute in which requests were counted for others.
    sampled_minute: u64,
}

impl Observer for Recorder {
    fn part(&self, used: &PartUsed<'_>) {
        let Some(weight) = self.sample.weight(used.now_ms) else { return };
        let part = self.find(used);
        lock(&part).note(used, weight);
    }

    /// The engine's metrics have them.
    fn request(&self, _: &RequestDone<'_>) {}
}

impl Recorder {
    fn find(&self, used: &PartUsed<'_>) -> Arc<Mutex<Part>> {
        let space = used.space();
        let known = self.parts.read().unwrap_or_else(PoisonError::into_inner).get(&space).cloned();
        if let Some(known) = known {
            return known;
        }
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        if parts.len() >= PARTS_MAX && !parts.contains_key(&space) {
            let minute = used.now_ms / MINUTE_MS;
            let use_of = |part: &Mutex<Part>| lock(part).recently.at(minute);
            let least = parts.iter().min_by(|(_, one), (_, other)| use_of(one).total_cmp(&use_of(other)));
            if let Some(space) = least.map(|(space, _)| *space) {
                parts.remove(&space);
            }
        }
        parts.entry(space).or_insert_with(|| Arc::new(Mutex::new(Part::of(used)))).clone()
    }

    /// What happened with a table and its indexes, whose heat is given. Those without requests are left out.
    pub fn of_table(&self, namespace: &Namespace, table: &str, heat: &[ResourceHeat]) -> Vec<Value> {
        let parts: BTreeMap<u64, Arc<Mutex<Part>>> = {
            let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner);
            parts.iter().map(|(space, part)| (*space, part.clone())).collect()
        };
        let of_resource = |resource: &ResourceHeat| {
            // A table that was deleted and made again has a higher number than before.
            let part = parts.values().rev().map(|part| lock(part)).find(|part| {
                part.namespace == *namespace && part.table == table && part.index == resource.index
            });
            (part.is_some() || !resource.columns.is_empty()).then(|| {
                json!({
                    "index": resource.index,
                    "ranges": RANGES,
                    "columns": resource.columns.iter().map(column).collect::<Vec<_>>(),
                    "keys": part.as_ref().map_or_else(Vec::new, |part| part.busiest()),
                    "sampled": part.as_ref().is_some_and(|part| part.is_sampled()),
                    "keysCut": part.is_none() && parts.len() >= PARTS_MAX,
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
            recently: RecentUse::default(),
            sampled_minute: 0,
        }
    }

    fn note(&mut self, used: &PartUsed<'_>, weight: u32) {
        let minute = used.now_ms / MINUTE_MS;
        self.recently.add(minute, (1.0 + used.units) * f64::from(weight));
        if weight > 1 {
            self.sampled_minute = minute;
        }
        let Some(key_hash) = used.key_hash else { return };
        let served = match used.access {
            Access::Read => Counted::Read,
            Access::Write => Counted::Write,
        };
        let met_limit =
            used.limit.map(|_| if used.is_refused { Counted::Refused } else { Counted::AboveLimit });
        let requests = met_limit.map(|counted| (counted, 1.0));
        for (counted, amount) in std::iter::once((served, used.units)).chain(requests) {
            // Each is counted apart: a partition sustains different numbers of reads and writes.
            let counted_as = key_hash.wrapping_add(counted as u64);
            let amount = amount * f64::from(weight);
            let ended = self.keys.add(counted_as, amount, used.now_ms, || name_of(used, key_hash, counted));
            self.minutes.extend(ended);
        }
        while self.minutes.len() > KEY_MINUTES {
            self.minutes.pop_front();
        }
    }

    /// Whether what is kept of any minute is a sample of more requests.
    fn is_sampled(&self) -> bool {
        let first =
            self.minutes.front().map_or_else(|| self.keys.open_minute().minute, |minute| minute.minute);
        self.sampled_minute > 0 && self.sampled_minute >= first
    }

    /// The keys that used most in the minutes that are kept, each with its units by minute, and its requests that were
    /// refused or would have been on AWS.
    fn busiest(&self) -> Vec<Value> {
        let open = self.keys.open_minute();
        let mut keys: BTreeMap<u64, Busy> = BTreeMap::new();
        for minute in self.minutes.iter().chain(std::iter::once(&open)) {
            for one in &minute.contributors {
                let Some((hash, counted, key)) = read_name(&one.key) else { continue };
                let busy = keys.entry(hash).or_insert_with(|| Busy { key, ..Busy::default() });
                busy.minutes.entry(minute.minute).or_default()[counted] += one.value;
            }
        }
        let mut keys: Vec<(u64, Busy)> = keys.into_iter().collect();
        keys.sort_by(|(_, one), (_, other)| other.load().total_cmp(&one.load()));
        keys.truncate(KEYS_SHOWN);
        let shown = keys.into_iter().map(|(hash, busy)| {
            let minutes = busy
                .minutes
                .iter()
                .map(|(minute, [read, write, refused, above])| json!([minute, read, write, refused, above]));
            json!({ "key": busy.key, "range": range_of(hash), "minutes": minutes.collect::<Vec<_>>() })
        });
        shown.collect()
    }
}

/// What is counted of a key.
#[derive(Clone, Copy)]
enum Counted {
    /// Units.
    Read = 0,
    Write = 1,
    /// Requests.
    Refused = 2,
    /// Those that were served, and would have been refused on AWS.
    AboveLimit = 3,
}

/// A key, and what was [`Counted`] of it by minute.
#[derive(Default)]
struct Busy {
    key: Value,
    minutes: BTreeMap<u64, [f64; 4]>,
}

impl Busy {
    /// What it takes of a partition, which sustains three times as many reads as writes.
    fn load(&self) -> f64 {
        self.minutes.values().map(|[read, write, refused, _]| read / 3.0 + write + refused).sum()
    }
}

/// What a key is counted as: its hash, what is counted, and the item of its key attributes. It is made for
/// every new key of a minute, so it stays bytes until a page asks for it.
fn name_of(used: &PartUsed<'_>, key_hash: u64, counted: Counted) -> Box<[u8]> {
    let mut name = key_hash.to_be_bytes().to_vec();
    name.push(counted as u8);
    name.extend(used.key().map(item::Item::into_stored).unwrap_or_default());
    name.into()
}

/// The values of a key by their attributes: the page knows which of them is the partition key.
fn read_name(name: &[u8]) -> Option<(u64, usize, Value)> {
    let (hash, rest) = name.split_first_chunk()?;
    let (counted, key) = rest.split_first()?;
    let shown = |(name, value): (&str, item::ValueRef<'_>)| {
        (name.to_owned(), Value::String(text(value).chars().take(TEXT_MAX).collect()))
    };
    let key = item::Item::from_stored(bytes::Bytes::copy_from_slice(key)).ok()?;
    Some((u64::from_be_bytes(*hash), usize::from(*counted), key.as_ref().iter().map(shown).collect()))
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
    fn a_second_with_few_reports_is_recorded_whole_and_one_with_many_by_a_random_share() {
        let sample = Sample::default();
        let recorded = |second: u64, reports: u32| -> (usize, u32) {
            let weights: Vec<u32> = (0..reports).filter_map(|_| sample.weight(second * 1000)).collect();
            (weights.len(), weights.iter().sum())
        };
        assert_eq!(recorded(1, 500), (500, 500));
        let (count, total) = recorded(2, 50_000);
        assert!(count < 4000, "the first busy second is found out while it lasts: {count}");
        assert!((45_000..=55_000).contains(&total), "{total} stand for 50,000");
        let (count, total) = recorded(3, 50_000);
        assert!((400..=600).contains(&count), "{count}");
        assert!((40_000..=60_000).contains(&total), "{total} stand for 50,000");
        assert!(recorded(4, 100).0 < 10, "the second after a busy one is still sampled");
        assert_eq!(recorded(5, 100), (100, 100));
    }

    #[test]
    fn requests_that_come_in_turns_are_all_among_the_sample() {
        let sample = Sample::default();
        for _ in 0..50_000 {
            sample.weight(1000);
        }
        let mut recorded = [0; 4];
        for number in 0..50_000 {
            if sample.weight(2000).is_some() {
                recorded[number % 4] += 1;
            }
        }
        assert!(
            recorded.iter().all(|count| (75..=175).contains(count)),
            "{recorded:?} of four keys in turns"
        );
    }

    #[test]
    fn what_was_used_halves_with_every_minute() {
        let mut recently = RecentUse::default();
        recently.add(10, 8.0);
        assert_eq!(recently.at(10), 8.0);
        recently.add(12, 1.0);
        assert_eq!(recently.at(12), 3.0);
        assert!(recently.at(100) < 1e-20, "a table that was deleted is soon the least used");
    }
}
