//! Rows, records and commits that are larger than what FoundationDB takes at once.

use std::ops::ControlFlow;

use bytes::Bytes;
use store::{
    Consistency, Direction, Key, Log, LogPosition, Partition, Position, Range, Read, Space, Store, WriteSet,
};
use store_fdb::model::Model;
use store_fdb::{FdbStore, Options};

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
    let store = FdbStore::on_model(&model, Options::default()).await.expect("a store");
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
async fn large_rows_leave_no_pieces_when_they_are_replaced_deleted_or_cleared() {
    let model = Model::default();
    let store = FdbStore::on_model(&model, Options::default()).await.expect("a store");
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
    let store = FdbStore::on_model(&model, Options::default()).await.expect("a store");
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
