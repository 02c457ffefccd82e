//! The keys that are used most, or throttled most: what Contributor Insights reports.
//!
//! Each minute has a sketch of its own ([`Sketch`]), which the next minute replaces. What is kept of a minute is
//! the list of its first keys ([`Minute`]); a report adds up the lists of many minutes ([`report`]).
//!
//! A sketch counts every key exactly until it is full. Then it drops the smaller half of its keys, and notes
//! the largest count that it dropped: a new key may have been dropped before with at most that much. So
//! each count is known up to its own error, and a key that is always among the first has none. No key with
//! more than `2 / KEYS_MAX` of all units is missed.
//!
//! A minute is kept as bytes ([`Minute::encode`]): 100 keys of 30 bytes take 4 KB, and a day of them 6 MB for
//! each of the four.
//!
//! Memory of one sketch: [`BYTES_MAX`], keys included, however long they are. A table with a sort key has
//! four (accessed and throttled, by partition key and by both keys): 3.6 MB. A minute that ended takes
//! [`MINUTE_BYTES_MAX`] at most.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::bytes::{Reader, Unreadable, halves, write_bytes, write_value, write_varint};

/// The keys of one sketch.
pub const KEYS_MAX: usize = 4096;
/// The memory of one sketch. Long keys leave room for fewer of them.
pub const BYTES_MAX: usize = 900_000;
/// The keys that are kept of a minute.
pub const MINUTE_KEYS_MAX: usize = 100;
/// The bytes of those keys: 25 of the longest that there can be.
pub const MINUTE_BYTES_MAX: usize = 90_000;
/// The format of a minute's bytes.
const FORMAT: u8 = 1;
/// One entry: its part of a hash map that is at least 7/16 full, and what an allocation adds to a key.
const ENTRY_BYTES: usize = 41 * 16 / 7 + 16;

/// What a request adds to the count of its key: `ConsumedThroughputUnits`.
pub fn consumed_throughput_units(read_units: f64, write_units: f64) -> f64 {
    read_units + 3.0 * write_units
}

/// Counts by key, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    entries: HashMap<u64, Entry, BuildHasherDefault<Mixed>>,
    /// The bytes of all entries.
    bytes: usize,
    /// No key that is absent has a larger count.
    dropped: f64,
    total: f64,
    distinct: Distinct,
}

#[derive(Clone, Debug)]
struct Entry {
    /// At least as much as the key really has.
    count: f64,
    /// At most this much of the count is not its own.
    error: f64,
    key: Box<[u8]>,
}

/// One key and its count.
#[derive(Clone, Debug, PartialEq)]
pub struct Contributor {
    /// The key as the caller encoded it.
    pub key: Box<[u8]>,
    /// What is certain of its count.
    pub value: f64,
    /// How much more it may be.
    pub error: f64,
}

/// What is kept of a minute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minute {
    /// The minute, counted from the epoch.
    pub minute: u64,
    /// All keys together.
    pub total: f64,
    /// About how many keys there were.
    pub distinct: u64,
    /// The first of them, the largest first.
    pub contributors: Vec<Contributor>,
}

impl Sketch {
    /// An empty one.
    pub fn new() -> Sketch {
        Sketch::default()
    }

    /// Adds to the count of a key. `key_hash` is a well-mixed hash of it; `key` is called if it is new.
    pub fn add(&mut self, key_hash: u64, value: f64, key: impl FnOnce() -> Box<[u8]>) {
        self.total += value;
        if let Some(entry) = self.entries.get_mut(&key_hash) {
            entry.count += value;
            return;
        }
        self.distinct.add(key_hash);
        let entry = Entry { count: self.dropped + value, error: self.dropped, key: key() };
        self.bytes += entry.bytes();
        self.entries.insert(key_hash, entry);
        // Each round halves the keys, so there are few.
        while self.entries.len() > KEYS_MAX || (self.bytes > BYTES_MAX && self.entries.len() > 1) {
            self.drop_smaller_half();
        }
    }

    /// All counts together.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes + std::mem::size_of::<Sketch>()
    }

    /// The keys with the largest counts, the largest first.
    pub fn top(&self, count: usize) -> Vec<Contributor> {
        let contributor = |entry: &Entry| Contributor {
            key: entry.key.clone(),
            value: entry.count - entry.error,
            error: entry.error,
        };
        let mut entries: Vec<&Entry> = self.entries.values().collect();
        let largest = |one: &&Entry, other: &&Entry| {
            let certain = |entry: &Entry| entry.count - entry.error;
            certain(other).total_cmp(&certain(one)).then_with(|| one.key.cmp(&other.key))
        };
        if count < entries.len() {
            entries.select_nth_unstable_by(count, largest);
            entries.truncate(count);
        }
        entries.sort_unstable_by(largest);
        entries.into_iter().map(contributor).collect()
    }

    /// What is kept of a minute that ended.
    pub fn end_minute(&self, minute: u64) -> Minute {
        let distinct = if self.dropped > 0.0 { self.distinct.estimate() } else { self.entries.len() as u64 };
        let mut contributors = self.top(MINUTE_KEYS_MAX);
        let mut bytes = 0;
        contributors.retain(|contributor| {
            bytes += contributor.key.len();
            bytes <= MINUTE_BYTES_MAX
        });
        Minute { minute, total: self.total, distinct, contributors }
    }

    fn drop_smaller_half(&mut self) {
        let mut counts: Vec<f64> = self.entries.values().map(|entry| entry.count).collect();
        let middle = (counts.len() - 1) / 2;
        let (_, median, _) = counts.select_nth_unstable_by(middle, f64::total_cmp);
        self.dropped = self.dropped.max(*median);
        let dropped = self.dropped;
        self.entries.retain(|_, entry| entry.count > dropped);
        debug_assert!(self.entries.len() * 2 <= counts.len(), "half of the keys or more are dropped");
        self.bytes = self.entries.values().map(Entry::bytes).sum();
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.key.len()
    }
}

/// A minute's sketch that makes room for the next minute's.
#[derive(Clone, Debug, Default)]
pub struct Rolling {
    minute: u64,
    sketch: Sketch,
}

impl Rolling {
    /// Adds to the count of a key. The first request of a minute returns what is kept of the minute before,
    /// if anything happened in it.
    pub fn add(
        &mut self,
        key_hash: u64,
        value: f64,
        now_ms: u64,
        key: impl FnOnce() -> Box<[u8]>,
    ) -> Option<Minute> {
        let ended = self.end_minute(now_ms);
        self.sketch.add(key_hash, value, key);
        ended
    }

    /// Ends the minute if it is over. A clock that goes back goes on with the minute that is open.
    pub fn end_minute(&mut self, now_ms: u64) -> Option<Minute> {
        let minute = now_ms / 60_000;
        if minute <= self.minute {
            return None;
        }
        let ended = std::mem::replace(&mut self.minute, minute);
        let sketch = std::mem::take(&mut self.sketch);
        (sketch.total > 0.0).then(|| sketch.end_minute(ended))
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.sketch.bytes()
    }

    /// The minute that is not over yet.
    pub fn open_minute(&self) -> Minute {
        self.sketch.end_minute(self.minute)
    }
}

impl Minute {
    /// The bytes to keep.
    ///
    /// ```text
    /// format (1) | minute | total | distinct | for each key: its bytes | value | error
    /// ```
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        write_varint(&mut out, self.minute);
        write_marked(&mut out, self.total);
        write_varint(&mut out, self.distinct);
        for contributor in &self.contributors {
            write_bytes(&mut out, &contributor.key);
            write_marked(&mut out, contributor.value);
            write_marked(&mut out, contributor.error);
        }
        out
    }

    /// The minute that was kept.
    pub fn decode(bytes: &[u8]) -> Result<Minute, Unreadable> {
        let mut reader = Reader::new(bytes, FORMAT)?;
        let (minute, total) = (reader.varint()?, read_marked(&mut reader)?);
        let mut kept = Minute { minute, total, distinct: reader.varint()?, contributors: Vec::new() };
        while !reader.is_at_end() {
            let key = reader.bytes()?.into();
            let (value, error) = (read_marked(&mut reader)?, read_marked(&mut reader)?);
            kept.contributors.push(Contributor { key, value, error });
        }
        Ok(kept)
    }
}

/// A value behind a byte that says whether it takes eight bytes.
fn write_marked(out: &mut Vec<u8>, value: f64) {
    out.push(u8::from(halves(value).is_none()));
    write_value(out, value);
}

fn read_marked(reader: &mut Reader<'_>) -> Result<f64, Unreadable> {
    match reader.byte()? {
        0 => reader.value(false),
        1 => reader.value(true),
        other => Err(Unreadable::Form(other)),
    }
}

/// The keys with the largest sums over some minutes, the largest first.
pub fn report<'a>(minutes: impl IntoIterator<Item = &'a Minute>, count: usize) -> Vec<Contributor> {
    let mut sums: HashMap<&[u8], (f64, f64)> = HashMap::new();
    for contributor in minutes.into_iter().flat_map(|minute| &minute.contributors) {
        let (value, error) = sums.entry(&contributor.key).or_default();
        *value += contributor.value;
        *error += contributor.error;
    }
    let contributor =
        |(key, (value, error)): (&[u8], (f64, f64))| Contributor { key: key.into(), value, error };
    let mut all: Vec<Contributor> = sums.into_iter().map(contributor).collect();
    all.sort_unstable_by(|one, other| {
        other.value.total_cmp(&one.value).then_with(|| one.key.cmp(&other.key))
    });
    all.truncate(count);
    all
}

/// Passes on hashes that are mixed already.
#[derive(Clone, Copy, Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// About how many different hashes were seen, within some 3 %: a HyperLogLog.
#[derive(Clone, Debug)]
struct Distinct {
    /// For each group of hashes, the longest run of zeros.
    runs: Box<[u8; GROUPS]>,
}

const GROUPS: usize = 1024;
const GROUP_BITS: u32 = 10;

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct { runs: Box::new([0; GROUPS]) }
    }
}

impl Distinct {
    fn add(&mut self, hash: u64) {
        let group = (hash >> (64 - GROUP_BITS)) as usize;
        let run = ((hash << GROUP_BITS).leading_zeros().min(64 - GROUP_BITS) + 1) as u8;
        self.runs[group] = self.runs[group].max(run);
    }

    fn estimate(&self) -> u64 {
        let groups = GROUPS as f64;
        let bias = 0.7213 / (1.0 + 1.079 / groups);
        let sum: f64 = self.runs.iter().map(|run| 2f64.powi(-i32::from(*run))).sum();
        let raw = bias * groups * groups / sum;
        let empty = self.runs.iter().filter(|run| **run == 0).count() as f64;
        // Few hashes leave groups empty, and how many says more than the runs do.
        let few = raw <= 2.5 * groups && empty > 0.0;
        (if few { groups * (groups / empty).ln() } else { raw }).round() as u64
    }
}
