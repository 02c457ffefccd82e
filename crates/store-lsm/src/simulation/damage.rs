//! The damage campaign: something is wrong with a folder; it must not pass in silence.
//!
//! A trial takes a copy of a store from some part of its life (`life`), damages one file in one way or
//! mixes files of different moments or stores (`mixture`), and asks [`crate::verify`] and an opening.
//! Either of them names the damage, or every row is right, also after the store was written to and
//! opened again. Some of the folders are repaired: then every row is right, or the repair says that something is lost.

mod life;
mod mixture;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use store::{Log, LogPosition, WriteSet};

use self::life::{Life, Sample, State};
use super::stepped::Stepped;
use super::{key, small};
use crate::vfs::Disk;
use crate::{Durability, OpenError};

const ROWS: u64 = 60;
const LOG: Log = Log(1);
/// Not each damaged folder is repaired: that takes longer than to refuse it.
const REPAIRED_ONCE_IN: u8 = 8;

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
    /// Files are as they were at another time.
    OtherTime,
    /// Files are those of another store.
    OtherStore,
    /// Files are those of a copy of the store, which went on separately.
    Forked,
    /// The folder was copied file by file while the store was written to.
    CopiedLive,
}

/// Which damages a campaign does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trials {
    /// All of them.
    All,
    /// Files of different moments or stores.
    Mixtures,
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

/// Stores from all parts of their life, to be damaged.
pub struct Campaign {
    samples: Vec<Sample>,
    /// Of another store.
    others: Vec<Sample>,
    /// Of copies of the store that went on separately.
    forks: Vec<Sample>,
    /// How many commits they have in common with the store.
    forked_at: usize,
    trials: Trials,
    folder: tempfile::TempDir,
    random: fastrand::Rng,
    /// How many trials ended how, for each kind of file and damage.
    pub outcomes: BTreeMap<(String, Damage, Outcome), u64>,
}

impl Campaign {
    pub fn new(seed: u64, trials: Trials) -> Result<Campaign, String> {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.map_err(|error| error.to_string())?;
        let path = |name: &str| folder.path().join(name);
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
        let samples =
            Life::begin(&path("life"), fastrand::Rng::with_seed(seed))?.samples(&path("samples"))?;
        let others = Life::begin(&path("other life"), random.fork())?.samples(&path("others"))?;
        let origin = &samples[random.usize(0..samples.len())];
        let forks = Life::fork(origin, &path("forked life"), random.fork())?.samples(&path("forks"))?;
        let forked_at = origin.records();
        let outcomes = BTreeMap::new();
        Ok(Campaign { samples, others, forks, forked_at, trials, folder, random, outcomes })
    }

    /// One trial. What passed in silence is the error.
    pub fn trial(&mut self) -> Result<Outcome, String> {
        let trial = match (self.trials, self.random.u8(0..10)) {
            (Trials::All, 0..5) => self.damage_file(),
            (_, 0..8) => self.mix(),
            _ => self.copy_live(),
        };
        let Some(Trial { kind, damage, what, states }) = trial? else { return Ok(Outcome::NotDone) };
        let copy = self.trial_folder();
        let outcome = catch_unwind(AssertUnwindSafe(|| judge(&copy, &states)))
            .unwrap_or_else(|_| Err("the program panicked".to_owned()))
            .map_err(|silent| format!("{damage:?} {what}: {silent}"))?;
        if outcome == Outcome::FoundByVerify && self.random.u8(0..REPAIRED_ONCE_IN) == 0 {
            let judged = catch_unwind(AssertUnwindSafe(|| judge_repair(&copy, &states)));
            judged
                .unwrap_or_else(|_| Err("a repair panicked".to_owned()))
                .map_err(|silent| format!("{damage:?} {what}: {silent}"))?;
        }
        *self.outcomes.entry((kind, damage, outcome)).or_default() += 1;
        Ok(outcome)
    }

    /// An empty place for the folder of the next trial.
    fn next_folder(&self) -> io::Result<PathBuf> {
        let folder = self.trial_folder();
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(folder),
        }
    }

    /// Something is wrong with one file.
    fn damage_file(&mut self) -> Result<Option<Trial>, String> {
        let text = |error: io::Error| error.to_string();
        let copy = self.next_folder().map_err(text)?;
        let random = &mut self.random;
        let sample = &self.samples[random.usize(0..self.samples.len())];
        copy_folder(&sample.folder, &copy).map_err(text)?;
        let files = files_of(&copy).map_err(text)?;
        let kinds: Vec<&String> = files.keys().collect();
        let kind = kinds[random.usize(0..kinds.len())].clone();
        let names = &files[&kind];
        let name = names[random.usize(0..names.len())].clone();
        let damage = DAMAGES[random.usize(0..DAMAGES.len())];
        let done = do_damage(random, damage, &copy, &name, names, &sample.earlier).map_err(text)?;
        let states = vec![Arc::clone(sample.state())];
        Ok(done.map(|what| Trial { kind, damage, what: format!("{}: {name} ({what})", sample.name), states }))
    }

    /// Some files are of another time or store.
    fn mix(&mut self) -> Result<Option<Trial>, String> {
        let text = |error: io::Error| error.to_string();
        let copy = self.next_folder().map_err(text)?;
        let random = &mut self.random;
        let (damage, donors) = match random.u8(0..4) {
            0..2 => (Damage::OtherTime, &self.samples),
            2 => (Damage::OtherStore, &self.others),
            _ => (Damage::Forked, &self.forks),
        };
        let sample = &self.samples[random.usize(0..self.samples.len())];
        let donor = &donors[random.usize(0..donors.len())];
        copy_folder(&sample.folder, &copy).map_err(text)?;
        let done = mixture::mix(random, &copy, &donor.folder).map_err(text)?;
        let states = match damage {
            Damage::OtherStore => vec![Arc::clone(sample.state()), Arc::clone(donor.state())],
            _ => {
                // Any moment from the earlier one on, of either store.
                let first = match damage {
                    Damage::Forked => self.forked_at.min(sample.records()),
                    _ => sample.records().min(donor.records()),
                };
                [&sample.states[first..], &donor.states[first..]].concat()
            }
        };
        Ok(done.map(|(extent, names)| Trial {
            kind: format!("{extent:?}"),
            damage,
            what: format!("{} with files of {}: {names}", sample.name, donor.name),
            states,
        }))
    }

    /// The folder is copied while the store is written to.
    fn copy_live(&mut self) -> Result<Option<Trial>, String> {
        let text = |error: io::Error| error.to_string();
        let copy = self.next_folder().map_err(text)?;
        let data = self.folder.path().join("live");
        let sample = &self.samples[self.random.usize(0..self.samples.len())];
        let mut life = Life::fork(sample, &data, self.random.fork())?;
        let order = mixture::copy_live(&mut self.random, &mut life, &copy)?;
        let states = life.states[sample.records()..].to_vec();
        drop(life);
        fs::remove_dir_all(&data).map_err(text)?;
        let what = format!("{} in the order {order}", sample.name);
        Ok(Some(Trial { kind: "folder".to_owned(), damage: Damage::CopiedLive, what, states }))
    }

    /// Where the folder of the last trial is.
    pub fn trial_folder(&self) -> PathBuf {
        self.folder.path().join("trial")
    }
}

/// A damaged folder, to be looked at.
struct Trial {
    /// What is damaged.
    kind: String,
    damage: Damage,
    what: String,
    /// What the folder may hold if it is not refused.
    states: Vec<Arc<State>>,
}

/// Looks at a damaged folder as an operator would: verify first, then open.
fn judge(folder: &Path, states: &[Arc<State>]) -> Result<Outcome, String> {
    match crate::verify(folder) {
        Ok(verification) if verification.findings.is_empty() => {}
        Ok(_)
        | Err(OpenError::Foreign { .. } | OpenError::Missing { .. } | OpenError::OtherVersion { .. }) => {
            return Ok(Outcome::FoundByVerify);
        }
        Err(error) => return Err(format!("verify fails: {error}")),
    }
    let Ok(mut store) = open(folder) else { return Ok(Outcome::Refused) };
    let mut state = compare(&store, states)?;
    // It is as good as new: it can be written to, flushed and opened again.
    for round in 0..3_u64 {
        let rows = BTreeMap::from([(1, Some(Bytes::from(vec![round as u8; 3000])))]);
        commit(&mut store, &rows, state.records as u64).map_err(|error| format!("a write fails: {error}"))?;
        state = Arc::new(state.after(&rows));
        store.maintain();
    }
    drop(store);
    let store = open(folder).map_err(|error| format!("does not open again: {error}"))?;
    compare(&store, &[state])?;
    Ok(Outcome::EverythingRight)
}

/// Repairs a folder that verify has named something in. It is as it was, or the repair says that something is lost.
fn judge_repair(folder: &Path, states: &[Arc<State>]) -> Result<(), String> {
    // A folder of another program or version is not repaired.
    let Ok(survey) = crate::survey(folder) else { return Ok(()) };
    let repaired = crate::repair(folder, &small(Durability::Fsync));
    repaired.map_err(|error| format!("a repair fails: {error}"))?;
    let findings = crate::verify(folder).map_err(|error| error.to_string())?.findings;
    if let Some(finding) = findings.first() {
        return Err(format!("the repaired folder is damaged: {}: {}", finding.file, finding.what));
    }
    let store = open(folder).map_err(|error| format!("the repaired folder does not open: {error}"))?;
    match compare(&store, states) {
        Err(wrong) if survey.lost.is_empty() => {
            let found: Vec<String> =
                survey.findings.iter().map(|one| format!("{}: {}", one.file, one.what)).collect();
            Err(format!("after a repair that calls nothing lost ({}): {wrong}", found.join("; ")))
        }
        _ => Ok(()),
    }
}

fn open(folder: &Path) -> Result<Stepped, OpenError> {
    Stepped::open(Arc::new(Disk), folder, &small(Durability::Fsync))
}

/// Which of the states the store is in. A read that fails says so, which is not silence.
fn compare(store: &Stepped, states: &[Arc<State>]) -> Result<Arc<State>, String> {
    let rows: Vec<_> = (0..ROWS).map(|row| store.value(&key(row)).ok()).collect();
    let records = store.records(LOG, LogPosition(0)).ok().map(|records| records.len());
    let mut wrong = format!("it has {records:?} records, as in no state that it was in");
    for state in states.iter().filter(|state| records.is_none_or(|records| records == state.records)) {
        let is_wrong = |(row, found): &(usize, &Option<Option<Bytes>>)| {
            found.as_ref().is_some_and(|found| found.as_ref() != state.rows.get(&(*row as u64)))
        };
        match rows.iter().enumerate().find(is_wrong) {
            Some((row, _)) => wrong = format!("row {row} of {} commits is wrong in silence", state.records),
            None => return Ok(Arc::clone(state)),
        }
    }
    Err(wrong)
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
        // Not done to a single file.
        Damage::OtherTime | Damage::OtherStore | Damage::Forked | Damage::CopiedLive => return Ok(None),
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
