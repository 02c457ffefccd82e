//! The random workload on a store that fails: writes that are refused late, writes whose outcome stays unknown,
//! writes that decide twice. What was acknowledged is there, what was not is there whole or not at all, and
//! every index equals its table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Engine, Environment};
use store::Store;
use store::fault::FaultStore;
use store::memory::MemoryStore;

use super::workload::{Connection, Workload};

const REQUESTS: usize = 4000;
/// One changing call in this many is given a fault, of four kinds.
const FAULT_ONE_IN: u64 = 8;

/// The time never changes, and random numbers count up.
struct Still(AtomicU64);

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        1_800_000_000_000
    }

    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

async fn open(store: Arc<dyn Store>) -> Arc<Engine> {
    Arc::new(Engine::open(store, Arc::new(Still(AtomicU64::new(1)))).await.expect("a database"))
}

/// Before the faults and after them another database looks at the same store, as after a restart.
async fn check(seed: u64) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let workload = Workload::new(seed, REQUESTS);
    let mut events = workload.set_up(&Connection::new(open(store.clone()).await)).await;

    let faulty = Arc::new(FaultStore::seeded(store.clone(), seed, FAULT_ONE_IN));
    events.extend(workload.run(&Connection::to_failing(open(faulty).await)).await);

    let sound = open(store).await;
    events.extend(workload.look(&Connection::new(sound.clone())).await);
    let findings = simulation::check(&events).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
    let enough = findings.unknown_outcomes > 100 && findings.versions_written > 50 && findings.sums > 50;
    assert!(enough, "seed {seed}: {findings:?}");

    let found = sound.verify().await.expect("the data is read");
    assert_eq!((found.faults, found.reports), (0, Vec::new()), "seed {seed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_is_lost_and_nothing_is_done_in_part() {
    for seed in 1..=3 {
        check(seed).await;
    }
}
