//! A connection that breaks: before COMMIT nothing happened, afterwards the outcome is found, and in either
//! case the store works again by itself.

use std::time::Duration;

use store::{Consistency, Direction, Range, Read, Space, StoreError};
use store_postgres::{Options, PostgresStore};

use crate::proxy::{Answers, Proxy};
use crate::support::{
    TERMINATE_ALL, WAITING_FOR_LOCKS, fresh_database, increment, increment_while, open, options, read_number,
    session, until, wait_for_count,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_connection_lost_while_waiting_for_a_lock_is_unavailable() {
    let url = fresh_database().await;
    let store = open(&url).await;
    let other = session(&url).await;
    other.batch_execute("BEGIN; SELECT FROM lodestone_lock FOR UPDATE").await.expect("all locks");
    let terminate = async {
        let third = session(&url).await;
        wait_for_count(&third, WAITING_FOR_LOCKS, 1).await;
        third.batch_execute(TERMINATE_ALL).await.expect("the store's connections end");
    };
    let (outcome, ()) = tokio::join!(increment(&store, "row"), terminate);
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    other.batch_execute("ROLLBACK").await.expect("the locks are free");
    increment(&store, "row").await.expect("the store is in order again");
    scan_until_noticed(&store).await;
    assert_eq!(read_number(&store, "row").await, 1);
}

/// The server has hung up; the store may learn of it a moment later, but not much.
async fn scan_until_noticed(store: &PostgresStore) {
    let mut visit = |_: store::KeyRef<'_>, _| std::ops::ControlFlow::Continue(());
    let range = Range::all(Space(1));
    until("the store notices", async || {
        let scanned = store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await;
        assert!(matches!(scanned, Ok(()) | Err(StoreError::Unavailable(_))), "{scanned:?}");
        scanned.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_lost_while_idle_are_replaced_unnoticed() {
    let url = fresh_database().await;
    let store = open(&url).await;
    increment(&store, "row").await.expect("a write succeeds");
    let other = session(&url).await;
    other.batch_execute(TERMINATE_ALL).await.expect("the store's connections end");
    wait_for_count(
        &other,
        "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'lodestone'",
        0,
    )
    .await;
    scan_until_noticed(&store).await;
    // Updates have connections of their own.
    until("a write succeeds", async || {
        let written = increment(&store, "row").await;
        assert!(matches!(written, Ok(()) | Err(StoreError::Unavailable(_))), "{written:?}");
        written.is_ok()
    })
    .await;
    assert_eq!(read_number(&store, "row").await, 2);
}

/// Updates a row through a wire that fails between its reading and its commit. Says what the store
/// answered and what is in the row.
async fn update_through(answers: Answers, options: Options) -> (Result<(), StoreError>, u64) {
    let url = fresh_database().await;
    let proxy = Proxy::start(&url).await;
    let store = PostgresStore::open(&proxy.url(&url), options).await.expect("the store opens");
    increment(&store, "row").await.expect("a write succeeds");
    let outcome = increment_while(&store, "row", &mut || proxy.set(answers)).await;
    proxy.set(Answers::Arrive);
    increment(&store, "other row").await.expect("the store is in order again");
    (outcome, read_number(&open(&url).await, "row").await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_whose_reply_was_lost_is_found_and_not_repeated() {
    let (outcome, value) = update_through(Answers::EndAtCommit, options()).await;
    outcome.expect("the commit is found");
    assert_eq!(value, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_falls_silent_for_good_is_ambiguous_in_bounded_time() {
    let second = Duration::from_secs(1);
    let options = Options { wait: second, reply: 2 * second, failover: second, ..Options::default() };
    let (outcome, _) = update_through(Answers::Vanish, options).await;
    assert!(matches!(outcome, Err(StoreError::Ambiguous(_))), "{outcome:?}");
}

/// A deferred check of the test makes COMMIT itself wait for a lock, where it can be killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_whose_server_process_died_is_not_found_and_starts_over() {
    let url = fresh_database().await;
    let store = open(&url).await;
    let other = session(&url).await;
    let fault = "CREATE TABLE gate (open boolean); INSERT INTO gate VALUES (true);
         CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             PERFORM open FROM gate FOR UPDATE; RETURN NULL;
         END $$;
         CREATE CONSTRAINT TRIGGER pass AFTER INSERT ON lodestone_row DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION pass()";
    other.batch_execute(fault).await.expect("a gate");
    other.batch_execute("BEGIN; SELECT FROM gate FOR UPDATE").await.expect("the gate is shut");
    let terminate = async {
        let third = session(&url).await;
        wait_for_count(&third, WAITING_FOR_LOCKS, 1).await;
        third.batch_execute(TERMINATE_ALL).await.expect("the store's connections end");
        other.batch_execute("ROLLBACK").await.expect("the gate is open");
    };
    let mut decisions = 0;
    let mut count = || decisions += 1;
    let (outcome, ()) = tokio::join!(increment_while(&store, "row", &mut count), terminate);
    outcome.expect("the second try succeeds");
    scan_until_noticed(&store).await;
    assert_eq!((decisions, read_number(&store, "row").await), (2, 1));
}

/// The transaction of a closed session is still on its way when its outcome is asked for: it must not be
/// committed later.
#[tokio::test]
async fn a_commit_that_comes_after_its_outcome_was_asked_for_fails() {
    let url = fresh_database().await;
    let store = open(&url).await;
    increment(&store, "row").await.expect("a write succeeds");
    let other = session(&url).await;
    let close = "UPDATE lodestone_commit SET is_closed = true";
    assert_eq!(other.execute(close, &[]).await.expect("the session is closed"), 1);
    let outcome = increment(&store, "row").await;
    assert!(
        matches!(&outcome, Err(StoreError::Unavailable(reason)) if reason.contains("23502")),
        "{outcome:?}"
    );
    assert_eq!(read_number(&store, "row").await, 1);
}
