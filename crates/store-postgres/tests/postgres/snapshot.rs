//! A snapshot occupies a connection of its own for as long as it lives.

use std::time::Duration;

use store::{Store, StoreError};
use store_postgres::{Options, PostgresStore};

use crate::support::{OPEN_TRANSACTIONS, fresh_database, increment, read_number, session, wait_for_count};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_dropped_snapshot_ends_its_transaction_and_makes_room_for_another() {
    let url = fresh_database().await;
    let options =
        Options { connections: 1, snapshots: 1, wait: Duration::from_secs(1), ..Options::default() };
    let store = PostgresStore::open(&url, options).await.expect("the store opens");
    let other = session(&url).await;
    for round in 0..3 {
        let snapshot = store.snapshot().await.expect("a snapshot");
        wait_for_count(&other, OPEN_TRANSACTIONS, 1).await;
        increment(&store, "row").await.expect("writers are not kept waiting");
        assert_eq!(read_number(&*snapshot, "row").await, round);
        assert!(matches!(store.snapshot().await, Err(StoreError::Unavailable(_))), "one at a time");
        drop(snapshot);
        wait_for_count(&other, OPEN_TRANSACTIONS, 0).await;
    }
}
