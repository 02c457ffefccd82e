use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use store::memory::MemoryStore;
use store::turns::{ROW_WORK, SLICE_WORK, Turns};
use store::{Consistency, Direction, Key, Partition, Position, Range, Read, Space, Store, WriteSet};
use tokio::task::{JoinHandle, JoinSet, yield_now};

const ROWS: usize = 20 * ROWS_PER_SLICE;
/// The rows are empty.
const ROWS_PER_SLICE: usize = SLICE_WORK / ROW_WORK;
const SPACE: Space = Space(1);

async fn store_of_rows() -> Arc<MemoryStore> {
    let store = MemoryStore::default();
    let key = |number: usize| {
        let position = Position { partition: Partition::FIRST, sort: number.to_be_bytes().to_vec() };
        Key { space: SPACE, position }
    };
    let puts: Vec<_> = (0..ROWS).map(|number| (key(number), Bytes::new())).collect();
    let mut decide = |_: &[Option<Bytes>]| WriteSet { puts: puts.clone(), ..WriteSet::default() };
    store.update(&[key(0)], &mut decide).await.unwrap();
    Arc::new(store)
}

/// Counts the rows that it has visited.
async fn scan(store: Arc<MemoryStore>, visited: Arc<AtomicUsize>) {
    let mut visit = |_: store::KeyRef<'_>, _: Bytes| {
        visited.fetch_add(1, SeqCst);
        ControlFlow::Continue(())
    };
    store.scan(&Range::all(SPACE), Direction::Forward, Consistency::Latest, &mut visit).await.unwrap();
}

/// Scans that run side by side, and how far each is.
fn start_scans(
    count: usize,
    turns: &Turns,
    store: &Arc<MemoryStore>,
) -> (JoinSet<()>, Vec<Arc<AtomicUsize>>) {
    let mut scans = JoinSet::new();
    let visited: Vec<Arc<AtomicUsize>> = (0..count).map(|_| Arc::default()).collect();
    for visited in &visited {
        scans.spawn(turns.share(scan(store.clone(), visited.clone())));
    }
    (scans, visited)
}

/// The most rows that scans visited between two steps of a task that only yields.
fn watch(visited: Vec<Arc<AtomicUsize>>, steps: usize) -> JoinHandle<usize> {
    tokio::spawn(async move {
        let total = || visited.iter().map(|visited| visited.load(SeqCst)).sum::<usize>();
        let (mut before, mut most) = (total(), 0);
        for _ in 0..steps {
            yield_now().await;
            most = most.max(total() - before);
            before = total();
        }
        most
    })
}

#[tokio::test]
async fn a_short_task_waits_for_as_many_slices_as_may_run_at_the_same_time() {
    let (store, turns) = (store_of_rows().await, Turns::new(2));
    let (mut scans, visited) = start_scans(64, &turns, &store);
    // Each has its first slice at once.
    yield_now().await;
    let most = watch(visited, 100).await.unwrap();
    assert!((1..=2 * ROWS_PER_SLICE).contains(&most), "{most} rows");
    scans.shutdown().await;
}

#[tokio::test]
async fn long_work_takes_turns_and_none_is_left_behind() {
    let (store, turns) = (store_of_rows().await, Turns::new(1));
    let (mut scans, visited) = start_scans(8, &turns, &store);
    while scans.try_join_next().is_none() {
        let rows: Vec<usize> = visited.iter().map(|visited| visited.load(SeqCst)).collect();
        let (least, most) = (rows.iter().min().unwrap(), rows.iter().max().unwrap());
        assert!(most - least <= ROWS_PER_SLICE, "{rows:?}");
        yield_now().await;
    }
    scans.join_all().await;
    assert!(visited.iter().all(|visited| visited.load(SeqCst) == ROWS));
}

#[tokio::test]
async fn work_that_is_taken_back_leaves_its_turn_to_others() {
    let (store, turns) = (store_of_rows().await, Turns::new(1));
    let (mut taken_back, _) = start_scans(8, &turns, &store);
    for _ in 0..20 {
        yield_now().await;
    }
    taken_back.shutdown().await;
    let (scans, visited) = start_scans(1, &turns, &store);
    scans.join_all().await;
    assert_eq!(visited[0].load(SeqCst), ROWS);
}
