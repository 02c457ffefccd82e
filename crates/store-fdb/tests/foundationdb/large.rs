//! Rows, records and commits that are larger than what FoundationDB takes at once.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use store::{
    Consistency, Direction, Key, Log, LogPosition, Partition, Position, Range, Read, Space, Store, WriteSet,
};
use store_fdb::model::{Faults, Model};
use store_fdb::{FdbStore, Options};

use crate::options;

const SPACE: Space = Space(3);

fn key(number: u8) -> Key {
    Key { space: SPACE, position: Position { partition: Partition::FIRST, sort: vec![number] } }
}

fn value(byte: u8, length: usize) -> Bytes {
    vec![byte; length].into()
}

async fn write(store: &FdbStore, puts: Vec<(Key, Bytes)>, appends: Vec<(Log, Bytes)>) {
    let keys: Vec<Key> = puts.iter().map(|(key, _)| key.clone()).collect();
    let mut decide = |_: &[Option<Bytes>]| WriteSet {
        puts: puts.clone(),
        appends: appends.clone(),
        now_us: 1_790_000_000_000_000,
        ..WriteSet::default()
    };
    store.update(&keys, &mut decide).await.expect("a write succeeds");
}

async fn rows(store: &dyn Read, direction: Direction) -> Vec<(u8, Bytes)> {
    let mut rows = Vec::new();
    let mut visit = |key: store::KeyRef<'_>, value: Bytes| {
        rows.push((key.sort[0], value));
        ControlFlow::Continue(())
    };
    let range = Range::all(SPACE);
    store.scan(&range, direction, Consistency::Latest, &mut visit).await.expect("a scan succeeds");
    rows
}

/// The kinds of pieces that are stored.
fn kinds(model: &Model) -> Vec<String> {
    let keys = model.keys();
    let kinds = keys.iter().map(|key| String::from_utf8_lossy(&key["lodestone".len() + 1..]).into_owned());
    let mut kinds: Vec<String> =
        kinds.filter(|key| key.starts_with('p')).map(|key| key.chars().take(2).collect()).collect();
    kinds.dedup();
    kinds
}

#[tokio::test]
async fn a_commit_of_forty_megabytes_is_whole_and_so_are_its_records() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    let puts: Vec<(Key, Bytes)> = (0..80).map(|number| (key(number), value(number, 400_000))).collect();
    let appends: Vec<(Log, Bytes)> = (0..20).map(|number| (Log(1), value(number, 400_000))).collect();
    write(&store, puts.clone(), appends.clone()).await;

    let expected: Vec<(u8, Bytes)> =
        puts.iter().map(|(key, value)| (key.position.sort[0], value.clone())).collect();
    assert_eq!(rows(&store, Direction::Forward).await, expected);
    let backward: Vec<(u8, Bytes)> = expected.into_iter().rev().collect();
    assert_eq!(rows(&store, Direction::Backward).await, backward);
    let records = store.read_log(Log(1), LogPosition(0), usize::MAX).await.expect("a log is read");
    let found: Vec<(Log, Bytes)> = records.iter().map(|(_, record)| (Log(1), record.clone())).collect();
    assert_eq!(found, appends);
    let times: Vec<u64> = records.iter().map(|(position, _)| position.time_us()).collect();
    assert!(times.iter().all(|time| *time == times[0]), "one commit has one time");
}

#[tokio::test]
async fn the_time_that_writing_ahead_takes_is_not_counted_as_waiting() {
    let impatient = Options { wait: Duration::ZERO, ..Options::default() };
    let store = FdbStore::on_model(&Model::default(), impatient).await.expect("a store");
    let puts: Vec<(Key, Bytes)> = (0..20).map(|number| (key(number), value(number, 400_000))).collect();
    write(&store, puts, vec![]).await;
    assert_eq!(rows(&store, Direction::Forward).await.len(), 20);
}

#[tokio::test]
async fn large_rows_leave_no_pieces_when_they_are_replaced_deleted_or_cleared() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    write(&store, vec![(key(1), value(1, 400_000)), (key(2), value(2, 250_000))], vec![]).await;
    assert_eq!(kinds(&model), ["pr"]);
    write(&store, vec![(key(1), value(3, 10))], vec![]).await;
    let mut delete = |_: &[Option<Bytes>]| WriteSet { deletes: vec![key(2)], ..WriteSet::default() };
    store.update(&[key(2)], &mut delete).await.expect("a row is deleted");
    assert!(kinds(&model).is_empty());
    assert_eq!(rows(&store, Direction::Forward).await, [(1, value(3, 10))]);

    write(&store, vec![(key(1), value(1, 400_000))], vec![(Log(1), value(5, 200_000))]).await;
    store.clear(SPACE).await.expect("a space is cleared");
    assert_eq!(kinds(&model), ["pl"]);
    store.trim_log(Log(1), LogPosition(u64::MAX)).await.expect("a log is trimmed");
    assert!(kinds(&model).is_empty());
}

#[tokio::test]
async fn a_snapshot_shows_large_rows_as_they_were() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    write(&store, vec![(key(1), value(1, 400_000)), (key(2), value(2, 5))], vec![]).await;
    let snapshot = store.snapshot().await.expect("a snapshot is taken");
    write(&store, vec![(key(1), value(8, 7)), (key(2), value(9, 300_000)), (key(3), value(3, 3))], vec![])
        .await;
    let expected = [(1, value(1, 400_000)), (2, value(2, 5))];
    assert_eq!(rows(&*snapshot, Direction::Forward).await, expected);
    store.clear(SPACE).await.expect("a space is cleared");
    assert_eq!(rows(&*snapshot, Direction::Forward).await, expected);
    assert_eq!(rows(&store, Direction::Forward).await, []);
}

/// What a scan shows until it is stopped after `count` rows.
async fn first_rows(store: &dyn Read, direction: Direction, count: usize) -> Vec<(u8, Bytes)> {
    let mut rows = Vec::new();
    let mut visit = |key: store::KeyRef<'_>, value: Bytes| {
        rows.push((key.sort[0], value));
        if rows.len() == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let range = Range::all(SPACE);
    store.scan(&range, direction, Consistency::Latest, &mut visit).await.expect("a scan succeeds");
    rows
}

#[tokio::test]
async fn a_scan_reads_large_rows_only_when_it_comes_to_them() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    write(&store, (0..50).map(|number| (key(number), value(number, 400_000))).collect(), vec![]).await;
    for (direction, first) in [(Direction::Forward, 0), (Direction::Backward, 49)] {
        let before = model.counts().bytes_read;
        assert_eq!(first_rows(&store, direction, 1).await, [(first, value(first, 400_000))]);
        let read = model.counts().bytes_read - before;
        assert!(read < 1_500_000, "{read} bytes for one row");
    }
}

#[tokio::test]
async fn what_takes_longer_than_a_transaction_goes_on_where_it_was() {
    let model = Model::with_faults(Faults { reads_max: 40, ..Faults::default() });
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    let number = |record: &Bytes| record[0];
    for part in 0..20_u8 {
        let numbers = part * 10..part * 10 + 10;
        let puts = numbers.clone().map(|number| (key(number), value(number, 150_000))).collect();
        let appends = numbers.map(|number| (Log(1), value(number, 150_000))).collect();
        write(&store, puts, appends).await;
    }
    let all: Vec<u8> = (0..200).collect();
    let found = rows(&store, Direction::Forward).await;
    assert_eq!(found.iter().map(|(key, _)| *key).collect::<Vec<_>>(), all);
    let found = rows(&store, Direction::Backward).await;
    assert_eq!(found.iter().rev().map(|(_, value)| number(value)).collect::<Vec<_>>(), all);
    let records = store.read_log(Log(1), LogPosition(0), usize::MAX).await.expect("a log is read");
    assert_eq!(records.iter().map(|(_, record)| number(record)).collect::<Vec<_>>(), all);
}

#[tokio::test]
async fn large_rows_are_cleared_and_replaced_while_many_snapshots_show_them() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    let before: Vec<(u8, Bytes)> = (0..60).map(|number| (number, value(number, 400_000))).collect();
    for part in before.chunks(10) {
        write(&store, part.iter().map(|(number, value)| (key(*number), value.clone())).collect(), vec![])
            .await;
    }
    let one = store.snapshot().await.expect("a snapshot is taken");
    store.clear(SPACE).await.expect("a space is cleared");
    assert_eq!(rows(&store, Direction::Forward).await, []);
    assert_eq!(rows(&*one, Direction::Forward).await, before);

    write(&store, vec![(key(1), value(7, 400_000))], vec![]).await;
    let mut snapshots = Vec::new();
    for _ in 0..30 {
        snapshots.push(store.snapshot().await.expect("a snapshot is taken"));
    }
    write(&store, vec![(key(1), value(8, 400_000))], vec![]).await;
    assert_eq!(rows(&store, Direction::Forward).await, [(1, value(8, 400_000))]);
    for snapshot in &snapshots {
        assert_eq!(rows(&**snapshot, Direction::Forward).await, [(1, value(7, 400_000))]);
    }
}

#[tokio::test]
async fn a_carried_log_of_many_megabytes_is_whole() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    let records: Vec<(LogPosition, Bytes)> =
        (1..60_u8).map(|number| (LogPosition::new(number.into(), 0), value(number, 300_000))).collect();
    let part = store::LogPart { log: Log(4), records: records.clone(), end: LogPosition::new(70, 0) };
    let mut carry = |_: &[Option<Bytes>]| WriteSet { log_parts: vec![part.clone()], ..WriteSet::default() };
    store.update(&[], &mut carry).await.expect("a log is carried");
    let found = store.read_log(Log(4), LogPosition(0), usize::MAX).await.expect("a log is read");
    assert_eq!(found, records);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_commit_is_whole_although_parts_of_it_fail() {
    for unknown in [2, 3] {
        let model = Model::with_faults(Faults { unknown, ..Faults::default() });
        let store = FdbStore::on_model(&model, options()).await.expect("a store");
        let puts: Vec<(Key, Bytes)> = (0..40).map(|number| (key(number), value(number, 390_000))).collect();
        write(&store, puts.clone(), vec![]).await;
        let expected: Vec<(u8, Bytes)> =
            puts.iter().map(|(key, value)| (key.position.sort[0], value.clone())).collect();
        assert_eq!(rows(&store, Direction::Forward).await, expected);
    }
}

#[tokio::test]
async fn an_update_that_decides_for_little_after_it_has_decided_for_much_writes_what_it_decided() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    let mut calls = 0;
    let mut decide = |_: &[Option<Bytes>]| {
        calls += 1;
        let count = if calls == 1 { 20 } else { 1 };
        let byte = calls;
        WriteSet {
            puts: (0..count).map(|number| (key(number), value(byte, 300_000))).collect(),
            ..WriteSet::default()
        }
    };
    store.update(&[key(0)], &mut decide).await.expect("a write succeeds");
    assert_eq!(rows(&store, Direction::Forward).await, [(0, value(2, 300_000))]);
}

#[tokio::test]
async fn records_that_are_ahead_of_the_clock_keep_their_pieces_when_older_ones_are_trimmed() {
    const MINUTE_US: u64 = 60_000_000;
    let model = Model::default();
    let store = FdbStore::on_model(&model, options()).await.expect("a store");
    let ahead_us = 1_790_000_000_000_000 + 10 * MINUTE_US;
    let cluster = store.cluster().expect("servers share it");
    cluster.raise_logs(&[Log(1)], ahead_us).await.expect("a log is raised");
    let appends: Vec<(Log, Bytes)> = (0..20).map(|number| (Log(1), value(number, 400_000))).collect();
    write(&store, vec![], appends.clone()).await;
    store.trim_log(Log(1), LogPosition::through(ahead_us)).await.expect("a log is trimmed");
    let records = store.read_log(Log(1), LogPosition(0), usize::MAX).await.expect("a log is read");
    assert_eq!(records.into_iter().map(|(_, record)| (Log(1), record)).collect::<Vec<_>>(), appends);
}
