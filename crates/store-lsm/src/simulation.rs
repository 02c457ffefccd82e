//! Simulated runs: random commits, flushes, compactions, checkpoints and repairs on a disk that crashes
//! and fails, each from a seed ([`run`]).
//!
//! Every commit writes its number to one row, some other rows, and a change log. So what is there after
//! a crash tells how many commits it holds, and everything else must agree with exactly that many.

pub mod damage;
pub mod stepped;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use store::{Key, Log, LogPosition, Partition, Position, Space, StoreError, WriteSet};

use crate::manifest::{self, Manifest};
use crate::vfs::simulated::{Fault, Simulated};
use crate::vfs::{Disk, FileSystem};
use crate::{Durability, OpenError, Options, Tuning};
use stepped::{Pending, Stepped};

const ROWS: u64 = 40;
const LOG: Log = Log(1);
const ROUNDS_MAX: u32 = 5;

/// What the runs have come to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub commits: u64,
    pub acknowledged: u64,
    pub crashes: u64,
    pub poisoned: u64,
    pub full: u64,
    pub flushes: u64,
    pub compactions: u64,
    pub checkpoints: u64,
    pub repairs: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.commits += other.commits;
        self.acknowledged += other.acknowledged;
        self.crashes += other.crashes;
        self.poisoned += other.poisoned;
        self.full += other.full;
        self.flushes += other.flushes;
        self.compactions += other.compactions;
        self.checkpoints += other.checkpoints;
        self.repairs += other.repairs;
    }
}

/// Sizes so small that a few commits reach everything.
pub fn small(durability: Durability) -> Options {
    let tuning =
        Tuning { memtable_bytes: 6 << 10, segment_bytes: 8 << 10, table_bytes: 8 << 10, ..Tuning::default() };
    Options { durability, cache_bytes: 1 << 20, address: None, tuning }
}

/// Gives a folder the manifest and the format that a program of format 2 leaves.
pub fn make_format_2(data: &Path) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let store = data.join("store");
    let bytes = std::fs::read(store.join(manifest::FILE_NAME)).map_err(text)?;
    let manifest = Manifest { moment: None, ..Manifest::decode(&bytes)? };
    manifest.write(&Disk, &store).map_err(text)?;
    std::fs::write(store.join("format"), "lodestone data format 2\n").map_err(text)
}

/// All commits, and how many of them were acknowledged.
#[derive(Default)]
struct History {
    commits: Vec<Commit>,
    acknowledged: usize,
}

/// The rows that a commit changes.
type Commit = BTreeMap<u64, Option<Bytes>>;

impl History {
    fn rows_after(&self, commits: usize) -> BTreeMap<u64, Bytes> {
        let mut rows = BTreeMap::new();
        for (row, value) in self.commits[..commits].iter().flatten() {
            match value {
                Some(value) => rows.insert(*row, value.clone()),
                None => rows.remove(row),
            };
        }
        rows
    }
}

fn key(row: u64) -> Key {
    let partition = Partition([(row % 7) as u8; Partition::LENGTH]);
    Key { space: Space(1), position: Position { partition, sort: row.to_be_bytes().to_vec() } }
}

/// The row that holds the number of the last commit.
const COUNT: u64 = 0;

struct Run {
    random: fastrand::Rng,
    options: Options,
    history: History,
    totals: Totals,
    folder: tempfile::TempDir,
}

/// One run from its seed. What is wrong is the error.
pub fn run(seed: u64) -> Result<Totals, String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let durability = if random.u8(0..4) == 0 { Durability::Os } else { Durability::Fsync };
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.map_err(|error| error.to_string())?;
    let (options, history) = (small(durability), History::default());
    let mut run = Run { random, options, history, totals: Totals::default(), folder };
    let mut data = run.folder.path().join("0");
    // A store that is being made has promised nothing; it is made before the disk begins to fail.
    drop(Stepped::open(Arc::new(Disk), &data, &run.options).map_err(|error| error.to_string())?);
    for round in 1..=run.random.u32(2..=ROUNDS_MAX) {
        let after = run.folder.path().join(round.to_string());
        run.round(&data, &after).map_err(|failure| format!("round {round}: {failure}"))?;
        if run.random.u8(0..4) == 0 {
            run.repair(&after).map_err(|failure| format!("repair after round {round}: {failure}"))?;
        }
        data = after;
    }
    run.reopen(Arc::new(Disk), &data)?.ok_or("the folder does not open")?;
    Ok(run.totals)
}

impl Run {
    /// Opens the store, works with it until the disk crashes, and leaves what is left in `after`.
    fn round(&mut self, data: &Path, after: &Path) -> Result<(), String> {
        let disk = Simulated::new(data, self.random.u64(..)).map_err(|error| error.to_string())?;
        self.plan_faults(&disk);
        if let Some(mut store) = self.reopen(Arc::new(disk.clone()), data)? {
            self.work(&disk, &mut store)?;
        }
        self.totals.crashes += 1;
        disk.crash(after).map_err(|error| error.to_string())
    }

    /// Some calls fail, and one of them may be the last.
    fn plan_faults(&mut self, disk: &Simulated) {
        for _ in 0..self.random.u8(0..3) {
            let fault = if self.random.bool() { Fault::Broken } else { Fault::Full };
            disk.fail_at(self.random.u64(1..600), fault);
        }
        if self.random.bool() {
            disk.fail_at(self.random.u64(1..800), Fault::Crash);
        }
    }

    /// Opens the store and compares it with what was acknowledged. Nothing when the disk failed.
    fn reopen(&mut self, disk: Arc<dyn FileSystem>, data: &Path) -> Result<Option<Stepped>, String> {
        let store = match Stepped::open(disk, data, &self.options) {
            Ok(store) => store,
            Err(OpenError::Io { .. } | OpenError::DiskFull { .. }) => return Ok(None),
            Err(error) => return Err(format!("refused after a crash: {error}")),
        };
        let commits = self.compare(&store)?;
        // A reader may have seen these commits, so they must stay.
        self.history.commits.truncate(commits);
        self.history.acknowledged = commits;
        Ok(Some(store))
    }

    /// How many commits the store holds. Everything in it must agree with that.
    fn compare(&self, store: &Stepped) -> Result<usize, String> {
        let commits = match store.value(&key(COUNT)).map_err(|error| error.to_string())? {
            Some(count) => u64::from_be_bytes(count[..8].try_into().map_err(|_| "no count")?) as usize,
            None => 0,
        };
        if commits > self.history.commits.len() {
            return Err(format!("{commits} commits of {}", self.history.commits.len()));
        }
        if self.options.durability == Durability::Fsync && commits < self.history.acknowledged {
            let acknowledged = self.history.acknowledged;
            return Err(format!("{commits} commits, but {acknowledged} were acknowledged"));
        }
        let expected = self.history.rows_after(commits);
        for row in 0..ROWS {
            let found = store.value(&key(row)).map_err(|error| error.to_string())?;
            if found.as_ref() != expected.get(&row) {
                return Err(format!("row {row} is wrong after {commits} commits"));
            }
        }
        let records = store.records(LOG, LogPosition(0)).map_err(|error| error.to_string())?;
        let right = records.iter().enumerate().all(|(place, (position, record))| {
            *position == LogPosition::new(place as u64 + 1, 0) && record[..] == (place as u64).to_be_bytes()
        });
        if records.len() != commits || !right {
            return Err(format!("the change log has {} records after {commits} commits", records.len()));
        }
        Ok(commits)
    }

    fn work(&mut self, disk: &Simulated, store: &mut Stepped) -> Result<(), String> {
        let mut waiting: Vec<Pending> = Vec::new();
        for _ in 0..self.random.u32(20..250) {
            match self.random.u8(0..20) {
                0..10 => match self.commit(store) {
                    Ok(pending) => waiting.extend(pending),
                    Err(StoreError::Poisoned(_)) => break,
                    Err(error) => return Err(format!("a commit fails: {error}")),
                },
                10..15 => drop(store.step_log()),
                15..17 => self.maintain(store),
                17 => store.rotate(),
                18 => while store.step_log() {},
                _ => self.checkpoint(store)?,
            }
            if !self.settle(&mut waiting)? || disk.has_crashed() {
                break;
            }
        }
        self.settle(&mut waiting)?;
        if store.is_poisoned() && !disk.has_crashed() {
            self.totals.poisoned += 1;
            // What can be read is what was acknowledged, and no more.
            let visible = self.compare(store)?;
            if self.options.durability == Durability::Fsync && visible != self.history.acknowledged {
                return Err(format!(
                    "{visible} commits are seen, {} acknowledged",
                    self.history.acknowledged
                ));
            }
        }
        self.totals.full += u64::from(store.is_full());
        Ok(())
    }

    fn maintain(&mut self, store: &mut Stepped) {
        let before = store.tables();
        store.maintain();
        let after = store.tables();
        self.totals.flushes += u64::from(after.0 > before.0);
        self.totals.compactions += u64::from(after.1 != before.1);
    }

    /// Commits some rows. Nothing when there is no room just now.
    fn commit(&mut self, store: &Stepped) -> Result<Option<Pending>, StoreError> {
        let number = self.history.commits.len() as u64;
        let mut rows = Commit::new();
        for _ in 0..self.random.u8(0..4) {
            let bytes = if self.random.u8(0..10) == 0 { 0..3000 } else { 0..200 };
            let value = Bytes::from(vec![number as u8; self.random.usize(bytes)]);
            rows.insert(self.random.u64(1..ROWS), (self.random.u8(0..5) > 0).then_some(value));
        }
        rows.insert(COUNT, Some(Bytes::copy_from_slice(&(number + 1).to_be_bytes())));
        let mut decide = |_: &[Option<Bytes>]| {
            let mut write_set = WriteSet::default();
            for (row, value) in &rows {
                match value {
                    Some(value) => write_set.puts.push((key(*row), value.clone())),
                    None => write_set.deletes.push(key(*row)),
                }
            }
            write_set.appends.push((LOG, Bytes::copy_from_slice(&number.to_be_bytes())));
            write_set
        };
        let pending = store.update(&[key(COUNT)], &mut decide)?;
        if pending.is_some() {
            self.history.commits.push(rows);
            self.totals.commits += 1;
        }
        Ok(pending)
    }

    /// Counts what was acknowledged. False when a commit will never be.
    fn settle(&mut self, waiting: &mut Vec<Pending>) -> Result<bool, String> {
        while let Some(first) = waiting.first_mut() {
            match first.outcome() {
                None => return Ok(true),
                Some(false) => return Ok(false),
                Some(true) => {
                    waiting.remove(0);
                    self.history.acknowledged += 1;
                    self.totals.acknowledged += 1;
                }
            }
        }
        Ok(true)
    }

    /// Loses a file that holds no commit, and repairs the folder: every commit must be there again.
    fn repair(&mut self, data: &Path) -> Result<(), String> {
        if self.options.durability == Durability::Os {
            // Here records may be whole behind a lost one. A repair saves them, an opening does not.
            return Ok(());
        }
        let name = ["manifest", "format", "log/durable"][self.random.usize(0..3)];
        let path = data.join("store").join(name);
        let text = |error: std::io::Error| error.to_string();
        match self.random.bool() {
            true => std::fs::remove_file(path).map_err(text)?,
            false => std::fs::write(path, [7; 100]).map_err(text)?,
        }
        if let Ok(store) = Stepped::open(Arc::new(Disk), data, &self.options) {
            drop(store);
            return Err(format!("the folder opens without its {name}"));
        }
        let repaired = crate::repair(data, &self.options).map_err(|error| error.to_string())?;
        std::fs::remove_dir_all(repaired.original).map_err(text)?;
        self.totals.repairs += 1;
        self.reopen(Arc::new(Disk), data)?.ok_or("the repaired folder does not open")?;
        Ok(())
    }

    /// Takes a checkpoint, and opens it on a disk that works.
    fn checkpoint(&mut self, store: &mut Stepped) -> Result<(), String> {
        let target: PathBuf = self.folder.path().join(format!("copy {}", self.totals.checkpoints));
        if store.checkpoint(&target).is_ok() {
            self.totals.checkpoints += 1;
            let copy = Stepped::open(Arc::new(Disk), &target, &self.options);
            let copy = copy.map_err(|error| format!("a checkpoint does not open: {error}"))?;
            let commits = self.compare(&copy).map_err(|failure| format!("in a checkpoint: {failure}"))?;
            if commits < self.history.acknowledged {
                return Err("a checkpoint lacks acknowledged commits".to_owned());
            }
        }
        // One that failed has left nothing that could be taken for a store.
        match target.join("store").exists() || store.is_poisoned() {
            true => std::fs::remove_dir_all(&target).or(Ok(())),
            false => Ok(()),
        }
    }
}
