//! Opening: on an empty database, on one in use, on one of another format, and all at once.

use store::{Store, StoreError};
use store_postgres::{Options, PostgresStore};

use crate::support::{fresh_database, increment, open, read_number, session};

#[tokio::test]
async fn rows_are_still_there_after_closing_and_opening_again() {
    let url = fresh_database().await;
    let store = open(&url).await;
    increment(&store, "row").await.expect("a write succeeds");
    store.close().await.expect("the store closes");
    assert_eq!(read_number(&open(&url).await, "row").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_at_once_on_an_empty_database_all_come_up() {
    let url = fresh_database().await;
    let servers: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn({
                let url = url.clone();
                async move { open(&url).await }
            })
        })
        .collect();
    for server in servers {
        let store = server.await.expect("no server panics");
        increment(&store, "row").await.expect("a write succeeds");
    }
    assert_eq!(read_number(&open(&url).await, "row").await, 8);
}

#[tokio::test]
async fn a_database_of_another_format_is_refused_by_name() {
    let url = fresh_database().await;
    open(&url).await;
    session(&url).await.batch_execute("UPDATE lodestone_format SET version = 99").await.expect("an update");
    match PostgresStore::open(&url, Options::default()).await.err() {
        Some(StoreError::Format(reason)) => assert!(reason.contains("format 99"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_that_keeps_the_password() {
    let url = "postgresql://someone:secret@127.0.0.1:1/database";
    match PostgresStore::open(url, Options::default()).await.err() {
        Some(StoreError::Unavailable(reason)) => assert!(!reason.contains("secret"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
