//! Concurrency: updates of the same keys run one after the other, and none starves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::{SPACE, get, key, number, number_bytes, put, scan, value, write};
use crate::chance::Chance;
use crate::{Direction, Key, Log, LogPosition, Range, Store, WriteSet};

/// Runs `task` this many times at once and waits for all of them.
async fn together<Task: Future<Output = Answer> + Send + 'static, Answer: Send + 'static>(
    count: u64,
    task: impl Fn(u64) -> Task,
) -> Vec<Answer> {
    let running: Vec<JoinHandle<Answer>> = (0..count).map(|index| tokio::spawn(task(index))).collect();
    let mut answers = Vec::new();
    for task in running {
        answers.push(task.await.expect("a task finishes"));
    }
    answers
}

pub async fn one_of_many_inserts_of_an_absent_key_wins(store: Arc<dyn Store>) {
    for round in 0..20_u8 {
        let row = key(round, "contested");
        let outcomes = together(8, |task| {
            let (store, row) = (Arc::clone(&store), row.clone());
            async move {
                let mut inserted = false;
                let mut decide = |rows: &[Option<Bytes>]| {
                    inserted = rows[0].is_none();
                    let puts = if inserted { vec![(row.clone(), number_bytes(task))] } else { vec![] };
                    WriteSet { puts, ..WriteSet::default() }
                };
                store.update(std::slice::from_ref(&row), &mut decide).await.expect("an update succeeds");
                inserted
            }
        })
        .await;
        let winners: Vec<usize> = (0..outcomes.len()).filter(|task| outcomes[*task]).collect();
        assert_eq!(winners.len(), 1, "round {round}: {outcomes:?}");
        assert_eq!(number(&get(&*store, &[row]).await[0]), winners[0] as u64);
    }
}

pub async fn increments_are_never_lost_and_no_task_starves(store: Arc<dyn Store>) {
    const TASKS: u64 = 12;
    const INCREMENTS: u64 = 60;
    let counters = [key(1, "a"), key(1, "b"), key(2, "a")];
    together(TASKS, |task| {
        let (store, counters) = (Arc::clone(&store), counters.clone());
        async move {
            for increment in 0..INCREMENTS {
                let counter = &counters[((task + increment) % 3) as usize];
                let mut decide = |rows: &[Option<Bytes>]| WriteSet {
                    puts: vec![(counter.clone(), number_bytes(number(&rows[0]) + 1))],
                    ..WriteSet::default()
                };
                store
                    .update(std::slice::from_ref(counter), &mut decide)
                    .await
                    .expect("an increment succeeds");
            }
        }
    })
    .await;
    let total: u64 = get(&*store, &counters).await.iter().map(number).sum();
    assert_eq!(total, TASKS * INCREMENTS);
}

/// Each update names two accounts in any order, one of them twice. A store that locks in the given
/// order would deadlock; one that reads before it locks would create or lose money.
pub async fn transfers_between_keys_in_any_order_do_not_deadlock(store: Arc<dyn Store>) {
    const ACCOUNTS: u64 = 5;
    const START: u64 = 1000;
    let accounts: Vec<Key> = (0..ACCOUNTS).map(|account| key(250 - account as u8, "account")).collect();
    for account in &accounts {
        put(&*store, account, number_bytes(START)).await;
    }
    together(10, |task| {
        let (store, accounts) = (Arc::clone(&store), accounts.clone());
        async move {
            let mut chance = Chance::new(task);
            for _ in 0..40 {
                let from = chance.below(ACCOUNTS);
                let to = (from + 1 + chance.below(ACCOUNTS - 1)) % ACCOUNTS;
                let (from, to) = (&accounts[from as usize], &accounts[to as usize]);
                let amount = chance.below(10);
                let mut decide = |rows: &[Option<Bytes>]| {
                    assert_eq!(rows[0], rows[2], "a key named twice shows the same row");
                    let (left, gained) = (number(&rows[0]).saturating_sub(amount), number(&rows[1]));
                    let moved = number(&rows[0]) - left;
                    let puts =
                        vec![(from.clone(), number_bytes(left)), (to.clone(), number_bytes(gained + moved))];
                    WriteSet { puts, ..WriteSet::default() }
                };
                let keys = [from.clone(), to.clone(), from.clone()];
                store.update(&keys, &mut decide).await.expect("a transfer succeeds");
            }
        }
    })
    .await;
    let total: u64 = get(&*store, &accounts).await.iter().map(number).sum();
    assert_eq!(total, ACCOUNTS * START);
}

/// Half of the tasks count up, the others only look. What a look saw, a read after it must not take back.
pub async fn what_an_update_saw_can_be_read_when_it_returns(store: Arc<dyn Store>) {
    let counter = key(3, "counter");
    together(8, |task| {
        let (store, counter) = (Arc::clone(&store), counter.clone());
        async move {
            for _ in 0..60 {
                let mut seen = 0;
                let mut decide = |rows: &[Option<Bytes>]| {
                    seen = number(&rows[0]);
                    let counts = task % 2 == 0;
                    let puts = counts.then(|| (counter.clone(), number_bytes(seen + 1)));
                    WriteSet { puts: puts.into_iter().collect(), ..WriteSet::default() }
                };
                store.update(std::slice::from_ref(&counter), &mut decide).await.expect("an update succeeds");
                let read = number(&get(&*store, std::slice::from_ref(&counter)).await[0]);
                assert!(read >= seen, "an update saw {seen}, and a read after it {read}");
            }
        }
    })
    .await;
}

pub async fn readers_see_a_write_set_whole_or_not_at_all(store: Arc<dyn Store>) {
    // Each write set sets every row to the same number and moves one more row to another key.
    let rows: Vec<Key> = (0..16_u8).map(|index| key(index * 16, "row")).collect();
    let homes = [key(8, "wanderer"), key(248, "wanderer")];
    let state = |round: u64| {
        let mut puts: Vec<(Key, Bytes)> = rows.iter().map(|row| (row.clone(), number_bytes(round))).collect();
        puts.push((homes[(round % 2) as usize].clone(), number_bytes(round)));
        (puts, [homes[((round + 1) % 2) as usize].clone()])
    };
    let (puts, deletes) = state(0);
    write(&*store, &puts, &deletes).await;

    let finished = Arc::new(AtomicBool::new(false));
    let check = |found: Vec<u64>| {
        assert_eq!(found.len(), 17, "a row is missing or seen twice: {found:?}");
        assert!(found.iter().all(|number| *number == found[0]), "two write sets are mixed: {found:?}");
    };
    let scanner = tokio::spawn({
        let (store, finished) = (Arc::clone(&store), Arc::clone(&finished));
        async move {
            while !finished.load(Ordering::SeqCst) {
                for direction in [Direction::Forward, Direction::Backward] {
                    let rows = scan(&*store, &Range::all(SPACE), direction).await;
                    check(rows.into_iter().map(|(_, row)| number(&Some(row))).collect());
                }
                tokio::task::yield_now().await;
            }
        }
    });
    let getter = tokio::spawn({
        let (store, finished) = (Arc::clone(&store), Arc::clone(&finished));
        let keys: Vec<Key> = rows.iter().chain(&homes).cloned().collect();
        async move {
            while !finished.load(Ordering::SeqCst) {
                let rows = get(&*store, &keys).await;
                check(rows.iter().filter(|row| row.is_some()).map(number).collect());
                tokio::task::yield_now().await;
            }
        }
    });
    for round in 1..150 {
        let (puts, deletes) = state(round);
        write(&*store, &puts, &deletes).await;
    }
    finished.store(true, Ordering::SeqCst);
    scanner.await.expect("the scanner finishes");
    getter.await.expect("the getter finishes");
}

pub async fn rows_and_log_records_of_a_write_set_appear_together(store: Arc<dyn Store>) {
    let (row, log) = (key(1, "count"), Log(1));
    let finished = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn({
        let (store, finished, row) = (Arc::clone(&store), Arc::clone(&finished), row.clone());
        async move {
            while !finished.load(Ordering::SeqCst) {
                // The row is read before the log, so the log has at least as many records.
                let count = number(&get(&*store, std::slice::from_ref(&row)).await[0]);
                let records = store.read_log(log, LogPosition(0), usize::MAX).await.expect("a log is read");
                assert!(records.len() as u64 >= count, "{} records, the row says {count}", records.len());
                // The row is read after the log, so it counts at least as many.
                let count = number(&get(&*store, std::slice::from_ref(&row)).await[0]);
                assert!(count >= records.len() as u64, "{} records, the row says {count}", records.len());
                tokio::task::yield_now().await;
            }
        }
    });
    for _ in 0..100 {
        let mut decide = |rows: &[Option<Bytes>]| WriteSet {
            puts: vec![(row.clone(), number_bytes(number(&rows[0]) + 1))],
            appends: vec![(log, value("change"))],
            ..WriteSet::default()
        };
        store.update(std::slice::from_ref(&row), &mut decide).await.expect("an update succeeds");
    }
    finished.store(true, Ordering::SeqCst);
    reader.await.expect("the reader finishes");
}
