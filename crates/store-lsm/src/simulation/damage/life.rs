//! Stores from all parts of their life, to be damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::{Outcome, ROWS, commit, copy_folder, judge, open};
use crate::simulation::stepped::Stepped;

/// What a store holds after some commit.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) rows: BTreeMap<u64, Bytes>,
    /// Each commit adds one.
    pub(super) records: usize,
}

impl State {
    /// The state after one more commit.
    pub(super) fn after(&self, rows: &BTreeMap<u64, Option<Bytes>>) -> State {
        let mut state = State { rows: self.rows.clone(), records: self.records + 1 };
        for (row, value) in rows {
            match value {
                Some(value) => state.rows.insert(*row, value.clone()),
                None => state.rows.remove(row),
            };
        }
        state
    }
}

/// A store at some part of its life.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) folder: PathBuf,
    /// The same store at an earlier part of its life.
    pub(super) earlier: PathBuf,
    /// What it held after each of its commits.
    pub(super) states: Vec<Arc<State>>,
}

impl Sample {
    /// What it holds.
    pub(super) fn state(&self) -> &Arc<State> {
        self.states.last().expect("the state before the first commit is one")
    }

    /// How many commits it has.
    pub(super) fn records(&self) -> usize {
        self.state().records
    }
}

/// A store that is written to, and of which samples are taken.
pub(super) struct Life {
    pub(super) data: PathBuf,
    random: fastrand::Rng,
    store: Option<Stepped>,
    pub(super) states: Vec<Arc<State>>,
}

impl Life {
    pub(super) fn begin(data: &Path, random: fastrand::Rng) -> Result<Life, String> {
        let store = open(data).map_err(|error| error.to_string())?;
        let states = vec![Arc::default()];
        Ok(Life { data: data.to_owned(), random, store: Some(store), states })
    }

    /// A copy of a sample, which goes on separately.
    pub(super) fn fork(sample: &Sample, data: &Path, random: fastrand::Rng) -> Result<Life, String> {
        copy_folder(&sample.folder, data).map_err(|error| error.to_string())?;
        let life = Life::begin(data, random)?;
        Ok(Life { states: sample.states.clone(), ..life })
    }

    pub(super) fn write(&mut self, commits: usize) -> Result<(), String> {
        for _ in 0..commits {
            let mut rows = BTreeMap::new();
            for _ in 0..self.random.u8(1..4) {
                let length = self.random.usize(0..400);
                let value = Bytes::from((0..length).map(|_| self.random.u8(..)).collect::<Vec<u8>>());
                rows.insert(self.random.u64(0..ROWS), (self.random.u8(0..6) > 0).then_some(value));
            }
            let store = self.store.as_mut().ok_or("the store is closed")?;
            let last = self.states.last().ok_or("there is a first state")?;
            commit(store, &rows, last.records as u64)?;
            self.states.push(Arc::new(last.after(&rows)));
        }
        Ok(())
    }

    pub(super) fn maintain(&mut self) {
        let Some(store) = &mut self.store else { return };
        for _ in 0..4 {
            store.maintain();
        }
    }

    /// Makes a table of what is in memory. The manifest does not follow yet.
    pub(super) fn flush(&mut self) {
        if let Some(store) = &mut self.store {
            store.rotate();
            store.flush();
        }
    }

    /// A copy of the folder as it is now: as a killed process leaves it.
    fn take(&self, name: &'static str, earlier: &Path, to: &Path) -> Result<Sample, String> {
        let folder = to.join(name);
        copy_folder(&self.data, &folder).map_err(|error| error.to_string())?;
        Ok(Sample { name, folder, earlier: earlier.to_owned(), states: self.states.clone() })
    }

    /// Lives on, and takes samples into the folder `to`.
    pub(super) fn samples(&mut self, to: &Path) -> Result<Vec<Sample>, String> {
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
        self.flush();
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
            let outcome = judge(&copy, std::slice::from_ref(sample.state()))
                .map_err(|error| format!("{}: {error}", sample.name))?;
            if outcome != Outcome::EverythingRight {
                return Err(format!("{} is {outcome:?} before it is damaged", sample.name));
            }
            fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
        }
        Ok(samples)
    }
}
