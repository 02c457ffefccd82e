//! Logs: positions, order, trimming, tailing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

use super::{get, key, number, number_bytes, value};
use crate::{Log, LogPart, LogPosition, Read, Store, WriteSet};

async fn append(store: &dyn Store, records: &[(Log, Bytes)]) {
    append_at(store, 0, records).await;
}

async fn append_at(store: &dyn Store, now_us: u64, records: &[(Log, Bytes)]) {
    let mut decide =
        |_: &[Option<Bytes>]| WriteSet { appends: records.to_vec(), now_us, ..WriteSet::default() };
    store.update(&[], &mut decide).await.expect("an append succeeds");
}

async fn read(store: &(impl Read + ?Sized), log: Log, after: u64, limit: usize) -> Vec<(u64, Bytes)> {
    let records = store.read_log(log, LogPosition(after), limit).await.expect("a log is read");
    records.into_iter().map(|(position, record)| (position.0, record)).collect()
}

async fn end(store: &(impl Read + ?Sized), log: Log) -> u64 {
    store.log_end(log).await.expect("a log has an end").0
}

pub async fn records_are_read_in_the_order_of_their_commits(store: Arc<dyn Store>) {
    let log = Log(3);
    assert_eq!(read(&*store, log, 0, 10).await, []);
    append(&*store, &[(log, value("a"))]).await;
    append(&*store, &[(log, value("b")), (log, value("")), (log, value("d"))]).await;
    let records = read(&*store, log, 0, 10).await;
    let contents: Vec<Bytes> = records.iter().map(|(_, record)| record.clone()).collect();
    assert_eq!(contents, ["a", "b", "", "d"]);
    assert!(records[0].0 > 0, "position 0 is before all records");
    assert!(records.is_sorted_by(|left, right| left.0 < right.0));
}

pub async fn logs_do_not_see_each_other(store: Arc<dyn Store>) {
    let logs = [Log(0), Log(1), Log(256), Log(i64::MAX as u64)];
    let records = logs.map(|log| (log, value(log.0.to_string())));
    append(&*store, &records).await;
    for log in logs {
        let records: Vec<Bytes> =
            read(&*store, log, 0, 10).await.into_iter().map(|(_, record)| record).collect();
        assert_eq!(records, [value(log.0.to_string())]);
    }
    assert_eq!(read(&*store, Log(2), 0, 10).await, []);
}

pub async fn a_position_is_the_time_of_its_commit(store: Arc<dyn Store>) {
    const NOW: u64 = 1_790_000_000_000_000;
    let times = async |log: Log| {
        let records = read(&*store, log, 0, 10).await;
        records.into_iter().map(|(at, _)| LogPosition(at).time_us()).collect::<Vec<u64>>()
    };
    let (one, two) = (Log(1), Log(2));
    append_at(&*store, NOW, &[(one, value("a"))]).await;
    assert_eq!(times(one).await, [NOW]);

    // The clock does not advance, but times of commits do.
    append_at(&*store, NOW, &[(one, value("b"))]).await;
    assert_eq!(times(one).await, [NOW, NOW + 1]);

    // One commit has one time in all its logs, also if the clock lags behind one of them.
    append_at(&*store, NOW - 1_000, &[(two, value("c")), (one, value("d")), (two, value("e"))]).await;
    assert_eq!(times(two).await, [NOW + 2, NOW + 2]);
    assert_eq!(times(one).await, [NOW, NOW + 1, NOW + 2]);

    append_at(&*store, NOW + 50, &[(two, value("f"))]).await;
    assert_eq!(times(two).await, [NOW + 2, NOW + 2, NOW + 50]);
    let later = read(&*store, two, LogPosition::through(NOW + 2).0, 10).await;
    assert_eq!(later.into_iter().map(|(_, record)| record).collect::<Vec<_>>(), [value("f")]);
}

pub async fn reading_starts_behind_a_position_and_ends_at_the_limit(store: Arc<dyn Store>) {
    let log = Log(1);
    let appended: Vec<(Log, Bytes)> = (1..=20).map(|index| (log, number_bytes(index))).collect();
    append(&*store, &appended).await;
    let positions: Vec<u64> = read(&*store, log, 0, 100).await.into_iter().map(|(at, _)| at).collect();
    assert_eq!(positions.len(), 20);

    assert_eq!(read(&*store, log, 0, 0).await, []);
    let middle = read(&*store, log, positions[4], 3).await;
    assert_eq!(middle, [5, 6, 7].map(|index: usize| (positions[index], number_bytes(index as u64 + 1))));
    assert_eq!(read(&*store, log, positions[18], usize::MAX).await.len(), 1);
    assert_eq!(read(&*store, log, positions[19], 10).await, []);
    assert_eq!(read(&*store, log, positions[19] + 1000, 10).await, []);
}

pub async fn trimming_forgets_records_but_never_reuses_positions(store: Arc<dyn Store>) {
    let log = Log(1);
    append(&*store, &[(log, value("a")), (log, value("b")), (log, value("c"))]).await;
    let positions: Vec<u64> = read(&*store, log, 0, 10).await.into_iter().map(|(at, _)| at).collect();
    let trim = async |through: u64| {
        store.trim_log(log, LogPosition(through)).await.expect("a log is trimmed");
    };

    trim(positions[1]).await;
    trim(positions[0]).await;
    assert_eq!(read(&*store, log, 0, 10).await, [(positions[2], value("c"))]);

    // Past the last record: every record is removed, later ones are not.
    trim(positions[2] + 100).await;
    assert_eq!(read(&*store, log, 0, 10).await, []);
    append(&*store, &[(log, value("d"))]).await;
    let records = read(&*store, log, 0, 10).await;
    assert_eq!(records.len(), 1);
    assert!(records[0].0 > positions[2], "position {} is used again", records[0].0);
    trim(records[0].0).await;
    append(&*store, &[(log, value("e"))]).await;
    assert!(read(&*store, log, records[0].0, 10).await[0].0 > records[0].0);

    // A log without records can be trimmed too.
    store.trim_log(Log(99), LogPosition(5)).await.expect("an empty log is trimmed");
    append(&*store, &[(Log(99), value("first"))]).await;
    assert_eq!(read(&*store, Log(99), 0, 10).await.len(), 1);
}

pub async fn a_log_ends_at_its_last_record_even_if_that_was_trimmed(store: Arc<dyn Store>) {
    let log = Log(4);
    assert_eq!(end(&*store, log).await, 0, "a log without records ends before all records");
    append(&*store, &[(log, value("a")), (log, value("b"))]).await;
    let last = read(&*store, log, 0, 10).await[1].0;
    assert_eq!(end(&*store, log).await, last);
    assert_eq!(end(&*store, Log(5)).await, 0, "another log has its own end");

    store.trim_log(log, LogPosition(last)).await.expect("a log is trimmed");
    assert_eq!(end(&*store, log).await, last);
    append(&*store, &[(log, value("c"))]).await;
    assert_eq!(read(&*store, log, last, 10).await, [(end(&*store, log).await, value("c"))]);
}

pub async fn a_snapshot_reads_the_log_of_its_moment(store: Arc<dyn Store>) {
    let log = Log(4);
    let empty = store.snapshot().await.expect("a snapshot is taken");
    append(&*store, &[(log, value("a")), (log, value("b"))]).await;
    let before = read(&*store, log, 0, 10).await;
    let snapshot = store.snapshot().await.expect("a snapshot is taken");
    append(&*store, &[(log, value("later"))]).await;

    assert_eq!((read(&*empty, log, 0, 10).await, end(&*empty, log).await), (vec![], 0));
    assert_eq!(read(&*snapshot, log, 0, 10).await, before);
    assert_eq!(read(&*snapshot, log, 0, 1).await, before[..1]);
    assert_eq!(read(&*snapshot, log, before[0].0, 10).await, before[1..]);
    assert_eq!(read(&*snapshot, log, before[1].0, 10).await, []);
    assert_eq!(end(&*snapshot, log).await, before[1].0);
    assert!(end(&*store, log).await > before[1].0);
}

/// Each commit adds one to a row and appends the new number. A copy of a snapshot's rows together with
/// the records after its end is then complete, and holds no change twice.
pub async fn a_snapshot_has_exactly_the_changes_up_to_its_log_end(store: Arc<dyn Store>) {
    let counter = tokio::spawn(count_up(Arc::clone(&store), 1));
    for _ in 0..20 {
        let snapshot = store.snapshot().await.expect("a snapshot is taken");
        let count = number(&get(&*snapshot, &[key(1, "count")]).await[0]);
        let records = read(&*snapshot, TAILED, 0, usize::MAX).await;
        assert_eq!(records.len() as u64, count);
        assert_eq!(records.last().map_or(0, |(position, _)| *position), end(&*snapshot, TAILED).await);
        tokio::task::yield_now().await;
    }
    counter.await.expect("the writer finishes");
}

const TAILED: Log = Log(5);
const RECORDS: u64 = 40;

/// Appends to the tailed log under a lock of the writer's own.
async fn count_up(store: Arc<dyn Store>, writer: u8) {
    let row = key(writer, "count");
    for _ in 0..RECORDS {
        let mut decide = |rows: &[Option<Bytes>]| {
            let count = number(&rows[0]) + 1;
            WriteSet {
                puts: vec![(row.clone(), number_bytes(count))],
                appends: vec![(TAILED, value([&[writer], &count.to_be_bytes()[..]].concat()))],
                ..WriteSet::default()
            }
        };
        store.update(std::slice::from_ref(&row), &mut decide).await.expect("an update succeeds");
    }
}

/// Writers append to one log under different locks; each record counts up a row of its writer. The
/// tailer reads on from the last position it has seen, so it would miss a record that appeared at or
/// below that position later.
pub async fn a_part_of_another_store_s_log_keeps_its_positions(store: Arc<dyn Store>) {
    let log = Log(4);
    let carry = async |records: &[(LogPosition, Bytes)], end: LogPosition| {
        let mut decide = |_: &[Option<Bytes>]| {
            let part = LogPart { log, records: records.to_vec(), end };
            WriteSet { log_parts: vec![part], ..WriteSet::default() }
        };
        store.update(&[], &mut decide).await.expect("a part of a log is taken over");
    };
    let (first, second) = (LogPosition::new(1_000, 3), LogPosition::new(1_000, 5));
    carry(&[(first, value("a")), (second, value("b"))], second).await;
    let both = [(first.0, value("a")), (second.0, value("b"))];
    assert_eq!(read(&*store, log, 0, 10).await, both);
    assert_eq!(end(&*store, log).await, second.0);

    let raised = LogPosition::through(2_000);
    carry(&[], raised).await;
    assert_eq!(read(&*store, log, 0, 10).await, both);
    assert_eq!(end(&*store, log).await, raised.0);
    let snapshot = store.snapshot().await.expect("a snapshot is taken");

    // What is appended from here on comes later.
    append_at(&*store, 7, &[(log, value("c"))]).await;
    assert_eq!(read(&*store, log, second.0, 10).await, [(LogPosition::new(2_001, 0).0, value("c"))]);
    assert_eq!(end(&*snapshot, log).await, raised.0);
    store.trim_log(log, second).await.expect("a log is trimmed");
    assert_eq!(read(&*store, log, 0, 10).await.len(), 1);
    store.trim_log(log, LogPosition::through(3_000)).await.expect("a log is trimmed");
    assert_eq!(end(&*store, log).await, LogPosition::new(2_001, 0).0);
}

pub async fn a_tailer_of_concurrent_appends_misses_nothing(store: Arc<dyn Store>) {
    const WRITERS: u8 = 8;
    let log = TAILED;
    let finished = Arc::new(AtomicBool::new(false));

    let tailer = tokio::spawn({
        let (store, finished) = (Arc::clone(&store), Arc::clone(&finished));
        async move {
            let mut seen: Vec<(u64, Bytes)> = Vec::new();
            loop {
                let last_round = finished.load(Ordering::SeqCst);
                let after = seen.last().map_or(0, |(at, _)| *at);
                let records = read(&*store, log, after, 7).await;
                let caught_up = records.is_empty();
                seen.extend(records);
                if caught_up && last_round {
                    return seen;
                }
                tokio::task::yield_now().await;
            }
        }
    });
    let writers: Vec<_> =
        (0..WRITERS).map(|writer| tokio::spawn(count_up(Arc::clone(&store), writer))).collect();
    for writer in writers {
        writer.await.expect("a writer finishes");
    }
    finished.store(true, Ordering::SeqCst);
    let seen = tailer.await.expect("the tailer finishes");

    assert!(seen.is_sorted_by(|left, right| left.0 < right.0), "positions only rise");
    assert_eq!(seen, read(&*store, log, 0, usize::MAX).await, "the tailer has seen what the log holds");
    for writer in 0..WRITERS {
        let counts: Vec<u64> = seen
            .iter()
            .filter(|(_, record)| record[0] == writer)
            .map(|(_, record)| number(&Some(record.slice(1..))))
            .collect();
        assert_eq!(counts, (1..=RECORDS).collect::<Vec<_>>(), "the records of one writer are in order");
    }
}
