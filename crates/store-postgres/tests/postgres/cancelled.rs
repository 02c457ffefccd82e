//! A caller that loses interest in the middle leaves neither locks nor an open transaction behind.

use std::time::Duration;

use store::StoreError;
use store_postgres::{Options, PostgresStore};

use crate::support::{
    OPEN_TRANSACTIONS, WAITING_FOR_LOCKS, fresh_database, increment, options, read_number, session,
    wait_for_count,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_update_dropped_while_it_waits_for_a_lock_leaves_nothing_behind() {
    let url = fresh_database().await;
    // With one connection, whatever the dropped update left on it would meet the next one.
    let options = Options { transactions: 1, ..options() };
    let store = PostgresStore::open(&url, options).await.expect("the store opens");
    let other = session(&url).await;
    other.batch_execute("BEGIN; SELECT FROM lodestone_lock FOR UPDATE").await.expect("all locks");
    let third = session(&url).await;
    tokio::select! {
        outcome = increment(&store, "row") => panic!("it cannot end: {outcome:?}"),
        () = wait_for_count(&third, WAITING_FOR_LOCKS, 1) => {}
    }
    other.batch_execute("ROLLBACK").await.expect("the locks are free");
    assert_eq!(read_number(&store, "row").await, 0);
    wait_for_count(&other, OPEN_TRANSACTIONS, 0).await;
    increment(&store, "row").await.expect("a write succeeds");
    assert_eq!(read_number(&store, "row").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_update_waits_for_a_lock_only_so_long() {
    let url = fresh_database().await;
    let options = Options { wait: Duration::from_millis(300), transactions: 1, ..Options::default() };
    let store = PostgresStore::open(&url, options).await.expect("the store opens");
    let other = session(&url).await;
    other.batch_execute("BEGIN; SELECT FROM lodestone_lock FOR UPDATE").await.expect("all locks");
    let outcome = increment(&store, "row").await;
    assert!(
        matches!(&outcome, Err(StoreError::Unavailable(reason)) if reason.contains("55P03")),
        "{outcome:?}"
    );
    other.batch_execute("ROLLBACK").await.expect("the locks are free");
    increment(&store, "row").await.expect("a write succeeds");
}
