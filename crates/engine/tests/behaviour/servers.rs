//! Several servers on one store: what one does to a table holds for the others, and the jobs of a server that is
//! gone go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use capacity::Enforcement;
use engine::{Caller, Engine, Environment, Options};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use store::fault::{Fault, FaultStore};
use store::memory::MemoryCluster;
use store::{Member, Store};
use tokio::time::Instant;

use crate::database::{Database, Failure, call_engine};
use crate::support::{WAIT_MAX, pass, until};

/// How long a server that was killed is waited for.
const SILENCE: Duration = Duration::from_secs(6);
/// For servers that live on.
const LONG_SILENCE: Duration = Duration::from_secs(60);

/// How long it takes until a server takes up what was left: it looks twice.
const TAKEN_UP: Duration = Duration::from_secs(60);

/// The clock of one machine. Where tokio's is paused, time passes when nothing else is to be done.
struct Clock {
    now_ms: AtomicU64,
    began: Instant,
    /// How long this machine was suspended.
    suspended_s: AtomicU64,
    random: AtomicU64,
}

impl Environment for Clock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn uptime(&self) -> Duration {
        self.began.elapsed() + Duration::from_secs(self.suspended_s.load(Ordering::Relaxed))
    }

    fn random(&self) -> u128 {
        u128::from(self.random.fetch_add(1, Ordering::Relaxed))
    }
}

/// One of several servers.
struct Server {
    engine: Arc<Engine>,
    clock: Arc<Clock>,
}

/// What servers share.
struct Servers {
    cluster: MemoryCluster,
    options: Options,
    opened: AtomicU64,
}

impl Servers {
    /// Servers that are expelled after this time without a beat.
    fn new(member_silence: Duration) -> Servers {
        let options = Options {
            member_silence,
            member_poll: Duration::from_millis(5),
            backups: Some(transfer::Bucket::in_memory()),
            ..Options::default()
        };
        Servers { cluster: MemoryCluster::new(), options, opened: AtomicU64::new(0) }
    }

    async fn open(&self) -> Server {
        self.open_at(1_800_000_000_000).await
    }

    async fn open_at(&self, now_ms: u64) -> Server {
        self.open_on(Arc::new(self.cluster.handle()), now_ms).await
    }

    async fn open_on(&self, store: Arc<dyn Store>, now_ms: u64) -> Server {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let clock = Arc::new(Clock {
            now_ms: now_ms.into(),
            began: Instant::now(),
            suspended_s: 0.into(),
            random: (number * 1_000_000).into(),
        });
        let engine = Engine::open_with(store, clock.clone(), self.options.clone()).await.unwrap();
        Server { engine: Arc::new(engine), clock }
    }
}

impl Server {
    async fn call(&self, operation: &str, input: Value) -> Result<Value, Failure> {
        call_engine(&self.engine, &Caller::new("123456789012", "us-east-1"), operation, input).await
    }

    async fn ok(&self, operation: &str, input: Value) -> Value {
        self.call(operation, input).await.unwrap_or_else(|failure| panic!("{operation}: {failure:?}"))
    }

    async fn create_table(&self) {
        let input = json!({
            "TableName": "Table",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        self.ok("CreateTable", input).await;
    }

    async fn create_index(&self) {
        self.try_to_create_index().await.unwrap();
    }

    async fn try_to_create_index(&self) -> Result<Value, Failure> {
        let input = json!({
            "TableName": "Table",
            "AttributeDefinitions": [{"AttributeName": "c", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": {
                "IndexName": "ByColour",
                "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }}],
        });
        self.call("UpdateTable", input).await
    }

    async fn put(&self, key: &str) -> Result<Value, Failure> {
        let item = json!({"p": {"S": key}, "c": {"S": "red"}});
        self.call("PutItem", json!({"TableName": "Table", "Item": item})).await
    }

    async fn table(&self) -> Value {
        self.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take()
    }

    async fn count(&self, input: Value) -> u64 {
        let mut input = input;
        input["Select"] = json!("COUNT");
        self.ok("Scan", input).await["Count"].as_u64().unwrap()
    }

    async fn index_is_active(&self) -> bool {
        self.table().await["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    }

    /// The process ends without a word.
    fn kill(self) {
        assert_eq!(Arc::strong_count(&self.engine), 1, "nothing else uses the server");
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_server_does_to_a_table_holds_at_once_for_the_others() {
    let servers = Servers::new(LONG_SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    for _ in 0..5 {
        one.create_table().await;
        other.put("a").await.unwrap();
        assert_eq!(one.count(json!({"TableName": "Table", "ConsistentRead": true})).await, 1);
        other.ok("DeleteTable", json!({"TableName": "Table"})).await;
        assert_eq!(one.put("b").await.unwrap_err().name, "ResourceNotFoundException");
        other.create_table().await;
        assert_eq!(one.count(json!({"TableName": "Table"})).await, 0, "the new table is another one");
        one.ok("DeleteTable", json!({"TableName": "Table"})).await;
    }
    let later = servers.open().await;
    assert_eq!(later.ok("ListTables", json!({})).await["TableNames"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn what_describe_table_tells_of_a_job_holds_at_once_for_the_others() {
    let mut servers = Servers::new(LONG_SILENCE);
    // Long enough for a request between two looks.
    servers.options.member_poll = Duration::from_millis(100);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    one.put("a").await.unwrap();
    for _ in 0..3 {
        one.create_index().await;
        until("the index is made", async || one.index_is_active().await).await;
        assert_eq!(other.count(json!({"TableName": "Table", "IndexName": "ByColour"})).await, 1);
        let delete = json!({"Delete": {"IndexName": "ByColour"}});
        other.ok("UpdateTable", json!({"TableName": "Table", "GlobalSecondaryIndexUpdates": [delete]})).await;
        until("it is gone", async || one.table().await["GlobalSecondaryIndexes"].is_null()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_made_while_several_servers_write_misses_nothing() {
    let servers = Servers::new(LONG_SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    let is_done = AtomicBool::new(false);
    let write = async |server: &Server, prefix: &str| {
        let mut written = 0;
        while !is_done.load(Ordering::Relaxed) && written < 5000 {
            server.put(&format!("{prefix}{written}")).await.unwrap();
            written += 1;
            tokio::task::yield_now().await;
        }
        written
    };
    let make = async {
        until("both servers write", async || other.count(json!({"TableName": "Table"})).await > 100).await;
        other.create_index().await;
        until("the index is made", async || one.index_is_active().await).await;
        is_done.store(true, Ordering::Relaxed);
    };
    let (first, second, ()) = tokio::join!(write(&one, "one"), write(&other, "other"), make);
    let mut in_index = 0;
    let mut start = Value::Null;
    loop {
        let mut input = json!({"TableName": "Table", "IndexName": "ByColour"});
        if !start.is_null() {
            input["ExclusiveStartKey"] = start;
        }
        let mut page = one.ok("Scan", input).await;
        in_index += page["Count"].as_u64().unwrap();
        start = page["LastEvaluatedKey"].take();
        if start.is_null() {
            break;
        }
    }
    assert_eq!(in_index, first + second);
    let found = one.engine.verify().await.unwrap();
    assert_eq!(found.faults, 0, "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn jobs_of_a_server_that_is_killed_are_taken_over() {
    let servers = Servers::new(SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    for number in 0..300 {
        one.put(&number.to_string()).await.unwrap();
    }
    one.create_index().await;
    let backup = json!({"TableName": "Table", "BackupName": "Backup"});
    let backup = one.ok("CreateBackup", backup).await["BackupDetails"]["BackupArn"].take();
    // Both jobs were started there and have hardly begun.
    one.kill();
    until("the index is made", async || other.index_is_active().await).await;
    assert_eq!(other.count(json!({"TableName": "Table", "IndexName": "ByColour"})).await, 300);
    until("the backup is made", async || {
        let described = other.ok("DescribeBackup", json!({"BackupArn": backup})).await;
        described["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    })
    .await;
    // The server that is gone holds up no change, and its part of the size is counted.
    other.ok("UpdateTable", json!({"TableName": "Table", "DeletionProtectionEnabled": true})).await;
}

#[tokio::test(start_paused = true)]
async fn a_strong_table_goes_on_in_the_other_regions_when_the_server_of_one_is_killed() {
    const REGIONS: [&str; 3] = ["us-east-1", "us-east-2", "us-west-2"];
    let servers = Servers::new(SILENCE);
    let (one, two, three) = (servers.open().await, servers.open().await, servers.open().await);
    one.create_table().await;
    let creates: Vec<Value> =
        REGIONS[1..].iter().map(|region| json!({"Create": {"RegionName": region}})).collect();
    let strong = json!({"TableName": "Table", "MultiRegionConsistency": "STRONG", "ReplicaUpdates": creates});
    one.ok("UpdateTable", strong).await;
    // Each server is asked for a Region of its own.
    let in_region = async |server: &Server, region: &str, operation: &str, input: Value| {
        let caller = Caller::new("123456789012", region);
        call_engine(&server.engine, &caller, operation, input).await.unwrap()
    };
    let put = async |server: &Server, region: &str, number: u64| {
        let item = json!({"p": {"S": number.to_string()}, "c": {"S": "red"}});
        in_region(server, region, "PutItem", json!({"TableName": "Table", "Item": item})).await;
    };
    let count = async |server: &Server, region: &str, more: Value| {
        let mut input = more;
        input["TableName"] = json!("Table");
        in_region(server, region, "Scan", input).await["Count"].as_u64().unwrap()
    };
    let consistent = json!({"ConsistentRead": true});
    for number in (0..30).step_by(3) {
        put(&one, REGIONS[0], number).await;
        put(&two, REGIONS[1], number + 1).await;
        put(&three, REGIONS[2], number + 2).await;
        assert_eq!(count(&two, REGIONS[1], consistent.clone()).await, number + 3);
    }
    // The job that fills it was started there and has hardly begun.
    one.create_index().await;
    one.kill();
    put(&two, REGIONS[1], 30).await;
    assert_eq!(count(&three, REGIONS[2], consistent).await, 31);
    until("the index is made", async || {
        let table = in_region(&three, REGIONS[2], "DescribeTable", json!({"TableName": "Table"})).await;
        table["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    })
    .await;
    assert_eq!(count(&two, REGIONS[1], json!({"IndexName": "ByColour"})).await, 31);
    let again = servers.open().await;
    assert_eq!(count(&again, REGIONS[0], json!({"ConsistentRead": true})).await, 31);
    until("the items are counted", async || {
        let counts = [(&again, REGIONS[0]), (&two, REGIONS[1])];
        let mut shown = Vec::new();
        for (server, region) in counts {
            let table = in_region(server, region, "DescribeTable", json!({"TableName": "Table"})).await;
            shown.push(table["Table"]["ItemCount"].as_u64());
        }
        shown == [Some(31), Some(31)]
    })
    .await;
    assert_eq!(again.engine.verify().await.unwrap().reports, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_index_is_made_whose_request_has_an_unknown_outcome() {
    let mut servers = Servers::new(LONG_SILENCE);
    servers.options.member_poll = Duration::from_secs(1);
    let store = Arc::new(FaultStore::scripted(Arc::new(servers.cluster.handle()), []));
    let one = servers.open_on(store.clone(), 1_800_000_000_000).await;
    one.create_table().await;
    one.put("a").await.unwrap();
    store.follow([Some(Fault::AfterCommit)]);
    assert_eq!(one.try_to_create_index().await.unwrap_err().name, "InternalServerError");
    pass(TAKEN_UP).await;
    until("the index is made", async || one.index_is_active().await).await;
    assert_eq!(one.count(json!({"TableName": "Table", "IndexName": "ByColour"})).await, 1);
}

#[tokio::test(start_paused = true)]
async fn an_index_is_made_whose_request_is_cut_off() {
    let mut servers = Servers::new(LONG_SILENCE);
    servers.options.member_poll = Duration::from_secs(1);
    let one = servers.open().await;
    one.create_table().await;
    one.put("a").await.unwrap();
    let mut request = Box::pin(one.create_index());
    while one.table().await["GlobalSecondaryIndexes"].is_null() {
        assert_eq!((&mut request).now_or_never(), None, "it has no answer yet");
        tokio::task::yield_now().await;
    }
    drop(request);
    pass(TAKEN_UP).await;
    until("the index is made", async || one.index_is_active().await).await;
    assert_eq!(one.count(json!({"TableName": "Table", "IndexName": "ByColour"})).await, 1);
}

#[tokio::test(start_paused = true)]
async fn expired_items_are_deleted_by_one_server_and_by_another_when_that_is_killed() {
    let servers = Servers::new(SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    let specification = json!({"Enabled": true, "AttributeName": "until"});
    one.ok("UpdateTimeToLive", json!({"TableName": "Table", "TimeToLiveSpecification": specification})).await;
    let put = async |server: &Server, key: &str| {
        let until_s = server.clock.now_ms() / 1000 - 10;
        let item = json!({"p": {"S": key}, "until": {"N": until_s.to_string()}});
        server.ok("PutItem", json!({"TableName": "Table", "Item": item})).await;
    };
    put(&other, "a").await;
    until("one server sweeps", async || other.count(json!({"TableName": "Table"})).await == 0).await;
    one.kill();
    put(&other, "b").await;
    until("the other sweeps", async || other.count(json!({"TableName": "Table"})).await == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_expelled_server_changes_nothing_and_answers_nothing_until_it_has_joined_again() {
    let servers = Servers::new(SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    one.put("a").await.unwrap();
    let handle = servers.cluster.handle();
    handle.cluster().unwrap().expel(Member(1)).await.unwrap();
    assert_eq!(one.put("b").await.unwrap_err().name, "InternalServerError");
    tokio::time::timeout(WAIT_MAX, one.engine.expelled()).await.expect("it notices");
    let read = one.call("GetItem", json!({"TableName": "Table", "Key": {"p": {"S": "a"}}})).await;
    assert_eq!(read.unwrap_err().name, "InternalServerError", "it may not know what happened to tables");
    other.put("c").await.unwrap();
    let again = servers.open().await;
    again.put("d").await.unwrap();
    assert_eq!(other.count(json!({"TableName": "Table"})).await, 3, "a, c and d");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_silent_for_a_while_renews_its_beat_before_it_answers() {
    let servers = Servers::new(LONG_SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    // Two thirds of the silence are allowed, and the next beat that is due is seconds away.
    one.clock.suspended_s.store(LONG_SILENCE.as_secs() - 1, Ordering::Relaxed);
    one.put("a").await.unwrap();
    assert_eq!(one.count(json!({"TableName": "Table"})).await, 1);
    // A server that was expelled in the meantime finds out by that.
    servers.cluster.handle().cluster().unwrap().expel(Member(1)).await.unwrap();
    one.clock.suspended_s.store(2 * LONG_SILENCE.as_secs(), Ordering::Relaxed);
    let read = one.call("GetItem", json!({"TableName": "Table", "Key": {"p": {"S": "a"}}})).await;
    assert_eq!(read.unwrap_err().name, "InternalServerError");
    assert_eq!(other.count(json!({"TableName": "Table"})).await, 1);
}

/// How many writes a server takes at once to a table that is new.
async fn writes_at_once(server: &Server, table: &str) -> u32 {
    let input = json!({
        "TableName": table,
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    });
    server.ok("CreateTable", input).await;
    for number in 0.. {
        let item = json!({"p": {"S": "a"}});
        if let Err(failure) = server.call("PutItem", json!({"TableName": table, "Item": item})).await {
            assert_eq!(failure.name, "ProvisionedThroughputExceededException");
            return number;
        }
    }
    unreachable!("a table of one unit takes {} writes", u32::MAX)
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_a_table_are_divided_among_the_servers() {
    let mut servers = Servers::new(SILENCE);
    servers.options.capacity = Enforcement::Declared;
    let one = servers.open().await;
    let alone = writes_at_once(&one, "alone").await;
    let other = servers.open().await;
    for (name, server) in [("one", &one), ("other", &other)] {
        let mut tries = 0;
        until("the server has a half", async || {
            tries += 1;
            writes_at_once(server, &format!("{name}{tries}")).await == alone.div_ceil(2)
        })
        .await;
    }
    other.engine.close().await.unwrap();
    let mut tries = 0;
    until("one has all again", async || {
        tries += 1;
        writes_at_once(&one, &format!("again{tries}")).await == alone
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_point_in_time_divides_the_changes_of_servers_whose_clocks_differ() {
    let servers = Servers::new(LONG_SILENCE);
    let (one, other) = (servers.open().await, servers.open_at(1_800_000_000_000 - 7_000).await);
    one.create_table().await;
    one.put("before").await.unwrap();
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let input = json!({"TableName": "Table", "PointInTimeRecoverySpecification": recovery});
    one.ok("UpdateContinuousBackups", input).await;
    // The lagging clock writes right after the moment that the other one took.
    let mut moments = Vec::new();
    for number in 0..5 {
        other.put(&format!("{number}")).await.unwrap();
        one.clock.now_ms.fetch_add(2_000, Ordering::Relaxed);
        let described = one.ok("DescribeContinuousBackups", json!({"TableName": "Table"})).await;
        let latest = &described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert!(latest["LatestRestorableDateTime"].is_number(), "{described}");
        let backup = json!({"TableName": "Table", "BackupName": "Backup"});
        moments.push(one.ok("CreateBackup", backup).await["BackupDetails"]["BackupArn"].take());
        one.clock.now_ms.fetch_add(2_000, Ordering::Relaxed);
    }
    other.put("after").await.unwrap();
    for (number, backup) in moments.iter().enumerate() {
        until("the backup is made", async || {
            let described = other.ok("DescribeBackup", json!({"BackupArn": backup})).await;
            described["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE"
        })
        .await;
        let target = format!("Restored{number}");
        other.ok("RestoreTableFromBackup", json!({"TargetTableName": target, "BackupArn": backup})).await;
        until("the table is restored", async || {
            one.ok("DescribeTable", json!({"TableName": target})).await["Table"]["TableStatus"] == "ACTIVE"
        })
        .await;
        assert_eq!(one.count(json!({"TableName": target})).await, number as u64 + 2);
    }
}

#[tokio::test(start_paused = true)]
async fn every_server_shows_what_all_of_them_wrote() {
    let servers = Servers::new(LONG_SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    for number in 0..10 {
        one.put(&format!("one{number}")).await.unwrap();
        other.put(&format!("other{number}")).await.unwrap();
    }
    for server in [&one, &other] {
        until("the size is shared", async || server.table().await["ItemCount"] == 20).await;
    }
    other.engine.close().await.unwrap();
    one.put("last").await.unwrap();
    until("the size goes on", async || one.table().await["ItemCount"] == 21).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_the_changes_of_all_servers_in_their_order() {
    let servers = Servers::new(LONG_SILENCE);
    let (one, other) = (servers.open().await, servers.open_at(1_800_000_000_000 - 60_000).await);
    one.create_table().await;
    let specification = json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"});
    other.ok("UpdateTable", json!({"TableName": "Table", "StreamSpecification": specification})).await;
    for number in 0..50 {
        let server = if number % 2 == 0 { &one } else { &other };
        let item = json!({"p": {"S": "a"}, "n": {"N": number.to_string()}});
        server.ok("PutItem", json!({"TableName": "Table", "Item": item})).await;
    }
    let table = one.table().await;
    let numbers =
        crate::database::stream_values(&other.engine, table["LatestStreamArn"].as_str().unwrap(), "n").await;
    assert_eq!(numbers, (0..50).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn every_server_knows_how_far_the_changes_of_a_region_have_come() {
    let servers = Servers::new(LONG_SILENCE);
    let (one, other) = (servers.open().await, servers.open().await);
    one.create_table().await;
    let add = json!({"Create": {"RegionName": "eu-west-1"}});
    one.ok("UpdateTable", json!({"TableName": "Table", "ReplicaUpdates": [add]})).await;
    until("the replica is there", async || other.table().await["Replicas"][0]["ReplicaStatus"] == "ACTIVE")
        .await;
    let both_count = async |pending: usize| {
        for server in [&one, &other] {
            until(&format!("{pending} changes wait"), async || {
                let pairs = server.engine.replication_status().await.unwrap();
                let sent = pairs.iter().find(|pair| pair.receiving_region == "eu-west-1");
                sent.is_some_and(|pair| pair.pending == pending)
            })
            .await;
        }
    };
    one.put("early").await.unwrap();
    both_count(0).await;
    one.put("before").await.unwrap();
    let away = Caller::new("123456789012", "eu-west-1");
    until("the change has arrived", async || {
        let input = json!({"TableName": "Table", "Key": {"p": {"S": "before"}}});
        call_engine(&other.engine, &away, "GetItem", input).await.unwrap()["Item"].is_object()
    })
    .await;
    other.engine.cut_regions("us-east-1", "eu-west-1").await.unwrap();
    both_count(0).await;
    one.put("after").await.unwrap();
    other.put("later").await.unwrap();
    both_count(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_a_postgresql_database() {
    let database = &Database::on_two_servers_of_postgres().await;
    database.with_table("Table").await;
    for number in 0..60 {
        let item = json!({"p": {"S": number.to_string()}, "s": {"S": "1"}, "g": {"S": "x"}});
        database.put(item).await;
    }
    let specification = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    database.ok("UpdateTable", json!({"TableName": "Table", "StreamSpecification": specification})).await;
    let index = json!({
        "IndexName": "Later", "Projection": {"ProjectionType": "KEYS_ONLY"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
    });
    let update = json!({
        "TableName": "Table",
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    });
    database.ok("UpdateTable", update).await;
    for number in 60..100 {
        let item = json!({"p": {"S": number.to_string()}, "s": {"S": "1"}, "g": {"S": "x"}});
        database.put(item).await;
    }
    database.until("Later", Some("ACTIVE")).await;
    let scan = json!({"TableName": "Table", "IndexName": "Later", "Select": "COUNT"});
    assert_eq!(database.ok("Scan", scan).await["Count"], 100);
    let backup = json!({"TableName": "Table", "BackupName": "Backup"});
    let arn = database.ok("CreateBackup", backup).await["BackupDetails"]["BackupArn"].take();
    until("the backup is made", async || {
        let described = database.ok("DescribeBackup", json!({"BackupArn": arn})).await;
        described["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    })
    .await;
    database.ok("DeleteTable", json!({"TableName": "Table"})).await;
    assert_eq!(database.ok("ListTables", json!({})).await["TableNames"], json!([]));
}
