//! The damage campaign: one thing is wrong with one file of a folder; it must not pass in silence.
//!
//! A trial takes a copy of a store from some part of its life, damages one file in one way, and asks
//! [`crate::verify`] and an opening. Either of them names the damage, or every row is right, also after
//! the store was written to and opened again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use store::{Log, LogPosition, WriteSet};

use super::stepped::Stepped;
use super::{key, small};
use crate::vfs::Disk;
use crate::{Durability, OpenError};

const ROWS: u64 = 60;
const LOG: Log = Log(1);

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    Flipped,
    Cut,
    Lengthened,
    Missing,
    /// Two files of a kind have each other's names.
    Swapped,
    /// A file replaces another of its kind, or is added beside it.
    Doubled,
    /// A file is as it was at an earlier time.
    Stale,
}

const DAMAGES: [Damage; 7] = [
    Damage::Flipped,
    Damage::Cut,
    Damage::Lengthened,
    Damage::Missing,
    Damage::Swapped,
    Damage::Doubled,
    Damage::Stale,
];

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    FoundByVerify,
    Refused,
    EverythingRight,
    /// The damage could not be done: there is no earlier file of that name, say.
    NotDone,
}

/// A store at some part of its life.
struct Sample {
    name: &'static str,
    folder: PathBuf,
    earlier: PathBuf,
    rows: BTreeMap<u64, Bytes>,
    records: usize,
}

/// Stores from all parts of their life, to be damaged.
pub struct Campaign {
    samples: Vec<Sample>,
    folder: tempfile::TempDir,
    random: fastrand::Rng,
    /// How many trials ended how, for each kind of file and damage.
    pub outcomes: BTreeMap<(String, Damage, Outcome), u64>,
}

impl Campaign {
    pub fn new(seed: u64) -> Result<Campaign, String> {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.map_err(|error| error.to_string())?;
        let mut life = Life::begin(&folder.path().join("life"), fastrand::Rng::with_seed(seed))?;
        let samples = life.samples(folder.path())?;
        let random = fastrand::Rng::with_seed(seed ^ 0x5eed);
        Ok(Campaign { samples, folder, random, outcomes: BTreeMap::new() })
    }

    /// One trial. What passed in silence is the error.
    pub fn trial(&mut self) -> Result<Outcome, String> {
        let random = &mut self.random;
        let sample = &self.samples[random.usize(0..self.samples.len())];
        let copy = self.folder.path().join("trial");
        copy_folder(&sample.folder, &copy).map_err(|error| error.to_string())?;
        let files = files_of(&copy).map_err(|error| error.to_string())?;
        let kinds: Vec<&String> = files.keys().collect();
        let kind = kinds[random.usize(0..kinds.len())].clone();
        let names = &files[&kind];
        let name = names[random.usize(0..names.len())].clone();
        let damage = DAMAGES[random.usize(0..DAMAGES.len())];
        let done = do_damage(random, damage, &copy, &name, names, &sample.earlier);
        let outcome = match done.map_err(|error| error.to_string())? {
            None => Ok(Outcome::NotDone),
            Some(what) => catch_unwind(AssertUnwindSafe(|| judge(&copy, sample)))
                .unwrap_or_else(|_| Err("the program panicked".to_owned()))
                .map_err(|silent| format!("{}: {damage:?} {name} ({what}): {silent}", sample.name)),
        };
        if let Ok(outcome) = &outcome {
            *self.outcomes.entry((kind, damage, *outcome)).or_default() += 1;
            fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
        }
        outcome
    }

    /// Where the folder of the last trial is.
    pub fn trial_folder(&self) -> PathBuf {
        self.folder.path().join("trial")
    }
}

/// Looks at a damaged folder as an operator would: verify first, then open.
fn judge(folder: &Path, sample: &Sample) -> Result<Outcome, String> {
    match crate::verify(folder) {
        Ok(verification) if verification.findings.is_empty() => {}
        Ok(_)
        | Err(OpenError::Foreign { .. } | OpenError::Missing { .. } | OpenError::OtherVersion { .. }) => {
            return Ok(Outcome::FoundByVerify);
        }
        Err(error) => return Err(format!("verify fails: {error}")),
    }
    let Ok(store) = open(folder) else { return Ok(Outcome::Refused) };
    compare(&store, sample, &sample.rows, sample.records)?;
    // It is as good as new: it can be written to, flushed and opened again.
    let mut rows = sample.rows.clone();
    let mut store = store;
    for round in 0..3_u64 {
        let value = Bytes::from(vec![round as u8; 3000]);
        commit(&mut store, &BTreeMap::from([(1, Some(value.clone()))]), sample.records as u64 + round)
            .map_err(|error| format!("a write fails: {error}"))?;
        rows.insert(1, value);
        store.maintain();
    }
    drop(store);
    let store = open(folder).map_err(|error| format!("does not open again: {error}"))?;
    compare(&store, sample, &rows, sample.records + 3)?;
    Ok(Outcome::EverythingRight)
}

fn open(folder: &Path) -> Result<Stepped, OpenError> {
    Stepped::open(Arc::new(Disk), folder, &small(Durability::Fsync))
}

fn compare(
    store: &Stepped,
    sample: &Sample,
    rows: &BTreeMap<u64, Bytes>,
    records: usize,
) -> Result<(), String> {
    for row in 0..ROWS {
        // A read that fails says so.
        if let Ok(found) = store.value(&key(row))
            && found.as_ref() != rows.get(&row)
        {
            return Err(format!("row {row} is wrong in silence ({})", sample.name));
        }
    }
    match store.records(LOG, LogPosition(0)) {
        Ok(found) if found.len() != records => Err(format!("{} records instead of {records}", found.len())),
        _ => Ok(()),
    }
}

fn commit(store: &mut Stepped, rows: &BTreeMap<u64, Option<Bytes>>, number: u64) -> Result<(), String> {
    let mut decide = |_: &[Option<Bytes>]| {
        let mut write_set = WriteSet::default();
        for (row, value) in rows {
            match value {
                Some(value) => write_set.puts.push((key(*row), value.clone())),
                None => write_set.deletes.push(key(*row)),
            }
        }
        write_set.appends.push((LOG, Bytes::copy_from_slice(&number.to_be_bytes())));
        write_set
    };
    for _ in 0..10 {
        let pending = store.update(&[], &mut decide).map_err(|error| error.to_string())?;
        let Some(mut pending) = pending else {
            store.maintain();
            continue;
        };
        while store.step_log() {}
        return match pending.outcome() {
            Some(true) => Ok(()),
            _ => Err("a commit is not acknowledged".to_owned()),
        };
    }
    Err("there is no room".to_owned())
}

/// Damages a file. Nothing when that cannot be done to it.
fn do_damage(
    random: &mut fastrand::Rng,
    damage: Damage,
    folder: &Path,
    name: &str,
    names: &[String],
    earlier: &Path,
) -> io::Result<Option<String>> {
    let path = folder.join(name);
    let mut bytes = fs::read(&path)?;
    let other = names[random.usize(0..names.len())].clone();
    let other_bytes = fs::read(folder.join(&other))?;
    let what = match damage {
        Damage::Flipped => {
            if bytes.is_empty() {
                return Ok(None);
            }
            // Segments are mostly empty: half of the flips go where there is something.
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
            let end = if random.bool() { used } else { bytes.len() };
            let place = random.usize(0..end);
            let bit = random.u8(0..8);
            bytes[place] ^= 1 << bit;
            write_new(&path, &bytes)?;
            format!("byte {place}, bit {bit}")
        }
        Damage::Cut => {
            if bytes.is_empty() {
                return Ok(None);
            }
            let length = random.usize(0..bytes.len());
            write_new(&path, &bytes[..length])?;
            format!("to {length} bytes")
        }
        Damage::Lengthened => {
            let length = random.usize(1..600);
            bytes.extend((0..length).map(|_| random.u8(..)));
            write_new(&path, &bytes)?;
            format!("by {length} bytes")
        }
        Damage::Missing => {
            fs::remove_file(&path)?;
            String::new()
        }
        Damage::Swapped if bytes != other_bytes => {
            write_new(&path, &other_bytes)?;
            write_new(&folder.join(&other), &bytes)?;
            format!("with {other}")
        }
        Damage::Doubled if bytes != other_bytes => {
            write_new(&folder.join(&other), &bytes)?;
            format!("over {other}")
        }
        Damage::Doubled => {
            let beside = match name.rsplit_once('/') {
                Some((parent, last)) if last.parse::<u64>().is_ok() => format!("{parent}/99"),
                Some((parent, last)) if last.ends_with(".wal") => format!("{parent}/00000099.wal"),
                _ => format!("{name}2"),
            };
            write_new(&folder.join(&beside), &bytes)?;
            format!("as {beside}")
        }
        Damage::Stale => match fs::read(earlier.join(name)) {
            Ok(old) if old != bytes => {
                write_new(&path, &old)?;
                String::new()
            }
            _ => return Ok(None),
        },
        Damage::Swapped => return Ok(None),
    };
    Ok(Some(what))
}

/// In place of the file, which may be shared with the sample.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::write(path, bytes),
    }
}

/// The files of a folder by their kind.
fn files_of(folder: &Path) -> io::Result<BTreeMap<String, Vec<String>>> {
    let mut files = BTreeMap::<String, Vec<String>>::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            let name = path.to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                if name != "store/aside" {
                    folders.push(path);
                }
                continue;
            }
            let kind = match name.strip_prefix("store/").unwrap_or(&name) {
                table if table.starts_with("tree/tables") => "table",
                version if version.starts_with("tree/v") => "version",
                segment if segment.ends_with(".wal") => "segment",
                other => other,
            };
            files.entry(kind.to_owned()).or_default().push(name);
        }
    }
    // The lock says who holds the folder; it holds no data.
    files.remove("lock");
    for names in files.values_mut() {
        names.sort_unstable();
    }
    Ok(files)
}

/// Copies a folder; tables and versions never change, so the copy shares them.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if from.ends_with("tables") {
            fs::hard_link(entry.path(), target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A store that is written to, and of which samples are taken.
struct Life {
    data: PathBuf,
    random: fastrand::Rng,
    store: Option<Stepped>,
    rows: BTreeMap<u64, Bytes>,
    records: usize,
}

impl Life {
    fn begin(data: &Path, random: fastrand::Rng) -> Result<Life, String> {
        let store = open(data).map_err(|error| error.to_string())?;
        Ok(Life { data: data.to_owned(), random, store: Some(store), rows: BTreeMap::new(), records: 0 })
    }

    fn write(&mut self, commits: usize) -> Result<(), String> {
        for _ in 0..commits {
            let mut rows = BTreeMap::new();
            for _ in 0..self.random.u8(1..4) {
                let length = self.random.usize(0..400);
                let value = Bytes::from((0..length).map(|_| self.random.u8(..)).collect::<Vec<u8>>());
                rows.insert(self.random.u64(0..ROWS), (self.random.u8(0..6) > 0).then_some(value));
            }
            let store = self.store.as_mut().ok_or("the store is closed")?;
            commit(store, &rows, self.records as u64)?;
            self.records += 1;
            for (row, value) in rows {
                match value {
                    Some(value) => self.rows.insert(row, value),
                    None => self.rows.remove(&row),
                };
            }
        }
        Ok(())
    }

    fn maintain(&mut self) {
        let Some(store) = &mut self.store else { return };
        for _ in 0..4 {
            store.maintain();
        }
    }

    /// A copy of the folder as it is now: as a killed process leaves it.
    fn take(&self, name: &'static str, earlier: &Path, to: &Path) -> Result<Sample, String> {
        let folder = to.join(name);
        copy_folder(&self.data, &folder).map_err(|error| error.to_string())?;
        let (rows, records) = (self.rows.clone(), self.records);
        Ok(Sample { name, folder, earlier: earlier.to_owned(), rows, records })
    }

    fn samples(&mut self, to: &Path) -> Result<Vec<Sample>, String> {
        let mut samples: Vec<Sample> = Vec::new();
        let mut take = |life: &Life, name| {
            let earlier = samples.last().map_or(life.data.clone(), |sample| sample.folder.clone());
            samples.push(life.take(name, &earlier, to)?);
            Ok::<(), String>(())
        };
        self.write(1)?;
        take(self, "one commit")?;
        self.write(12)?;
        take(self, "fresh")?;
        self.write(10)?;
        if let Some(store) = &mut self.store {
            store.rotate();
            store.flush();
        }
        take(self, "after a flush, before the manifest follows")?;
        self.maintain();
        take(self, "after a flush")?;
        self.write(100)?;
        take(self, "killed while writing")?;
        self.maintain();
        take(self, "after compaction")?;
        self.write(60)?;
        self.maintain();
        self.write(7)?;
        take(self, "with a tail")?;
        // What a compaction that was cut short leaves: tables that no version knows.
        let unfinished = self.data.join("store/tree/tables/990");
        fs::write(&unfinished, [7; 500]).map_err(|error| error.to_string())?;
        take(self, "during compaction")?;
        fs::remove_file(&unfinished).map_err(|error| error.to_string())?;
        if let Some(mut store) = self.store.take() {
            store.rest();
        }
        take(self, "closed")?;
        self.store = Some(open(&self.data).map_err(|error| error.to_string())?);
        self.write(3)?;
        take(self, "opened again")?;
        for sample in &samples {
            let copy = to.join("untouched");
            copy_folder(&sample.folder, &copy).map_err(|error| error.to_string())?;
            let outcome = judge(&copy, sample).map_err(|error| format!("{}: {error}", sample.name))?;
            if outcome != Outcome::EverythingRight {
                return Err(format!("{} is {outcome:?} before it is damaged", sample.name));
            }
            fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
        }
        Ok(samples)
    }
}
