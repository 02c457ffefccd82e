//! What is on its way when its caller has given it up, and what a server leaves that ends without a word.

use bytes::Bytes;
use store::{
    Cluster as _, Consistency, Key, Log, LogPosition, Partition, Position, Read as _, Space, Store as _,
    StoreError, WriteSet,
};
use store_fdb::FdbStore;
use store_fdb::model::Model;

use crate::options;

fn key() -> Key {
    Key { space: Space(1), position: Position { partition: Partition::FIRST, sort: b"row".to_vec() } }
}

async fn open(model: &Model) -> FdbStore {
    FdbStore::on_model(model, options()).await.expect("a store")
}

async fn write(store: &FdbStore, length: usize) -> Result<(), StoreError> {
    let bytes = Bytes::from(vec![5; length]);
    let mut decide = |_: &[Option<Bytes>]| WriteSet {
        puts: vec![(key(), bytes.clone())],
        appends: vec![(Log(1), bytes.clone())],
        ..WriteSet::default()
    };
    store.update(&[key()], &mut decide).await
}

/// The keys of the marks.
fn marks(model: &Model) -> usize {
    model.keys().iter().filter(|key| key["lodestone".len() + 1] == b'c').count()
}

#[tokio::test]
async fn a_join_that_arrives_late_does_not_undo_an_expulsion() {
    let model = Model::default();
    let (one, other) = (open(&model).await, open(&model).await);
    model.hold_next_commit();
    let member = one.join().await.expect("a server joins");
    other.expel(member).await.expect("a server is expelled");
    assert_eq!(model.arrive(), 0);
    assert!(matches!(write(&one, 3).await, Err(StoreError::Fenced(_))));
}

#[tokio::test]
async fn what_was_to_be_removed_is_not_removed_late() {
    let model = Model::default();
    let store = open(&model).await;
    model.hold_next_commit();
    store.clear(Space(1)).await.expect("a space is cleared");
    model.hold_next_commit();
    store.trim_log(Log(1), LogPosition(u64::MAX)).await.expect("a log is trimmed");
    write(&store, 200_000).await.expect("a write succeeds");
    assert_eq!(model.arrive(), 0);
    let rows = store.get(&[key()], Consistency::Latest).await.expect("a row is read");
    assert_eq!(rows[0].as_ref().map(Bytes::len), Some(200_000));
    let records = store.read_log(Log(1), LogPosition(0), 10).await.expect("a log is read");
    assert_eq!(records[0].1.len(), 200_000);
}

#[tokio::test]
async fn an_expulsion_removes_the_marks_of_a_server_that_has_crashed() {
    let model = Model::default();
    let (one, other) = (open(&model).await, open(&model).await);
    let member = one.join().await.expect("a server joins");
    write(&one, 3).await.expect("a write succeeds");
    drop(one);
    assert_ne!(marks(&model), 0);
    other.expel(member).await.expect("a server is expelled");
    other.close().await.expect("a store is closed");
    assert_eq!(marks(&model), 0);
}

#[tokio::test]
async fn a_server_that_was_expelled_while_it_waited_for_an_answer_does_not_say_that_nothing_happened() {
    let model = Model::default();
    let (one, other) = (open(&model).await, open(&model).await);
    let member = one.join().await.expect("a server joins");
    let answer = model.lose_next_answer();
    let writing = tokio::spawn(async move { write(&one, 3).await });
    while other.get(&[key()], Consistency::Latest).await.expect("a row is read")[0].is_none() {
        tokio::task::yield_now().await;
    }
    other.expel(member).await.expect("a server is expelled");
    answer.notify_one();
    let outcome = writing.await.expect("a task ends");
    assert!(matches!(outcome, Err(StoreError::Ambiguous(_))), "{outcome:?}");
}
