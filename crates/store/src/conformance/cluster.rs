//! Members of a cluster: joining, expelling, and logs that clocks of several machines write to.

use std::sync::Arc;
use std::sync::mpsc;

use bytes::Bytes;

use super::{get, key, value};
use crate::{Cluster, Key, Log, LogPosition, Member, Store, StoreError, WriteSet};

fn cluster(store: &Arc<dyn Store>) -> &dyn Cluster {
    store.cluster().expect("the store is shared")
}

async fn join(store: &Arc<dyn Store>) -> Member {
    cluster(store).join().await.expect("a server joins")
}

async fn put(store: &Arc<dyn Store>, key: &Key, text: &str) -> Result<(), StoreError> {
    let mut decide =
        |_: &[Option<Bytes>]| WriteSet { puts: vec![(key.clone(), value(text))], ..WriteSet::default() };
    store.update(std::slice::from_ref(key), &mut decide).await
}

async fn append(store: &Arc<dyn Store>, log: Log, now_us: u64) {
    let mut decide =
        |_: &[Option<Bytes>]| WriteSet { appends: vec![(log, value("r"))], now_us, ..WriteSet::default() };
    store.update(&[], &mut decide).await.expect("an append succeeds");
}

/// Starts an update that waits in its decision until the returned sender is used or dropped.
async fn held_update(store: &Arc<dyn Store>, key: &Key) -> (mpsc::Sender<()>, tokio::task::JoinHandle<bool>) {
    let (go_on, held) = mpsc::channel::<()>();
    let (deciding, decides) = tokio::sync::oneshot::channel();
    let (store, key) = (store.clone(), key.clone());
    let task = tokio::spawn(async move {
        let mut first = Some((deciding, held));
        let mut decide = |_: &[Option<Bytes>]| {
            if let Some((deciding, held)) = first.take() {
                // The test that waits for it, or lets go on, may have failed.
                let _ = deciding.send(());
                let _ = tokio::task::block_in_place(|| held.recv());
            }
            WriteSet { puts: vec![(key.clone(), value("held"))], ..WriteSet::default() }
        };
        store.update(std::slice::from_ref(&key), &mut decide).await.is_ok()
    });
    decides.await.expect("the update asks for its decision");
    (go_on, task)
}

pub async fn an_expelled_member_writes_nothing_and_the_others_go_on(
    one: Arc<dyn Store>,
    other: Arc<dyn Store>,
) {
    let (expelled, _) = (join(&one).await, join(&other).await);
    put(&one, &key(1, "a"), "before").await.expect("a member writes");
    cluster(&other).expel(expelled).await.expect("a member is expelled");
    let refused = put(&one, &key(1, "a"), "after").await;
    assert!(matches!(refused, Err(StoreError::Fenced(_))), "{refused:?}");
    put(&other, &key(1, "b"), "b").await.expect("the others go on");
    assert_eq!(get(&*other, &[key(1, "a"), key(1, "b")]).await, [Some(value("before")), Some(value("b"))]);
    join(&one).await;
    put(&one, &key(1, "a"), "again").await.expect("it has joined again");
}

/// A store that locks lets the expulsion wait; one that finds conflicts lets the update fail. Either way, what the
/// update answers is what happened, and nothing of it appears after the expulsion.
pub async fn an_update_under_way_is_committed_before_its_expulsion_or_not_at_all(
    one: Arc<dyn Store>,
    other: Arc<dyn Store>,
) {
    let expelled = join(&one).await;
    join(&other).await;
    let (go_on, update) = held_update(&one, &key(1, "a")).await;
    let expelling = {
        let other = other.clone();
        tokio::spawn(async move {
            cluster(&other).expel(expelled).await.expect("it is not refused");
            get(&*other, &[key(1, "a")]).await.remove(0)
        })
    };
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let was_expelled_first = expelling.is_finished();
    drop(go_on);
    let is_committed = update.await.expect("the update ends");
    let after_expulsion = expelling.await.expect("the expulsion ends");
    assert_eq!(after_expulsion.is_some(), is_committed, "what was answered is what happened");
    assert!(!(was_expelled_first && is_committed), "the update was committed after the expulsion");
    assert_eq!(get(&*other, &[key(1, "a")]).await, [after_expulsion], "nothing appears later");
}

pub async fn members_have_numbers_of_their_own_and_can_leave(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    let (first, second) = (join(&one).await, join(&other).await);
    assert_ne!(first, second);
    cluster(&one).expel(first).await.expect("a member leaves");
    cluster(&one).expel(first).await.expect("there is no such member any more");
    assert!(![first, second].contains(&join(&one).await), "numbers are not used again");
}

pub async fn settling_waits_for_updates_whose_callers_are_gone(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    join(&one).await;
    for _ in 0..20 {
        let (store, key) = (one.clone(), key(1, "a"));
        let update = tokio::spawn(async move { put(&store, &key, "cut off").await });
        tokio::task::yield_now().await;
        update.abort();
        let _ = update.await;
        cluster(&one).settle().await.expect("updates end");
        let before = get(&*other, &[super::key(1, "a")]).await;
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        assert_eq!(get(&*other, &[super::key(1, "a")]).await, before, "nothing is committed afterwards");
    }
}

pub async fn records_after_a_raise_are_later_whatever_the_clock_says(
    one: Arc<dyn Store>,
    other: Arc<dyn Store>,
) {
    const NOW: u64 = 1_790_000_000_000_000;
    let (busy, idle) = (Log(1), Log(2));
    append(&one, busy, NOW + 50).await;
    cluster(&one).raise_logs(&[busy, idle], NOW + 20).await.expect("logs are raised");
    for log in [busy, idle] {
        append(&other, log, NOW - 1000).await;
        let end = one.log_end(log).await.expect("a log has an end");
        assert!(end.time_us() > NOW + 20, "{log:?} ends at {end:?}");
    }
    let records = one.read_log(busy, LogPosition(0), 10).await.expect("a log is read");
    let times: Vec<u64> = records.iter().map(|(position, _)| position.time_us() - NOW).collect();
    assert_eq!(times, [50, 51], "a raise never lowers the end of a log");
}
