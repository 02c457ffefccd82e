//! Rows: written, read, replaced, removed.

use std::sync::Arc;

use super::{SPACE, get, key, key_in, put, scan, value, write};
use crate::{Consistency, Direction, Key, Log, LogPosition, Range, Space, Store, StoreError, WriteSet};

pub async fn rows_come_back_in_the_order_of_the_keys(store: Arc<dyn Store>) {
    let (first, second, missing) = (key(1, "a"), key(2, "b"), key(1, "b"));
    write(&*store, &[(first.clone(), value("one")), (second.clone(), value("two"))], &[]).await;

    assert_eq!(get(&*store, &[]).await, []);
    let asked = [second.clone(), missing, first.clone(), second];
    let expected = [Some(value("two")), None, Some(value("one")), Some(value("two"))];
    assert_eq!(get(&*store, &asked).await, expected);
    let eventual = store.get(&[first], Consistency::Eventual).await.expect("a read succeeds");
    assert_eq!(eventual.len(), 1);
}

pub async fn a_put_replaces_and_a_delete_removes(store: Arc<dyn Store>) {
    let (kept, removed) = (key(1, "kept"), key(1, "removed"));
    let keys = [kept.clone(), removed.clone()];
    write(&*store, &[(kept.clone(), value("1")), (removed.clone(), value("1"))], &[]).await;
    write(&*store, &[(kept.clone(), value("2"))], std::slice::from_ref(&removed)).await;
    assert_eq!(get(&*store, &keys).await, [Some(value("2")), None]);

    // Deleting what is not there is no error, and a removed row can come back.
    write(&*store, &[], std::slice::from_ref(&removed)).await;
    put(&*store, &removed, value("3")).await;
    assert_eq!(get(&*store, &keys).await, [Some(value("2")), Some(value("3"))]);
}

pub async fn keys_of_any_bytes_and_values_of_any_size_come_back(store: Arc<dyn Store>) {
    let sorts: [&[u8]; 9] = [
        b"",
        b"\0",
        b"\0\0",
        b"\0\xff",
        b"a\0b",
        b"\xff",
        b"\xff\xff",
        b"not utf-8: \xc3\x28 \x80",
        &[0xab; 2048],
    ];
    for (index, sort) in sorts.iter().enumerate() {
        put(&*store, &key(1, sort), value([index as u8])).await;
        put(&*store, &key(0xff, sort), value([0xf0 | index as u8])).await;
    }
    for (index, sort) in sorts.iter().enumerate() {
        let rows = get(&*store, &[key(1, sort), key(0xff, sort)]).await;
        assert_eq!(rows, [Some(value([index as u8])), Some(value([0xf0 | index as u8]))], "sort {sort:?}");
    }
    assert_eq!(scan(&*store, &Range::all(SPACE), Direction::Forward).await.len(), 2 * sorts.len());

    // An empty value is a row like any other; 500 KB is more than the largest item.
    let sizes = [0, 1, 4096, 70_000, 500_000];
    for size in sizes {
        let bytes: Vec<u8> = (0..size).map(|index: usize| ((index * index) >> 3) as u8).collect();
        put(&*store, &key(2, size.to_string()), value(&bytes)).await;
        assert_eq!(get(&*store, &[key(2, size.to_string())]).await, [Some(value(&bytes))], "{size} bytes");
    }
    let first = super::position(2, "");
    let range = Range { start: std::ops::Bound::Included(first), ..Range::all(SPACE) };
    let lengths: Vec<usize> = scan(&*store, &range, Direction::Forward)
        .await
        .iter()
        .map(|(_, value)| value.len())
        .take(5)
        .collect();
    assert_eq!(lengths, [0, 1, 4096, 500_000, 70_000], "in the order of the sizes as text");
}

pub async fn decide_sees_the_latest_rows_in_the_order_of_its_keys(store: Arc<dyn Store>) {
    let keys = [key(9, "z"), key(1, "a"), key(9, "z"), key(5, "absent")];
    write(&*store, &[(keys[0].clone(), value("z")), (keys[1].clone(), value("a"))], &[]).await;
    for round in ["first", "second"] {
        let mut seen = Vec::new();
        let mut decide = |rows: &[Option<bytes::Bytes>]| {
            seen = rows.to_vec();
            WriteSet { puts: vec![(key(1, "a"), value(round))], ..WriteSet::default() }
        };
        store.update(&keys, &mut decide).await.expect("an update succeeds");
        let latest = if round == "first" { value("a") } else { value("first") };
        assert_eq!(seen, [Some(value("z")), Some(latest), Some(value("z")), None]);
    }
}

pub async fn an_empty_write_set_changes_nothing(store: Arc<dyn Store>) {
    put(&*store, &key(1, "a"), value("1")).await;
    let mut calls = 0;
    let mut decide = |_: &[Option<bytes::Bytes>]| {
        calls += 1;
        WriteSet::default()
    };
    store.update(&[key(1, "a"), key(1, "b")], &mut decide).await.expect("an update succeeds");
    assert!(calls > 0);
    assert_eq!(get(&*store, &[key(1, "a"), key(1, "b")]).await, [Some(value("1")), None]);
}

pub async fn a_write_set_may_name_keys_that_were_not_locked(store: Arc<dyn Store>) {
    let index = Space(SPACE.0 + 1);
    let derived = key_in(index, 200, "row of an index");
    put(&*store, &key_in(index, 201, "old"), value("old")).await;
    let mut decide = |_: &[Option<bytes::Bytes>]| WriteSet {
        puts: vec![(key(1, "base"), value("base")), (derived.clone(), value("derived"))],
        deletes: vec![key_in(index, 201, "old")],
        appends: vec![(Log(1), value("change"))],
        now_us: 1,
        ..WriteSet::default()
    };
    store.update(&[key(1, "base")], &mut decide).await.expect("an update succeeds");
    let rows = get(&*store, &[key(1, "base"), derived.clone(), key_in(index, 201, "old")]).await;
    assert_eq!(rows, [Some(value("base")), Some(value("derived")), None]);
    let records = store.read_log(Log(1), LogPosition(0), 10).await.expect("a log is read");
    assert_eq!(records, [(LogPosition::new(1, 0), value("change"))]);
}

pub async fn an_update_without_keys_still_commits(store: Arc<dyn Store>) {
    let mut decide = |rows: &[Option<bytes::Bytes>]| {
        assert!(rows.is_empty());
        WriteSet { puts: vec![(key(1, "a"), value("1"))], ..WriteSet::default() }
    };
    store.update(&[], &mut decide).await.expect("an update succeeds");
    assert_eq!(get(&*store, &[key(1, "a")]).await, [Some(value("1"))]);
}

pub async fn clear_removes_only_its_space(store: Arc<dyn Store>) {
    let spaces = [Space(SPACE.0 - 1), SPACE, Space(SPACE.0 + 1)];
    for space in spaces {
        // More rows than a step of a bounded clear is likely to take at once.
        let puts: Vec<(Key, bytes::Bytes)> = (0..2500_u32)
            .map(|index| (key_in(space, index as u8, index.to_be_bytes()), value("x")))
            .collect();
        write(&*store, &puts, &[]).await;
        put(&*store, &Key { space, position: extreme(0x00) }, value("first")).await;
        put(&*store, &Key { space, position: extreme(0xff) }, value("last")).await;
    }
    store.clear(SPACE).await.expect("a space is cleared");
    for (space, expected) in spaces.into_iter().zip([2502, 0, 2502]) {
        let rows = scan(&*store, &Range::all(space), Direction::Forward).await;
        assert_eq!(rows.len(), expected, "{space:?}");
    }
    // A cleared space is empty, not gone; and clearing is called again after it was cut short.
    store.clear(SPACE).await.expect("an empty space is cleared");
    put(&*store, &key(1, "again"), value("again")).await;
    assert_eq!(get(&*store, &[key(1, "again")]).await, [Some(value("again"))]);
}

fn extreme(byte: u8) -> crate::Position {
    let partition = crate::Partition([byte; crate::Partition::LENGTH]);
    crate::Position { partition, sort: if byte == 0 { vec![] } else { vec![byte; 64] } }
}

pub async fn a_snapshot_does_not_see_later_writes(store: Arc<dyn Store>) {
    let puts: Vec<_> = (0..50_u8).map(|index| (key(index, "row"), value("before"))).collect();
    write(&*store, &puts, &[]).await;
    let snapshot = store.snapshot().await.expect("a snapshot is taken");

    let changed: Vec<_> = (0..40_u8).map(|index| (key(index, "row"), value("after"))).collect();
    let removed: Vec<_> = (40..50_u8).map(|index| key(index, "row")).collect();
    write(&*store, &changed, &removed).await;
    put(&*store, &key(3, "new"), value("after")).await;

    for _ in 0..2 {
        let rows = scan(&*snapshot, &Range::all(SPACE), Direction::Backward).await;
        assert_eq!(rows.len(), 50);
        assert!(rows.iter().all(|(_, row)| *row == value("before")));
        let rows = get(&*snapshot, &[key(3, "new"), key(45, "row"), key(0, "row")]).await;
        assert_eq!(rows, [None, Some(value("before")), Some(value("before"))]);
        // Emptying the live space changes nothing either.
        store.clear(SPACE).await.expect("a space is cleared");
    }
    assert_eq!(scan(&*store, &Range::all(SPACE), Direction::Forward).await, []);
}

pub async fn calls_after_close_fail(store: Arc<dyn Store>) {
    put(&*store, &key(1, "a"), value("1")).await;
    store.close().await.expect("a store closes");
    let mut decide = |_: &[Option<bytes::Bytes>]| WriteSet {
        puts: vec![(key(1, "a"), value("2"))],
        ..WriteSet::default()
    };
    let outcome = store.update(&[key(1, "a")], &mut decide).await;
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    let outcome = store.get(&[key(1, "a")], Consistency::Latest).await;
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
}
