//! A store that fails on purpose. It wraps another store, so that code above the contract can be
//! tested against failures.
//!
//! Each changing call (`update`, `clear`, `trim_log`) takes its fault from a script or from seeded
//! chance: the same script or seed gives the same faults in the same order. Reads fail only while
//! [`FaultStore::fail_reads`] says so.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::chance::Chance;
use crate::{
    Cluster, Consistency, Decide, Direction, Key, Log, LogPosition, Range, Read, Space, Store, StoreError,
    Visit, WriteSet,
};

/// What happens to one changing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is changed, and the call fails with [`StoreError::Unavailable`]. An update has called
    /// `decide` by then, as when the disk turns out to be full at the commit.
    BeforeCommit,
    /// Everything is changed, yet the call fails with [`StoreError::Ambiguous`].
    AfterCommit,
    /// An update calls `decide`, loses against another update, and calls `decide` again. Other calls
    /// proceed as usual.
    Conflict,
    /// The call succeeds after this time.
    Delay(Duration),
    /// Nothing is changed. This call and all later changing calls fail with [`StoreError::Poisoned`].
    Poison,
    /// The call panics before it changes anything.
    Panic,
}

/// Where the faults come from.
enum Faults {
    Script(VecDeque<Option<Fault>>),
    Seed { chance: Chance, one_in: u64 },
}

/// Wraps a store and injects faults.
pub struct FaultStore {
    store: Arc<dyn Store>,
    faults: Mutex<Faults>,
    reads_fail: AtomicBool,
    is_poisoned: AtomicBool,
}

impl FaultStore {
    /// The script has one entry for each changing call; `None` and the end of the script mean no fault.
    pub fn scripted(store: Arc<dyn Store>, script: impl IntoIterator<Item = Option<Fault>>) -> Self {
        Self::new(store, Faults::Script(script.into_iter().collect()))
    }

    /// One of `one_in` calls on average (at least 1) fails before or after its commit, meets a
    /// conflict, or is delayed by up to 1 ms.
    pub fn seeded(store: Arc<dyn Store>, seed: u64, one_in: u64) -> Self {
        Self::new(store, Faults::Seed { chance: Chance::new(seed), one_in: one_in.max(1) })
    }

    fn new(store: Arc<dyn Store>, faults: Faults) -> Self {
        let (reads_fail, is_poisoned) = (AtomicBool::new(false), AtomicBool::new(false));
        FaultStore { store, faults: Mutex::new(faults), reads_fail, is_poisoned }
    }

    /// Replaces the script, or the seed, by this script from the next changing call on.
    pub fn follow(&self, script: impl IntoIterator<Item = Option<Fault>>) {
        *self.faults.lock() = Faults::Script(script.into_iter().collect());
    }

    /// Whether reads fail with [`StoreError::Unavailable`] from now on.
    pub fn fail_reads(&self, fail: bool) {
        self.reads_fail.store(fail, Ordering::SeqCst);
    }

    /// The fault of this changing call. A poisoned store lets no call proceed.
    fn next_fault(&self) -> Result<Option<Fault>, StoreError> {
        let fault = match &mut *self.faults.lock() {
            Faults::Script(script) => script.pop_front().flatten(),
            Faults::Seed { chance, one_in } => chance.once_in(*one_in).then(|| any_fault(chance)),
        };
        match fault {
            Some(Fault::Panic) => panic!("an injected panic"),
            Some(Fault::Poison) => self.is_poisoned.store(true, Ordering::SeqCst),
            _ => {}
        }
        self.check_poison()?;
        Ok(fault)
    }

    fn check_poison(&self) -> Result<(), StoreError> {
        if self.is_poisoned.load(Ordering::SeqCst) {
            return Err(StoreError::Poisoned("an injected fault".to_owned()));
        }
        Ok(())
    }

    fn check_reads(&self) -> Result<(), StoreError> {
        if self.reads_fail.load(Ordering::SeqCst) { Err(unavailable()) } else { Ok(()) }
    }
}

fn any_fault(chance: &mut Chance) -> Fault {
    match chance.below(4) {
        0 => Fault::BeforeCommit,
        1 => Fault::AfterCommit,
        2 => Fault::Conflict,
        _ => Fault::Delay(Duration::from_micros(chance.below(1000))),
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("an injected fault".to_owned())
}

/// Runs a changing call under a fault.
async fn change(
    fault: Option<Fault>,
    change: impl Future<Output = Result<(), StoreError>>,
) -> Result<(), StoreError> {
    match fault {
        Some(Fault::BeforeCommit) => return Err(unavailable()),
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        Some(_) | None => {}
    }
    change.await?;
    match fault {
        Some(Fault::AfterCommit) => Err(StoreError::Ambiguous("an injected fault".to_owned())),
        _ => Ok(()),
    }
}

#[async_trait]
impl Read for FaultStore {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.check_reads()?;
        self.store.get(keys, consistency).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.check_reads()?;
        self.store.scan(range, direction, consistency, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.check_reads()?;
        self.store.read_log(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.check_reads()?;
        self.store.log_end(log).await
    }
}

#[async_trait]
impl Store for FaultStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let fault = self.next_fault()?;
        match fault {
            Some(Fault::BeforeCommit) => {
                let mut forget = |rows: &[Option<Bytes>]| {
                    decide(rows);
                    WriteSet::default()
                };
                self.store.update(keys, &mut forget).await?;
                Err(unavailable())
            }
            Some(Fault::Conflict) => {
                let mut decide_again = |rows: &[Option<Bytes>]| {
                    decide(rows);
                    decide(rows)
                };
                self.store.update(keys, &mut decide_again).await
            }
            Some(_) | None => change(fault, self.store.update(keys, decide)).await,
        }
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        change(self.next_fault()?, self.store.clear(space)).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        self.check_reads()?;
        self.store.snapshot().await
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        change(self.next_fault()?, self.store.trim_log(log, through)).await
    }

    fn health(&self) -> Result<(), StoreError> {
        self.check_poison()?;
        self.store.health()
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        self.store.cluster()
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}
