//! A store that fails on purpose: wraps any other, so that what is built on the contract can be
//! tested against its failures.
//!
//! Each changing call (`update`, `clear`, `trim_log`) takes one step of a plan, which is a script
//! or a seed; the same plan gives the same faults in the same order. Reads fail only while they are
//! told to.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::chance::Chance;
use crate::{
    Consistency, Decide, Direction, Key, Log, LogPosition, Range, Read, Space, Store, StoreError, Visit,
    WriteSet,
};

/// What happens to one changing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is changed, and the caller is told [`StoreError::Unavailable`]. An update has decided
    /// by then, as it has when a disk fills up.
    BeforeCommit,
    /// Everything is changed, yet the caller is told [`StoreError::Ambiguous`].
    AfterCommit,
    /// An update decides, loses against another, and decides again. Other calls are left alone.
    Conflict,
    /// The call succeeds after this time.
    Delay(Duration),
}

/// Where the faults come from.
enum Plan {
    Script(VecDeque<Option<Fault>>),
    Seed { chance: Chance, one_in: u64 },
}

/// Wraps a store and injects the faults of a plan.
pub struct FaultStore {
    store: Arc<dyn Store>,
    plan: Mutex<Plan>,
    reads_fail: AtomicBool,
}

impl FaultStore {
    /// Call by call what the script says; `None` leaves a call alone, as does the end of the script.
    pub fn scripted(store: Arc<dyn Store>, script: impl IntoIterator<Item = Option<Fault>>) -> Self {
        Self::new(store, Plan::Script(script.into_iter().collect()))
    }

    /// A fault in one of `one_in` calls on average (at least 1), of any kind, delays up to 1 ms.
    pub fn seeded(store: Arc<dyn Store>, seed: u64, one_in: u64) -> Self {
        Self::new(store, Plan::Seed { chance: Chance::new(seed), one_in: one_in.max(1) })
    }

    fn new(store: Arc<dyn Store>, plan: Plan) -> Self {
        FaultStore { store, plan: Mutex::new(plan), reads_fail: AtomicBool::new(false) }
    }

    /// From now on reads are answered with [`StoreError::Unavailable`], or no longer.
    pub fn fail_reads(&self, fail: bool) {
        self.reads_fail.store(fail, Ordering::SeqCst);
    }

    fn next_fault(&self) -> Option<Fault> {
        match &mut *self.plan.lock() {
            Plan::Script(script) => script.pop_front().flatten(),
            Plan::Seed { chance, one_in } => chance.once_in(*one_in).then(|| any_fault(chance)),
        }
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

/// A change that does not decide anything, under a fault.
async fn change(
    fault: Option<Fault>,
    change: impl Future<Output = Result<(), StoreError>>,
) -> Result<(), StoreError> {
    match fault {
        Some(Fault::BeforeCommit) => return Err(unavailable()),
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        Some(Fault::AfterCommit | Fault::Conflict) | None => {}
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
}

#[async_trait]
impl Store for FaultStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let fault = self.next_fault();
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
            Some(Fault::AfterCommit | Fault::Delay(_)) | None => {
                change(fault, self.store.update(keys, decide)).await
            }
        }
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        change(self.next_fault(), self.store.clear(space)).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        self.check_reads()?;
        self.store.snapshot().await
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

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        change(self.next_fault(), self.store.trim_log(log, through)).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}
