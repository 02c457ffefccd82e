//! Faults that somebody asked for, to test how an application takes them: which are on, and how often each was met.
//!
//! [`rule`] says which requests meet a fault; `operation/injected_fault.rs` asks before each operation and makes the
//! fault happen. While there is none, a request reads one flag and nothing more.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use super::rule::FaultRule;
use crate::operation::Engine;

/// Every request asks all of them.
const FAULTS_MAX: usize = 100;

/// The faults that are on.
#[derive(Default)]
pub struct InjectedFaults {
    is_any: AtomicBool,
    last_id: AtomicU64,
    on: RwLock<Vec<InjectedFault>>,
}

struct InjectedFault {
    id: u64,
    rule: FaultRule,
    met: AtomicU64,
}

/// A fault that is on, as the operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultStatus {
    /// Its number, by which it is removed.
    pub id: u64,
    pub rule: FaultRule,
    /// How many requests met it.
    pub met: u64,
    /// How long it goes on, if it ends by itself.
    pub remaining: Option<Duration>,
}

/// No more faults can be on at once.
#[derive(Debug, thiserror::Error)]
#[error("{FAULTS_MAX} faults are on, and that is the most; remove one first")]
pub struct TooManyFaults;

impl Engine {
    /// Switches a fault on until it is removed, or for this time. The answer is its number.
    pub fn inject_fault(&self, rule: FaultRule, lasts: Option<Duration>) -> Result<u64, TooManyFaults> {
        let now_ms = self.environment.now_ms();
        let ends_ms = lasts.map(|lasts| now_ms.saturating_add(lasts.as_millis() as u64));
        self.faults.add(FaultRule { ends_ms: ends_ms.or(rule.ends_ms), ..rule }, now_ms)
    }

    /// The faults that are on.
    pub fn injected_faults(&self) -> Vec<FaultStatus> {
        self.faults.list(self.environment.now_ms())
    }

    /// Switches a fault off; false if there is none with this number.
    pub fn remove_fault(&self, id: u64) -> bool {
        self.faults.remove(id)
    }

    /// Switches all faults off.
    pub fn remove_all_faults(&self) {
        self.faults.remove_all();
    }
}

impl InjectedFaults {
    /// Whether there is any. All that a request without faults pays for them.
    pub fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Switches a fault on, and returns its number.
    fn add(&self, rule: FaultRule, now_ms: u64) -> Result<u64, TooManyFaults> {
        self.end_those_over(now_ms);
        let mut on = self.on.write();
        if on.len() >= FAULTS_MAX {
            return Err(TooManyFaults);
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        log(id, &rule, "a fault is on: requests fail because somebody asked for it");
        on.push(InjectedFault { id, rule, met: AtomicU64::new(0) });
        self.is_any.store(true, Ordering::Relaxed);
        Ok(id)
    }

    /// Switches a fault off; false if there is none with this number.
    fn remove(&self, id: u64) -> bool {
        let mut removed = false;
        self.retain(|fault| {
            removed |= fault.id == id;
            fault.id != id
        });
        removed
    }

    /// Switches all faults off.
    fn remove_all(&self) {
        self.retain(|_| false);
    }

    /// The faults that are on.
    fn list(&self, now_ms: u64) -> Vec<FaultStatus> {
        if !self.is_any() {
            return Vec::new();
        }
        self.end_those_over(now_ms);
        let status = |fault: &InjectedFault| FaultStatus {
            id: fault.id,
            rule: fault.rule.clone(),
            met: fault.met.load(Ordering::Relaxed),
            remaining: fault
                .rule
                .ends_ms
                .map(|ends_ms| Duration::from_millis(ends_ms.saturating_sub(now_ms))),
        };
        self.on.read().iter().map(status).collect()
    }

    /// The first result of `meet`, which is called with each fault in turn.
    pub fn first<T>(&self, now_ms: u64, mut meet: impl FnMut(&FaultRule) -> Option<T>) -> Option<T> {
        self.end_those_over(now_ms);
        self.on.read().iter().find_map(|fault| {
            let met = meet(&fault.rule)?;
            fault.met.fetch_add(1, Ordering::Relaxed);
            Some(met)
        })
    }

    fn end_those_over(&self, now_ms: u64) {
        if self.on.read().iter().any(|fault| fault.rule.is_over(now_ms)) {
            self.retain(|fault| !fault.rule.is_over(now_ms));
        }
    }

    fn retain(&self, mut stays: impl FnMut(&InjectedFault) -> bool) {
        let mut on = self.on.write();
        on.retain(|fault| {
            let stays = stays(fault);
            if !stays {
                log(fault.id, &fault.rule, "a fault is off again");
            }
            stays
        });
        self.is_any.store(!on.is_empty(), Ordering::Relaxed);
    }
}

fn log(id: u64, rule: &FaultRule, message: &str) {
    let table = rule.table.as_deref().unwrap_or("any");
    let operation = rule.operation.map_or("any", |operation| operation.name());
    tracing::warn!(id, table, operation, error = rule.kind.name(), share = rule.share, "{message}");
}
