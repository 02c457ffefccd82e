//! What a cluster does to clients on a bad day: lost answers to commits, transactions that are too old, processes that
//! lag.

use std::sync::Arc;

use bytes::Bytes;
use store::{Consistency, Key, Log, LogPosition, Partition, Position, Read, Space, Store, WriteSet};
use store_fdb::FdbStore;
use store_fdb::model::{Faults, Model};

use crate::options;

const SERVERS: usize = 2;
const TASKS: usize = 8;
const INCREMENTS: u64 = 25;

fn counter() -> Key {
    Key { space: Space(1), position: Position { partition: Partition::FIRST, sort: b"counter".to_vec() } }
}

fn number(row: &Option<Bytes>) -> u64 {
    row.as_ref().map_or(0, |row| u64::from_be_bytes(row[..].try_into().expect("8 bytes")))
}

async fn count_up(store: &FdbStore) {
    let key = counter();
    let mut decide = |rows: &[Option<Bytes>]| {
        let next = Bytes::copy_from_slice(&(number(&rows[0]) + 1).to_be_bytes());
        WriteSet {
            puts: vec![(key.clone(), next.clone())],
            appends: vec![(Log(1), next)],
            ..WriteSet::default()
        }
    };
    store.update(std::slice::from_ref(&key), &mut decide).await.expect("an increment succeeds");
}

/// Servers that count up one row, and append each number to a log, while a reader tails it.
async fn count_on(model: Model) {
    let mut stores = Vec::new();
    for _ in 0..SERVERS {
        stores.push(Arc::new(FdbStore::on_model(&model, options()).await.expect("a store")));
    }
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = stores[task % SERVERS].clone();
            tokio::spawn(async move {
                for _ in 0..INCREMENTS {
                    count_up(&store).await;
                }
            })
        })
        .collect();
    let (reader, mut seen) = (stores[0].clone(), Vec::new());
    let total = TASKS as u64 * INCREMENTS;
    while seen.len() as u64 != total {
        let after = seen.last().map_or(LogPosition(0), |(at, _)| *at);
        seen.extend(reader.read_log(Log(1), after, 10).await.expect("a log is read"));
        assert!(seen.len() as u64 <= total, "a record too many");
        tokio::task::yield_now().await;
        if tasks.iter().all(tokio::task::JoinHandle::is_finished) && seen.len() as u64 != total {
            let rest = reader.read_log(Log(1), seen.last().map_or(LogPosition(0), |(at, _)| *at), usize::MAX);
            seen.extend(rest.await.expect("a log is read"));
            break;
        }
    }
    for task in tasks {
        task.await.expect("a task finishes");
    }
    let rows = stores[1].get(&[counter()], Consistency::Latest).await.expect("a row is read");
    assert_eq!(number(&rows[0]), total, "no increment is lost, and none is done twice");
    let numbers: Vec<u64> = seen.iter().map(|(_, record)| number(&Some(record.clone()))).collect();
    assert_eq!(numbers, (1..=total).collect::<Vec<_>>(), "the reader has seen every record, in order");
    for store in stores {
        store.close().await.expect("a store is closed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn increments_on_two_servers_are_exact() {
    count_on(Model::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn increments_are_exact_although_answers_to_commits_are_lost() {
    count_on(Model::with_faults(Faults { unknown: 4, ..Faults::default() })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn increments_are_exact_although_transactions_fail() {
    count_on(Model::with_faults(Faults { too_old: 9, behind: 29, unknown: 9, reads_max: 0 })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_is_closed_leaves_nothing_but_its_data() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    for _ in 0..5 {
        count_up(&store).await;
    }
    let snapshot = store.snapshot().await.expect("a snapshot is taken");
    count_up(&store).await;
    drop(snapshot);
    store.trim_log(Log(1), LogPosition(u64::MAX)).await.expect("a log is trimmed");
    // The snapshot is closed by a task.
    let kinds = || -> Vec<u8> { model.keys().iter().map(|key| key["lodestone".len() + 1]).collect() };
    while kinds().iter().any(|kind| b"su".contains(kind)) {
        tokio::task::yield_now().await;
    }
    store.close().await.expect("a store is closed");
    assert_eq!(kinds(), b"efr", "the end of the log, the format and the row");
}
