//! Each fault does what its name says, and without faults the wrapper changes nothing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use store::fault::{Fault, FaultStore};
use store::memory::MemoryStore;
use store::{Consistency, Key, Partition, Position, Read, Space, Store, StoreError, WriteSet};

fn row() -> Key {
    Key { space: Space(1), position: Position { partition: Partition::FIRST, sort: vec![] } }
}

/// Makes the row one byte longer. Returns the store's answer and how often it called `decide`.
async fn lengthen(store: &dyn Store) -> (Result<(), StoreError>, u32) {
    let mut asked = 0;
    let mut decide = |rows: &[Option<Bytes>]| {
        asked += 1;
        let length = rows[0].as_ref().map_or(0, Bytes::len);
        WriteSet { puts: vec![(row(), Bytes::from(vec![b'x'; length + 1]))], ..WriteSet::default() }
    };
    let answer = store.update(&[row()], &mut decide).await;
    (answer, asked)
}

async fn length(store: &dyn Store) -> usize {
    let rows = store.get(&[row()], Consistency::Latest).await.expect("a read succeeds");
    rows[0].as_ref().map_or(0, Bytes::len)
}

fn scripted(script: &[Option<Fault>]) -> FaultStore {
    FaultStore::scripted(Arc::new(MemoryStore::new()), script.iter().copied())
}

#[tokio::test]
async fn a_fault_before_the_commit_changes_nothing() {
    let store = scripted(&[Some(Fault::BeforeCommit)]);
    let (answer, asked) = lengthen(&store).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))));
    assert_eq!((asked, length(&store).await), (1, 0));
    assert!(lengthen(&store).await.0.is_ok(), "the script is over");
    assert_eq!(length(&store).await, 1);
}

#[tokio::test]
async fn a_fault_after_the_commit_changes_everything() {
    let store = scripted(&[None, Some(Fault::AfterCommit)]);
    assert!(lengthen(&store).await.0.is_ok());
    assert!(matches!(lengthen(&store).await.0, Err(StoreError::Ambiguous(_))));
    assert_eq!(length(&store).await, 2);
}

#[tokio::test]
async fn a_conflict_asks_twice_and_commits_once() {
    let store = scripted(&[Some(Fault::Conflict)]);
    let (answer, asked) = lengthen(&store).await;
    assert!(answer.is_ok());
    assert_eq!((asked, length(&store).await), (2, 1));
}

#[tokio::test]
async fn a_delay_only_delays() {
    let store = scripted(&[Some(Fault::Delay(Duration::from_millis(5)))]);
    let start = std::time::Instant::now();
    assert!(lengthen(&store).await.0.is_ok());
    assert!(start.elapsed() >= Duration::from_millis(5));
    assert_eq!(length(&store).await, 1);
}

#[tokio::test]
async fn clearing_and_reading_fail_too() {
    let store = scripted(&[None, Some(Fault::BeforeCommit), Some(Fault::AfterCommit)]);
    assert!(lengthen(&store).await.0.is_ok());
    assert!(matches!(store.clear(Space(1)).await, Err(StoreError::Unavailable(_))));
    assert_eq!(length(&store).await, 1);
    assert!(matches!(store.clear(Space(1)).await, Err(StoreError::Ambiguous(_))));
    assert_eq!(length(&store).await, 0);

    store.fail_reads(true);
    let answer = store.get(&[row()], Consistency::Latest).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))));
    store.fail_reads(false);
    assert_eq!(length(&store).await, 0);
}

#[tokio::test]
async fn a_poisoned_store_refuses_every_later_write_and_says_so() {
    let store = scripted(&[None, Some(Fault::Poison)]);
    assert!(lengthen(&store).await.0.is_ok());
    assert!(store.health().is_ok());
    for _ in 0..2 {
        assert!(matches!(lengthen(&store).await.0, Err(StoreError::Poisoned(_))));
        assert!(matches!(store.health(), Err(StoreError::Poisoned(_))));
    }
    assert_eq!(length(&store).await, 1, "reads still work");
}

#[tokio::test]
async fn an_injected_panic_changes_nothing_and_leaves_the_store_usable() {
    let store = Arc::new(scripted(&[]));
    store.follow([Some(Fault::Panic)]);
    let panicking = tokio::spawn({
        let store = Arc::clone(&store);
        async move { lengthen(&*store).await.0 }
    });
    assert!(panicking.await.expect_err("the call panics").is_panic());
    assert!(lengthen(&*store).await.0.is_ok());
    assert_eq!(length(&*store).await, 1);
}

#[tokio::test]
async fn the_same_seed_gives_the_same_faults() {
    let outcomes = async |seed: u64| {
        let store = FaultStore::seeded(Arc::new(MemoryStore::new()), seed, 3);
        let mut outcomes = Vec::new();
        for _ in 0..60 {
            let (answer, asked) = lengthen(&store).await;
            outcomes.push((answer.map_err(|error| error.to_string()), asked));
        }
        (outcomes, length(&store).await)
    };
    let first = outcomes(1).await;
    assert_eq!(first, outcomes(1).await);
    assert_ne!(first, outcomes(2).await);
    let failed = first.0.iter().filter(|(answer, _)| answer.is_err()).count();
    assert!((1..40).contains(&failed), "{failed} of 60 failed");
}

mod without_faults {
    use super::*;

    store::conformance_tests!(|| async { (Arc::new(scripted(&[])) as Arc<dyn Store>, ()) });
}
