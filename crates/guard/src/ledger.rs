//! What was found so far, by test.
//!
//! A test is begun for an account, or for all of them, and ends with its findings. Tests with accounts of their own can
//! run side by side. Equal findings of a test are one record with a count, and everything that is kept is bounded.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::judge::{PatternOf, Verdict};

/// Records that are kept. Further findings are counted.
const RECORDS_MAX: usize = 10_000;
/// Tests that are kept.
const TESTS_MAX: usize = 100_000;
/// Accounts of which the last read is remembered. Test runs make one for each test.
const ACCOUNTS_MAX: usize = 1_000;
/// Keys of reads in a row that are remembered.
const KEYS_MAX: usize = 100;

/// Findings by test.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Reads of single items in a row that are too many; 0 for any number.
    row_max: usize,
    /// The test that is running, by account; of all other accounts under an empty name.
    running: BTreeMap<String, Running>,
    /// Tests that have ended, in order.
    tests: Vec<TestRun>,
    /// What no test has.
    outside: TestRun,
    rows: BTreeMap<String, Row>,
    records: usize,
    left_out: u64,
}

#[derive(Debug, Default)]
struct Running {
    test: TestRun,
    is_paused: bool,
}

/// One test, and what was found while it ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestRun {
    pub name: String,
    /// Requests that were compared with the models.
    pub requests: u64,
    pub records: Vec<Record>,
}

/// A finding, and how often it was met in the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub finding: Finding,
    pub times: u64,
}

/// All that is known at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Those that have a name; then, without one, what happened outside of tests.
    pub tests: Vec<TestRun>,
    /// Findings for which there was no room.
    pub left_out: u64,
}

/// Reads of single items, one after the other.
#[derive(Debug, Default)]
struct Row {
    pattern: Option<PatternOf>,
    keys: Vec<u64>,
}

impl Ledger {
    /// `row_max` reads of single items in a row, of one pattern and of different keys, are a finding; 0 for none.
    pub fn new(row_max: usize) -> Ledger {
        Ledger { row_max, ..Ledger::default() }
    }

    /// Begins a test: for an account, or for all that have none of their own. One that is running there ends.
    pub fn begin(&mut self, account: &str, name: &str) {
        self.end(account);
        let test = TestRun { name: name.to_owned(), ..TestRun::default() };
        if self.running.len() < ACCOUNTS_MAX {
            self.running.insert(account.to_owned(), Running { test, is_paused: false });
        }
    }

    /// Ends the test that is running there, and hands out what was found in it.
    pub fn end(&mut self, account: &str) -> Option<TestRun> {
        let running = self.running.remove(account)?;
        self.rows.remove(account);
        if running.test.name.is_empty() {
            return None;
        }
        if self.tests.len() < TESTS_MAX {
            self.tests.push(running.test.clone());
        }
        Some(running.test)
    }

    /// Lets everything pass, or judges again: for the requests with which a test prepares its data.
    pub fn pause(&mut self, account: &str, is_paused: bool) {
        if self.running.contains_key(account) || self.running.len() < ACCOUNTS_MAX {
            self.running.entry(account.to_owned()).or_default().is_paused = is_paused;
        }
    }

    /// Whether requests of the account pass unseen.
    pub fn is_paused(&self, account: &str) -> bool {
        let of = |name: &str| self.running.get(name).map(|running| running.is_paused);
        of(account).or_else(|| of("")).unwrap_or(false)
    }

    /// Counts a request. If it is one too many of several that could be one, the answer is how many there were.
    pub fn note(&mut self, account: &str, test: Option<&str>, verdict: &Verdict) -> Option<usize> {
        self.test(account, test).requests += 1;
        let Some(read) = verdict.single_read else {
            self.rows.remove(account);
            return None;
        };
        if self.rows.len() >= ACCOUNTS_MAX {
            self.rows.clear();
        }
        let row = self.rows.entry(account.to_owned()).or_default();
        if row.pattern != Some(read.pattern) {
            *row = Row { pattern: Some(read.pattern), keys: Vec::new() };
        }
        if row.keys.contains(&read.key) || row.keys.len() >= KEYS_MAX {
            return None;
        }
        row.keys.push(read.key);
        (row.keys.len() == self.row_max).then_some(self.row_max)
    }

    /// Keeps findings of a request. A request can name its test itself.
    pub fn record(&mut self, account: &str, test: Option<&str>, findings: Vec<Finding>) {
        let has_room = self.records < RECORDS_MAX;
        let run = self.test(account, test);
        let (mut added, mut left_out) = (0, 0);
        for finding in findings {
            match run.records.iter_mut().find(|record| record.finding == finding) {
                Some(record) => record.times += 1,
                None if has_room => {
                    run.records.push(Record { finding, times: 1 });
                    added += 1;
                }
                None => left_out += 1,
            }
        }
        self.records += added;
        self.left_out += left_out;
    }

    /// What is running there: of the name that the request has, of the account, of all, of none.
    fn test(&mut self, account: &str, name: Option<&str>) -> &mut TestRun {
        if let Some(name) = name {
            let known = self.tests.iter().position(|test| test.name == name);
            let room = self.tests.len() < TESTS_MAX;
            if let Some(at) = known.or_else(|| room.then_some(self.tests.len())) {
                if known.is_none() {
                    self.tests.push(TestRun { name: name.to_owned(), ..TestRun::default() });
                }
                return &mut self.tests[at];
            }
        }
        let account = if self.running.contains_key(account) { account } else { "" };
        match self.running.get_mut(account) {
            Some(running) if !running.test.name.is_empty() => &mut running.test,
            _ => &mut self.outside,
        }
    }

    /// Everything so far, tests that are running included.
    pub fn outcome(&self) -> Outcome {
        let running = self.running.values().map(|running| &running.test).filter(|test| !test.name.is_empty());
        let mut tests: Vec<TestRun> = self.tests.iter().chain(running).cloned().collect();
        if self.outside.requests > 0 || !self.outside.records.is_empty() {
            tests.push(self.outside.clone());
        }
        Outcome { tests, left_out: self.left_out }
    }
}

impl Outcome {
    pub fn records(&self) -> impl Iterator<Item = (&TestRun, &Record)> {
        self.tests.iter().flat_map(|test| test.records.iter().map(move |record| (test, record)))
    }

    pub fn requests(&self) -> u64 {
        self.tests.iter().map(|test| test.requests).sum()
    }
}

impl TestRun {
    /// Its name, for people.
    pub fn title(&self) -> &str {
        if self.name.is_empty() { "outside of tests" } else { &self.name }
    }
}
