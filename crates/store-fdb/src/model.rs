//! A model of FoundationDB in memory, so that the store is tested where there is no cluster: what its documentation
//! promises of transactions, and what it warns of. A test on a real cluster is still needed for what this model gets
//! wrong.
//!
//! - A transaction reads the version at which it began to read, and sees its own writes.
//! - A commit fails if anything that it has read was written since, or if it is too old.
//! - A commit may fail although it happened, or happen after its failure was reported.
//! - Keys, values and transactions have the limits of a cluster.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::keys::{KeyRange, after};

const KEY_BYTES_MAX: usize = 10_000;
const VALUE_BYTES_MAX: usize = 100_000;
const TRANSACTION_BYTES_MAX: usize = 10_000_000;
/// Commits for which conflicts are remembered.
const COMMITS_MAX: usize = 2_000;

/// How long after its failure was reported a commit may happen.
const LATE: Duration = Duration::from_millis(20);

/// A code of FoundationDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

const TOO_OLD: Code = Code(1007);
const NOT_COMMITTED: Code = Code(1020);
const COMMIT_UNKNOWN_RESULT: Code = Code(1021);
const PROCESS_BEHIND: Code = Code(1037);
const TRANSACTION_TOO_LARGE: Code = Code(2101);
const KEY_TOO_LARGE: Code = Code(2102);
const VALUE_TOO_LARGE: Code = Code(2103);

impl Code {
    /// As the library says it.
    pub fn is_retryable(self) -> bool {
        [TOO_OLD, NOT_COMMITTED, COMMIT_UNKNOWN_RESULT, PROCESS_BEHIND].contains(&self)
    }
}

/// What goes wrong: each once in this number of times, on average, if nothing else is said. 0 is never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The caller does not learn the outcome of a commit.
    pub unknown: u32,
    /// A transaction is too old at once.
    pub too_old: u32,
    /// A read fails.
    pub behind: u32,
    /// A transaction that has read so often is too old. 0 is never.
    pub reads_max: u32,
}

/// All pairs of a version.
type Pairs = OrdMap<Vec<u8>, Bytes>;

#[derive(Default)]
struct State {
    version: u64,
    pairs: Pairs,
    /// The versions of the last commits with what they wrote.
    commits: VecDeque<(u64, Vec<KeyRange>)>,
    /// Older versions can't be checked for conflicts.
    forgotten: u64,
    draws: u64,
    /// The next commits.
    plans: VecDeque<Plan>,
    /// Commits that are still on their way.
    held: Vec<Work>,
    counts: Counts,
}

/// What a test asks of a commit.
enum Plan {
    Hold,
    LoseAnswer(Arc<Notify>),
}

/// What a database has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commits that failed because of others.
    pub conflicts: u64,
    /// The bytes of the values that were read.
    pub bytes_read: u64,
}

/// A database.
#[derive(Clone, Default)]
pub struct Model {
    state: Arc<Mutex<State>>,
    faults: Faults,
}

/// A transaction.
pub struct ModelTransaction {
    model: Model,
    work: Mutex<Work>,
}

#[derive(Clone, Default)]
struct Work {
    /// The version that it reads, with its own writes.
    view: Option<(u64, Pairs)>,
    times_read: u32,
    reads: Vec<KeyRange>,
    writes: Vec<KeyRange>,
    changes: Vec<Change>,
    bytes: usize,
    refusal: Option<Code>,
}

#[derive(Clone)]
enum Change {
    Set(Vec<u8>, Bytes),
    Raise(Vec<u8>, Bytes),
    Clear(KeyRange),
}

impl Model {
    /// A database in which something goes wrong from time to time.
    pub fn with_faults(faults: Faults) -> Model {
        Model { state: Arc::default(), faults }
    }

    /// A transaction.
    pub fn begin(&self) -> ModelTransaction {
        ModelTransaction { model: self.clone(), work: Mutex::default() }
    }

    /// Every key, for tests of what is left behind.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        self.state.lock().pairs.keys().cloned().collect()
    }

    /// What was done until now.
    pub fn counts(&self) -> Counts {
        self.state.lock().counts
    }

    /// The next commit fails with an unknown outcome, and is on its way until [`arrive`](Model::arrive).
    pub fn hold_next_commit(&self) {
        self.state.lock().plans.push_back(Plan::Hold);
    }

    /// The commits that were held arrive now. Returns how many of them happened.
    pub fn arrive(&self) -> usize {
        let held = std::mem::take(&mut self.state.lock().held);
        held.iter().filter(|work| self.apply(work).is_ok()).count()
    }

    /// The next commit happens, and fails with an unknown outcome, but only after the notification.
    pub fn lose_next_answer(&self) -> Arc<Notify> {
        let answer = Arc::new(Notify::new());
        self.state.lock().plans.push_back(Plan::LoseAnswer(answer.clone()));
        answer
    }

    fn happens(&self, once_in: u32) -> bool {
        let mut state = self.state.lock();
        state.draws = state.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state.draws ^ (state.draws >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        once_in != 0 && (mixed >> 33).is_multiple_of(u64::from(once_in))
    }

    fn count_read<'a>(&self, values: impl Iterator<Item = &'a Bytes>) {
        self.state.lock().counts.bytes_read += values.map(|value| value.len() as u64).sum::<u64>();
    }

    fn apply(&self, work: &Work) -> Result<(), Code> {
        let mut state = self.state.lock();
        let read_version = work.view.as_ref().map_or(state.version, |(version, _)| *version);
        if read_version < state.forgotten {
            return Err(TOO_OLD);
        }
        let since = state.commits.iter().rev().take_while(|(version, _)| *version > read_version);
        let mut written = since.flat_map(|(_, ranges)| ranges);
        if written.any(|range| work.reads.iter().any(|read| read.0 < range.1 && range.0 < read.1)) {
            state.counts.conflicts += 1;
            return Err(NOT_COMMITTED);
        }
        for change in &work.changes {
            change.apply(&mut state.pairs);
        }
        state.version += 1;
        let commit = (state.version, work.writes.clone());
        state.commits.push_back(commit);
        if state.commits.len() > COMMITS_MAX {
            state.forgotten = state.commits.pop_front().map_or(0, |(version, _)| version);
        }
        Ok(())
    }
}

impl Change {
    fn apply(&self, pairs: &mut Pairs) {
        match self {
            Change::Set(key, value) => drop(pairs.insert(key.clone(), value.clone())),
            Change::Raise(key, value) => {
                let value = pairs.get(key).map_or(value, |known| known.max(value)).clone();
                pairs.insert(key.clone(), value);
            }
            Change::Clear((begin, end)) => {
                let keys: Vec<Vec<u8>> =
                    pairs.range(begin.clone()..end.clone()).map(|(key, _)| key.clone()).collect();
                keys.iter().for_each(|key| drop(pairs.remove(key)));
            }
        }
    }
}

impl ModelTransaction {
    /// Reads what `find` looks for, at the version of the transaction.
    async fn read<T>(&self, find: impl FnOnce(&Pairs) -> T) -> Result<T, Code> {
        tokio::task::yield_now().await;
        if self.model.happens(self.model.faults.behind) {
            return Err(PROCESS_BEHIND);
        }
        let mut work = self.work.lock();
        work.times_read += 1;
        let reads_max = self.model.faults.reads_max;
        if reads_max != 0 && work.times_read > reads_max {
            return Err(TOO_OLD);
        }
        Ok(find(work.view(&self.model)))
    }

    /// The value of a key.
    pub async fn get(&self, key: &[u8], conflicts: bool) -> Result<Option<Bytes>, Code> {
        let found = self.read(|pairs| pairs.get(key).cloned()).await?;
        if conflicts {
            self.work.lock().reads.push((key.to_vec(), after(key.to_vec())));
        }
        self.model.count_read(found.iter());
        Ok(found)
    }

    /// Some pairs of a range, and whether there may be more.
    pub async fn some(
        &self,
        range: &KeyRange,
        is_backward: bool,
        limit: usize,
    ) -> Result<(Vec<(Vec<u8>, Bytes)>, bool), Code> {
        let (found, has_more) = self
            .read(|pairs| {
                let found = pairs.range(range.0.clone()..range.1.clone());
                let owned = |(key, value): (&Vec<u8>, &Bytes)| (key.clone(), value.clone());
                let found: Vec<(Vec<u8>, Bytes)> = match is_backward {
                    true => found.rev().take(limit).map(owned).collect(),
                    false => found.take(limit).map(owned).collect(),
                };
                let has_more = found.len() == limit;
                (found, has_more)
            })
            .await?;
        self.model.count_read(found.iter().map(|(_, value)| value));
        Ok((found, has_more))
    }

    /// Sets the value of a key.
    pub fn set(&self, key: &[u8], value: &[u8]) {
        self.change(Change::Set(key.to_vec(), Bytes::copy_from_slice(value)), key, value.len());
    }

    /// Sets the value of a key if it is after the one that is there.
    pub fn raise(&self, key: &[u8], value: &[u8]) {
        self.change(Change::Raise(key.to_vec(), Bytes::copy_from_slice(value)), key, value.len());
    }

    /// Removes the keys of a range.
    pub fn clear_range(&self, begin: &[u8], end: &[u8]) {
        let range = (begin.to_vec(), end.to_vec());
        let mut work = self.work.lock();
        if begin < end {
            work.add(Change::Clear(range.clone()), begin.len() + end.len());
            work.writes.push(range);
        }
    }

    fn change(&self, change: Change, key: &[u8], length: usize) {
        let mut work = self.work.lock();
        if key.len() > KEY_BYTES_MAX {
            work.refusal = Some(KEY_TOO_LARGE);
        } else if length > VALUE_BYTES_MAX {
            work.refusal = Some(VALUE_TOO_LARGE);
        }
        work.add(change, key.len() + length);
        work.writes.push((key.to_vec(), after(key.to_vec())));
    }

    /// Adds a conflict.
    pub fn conflict(&self, range: &KeyRange, reads: bool) {
        let mut work = self.work.lock();
        if reads {
            work.reads.push(range.clone());
        } else {
            work.writes.push(range.clone());
        }
    }

    /// Commits, or says why not.
    pub async fn commit(self) -> Result<(), Code> {
        tokio::task::yield_now().await;
        let (model, mut work) = (self.model, self.work.into_inner());
        if work.writes.is_empty() {
            return Ok(());
        }
        if let Some(refusal) = work.refusal {
            return Err(refusal);
        }
        let conflicts = work.reads.iter().chain(&work.writes).map(|(begin, end)| begin.len() + end.len());
        if work.bytes + conflicts.sum::<usize>() > TRANSACTION_BYTES_MAX {
            return Err(TRANSACTION_TOO_LARGE);
        }
        if model.happens(model.faults.too_old) {
            return Err(TOO_OLD);
        }
        if !work.reads.is_empty() {
            // A transaction that has read nothing, but conflicts, gets its version when it commits.
            work.view(&model);
        }
        let plan = model.state.lock().plans.pop_front();
        match plan {
            Some(Plan::Hold) => {
                model.state.lock().held.push(work);
                return Err(COMMIT_UNKNOWN_RESULT);
            }
            Some(Plan::LoseAnswer(answer)) => {
                model.apply(&work)?;
                answer.notified().await;
                return Err(COMMIT_UNKNOWN_RESULT);
            }
            None => {}
        }
        if !model.happens(model.faults.unknown) {
            return model.apply(&work);
        }
        match model.happens(2) {
            true => {
                let _ = model.apply(&work);
            }
            false => {
                // It is still on its way.
                tokio::spawn(async move {
                    tokio::time::sleep(LATE).await;
                    let _ = model.apply(&work);
                });
            }
        }
        Err(COMMIT_UNKNOWN_RESULT)
    }
}

impl Work {
    /// The pairs of the version that it reads.
    fn view(&mut self, model: &Model) -> &Pairs {
        let (_, pairs) = self.view.get_or_insert_with(|| {
            let state = model.state.lock();
            (state.version, state.pairs.clone())
        });
        pairs
    }

    fn add(&mut self, change: Change, bytes: usize) {
        if let Some((_, pairs)) = &mut self.view {
            change.apply(pairs);
        }
        self.changes.push(change);
        self.bytes += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn count(model: &Model) -> Result<(), Code> {
        let transaction = model.begin();
        let count = transaction.get(b"count", true).await?.map_or(0, |value| value[0]);
        transaction.set(b"count", &[count + 1]);
        transaction.commit().await
    }

    #[tokio::test]
    async fn of_two_commits_that_read_what_the_other_writes_one_fails() {
        let model = Model::default();
        let outcomes = tokio::join!(count(&model), count(&model));
        assert!(
            matches!(outcomes, (Ok(()), Err(NOT_COMMITTED)) | (Err(NOT_COMMITTED), Ok(()))),
            "{outcomes:?}"
        );
        count(&model).await.unwrap();
        assert_eq!(model.begin().get(b"count", false).await.unwrap().unwrap()[..], [2]);
    }

    #[tokio::test]
    async fn added_conflicts_meet_and_looks_do_not() {
        let model = Model::default();
        let range = |begin: &[u8], end: &[u8]| (begin.to_vec(), end.to_vec());
        let [append, look] = [true, false].map(|_| model.begin());
        for transaction in [&append, &look] {
            transaction.get(b"end", false).await.unwrap();
            transaction.set(b"record", b"");
        }
        append.conflict(&range(b"b", b"z"), true);
        let close = model.begin();
        close.raise(b"end", &[3]);
        close.conflict(&range(b"c", b"d"), false);
        close.commit().await.unwrap();
        assert_eq!(append.commit().await, Err(NOT_COMMITTED));
        assert_eq!(look.commit().await, Ok(()));
    }

    #[tokio::test]
    async fn limits_are_those_of_a_cluster() {
        let commit = async |key: usize, value: usize, count: usize| {
            let transaction = Model::default().begin();
            (0..count).for_each(|_| transaction.set(&vec![1; key], &vec![2; value]));
            transaction.commit().await
        };
        assert_eq!(commit(10_000, 100_000, 1).await, Ok(()));
        assert_eq!(commit(10_001, 1, 1).await, Err(KEY_TOO_LARGE));
        assert_eq!(commit(1, 100_001, 1).await, Err(VALUE_TOO_LARGE));
        assert_eq!(commit(1, 100_000, 101).await, Err(TRANSACTION_TOO_LARGE));
    }
}
