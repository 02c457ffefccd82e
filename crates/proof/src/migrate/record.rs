//! How far a migration got: all that a new process needs to go on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The format of the record.
const VERSION: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub version: u32,
    /// The address of the database.
    pub endpoint: String,
    /// The steps in words, with all formulas: a record belongs to one plan.
    pub plan: Vec<String>,
    /// How many steps are done, and not undone.
    pub done: usize,
    /// On the way back.
    pub back: bool,
    /// The job that is under way.
    pub job: Option<JobRecord>,
    /// The jobs of the same step that are done.
    pub finished: Vec<FinishedJob>,
    /// The backup that was taken for the step.
    pub backup: Option<String>,
    /// What was done, forwards and back, in the order of time.
    pub history: Vec<StepRecord>,
}

/// A job that is under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Which time it goes over the table, from 1.
    pub pass: u32,
    pub segments: Vec<Segment>,
    /// What this pass has found.
    pub found: Tally,
    /// Passes in a row that wrote nothing although there was something to write.
    pub fruitless: u32,
    /// What the passes before did, without this one.
    pub before: Tally,
    /// A process works on it, or was killed while it did.
    #[serde(default)]
    pub is_running: bool,
    /// A process was killed: what it did for its last pages is not counted.
    #[serde(default)]
    pub was_killed: bool,
}

/// How far a segment of the scan is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The last key of the last page that is done, as DynamoDB JSON.
    pub after: Option<Value>,
    pub ended: bool,
}

/// Counts of items, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Items of any kind that were read.
    pub read: u64,
    /// Items that the job is about and that are as they should be.
    pub right: u64,
    pub written: u64,
    /// Items that changed between being read and being written.
    pub refused: u64,
    /// Items with other keys than their attributes say.
    pub differing: u64,
    /// Items whose key looks like the entity's, and that are of no entity.
    pub unknown: u64,
    /// The key of one item that differs or is unknown.
    pub example: Option<Value>,
    pub read_units: f64,
    pub write_units: f64,
    pub seconds: f64,
}

/// A step that is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// From 1.
    pub step: usize,
    pub name: String,
    pub back: bool,
    pub jobs: Vec<FinishedJob>,
    /// The backup that was taken before.
    pub backup: Option<String>,
}

/// A job that is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishedJob {
    pub entity: String,
    pub passes: u32,
    /// What the last pass found: all that there is to find.
    pub last: Tally,
    /// What all passes did.
    pub all: Tally,
    /// A process was killed on the way, so `all` is the least that was done; `last` is right all the same.
    #[serde(default)]
    pub was_killed: bool,
}

impl Record {
    pub fn new(endpoint: String, plan: Vec<String>) -> Record {
        Record { version: VERSION, endpoint, plan, ..Record::default() }
    }

    /// Why this record is not about that plan.
    pub fn objection(&self, endpoint: &str, plan: &[String]) -> Option<String> {
        if self.version != VERSION {
            return Some(format!("it is of another version of this program ({})", self.version));
        }
        if self.endpoint != endpoint {
            return Some(format!("it is about {}", self.endpoint));
        }
        (self.plan != plan)
            .then(|| "the plan that was begun has other steps than these two models".to_owned())
    }
}

impl JobRecord {
    pub fn new(segments: usize) -> JobRecord {
        JobRecord { pass: 1, segments: vec![Segment::default(); segments], ..JobRecord::default() }
    }

    /// A process takes it up: the one before has ended by itself, or was killed.
    pub fn take_up(&mut self) {
        self.was_killed |= std::mem::replace(&mut self.is_running, true);
    }

    /// The next time over the table.
    pub fn again(&mut self) {
        let found = std::mem::take(&mut self.found);
        self.fruitless = if found.written == 0 { self.fruitless + 1 } else { 0 };
        self.before.add(&found);
        self.pass += 1;
        self.segments.iter_mut().for_each(|segment| *segment = Segment::default());
    }
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.read += other.read;
        self.right += other.right;
        self.differing += other.differing;
        self.unknown += other.unknown;
        self.example = self.example.take().or_else(|| other.example.clone());
        self.add_effort(other);
    }

    /// What was done, without what was found.
    pub fn add_effort(&mut self, other: &Tally) {
        self.written += other.written;
        self.refused += other.refused;
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.seconds += other.seconds;
    }
}
