//! A database for tests, on each of the stores. Requests and answers are DynamoDB JSON, as a client
//! would see them.

use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Operation, Request, Service, streams};
use async_trait::async_trait;
use bytes::Bytes;
use engine::{Caller, Enforcement, Engine, Environment, Options};
use serde_json::Value;
use store::fault::FaultStore;
use store::{
    Cluster, Consistency, Decide, Direction, Key, KeyRef, Log, LogPosition, Range, Read, Space, Store,
    StoreError, Visit,
};
use tokio::time::Instant;

use crate::support::{until, wait_for};

pub struct Database {
    pub engine: Arc<Engine>,
    /// A second server on the same data. Requests go to the two by turns.
    other: Option<(Engine, AtomicU64)>,
    /// How a server more is opened on data that several share.
    sharing: Option<Arc<Shared>>,
    caller: Caller,
    pub store: Arc<dyn Store>,
    environment: Arc<Fixed>,
    capacity: Enforcement,
    time_scale: u32,
    _folder: Option<Arc<tempfile::TempDir>>,
}

/// Data that several servers share.
struct Shared {
    handle: Box<dyn Fn() -> OpenedStore + Send + Sync>,
    /// Servers that were opened later. They live as long as the data: one that is dropped would be waited for.
    later: Mutex<Vec<Arc<Engine>>>,
}

type OpenedStore = Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send>>;

impl Shared {
    /// Every server has a handle of its own.
    async fn store(&self) -> Arc<dyn Store> {
        Arc::new(StaysOpen((self.handle)().await, Sharing::Shared))
    }
}

/// The clock moves only when a test moves it, and random numbers count up.
struct Fixed {
    now_ms: AtomicU64,
    /// How far the wall clock is from the right time.
    set_by_ms: AtomicI64,
    began: Instant,
    random: AtomicU64,
}

impl Environment for Fixed {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed).saturating_add_signed(self.set_by_ms.load(Ordering::Relaxed))
    }

    fn monotonic_us(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed) * 1000
    }

    fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    fn random(&self) -> u128 {
        u128::from(self.random.fetch_add(1, Ordering::Relaxed))
    }
}

/// A store that survives the database on it, so that another can be opened there.
struct StaysOpen(Arc<dyn Store>, Sharing);

/// Whether the database knows that others may use the store, too.
#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    Alone,
    Shared,
}

/// A store in memory that survives the database on it.
pub fn lasting_store() -> Arc<dyn Store> {
    Arc::new(StaysOpen(Arc::new(store::memory::MemoryStore::new()), Sharing::Alone))
}

/// How often a server of two looks for what the other did: often, so that tests are quick.
const MEMBER_POLL: Duration = Duration::from_millis(5);

/// The settings of a server that is not alone. A busy machine expels none of them.
fn one_of_several() -> Options {
    Options { member_poll: MEMBER_POLL, member_silence: Duration::from_secs(30), ..Options::default() }
}

#[async_trait]
impl Read for StaysOpen {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.0.get(keys, consistency).await
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.0.scan(range, direction, consistency, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.0.read_log(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.0.log_end(log).await
    }
}

#[async_trait]
impl Store for StaysOpen {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        self.0.update(keys, decide).await
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.0.clear(space).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        self.0.snapshot().await
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.0.trim_log(log, through).await
    }

    fn health(&self) -> Result<(), StoreError> {
        self.0.health()
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        self.0.cluster().filter(|_| self.1 == Sharing::Shared)
    }

    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// An error as a client sees it: the name and the message.
#[derive(Debug, PartialEq)]
pub struct Failure {
    pub name: String,
    pub message: String,
    pub item: Option<Value>,
    /// The CancellationReasons, or null.
    pub reasons: Value,
    /// The ThrottlingReasons, or null.
    pub throttling: Value,
}

impl Failure {
    fn of(error: &api::Error, service: Service) -> Failure {
        let mut json = Vec::new();
        error.write_json(service, &mut json);
        let body: Value = serde_json::from_slice(&json).unwrap();
        let name = body["__type"].as_str().unwrap();
        Failure {
            name: name.rsplit('#').next().unwrap().to_owned(),
            message: error.message.clone(),
            item: body.get("Item").cloned(),
            reasons: body["CancellationReasons"].clone(),
            throttling: ["ThrottlingReasons", "throttlingReasons"]
                .iter()
                .find_map(|name| body.get(name).cloned())
                .unwrap_or_default(),
        }
    }
}

impl Database {
    pub async fn in_memory_with(options: Options) -> Database {
        Database::open(Arc::new(store::memory::MemoryStore::new()), options, None).await
    }

    pub async fn in_memory() -> Database {
        Database::on(Arc::new(store::memory::MemoryStore::new()), None).await
    }

    /// One in memory that enforces these limits of throughput.
    pub async fn with_capacity(capacity: Enforcement) -> Database {
        let store = Arc::new(StaysOpen(Arc::new(store::memory::MemoryStore::new()), Sharing::Alone));
        Database::open(store, Options { capacity, ..Options::default() }, None).await
    }

    /// One in memory whose capacity runs `time_scale` times as fast as the clock.
    pub async fn with_time_scale(time_scale: u32) -> Database {
        let store = Arc::new(StaysOpen(Arc::new(store::memory::MemoryStore::new()), Sharing::Alone));
        Database::open(store, Options { time_scale, ..Options::default() }, None).await
    }

    pub async fn on_lsm() -> Database {
        let folder = tempfile::tempdir().unwrap();
        let options = store_lsm::Options {
            durability: store_lsm::Durability::Os,
            // A new folder is filled with segments of this length.
            tuning: store_lsm::Tuning { segment_bytes: 1 << 20, ..Default::default() },
            ..Default::default()
        };
        let store = store_lsm::LsmStore::open(folder.path(), options).unwrap();
        Database::on(Arc::new(store), Some(folder)).await
    }

    pub async fn on_postgres() -> Database {
        let url = store_postgres::test_server::TestServer::fresh_database().await;
        let store = store_postgres::PostgresStore::open(&url, Default::default()).await.unwrap();
        Database::on(Arc::new(store), None).await
    }

    /// Two servers on one store in memory.
    pub async fn on_two_servers() -> Database {
        Database::on_cluster(&store::memory::MemoryCluster::new()).await
    }

    /// Two servers on this store in memory.
    pub async fn on_cluster(cluster: &store::memory::MemoryCluster) -> Database {
        let cluster = cluster.clone();
        let handle = move || -> OpenedStore {
            let store: Arc<dyn Store> = Arc::new(cluster.handle());
            Box::pin(std::future::ready(store))
        };
        Database::of_two(Box::new(handle)).await
    }

    /// Two servers on one PostgreSQL database.
    pub async fn on_two_servers_of_postgres() -> Database {
        let url = store_postgres::test_server::TestServer::fresh_database().await;
        let handle = move || -> OpenedStore {
            let url = url.clone();
            Box::pin(async move {
                let opened = store_postgres::PostgresStore::open(&url, Default::default()).await;
                Arc::new(opened.unwrap()) as Arc<dyn Store>
            })
        };
        Database::of_two(Box::new(handle)).await
    }

    async fn of_two(handle: Box<dyn Fn() -> OpenedStore + Send + Sync>) -> Database {
        let shared = Arc::new(Shared { handle, later: Mutex::default() });
        let options = Options { backups: Some(transfer::Bucket::in_memory()), ..one_of_several() };
        let mut database = Database::open(shared.store().await, options.clone(), None).await;
        let other = Engine::open_with(shared.store().await, database.environment.clone(), options);
        database.other = Some((other.await.unwrap(), AtomicU64::new(0)));
        database.sharing = Some(shared);
        database
    }

    /// The server that gets the next request. It knows what jobs of the other have done.
    async fn next_engine(&self) -> &Engine {
        let Some((other, turns)) = &self.other else { return &self.engine };
        let is_other = turns.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let engine = if is_other { other } else { &self.engine };
        // A server that was closed answers for itself.
        let _ = engine.follow().await;
        engine
    }

    /// One in memory with these buckets.
    pub async fn with_buckets(names: &[&str]) -> Database {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let s3 = Arc::new(transfer::Buckets::open(folder.path().to_str().unwrap()).unwrap());
        let options =
            Options { s3: Some(s3), backups: Some(transfer::Bucket::in_memory()), ..Options::default() };
        let store = Arc::new(StaysOpen(Arc::new(store::memory::MemoryStore::new()), Sharing::Alone));
        Database::open(store, options, Some(folder)).await
    }

    /// One in memory whose backups are files.
    pub async fn with_backups_in_a_folder() -> Database {
        let folder = tempfile::tempdir().unwrap();
        let backups = transfer::Bucket::open(folder.path().to_str().unwrap()).await.unwrap();
        let options = Options { backups: Some(backups), ..Options::default() };
        Database::open(Arc::new(store::memory::MemoryStore::new()), options, Some(folder)).await
    }

    /// The files of [`Database::with_backups_in_a_folder`].
    pub fn backup_files(&self) -> Vec<PathBuf> {
        files_below(self._folder.as_ref().unwrap().path())
    }

    /// The content of a file of [`Database::with_buckets`].
    pub fn read_object(&self, path: &str) -> String {
        std::fs::read_to_string(self._folder.as_ref().unwrap().path().join(path)).unwrap()
    }

    /// Writes a file of [`Database::with_buckets`].
    pub fn write_object(&self, path: &str, content: &str) {
        let path = self._folder.as_ref().unwrap().path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    async fn on(store: Arc<dyn Store>, folder: Option<tempfile::TempDir>) -> Database {
        let options = Options { backups: Some(transfer::Bucket::in_memory()), ..Options::default() };
        Database::open(Arc::new(StaysOpen(store, Sharing::Alone)), options, folder).await
    }

    async fn open(store: Arc<dyn Store>, options: Options, folder: Option<tempfile::TempDir>) -> Database {
        let now_ms = AtomicU64::new(1_800_000_000_000);
        let environment = Arc::new(Fixed {
            now_ms,
            set_by_ms: AtomicI64::new(0),
            began: Instant::now(),
            random: AtomicU64::new(1),
        });
        Database::opened(store, environment, options, folder.map(Arc::new)).await
    }

    /// One on a store in memory that fails on demand.
    pub async fn on_faults() -> (Database, Arc<FaultStore>) {
        let store = Arc::new(FaultStore::scripted(Arc::new(store::memory::MemoryStore::new()), []));
        (Database::on(store.clone(), None).await, store)
    }

    /// One whose tables stay CREATING, UPDATING and DELETING for a second.
    pub async fn delayed() -> Database {
        let options = Options { state_delay: Duration::from_secs(1), ..Options::default() };
        Database::with_options(options).await
    }

    /// One with these settings.
    pub async fn with_options(options: Options) -> Database {
        let store = StaysOpen(Arc::new(store::memory::MemoryStore::new()), Sharing::Alone);
        Database::open(Arc::new(store), options, None).await
    }

    /// The same data opened again after the database was closed.
    pub async fn restarted(&self) -> Database {
        if let Some((other, _)) = &self.other {
            other.close().await.unwrap();
        }
        self.engine.close().await.unwrap();
        self.reopened().await
    }

    /// Like [`Database::restarted`], with these settings.
    pub async fn restarted_with(&self, options: Options) -> Database {
        self.engine.close().await.unwrap();
        Database::opened(self.store.clone(), self.environment.clone(), options, None).await
    }

    /// Like [`Database::restarted`], with the buckets of [`Database::with_buckets`].
    pub async fn restarted_with_buckets(&self) -> Database {
        self.engine.close().await.unwrap();
        let folder = self._folder.clone().unwrap();
        let s3 = Arc::new(transfer::Buckets::open(folder.path().to_str().unwrap()).unwrap());
        let options = Options { s3: Some(s3), ..Options::default() };
        Database::opened(self.store.clone(), self.environment.clone(), options, Some(folder)).await
    }

    async fn opened(
        store: Arc<dyn Store>,
        environment: Arc<Fixed>,
        options: Options,
        folder: Option<Arc<tempfile::TempDir>>,
    ) -> Database {
        let (capacity, time_scale) = (options.capacity, options.time_scale);
        let engine = Engine::open_with(store.clone(), environment.clone(), options).await.unwrap();
        let engine = Arc::new(engine);
        let caller = Caller::new("123456789012", "us-east-1");
        Database {
            engine,
            other: None,
            sharing: None,
            caller,
            store,
            environment,
            capacity,
            time_scale,
            _folder: folder,
        }
    }

    /// Tries to open another database on what is stored here.
    pub async fn open_again(&self) -> Result<Engine, StoreError> {
        self.open_on(self.store.clone()).await
    }

    /// Tries to open a database on another store.
    pub async fn open_on(&self, store: Arc<dyn Store>) -> Result<Engine, StoreError> {
        Engine::open(store, self.environment.clone()).await
    }

    /// Another database on what is stored here, as after a crash.
    pub async fn reopened(&self) -> Database {
        self.reopened_on(|store| store).await
    }

    /// The same, with something between it and the store.
    pub async fn reopened_on(&self, wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Database {
        let environment = self.environment.clone();
        let (capacity, time_scale) = (self.capacity, self.time_scale);
        let Some(shared) = &self.sharing else {
            let options = Options { capacity, time_scale, ..Options::default() };
            return Database::opened(wrap(self.store.clone()), environment, options, self._folder.clone())
                .await;
        };
        let options = Options { capacity, time_scale, ..one_of_several() };
        let store = wrap(shared.store().await);
        let mut database = Database::opened(store, environment, options, self._folder.clone()).await;
        shared.later.lock().unwrap().push(database.engine.clone());
        database.sharing = Some(shared.clone());
        database
    }

    /// How many rows there are in these spaces of the store.
    pub async fn count_rows(&self, spaces: RangeInclusive<u64>) -> usize {
        let mut count = 0;
        for space in spaces {
            let mut visit = |_: KeyRef<'_>, _| {
                count += 1;
                ControlFlow::Continue(())
            };
            let range = Range::all(Space(space));
            self.store.scan(&range, Direction::Forward, Consistency::Latest, &mut visit).await.unwrap();
        }
        count
    }

    /// Lets time pass.
    pub fn pass_ms(&self, time_ms: u64) {
        self.environment.now_ms.fetch_add(time_ms, Ordering::Relaxed);
    }

    /// Sets the wall clock: it is so far from the right time from now on.
    pub fn set_clock_ms(&self, by_ms: i64) {
        self.environment.set_by_ms.store(by_ms, Ordering::Relaxed);
    }

    /// Carries out one request.
    pub async fn call(&self, operation: &str, input: Value) -> Result<Value, Failure> {
        self.call_as(&self.caller, operation, input).await
    }

    /// Carries out one request of this caller.
    pub async fn call_as(&self, caller: &Caller, operation: &str, input: Value) -> Result<Value, Failure> {
        call_engine(self.next_engine().await, caller, operation, input).await
    }

    /// What a write would do and cost.
    pub async fn dry_run(&self, operation: &str, input: Value) -> Result<engine::DryRun, Failure> {
        self.dry_run_as(&self.caller, operation, input).await
    }

    /// What a write of this caller would do and cost.
    pub async fn dry_run_as(
        &self,
        caller: &Caller,
        operation: &str,
        input: Value,
    ) -> Result<engine::DryRun, Failure> {
        let operation = Operation::from_target_name(operation).expect("a served operation");
        let dry_run = match Request::decode(operation, input.to_string().as_bytes()) {
            Ok(request) => self.next_engine().await.dry_run(caller, &request).await,
            Err(error) => Err(error),
        };
        dry_run.map_err(|error| Failure::of(&error, Service::DynamoDb))
    }

    /// What has changed in a table since a time.
    pub async fn difference(&self, table: &str, time_s: f64) -> Result<engine::TableDifference, Failure> {
        let found = self.engine.difference(&self.caller, table, (time_s * 1e6) as u64).await;
        found.map_err(|error| Failure::of(&error, Service::DynamoDb))
    }

    /// Carries out one request to DynamoDB Streams.
    pub async fn call_streams(&self, operation: &str, input: Value) -> Result<Value, Failure> {
        self.call_streams_as(&self.caller, operation, input).await
    }

    /// Carries out one request of this caller to DynamoDB Streams.
    pub async fn call_streams_as(
        &self,
        caller: &Caller,
        operation: &str,
        input: Value,
    ) -> Result<Value, Failure> {
        call_streams_of(self.next_engine().await, caller, operation, input).await
    }

    /// Carries out a request to DynamoDB Streams that must succeed.
    pub async fn streams(&self, operation: &str, input: Value) -> Value {
        let shown: String = input.to_string().chars().take(200).collect();
        let answer = self.call_streams(operation, input).await;
        answer.unwrap_or_else(|failure| panic!("{operation} {shown}: {failure:?}"))
    }

    /// Makes a table with string keys `p` and `s`.
    pub async fn with_table(&self, name: &str) -> &Database {
        self.ok(
            "CreateTable",
            serde_json::json!({
                "TableName": name,
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
                "AttributeDefinitions": [
                    {"AttributeName": "p", "AttributeType": "S"},
                    {"AttributeName": "s", "AttributeType": "S"},
                ],
                "BillingMode": "PAY_PER_REQUEST",
            }),
        )
        .await;
        self
    }

    /// Puts an item into the table `Table`.
    pub async fn put(&self, item: Value) {
        self.ok("PutItem", serde_json::json!({"TableName": "Table", "Item": item})).await;
    }

    /// The item of table `Table` with this key, or null.
    pub async fn get(&self, key: Value) -> Value {
        let input = serde_json::json!({"TableName": "Table", "Key": key, "ConsistentRead": true});
        self.ok("GetItem", input).await["Item"].take()
    }

    /// Waits until an index of the table `Table` has this status, or is gone: in two answers, so that both servers of
    /// two know it.
    pub async fn until(&self, index: &str, status: Option<&str>) {
        let is_so = async || {
            let table = self.described("Table").await;
            let of = |member: &str| table[member].as_array().cloned().unwrap_or_default();
            let indexes = [of("GlobalSecondaryIndexes"), of("VectorIndexes")].concat();
            let found = indexes.iter().find(|found| found["IndexName"] == index);
            found.and_then(|found| found["IndexStatus"].as_str()) == status
        };
        let what = format!("the index {index} becomes {status:?}");
        until(&what, async || is_so().await && is_so().await).await;
    }

    async fn described(&self, table: &str) -> Value {
        self.ok("DescribeTable", serde_json::json!({"TableName": table})).await["Table"].take()
    }

    /// Waits until a table is ACTIVE, and returns its description.
    pub async fn until_active(&self, table: &str) -> Value {
        wait_for(&format!("{table} is ACTIVE"), async || {
            Some(self.described(table).await).filter(|table| table["TableStatus"] == "ACTIVE")
        })
        .await
    }

    /// Waits until a backup is AVAILABLE, and returns its description.
    pub async fn until_available(&self, backup_arn: &str) -> Value {
        wait_for(&format!("{backup_arn} is AVAILABLE"), async || {
            let input = serde_json::json!({"BackupArn": backup_arn});
            let backup = self.ok("DescribeBackup", input).await["BackupDescription"].take();
            Some(backup).filter(|backup| backup["BackupDetails"]["BackupStatus"] == "AVAILABLE")
        })
        .await
    }

    /// Carries out a request that must succeed.
    pub async fn ok(&self, operation: &str, input: Value) -> Value {
        let shown: String = input.to_string().chars().take(200).collect();
        self.call(operation, input).await.unwrap_or_else(|failure| panic!("{operation} {shown}: {failure:?}"))
    }

    /// Carries out a request that must be refused with this error and message.
    pub async fn refused(&self, operation: &str, input: Value, name: &str, message: &str) {
        let shown: String = input.to_string().chars().take(200).collect();
        match self.call(operation, input).await {
            Ok(answer) => panic!("{operation} {shown} succeeded: {answer}"),
            Err(failure) => {
                assert_eq!(
                    (failure.name.as_str(), failure.message.as_str()),
                    (name, message),
                    "{operation} {shown}"
                );
            }
        }
    }
}

/// Carries out one request.
pub async fn call_engine(
    engine: &Engine,
    caller: &Caller,
    operation: &str,
    input: Value,
) -> Result<Value, Failure> {
    let operation = Operation::from_target_name(operation).expect("a served operation");
    let answer = match Request::decode(operation, input.to_string().as_bytes()) {
        Ok(request) => engine.call(caller, request).await,
        Err(error) => Err(error),
    };
    let mut json = Vec::new();
    match answer {
        Ok(response) => {
            response.write_json(&mut json);
            // Some operations answer with nothing at all.
            Ok(if json.is_empty() { Value::Null } else { serde_json::from_slice(&json).unwrap() })
        }
        Err(error) => Err(Failure::of(&error, Service::DynamoDb)),
    }
}

/// Carries out one request to DynamoDB Streams.
async fn call_streams_of(
    engine: &Engine,
    caller: &Caller,
    operation: &str,
    input: Value,
) -> Result<Value, Failure> {
    let operation = streams::Operation::from_target_name(operation).expect("a served operation");
    let answer = match streams::Request::decode(operation, input.to_string().as_bytes()) {
        Ok(request) => engine.call_streams(caller, request).await,
        Err(error) => Err(error),
    };
    let mut json = Vec::new();
    answer.map_err(|error| Failure::of(&error, Service::DynamoDbStreams))?.write_json(&mut json);
    Ok(serde_json::from_slice(&json).unwrap())
}

/// The numbers that an attribute has in the new images of a stream, shard by shard.
pub async fn stream_values(engine: &Engine, arn: &str, attribute: &str) -> Vec<String> {
    let caller = Caller::new("123456789012", "us-east-1");
    let call = async |operation: &str, input: Value| {
        call_streams_of(engine, &caller, operation, input).await.unwrap()
    };
    let described = call("DescribeStream", serde_json::json!({"StreamArn": arn})).await;
    let mut values = Vec::new();
    for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
        let from = serde_json::json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = call("GetShardIterator", from).await["ShardIterator"].take();
        let records = call("GetRecords", serde_json::json!({"ShardIterator": iterator})).await;
        for record in records["Records"].as_array().unwrap() {
            values.push(record["dynamodb"]["NewImage"][attribute]["N"].as_str().unwrap().to_owned());
        }
    }
    values
}

fn files_below(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

/// Writes each test once and runs it on every store, and on two servers that get the requests by turns.
macro_rules! on_every_store {
    ($(async fn $name:ident($database:ident) $body:block)*) => {
        on_every_store!(one server { $(async fn $name($database) $body)* });
        on_every_store!(paused on_two_servers { $(async fn $name($database) $body)* });
        on_every_store!(ignored on_two_servers_of_postgres { $(async fn $name($database) $body)* });
    };
    // Changes of tables, jobs, logs and transactions are where servers meet most: these run on PostgreSQL every time.
    (two servers { $(async fn $name:ident($database:ident) $body:block)* }) => {
        on_every_store!(one server { $(async fn $name($database) $body)* });
        on_every_store!(paused on_two_servers { $(async fn $name($database) $body)* });
        on_every_store!(on_two_servers_of_postgres { $(async fn $name($database) $body)* });
    };
    // What one server knows at once, and others a moment later.
    (one server { $(async fn $name:ident($database:ident) $body:block)* }) => {
        on_every_store!(paused in_memory { $(async fn $name($database) $body)* });
        on_every_store!(on_lsm { $(async fn $name($database) $body)* });
        on_every_store!(on_postgres { $(async fn $name($database) $body)* });
    };
    // Nothing waits for a disk or a network, so tokio's clock can jump over every wait.
    (paused $store:ident { $(async fn $name:ident($database:ident) $body:block)* }) => {
        mod $store {
            use super::*;
            $(
                #[tokio::test(start_paused = true)]
                async fn $name() {
                    let $database = &$crate::database::Database::$store().await;
                    $body
                }
            )*
        }
    };
    (ignored $store:ident { $(async fn $name:ident($database:ident) $body:block)* }) => {
        mod $store {
            use super::*;
            $(
                #[tokio::test]
                #[ignore = "takes minutes; `cargo xtask cluster --url` runs it"]
                async fn $name() {
                    let $database = &$crate::database::Database::$store().await;
                    $body
                }
            )*
        }
    };
    ($store:ident { $(async fn $name:ident($database:ident) $body:block)* }) => {
        mod $store {
            use super::*;
            $(
                #[tokio::test]
                async fn $name() {
                    let $database = &$crate::database::Database::$store().await;
                    $body
                }
            )*
        }
    };
}
pub(crate) use on_every_store;
