//! Ranges: order, bounds, both directions.

use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;

use bytes::Bytes;

use super::{SPACE, key_in, position, scan, value, write};
use crate::{Consistency, Direction, Key, KeyRef, Partition, Position, Range, Space, Store};

/// Sort bytes in their order, with the cases that a flat or textual order gets wrong.
const SORTS: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\0\x01", b"\x01", b"a", b"a\0", b"\xff\xff"];

fn rows_of(space: Space) -> Vec<(Key, Bytes)> {
    let row = |byte: u8, sort: &[u8]| (key_in(space, byte, sort), value([&[byte], sort].concat()));
    [0, 1, 0x7f, 0x80, 0xff].into_iter().flat_map(|byte| SORTS.map(|sort| row(byte, sort))).collect()
}

pub async fn rows_are_ordered_by_partition_then_sort_bytes(store: Arc<dyn Store>) {
    let rows = rows_of(SPACE);
    // Written in another order than theirs.
    for index in 0..rows.len() {
        write(&*store, std::slice::from_ref(&rows[index * 17 % rows.len()]), &[]).await;
    }
    let mut expected: Vec<(Position, Bytes)> =
        rows.into_iter().map(|(key, value)| (key.position, value)).collect();
    assert!(expected.is_sorted());
    assert_eq!(scan(&*store, &Range::all(SPACE), Direction::Forward).await, expected);
    expected.reverse();
    assert_eq!(scan(&*store, &Range::all(SPACE), Direction::Backward).await, expected);
}

pub async fn every_kind_of_bounds_holds_in_both_directions(store: Arc<dyn Store>) {
    let rows = rows_of(SPACE);
    write(&*store, &rows, &[]).await;
    let rows: Vec<(Position, Bytes)> = rows.into_iter().map(|(key, value)| (key.position, value)).collect();

    // Positions with a row, positions between rows, and both ends of the space.
    let positions = [
        Position { partition: Partition::FIRST, sort: vec![] },
        position(1, ""),
        position(1, b"\0"),
        position(1, b"\0\0\0"),
        position(1, b"\xff\xff\xff"),
        position(0x40, "nothing here"),
        position(0x80, "a"),
        position(0xff, b"\xff\xff"),
        Position { partition: Partition::LAST, sort: vec![0xff; 3000] },
    ];
    let mut bounds = vec![Bound::Unbounded];
    bounds
        .extend(positions.iter().cloned().flat_map(|at| [Bound::Included(at.clone()), Bound::Excluded(at)]));
    for start in &bounds {
        for end in &bounds {
            check(&*store, &rows, start, end).await;
        }
    }
}

/// A scan in either direction visits exactly the rows between the bounds; a range whose end is before
/// its start is empty.
async fn check(
    store: &dyn Store,
    rows: &[(Position, Bytes)],
    start: &Bound<Position>,
    end: &Bound<Position>,
) {
    let range = Range { space: SPACE, start: start.clone(), end: end.clone() };
    let bounds = (start.as_ref(), end.as_ref());
    let mut expected: Vec<_> =
        rows.iter().filter(|(position, _)| bounds.contains(position)).cloned().collect();
    assert_eq!(scan(store, &range, Direction::Forward).await, expected, "{range:?}");
    expected.reverse();
    assert_eq!(scan(store, &range, Direction::Backward).await, expected, "{range:?} backward");
}

pub async fn rows_of_neighbouring_spaces_are_not_seen(store: Arc<dyn Store>) {
    for space in
        [Space(0), Space(SPACE.0 - 1), Space(SPACE.0 + 1), Space(SPACE.0 << 8), Space(i64::MAX as u64)]
    {
        write(&*store, &rows_of(space), &[]).await;
    }
    check(&*store, &[], &Bound::Unbounded, &Bound::Unbounded).await;

    let alone = key_in(SPACE, 3, "alone");
    write(&*store, &[(alone.clone(), value("x"))], &[]).await;
    let rows = [(alone.position, value("x"))];
    check(&*store, &rows, &Bound::Unbounded, &Bound::Unbounded).await;
    let last = Position { partition: Partition::LAST, sort: vec![0xff; 100] };
    check(&*store, &rows, &Bound::Unbounded, &Bound::Included(last)).await;
    let first = Position { partition: Partition::FIRST, sort: vec![] };
    check(&*store, &rows, &Bound::Excluded(first), &Bound::Unbounded).await;
}

pub async fn a_visitor_ends_the_scan_by_breaking(store: Arc<dyn Store>) {
    let rows = rows_of(SPACE);
    write(&*store, &rows, &[]).await;
    for (direction, first) in [(Direction::Forward, &rows[0]), (Direction::Backward, &rows[rows.len() - 1])] {
        for wanted in 1..5 {
            let mut seen = Vec::new();
            let mut visit = |key: KeyRef<'_>, value: Bytes| {
                seen.push((key.sort.to_vec(), value));
                if seen.len() == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let range = Range::all(SPACE);
            store.scan(&range, direction, Consistency::Latest, &mut visit).await.expect("a scan succeeds");
            assert_eq!(seen.len(), wanted);
            assert_eq!(seen[0], (first.0.position.sort.clone(), first.1.clone()));
        }
    }
}
