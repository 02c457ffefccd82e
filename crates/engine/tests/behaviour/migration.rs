//! A database that is moved to another store: everything comes along, whatever happens on the way, and at most one of
//! the two can be used.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use engine::migration::{self, Move, MoveError, Pass, SourceState};
use serde_json::json;
use store::fault::{Fault, FaultStore};
use store::memory::{MemoryCluster, MemoryStore};
use store::{
    Consistency, Direction, Key, Log, LogPosition, Partition, Position, Range, Read, Space, Store,
    StoreError, Visit, WriteSet,
};

use crate::database::Database;

const SPACES: u64 = 24;

fn key(space: u64, partition: u8, sort: &str) -> Key {
    let position =
        Position { partition: Partition([partition; Partition::LENGTH]), sort: sort.as_bytes().to_vec() };
    Key { space: Space(space), position }
}

async fn write(store: &dyn Store, writes: WriteSet) {
    let mut writes = Some(writes);
    store.update(&[], &mut |_| writes.take().unwrap_or_default()).await.unwrap();
}

async fn put(store: &dyn Store, key: Key, value: &[u8]) {
    let puts = vec![(key, Bytes::copy_from_slice(value))];
    write(store, WriteSet { puts, ..WriteSet::default() }).await;
}

/// Some random changes: rows put and removed, records appended to several logs at once, logs trimmed.
async fn change(store: &dyn Store, random: &mut fastrand::Rng, now_us: u64) {
    for _ in 0..random.usize(1..20) {
        let mut puts = BTreeMap::new();
        for _ in 0..random.usize(0..40) {
            // Most rows are in one space, so that it takes several batches.
            let space = if random.bool() { 17 } else { random.u64(16..SPACES) };
            let value = Bytes::from(vec![random.u8(..); random.usize(0..50)]);
            puts.insert(key(space, random.u8(..), &random.u16(..400).to_string()), value);
        }
        let deletes = (0..random.usize(0..10)).map(|_| {
            let space = if random.bool() { 17 } else { random.u64(16..SPACES) };
            key(space, random.u8(..), &random.u16(..400).to_string())
        });
        let mut deletes: Vec<Key> = deletes.filter(|key| !puts.contains_key(key)).collect();
        deletes.sort();
        deletes.dedup();
        let appends = (0..random.usize(0..6))
            .map(|_| (Log(random.u64(18..21)), Bytes::from(vec![random.u8(..); random.usize(0..30)])))
            .collect();
        write(
            store,
            WriteSet { puts: puts.into_iter().collect(), deletes, appends, now_us, ..WriteSet::default() },
        )
        .await;
    }
    if random.bool() {
        let log = Log(random.u64(18..21));
        let records = store.read_log(log, LogPosition(0), 1000).await.unwrap();
        if let Some((through, _)) = random.choice(&records) {
            store.trim_log(log, *through).await.unwrap();
        }
    }
}

/// A store with the rows that every database has, and random ones.
async fn random_store(store: &dyn Store, random: &mut fastrand::Rng) {
    put(store, key(5, 0, "format"), b"1").await;
    put(store, key(1, 0, "next"), SPACES.to_string().as_bytes()).await;
    put(store, key(1, 0, "size:17"), b"not copied").await;
    put(store, key(12, 0, "version"), b"not copied").await;
    let many = (0..2500).map(|number: u32| (key(17, number as u8, &number.to_string()), Bytes::from("row")));
    write(store, WriteSet { puts: many.collect(), ..WriteSet::default() }).await;
    change(store, random, 1_000).await;
}

type Contents = (BTreeMap<Key, Bytes>, BTreeMap<Log, (LogPosition, Vec<(LogPosition, Bytes)>)>);

/// Everything that is to come along.
async fn contents(store: &dyn Read) -> Contents {
    let (mut rows, mut logs) = (BTreeMap::new(), BTreeMap::new());
    for number in (0..SPACES).filter(|number| *number != 12) {
        let space = Space(number);
        let mut visit = |at: store::KeyRef<'_>, value| {
            rows.insert(Key { space, position: at.to_position() }, value);
            ControlFlow::Continue(())
        };
        let range = Range::all(space);
        store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await.unwrap();
        let log = Log(number);
        let records = store.read_log(log, LogPosition(0), 100_000).await.unwrap();
        logs.insert(log, (store.log_end(log).await.unwrap(), records));
    }
    rows.retain(|key, _| *key != migration_key() && !key.position.sort.starts_with(b"size:"));
    (rows, logs)
}

fn migration_key() -> Key {
    key(5, 0, "migration")
}

async fn finish(source: &dyn Store, target: &dyn Store) -> Result<Pass, MoveError> {
    let moving = Move::begin(target, "source").await?;
    migration::pause(source, "target").await?;
    let pass = moving.settle(source, &mut |_| {}).await?;
    migration::release(source, "target", false).await?;
    moving.finish().await?;
    Ok(pass)
}

/// An empty store. The process that copies into a shared one is a member until it is done, so later users
/// have another handle.
struct Place {
    target: Arc<dyn Store>,
    source: Arc<dyn Store>,
    _folder: Option<tempfile::TempDir>,
}

/// One of each kind: in memory, in a folder, in PostgreSQL.
async fn every_store() -> [Place; 3] {
    let folder = tempfile::tempdir().unwrap();
    let options = store_lsm::Options { durability: store_lsm::Durability::Os, ..Default::default() };
    let lsm: Arc<dyn Store> = Arc::new(store_lsm::LsmStore::open(folder.path(), options).unwrap());
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let url = store_postgres::test_server::TestServer::fresh_database().await;
    let postgres = async || store_postgres::PostgresStore::open(&url, Default::default()).await.unwrap();
    let (target, source) = (postgres().await, postgres().await);
    [
        Place { target: memory.clone(), source: memory, _folder: None },
        Place { target: lsm.clone(), source: lsm, _folder: Some(folder) },
        Place { target: Arc::new(target), source: Arc::new(source), _folder: None },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_random_store_is_equal_on_every_other_kind_of_store() {
    for seed in 0..2 {
        let mut random = fastrand::Rng::with_seed(seed);
        let [one, two, three] = [every_store().await, every_store().await, every_store().await];
        let (memory, folder, postgres) = (0, 1, 2);
        let way = [
            &one[memory],
            &one[folder],
            &two[folder],
            &one[postgres],
            &two[postgres],
            &three[folder],
            &two[memory],
        ];
        random_store(&*way[0].source, &mut random).await;
        let expected = contents(&*way[0].source).await;
        for (source, target) in way.iter().zip(&way[1..]) {
            let pass = finish(&*source.source, &*target.target).await.unwrap();
            assert_eq!(pass.rows, expected.0.len() as u64);
            assert!(contents(&*target.source).await == expected, "seed {seed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_between_passes_comes_along() {
    for (number, place) in every_store().await.into_iter().enumerate() {
        let target = place.target;
        let mut random = fastrand::Rng::with_seed(number as u64);
        let source = MemoryStore::new();
        random_store(&source, &mut random).await;
        for round in 1..6 {
            // Each time as if a new process had begun.
            let moving = Move::begin(&*target, "source").await.unwrap();
            moving.pass(&source, &mut |_| {}).await.unwrap();
            let again = moving.pass(&source, &mut |_| {}).await.unwrap();
            assert_eq!(again.changed, 0, "nothing has changed since");
            change(&source, &mut random, 2_000 + round).await;
        }
        finish(&source, &*target).await.unwrap();
        assert!(contents(&source).await == contents(&*target).await);
    }
}

/// A source whose log is trimmed just after it was looked at.
struct Watched {
    store: MemoryStore,
    trimmed_through: LogPosition,
    records_read: AtomicUsize,
}

impl Watched {
    fn new(store: MemoryStore, trimmed_through: LogPosition) -> Watched {
        Watched { store, trimmed_through, records_read: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Read for Watched {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.store.get(keys, consistency).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.store.scan(range, direction, consistency, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        let records = self.store.read_log(log, after, limit).await?;
        self.store.trim_log(log, self.trimmed_through).await?;
        self.records_read.fetch_add(records.len(), Ordering::Relaxed);
        Ok(records)
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.store.log_end(log).await
    }
}

#[tokio::test]
async fn a_log_that_is_trimmed_during_a_pass_comes_along() {
    let (store, target) = (MemoryStore::new(), MemoryStore::new());
    random_store(&store, &mut fastrand::Rng::with_seed(3)).await;
    for number in 0..50 {
        let appends = vec![(Log(20), Bytes::from(format!("{number}")))];
        write(&store, WriteSet { appends, now_us: 5_000, ..WriteSet::default() }).await;
    }
    let moving = Move::begin(&target, "source").await.unwrap();
    moving.pass(&store, &mut |_| {}).await.unwrap();
    let records = store.read_log(Log(20), LogPosition(0), 1000).await.unwrap();
    let source = Watched::new(store, records[records.len() / 2].0);
    moving.pass(&source, &mut |_| {}).await.unwrap();
    moving.settle(&source.store, &mut |_| {}).await.unwrap();
    assert!(contents(&source.store).await == contents(&target).await);
}

#[tokio::test]
async fn change_records_are_compared_while_the_source_is_in_use_and_not_again_when_it_is_closed() {
    let (source, target) = (Watched::new(MemoryStore::new(), LogPosition(0)), MemoryStore::new());
    random_store(&source.store, &mut fastrand::Rng::with_seed(4)).await;
    let append = async |number: u64| {
        let appends = vec![(Log(20), Bytes::from(format!("{number}")))];
        write(&source.store, WriteSet { appends, now_us: 5_000, ..WriteSet::default() }).await;
    };
    for number in 0..500 {
        append(number).await;
    }
    let moving = Move::begin(&target, "source").await.unwrap();
    moving.pass(&source, &mut |_| {}).await.unwrap();
    let compared = moving.pass(&source, &mut |_| {}).await.unwrap();
    append(500).await;
    source.records_read.store(0, Ordering::Relaxed);
    let settled = moving.settle(&source, &mut |_| {}).await.unwrap();
    assert_eq!((settled.changed, settled.records), (1, compared.records + 1));
    // Beside the new one, the oldest of each log: it says what was trimmed.
    let read = source.records_read.load(Ordering::Relaxed);
    assert!(read < 50, "{read} records were read while the source was closed");
    assert!(contents(&source.store).await == contents(&target).await);
}

#[tokio::test]
async fn a_migration_that_is_broken_off_at_any_commit_goes_on() {
    let mut random = fastrand::Rng::with_seed(7);
    for fault in [Fault::BeforeCommit, Fault::AfterCommit] {
        let (mut commits, mut is_done) = (0, false);
        while !is_done {
            let source = FaultStore::scripted(Arc::new(MemoryStore::new()), []);
            random_store(&source, &mut random).await;
            let target = FaultStore::scripted(Arc::new(MemoryStore::new()), []);
            // First it breaks off at each commit to the target, then at each to the source.
            let script = || std::iter::repeat_n(None, commits).chain([Some(fault)]);
            target.follow(script());
            is_done = finish(&source, &target).await.is_ok();
            target.follow([]);
            source.follow(script());
            let _ = go_on(&source, &target).await;
            source.follow([]);
            go_on(&source, &target).await.unwrap();
            assert!(contents(&source).await == contents(&target).await, "{fault:?} at {commits}");
            assert!(!migration::is_arriving(&target).await.unwrap());
            assert_eq!(migration::source_state(&source, "target").await.unwrap(), SourceState::Moved);
            commits += 1;
        }
        assert!(commits > 5, "there were commits to break off at");
    }
}

/// What the command does when it is run again.
async fn go_on(source: &dyn Store, target: &dyn Store) -> Result<(), MoveError> {
    let is_moved = migration::source_state(source, "target").await? == SourceState::Moved;
    if !is_moved || migration::is_arriving(target).await? {
        finish(source, target).await?;
    }
    Ok(())
}

#[tokio::test]
async fn only_an_empty_target_or_a_copy_of_the_same_source_is_written_to() {
    let source = MemoryStore::new();
    assert!(matches!(migration::source_state(&source, "target").await, Err(MoveError::NothingThere)));
    put(&source, key(5, 0, "format"), b"1").await;

    let used = MemoryStore::new();
    put(&used, key(5, 0, "format"), b"1").await;
    let before = contents(&used).await;
    assert!(matches!(Move::begin(&used, "source").await, Err(MoveError::TargetInUse { .. })));
    assert!(contents(&used).await == before);

    let half = MemoryStore::new();
    Move::begin(&half, "source").await.unwrap();
    let other = Move::begin(&half, "another source").await;
    assert!(matches!(other, Err(MoveError::OtherSource { found, .. }) if found == "source"));
    assert!(matches!(migration::source_state(&half, "target").await, Err(MoveError::Unfinished { .. })));
    Move::begin(&half, "source").await.unwrap();

    finish(&source, &half).await.unwrap();
    assert!(matches!(Move::begin(&half, "source").await, Err(MoveError::TargetInUse { .. })));
    let elsewhere = migration::source_state(&source, "elsewhere").await;
    assert!(matches!(elsewhere, Err(MoveError::MovedElsewhere { to }) if to == "target"));
}

#[tokio::test]
async fn of_two_processes_that_copy_to_one_cluster_the_later_one_goes_on() {
    let source = MemoryStore::new();
    random_store(&source, &mut fastrand::Rng::with_seed(1)).await;
    let cluster = MemoryCluster::new();
    let (one, other) = (cluster.handle(), cluster.handle());
    let earlier = Move::begin(&one, "source").await.unwrap();
    let later = Move::begin(&other, "source").await.unwrap();
    let refused = earlier.pass(&source, &mut |_| {}).await;
    assert!(matches!(refused, Err(StoreError::Fenced(_))));
    later.settle(&source, &mut |_| {}).await.unwrap();
    assert!(matches!(earlier.finish().await, Err(StoreError::Fenced(_))));
    later.finish().await.unwrap();
    assert!(contents(&source).await == contents(&cluster.handle()).await);
}

#[tokio::test]
async fn servers_of_a_source_that_is_closed_write_nothing_until_it_is_cancelled() {
    let cluster = MemoryCluster::new();
    let database = Database::on_cluster(&cluster).await;
    database.with_table("Table").await;
    let item = json!({"TableName": "Table", "Item": {"p": {"S": "a"}, "s": {"S": "a"}}});
    let store = cluster.handle();
    assert!(migration::is_served(&store).await.unwrap());
    migration::pause(&store, "elsewhere").await.unwrap();
    for _server in 0..2 {
        let refused = database.call("PutItem", item.clone()).await;
        assert_eq!(refused.unwrap_err().name, "InternalServerError");
    }
    assert!(!migration::is_served(&store).await.unwrap());
    let open = || database.open_on(Arc::new(cluster.handle()));
    let Err(StoreError::Format(reason)) = open().await else { panic!("it was opened") };
    assert!(reason.contains("being moved to elsewhere"), "{reason}");
    migration::cancel(&store).await.unwrap();
    open().await.unwrap().close().await.unwrap();
    // It was cancelled while it went on: what servers write from then on must not be lost.
    let released = migration::release(&store, "elsewhere", false).await;
    assert!(matches!(released, Err(MoveError::Cancelled)));
}

#[tokio::test]
async fn a_copy_can_be_opened_when_it_is_whole_and_the_original_no_more() {
    let database = Database::in_memory().await;
    database.with_table("Table").await;
    let item = json!({"p": {"S": "a"}, "s": {"S": "a"}});
    database.put(item).await;
    database.engine.close().await.unwrap();
    let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let moving = Move::begin(&*target, "source").await.unwrap();
    moving.pass(&*database.store, &mut |_| {}).await.unwrap();
    let Err(StoreError::Format(reason)) = database.open_on(target.clone()).await else {
        panic!("it was opened")
    };
    assert!(reason.contains("unfinished copy of source"), "{reason}");
    finish(&*database.store, &*target).await.unwrap();
    let Err(StoreError::Format(reason)) = database.open_again().await else { panic!("it was opened") };
    assert!(reason.contains("was moved to target"), "{reason}");
    let copy = database.open_on(target).await.unwrap();
    assert!(copy.verify().await.unwrap().reports.is_empty());
    copy.close().await.unwrap();
}
