//! Data of every format that there has been is opened, verified and used.
//!
//! `tests/golden/folder-3-data-1` has what the program wrote when its folders had format 3 and what is stored in them
//! had format 1: a data folder, the backups and exports of its tables, the same database as a dump of PostgreSQL, an
//! access file and a model; and what clients saw of it, in `observed.json`. `cargo xtask golden make` makes the data of
//! today's formats, if there is none yet. Data of earlier formats stays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api::{Operation, Request, streams};
use engine::{Caller, Engine, Environment, Options};
use serde_json::{Value, json};
use store::Store;
use store_lsm::{Durability, LsmStore};
use store_postgres::PostgresStore;
use store_postgres::test_server::TestServer;
use transfer::{Bucket, Buckets};

use crate::support::command::{path, success};

const ADVICE: &str = "This program can't use data of an earlier version any more. Read it as before, or migrate it when it is opened. \
    If today's format is to change, raise FORMAT_VERSION (crates/store-lsm/src/folder.rs) or FORMAT \
    (crates/engine/src/tables/format.rs, crates/store-postgres/src/schema.rs), go on reading what has the earlier number, and add data of the new format with \
    `cargo xtask golden make`. Data in tests/golden is never changed";
/// When the data was written. It is opened as if no more than a minute had passed since.
const NOW_MS: u64 = 1_793_000_000_000;
const ACCOUNT: &str = "123456789012";
const MODEL: &str = "model.yaml";
const ACCESS: &str = "access.yaml";
const OBSERVED: &str = "observed.json";
const SONGS: u32 = 20;
/// Longer than anything takes on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// A clock that the test moves, and numbers that count up.
struct Still {
    now_ms: AtomicU64,
    random: AtomicU64,
}

impl Still {
    fn at(now_ms: u64) -> Arc<Still> {
        Arc::new(Still { now_ms: AtomicU64::new(now_ms), random: AtomicU64::new(now_ms) })
    }
}

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn random(&self) -> u128 {
        u128::from(self.random.fetch_add(1, Ordering::Relaxed)) << 64
    }
}

/// A relative path, because backups say where they are. Tests run in the folder of their package.
fn golden() -> PathBuf {
    PathBuf::from("tests/golden")
}

/// Where the data is that this program would write.
fn current() -> PathBuf {
    golden().join(format!("folder-{}-data-{}", store_lsm::FORMAT_VERSION, engine::DATA_FORMAT))
}

/// Where its dump of PostgreSQL is.
fn current_dump() -> PathBuf {
    current().join(format!("postgres-{}.sql.gz", store_postgres::FORMAT_VERSION))
}

/// All data, in temporary copies, with the name of each.
fn copies() -> Vec<(String, tempfile::TempDir)> {
    let mut copies = Vec::new();
    for entry in fs::read_dir(golden()).expect("a folder is listed") {
        let entry = entry.expect("an entry");
        if entry.path().is_dir() {
            let copy = tempfile::tempdir().expect("a temporary folder");
            copy_all(&entry.path(), copy.path());
            copies.push((entry.file_name().into_string().expect("a name of text"), copy));
        }
    }
    copies
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder is made");
    for entry in fs::read_dir(from).expect("a folder is listed") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_all(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("a file is copied")),
        }
    }
}

/// A store in a folder, with files so small that they fit into a repository.
fn folder_store(place: &Path) -> Result<LsmStore, store_lsm::OpenError> {
    let mut options = store_lsm::Options { durability: Durability::Os, ..Default::default() };
    options.tuning.memtable_bytes = 12 << 10;
    options.tuning.segment_bytes = 16 << 10;
    options.tuning.table_bytes = 12 << 10;
    LsmStore::open(place.join("data"), options)
}

/// A database, with its backups and buckets in a folder.
struct Opened {
    engine: Engine,
    clock: Arc<Still>,
}

impl Opened {
    async fn on(store: Arc<dyn Store>, place: &Path, now_ms: u64) -> Opened {
        let clock = Still::at(now_ms);
        let options = Options {
            backups: Some(Bucket::open(path(&place.join("backups"))).await.expect("a place for backups")),
            s3: Some(Arc::new(Buckets::open(path(&place.join("buckets"))).expect("buckets"))),
            ..Options::default()
        };
        let engine = Engine::open_with(store, clock.clone(), options).await;
        Opened { engine: engine.unwrap_or_else(|error| panic!("{error}. {ADVICE}")), clock }
    }

    async fn call(&self, operation: &str, input: Value) -> Value {
        let named = Operation::from_target_name(operation).expect("an operation");
        let request = Request::decode(named, input.to_string().as_bytes()).expect("a request");
        let answer = self.engine.call(&Caller::new(ACCOUNT, "us-east-1"), request).await;
        let mut json = Vec::new();
        answer.unwrap_or_else(|error| panic!("{operation}: {error:?}. {ADVICE}")).write_json(&mut json);
        serde_json::from_slice(&json).expect("JSON")
    }

    async fn streams(&self, operation: &str, input: Value) -> Value {
        let named = streams::Operation::from_target_name(operation).expect("an operation");
        let request = streams::Request::decode(named, input.to_string().as_bytes()).expect("a request");
        let answer = self.engine.call_streams(&Caller::new(ACCOUNT, "us-east-1"), request).await;
        let mut json = Vec::new();
        answer.unwrap_or_else(|error| panic!("{operation}: {error:?}. {ADVICE}")).write_json(&mut json);
        serde_json::from_slice(&json).expect("JSON")
    }

    /// Waits until a description says so.
    async fn until(&self, operation: &str, input: Value, pointer: &str, expected: &str) -> Value {
        let looking = async {
            loop {
                let answer = self.call(operation, input.clone()).await;
                if answer.pointer(pointer).is_some_and(|found| found == expected) {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(WAIT_MAX, looking).await;
        waited.unwrap_or_else(|_| panic!("{operation} never says {expected} at {pointer}"))
    }

    async fn until_active(&self, table: &str) -> Value {
        self.until("DescribeTable", json!({"TableName": table}), "/Table/TableStatus", "ACTIVE").await
    }

    /// The items of a table or index, in the order of their text.
    async fn items(&self, table: &str, index: Option<&str>) -> Value {
        let mut scan = json!({"TableName": table});
        if let Some(index) = index {
            scan["IndexName"] = json!(index);
        }
        let mut items = self.call("Scan", scan).await["Items"].take();
        items.as_array_mut().expect("items").sort_by_key(Value::to_string);
        items
    }

    /// Everything that clients see of the data.
    async fn observed(&self) -> Value {
        let music = self.until_active("Music").await;
        let stream = music["Table"]["LatestStreamArn"].clone();
        let expiry = self.call("DescribeTimeToLive", json!({"TableName": "Music"})).await;
        let tags = self.call("ListTagsOfResource", json!({"ResourceArn": music["Table"]["TableArn"]})).await;
        let search = json!({"TableName": "Pictures", "IndexName": "ByLook", "TopK": 3,
            "SearchVector": [{"N": "1"}, {"N": "0.5"}]});
        let found = self.call("SearchVectors", search).await;
        let restore = json!({"SourceTableName": "Music", "TargetTableName": "Before",
            "RestoreDateTime": NOW_MS as f64 / 1000.0 + 5.0});
        self.call("RestoreTableToPointInTime", restore).await;
        self.until_active("Before").await;
        json!({
            "items": self.items("Music", None).await,
            "by genre": short(&self.items("Music", Some("ByGenre")).await, &["genre", "song", "plays"]),
            "by year": short(&self.items("Music", Some("ByYear")).await, &["year", "song", "plays"]),
            "after five seconds": short(&self.items("Before", None).await, &["song", "genre", "plays"]),
            "pictures": self.items("Pictures", None).await,
            "nearest": found["SearchResults"],
            "global": self.items("Global", None).await,
            "replicas": self.until_active("Global").await["Table"]["Replicas"].as_array().map(Vec::len),
            "stream": self.records(&stream).await,
            "expiry": expiry,
            "tags": tags,
        })
    }

    /// All records of a stream, without what differs from read to read.
    async fn records(&self, stream: &Value) -> Value {
        let described = self.streams("DescribeStream", json!({"StreamArn": stream})).await;
        let mut records = Vec::new();
        for shard in described["StreamDescription"]["Shards"].as_array().expect("shards") {
            let start = json!({"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = self.streams("GetShardIterator", start).await["ShardIterator"].take();
            let page = self.streams("GetRecords", json!({"ShardIterator": iterator})).await;
            records.extend(page["Records"].as_array().expect("records").iter().map(|record| {
                let image =
                    |image: &str| short(&json!([record["dynamodb"][image]]), &["song", "genre", "plays"]);
                json!([record["eventName"], image("OldImage"), image("NewImage")])
            }));
        }
        records.sort_by_key(Value::to_string);
        records.into()
    }

    /// The backup and the export of the data hold the items of their table.
    async fn check_copies(&self, observed: &Value) {
        let backups = self.call("ListBackups", json!({"TableName": "Music"})).await;
        let backup = backups["BackupSummaries"][0]["BackupArn"].clone();
        self.call("RestoreTableFromBackup", json!({"BackupArn": backup, "TargetTableName": "Restored"}))
            .await;
        self.until_active("Restored").await;
        assert_eq!(self.items("Restored", None).await, observed["items"], "{ADVICE}");
        let exports = self.call("ListExports", json!({})).await;
        let export = json!({"ExportArn": exports["ExportSummaries"][0]["ExportArn"]});
        let export = self.call("DescribeExport", export).await["ExportDescription"].take();
        let manifest = export["ExportManifest"].as_str().expect("a manifest");
        let data = manifest.replace("manifest-summary.json", "data/");
        let import = json!({
            "S3BucketSource": {"S3Bucket": "golden", "S3KeyPrefix": data}, "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
            "TableCreationParameters": {"TableName": "Imported", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "artist", "AttributeType": "S"}, {"AttributeName": "song", "AttributeType": "N"}],
                "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "song", "KeyType": "RANGE"}]},
        });
        let import = self.call("ImportTable", import).await["ImportTableDescription"]["ImportArn"].take();
        let import = json!({"ImportArn": import});
        self.until("DescribeImport", import, "/ImportTableDescription/ImportStatus", "COMPLETED").await;
        assert_eq!(self.items("Imported", None).await, observed["items"], "{ADVICE}");
    }

    /// What is written now can be read by the next opening.
    async fn check_use(&self) {
        let item = json!({"artist": {"S": "later"}, "song": {"N": "1"}, "genre": {"S": "new"}});
        self.call("PutItem", json!({"TableName": "Music", "Item": item})).await;
        let index = self.items("Music", Some("ByGenre")).await;
        assert!(index.as_array().expect("items").contains(&item), "{index}");
        let found = self.engine.verify().await.expect("everything can be read");
        assert_eq!((found.faults, &found.reports), (0, &Vec::new()), "{ADVICE}");
        self.engine.close().await.expect("a database closes");
    }

    /// Writes the data.
    async fn fill(&self) {
        self.call("CreateTable", music()).await;
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        self.call(
            "UpdateContinuousBackups",
            json!({"TableName": "Music", "PointInTimeRecoverySpecification": recovery}),
        )
        .await;
        let expiry = json!({"AttributeName": "until", "Enabled": true});
        self.call("UpdateTimeToLive", json!({"TableName": "Music", "TimeToLiveSpecification": expiry})).await;
        for number in 0..SONGS {
            self.call("PutItem", json!({"TableName": "Music", "Item": song(number, 1)})).await;
        }
        self.clock.now_ms.fetch_add(10_000, Ordering::Relaxed);
        for number in (0..SONGS).step_by(3) {
            self.call("PutItem", json!({"TableName": "Music", "Item": song(number, 2)})).await;
        }
        let key = |number: u32| json!({"artist": song(number, 1)["artist"], "song": song(number, 1)["song"]});
        let actions = json!([
            {"Delete": {"TableName": "Music", "Key": key(7)}},
            {"Update": {"TableName": "Music", "Key": key(8), "UpdateExpression": "ADD plays :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}}}},
        ]);
        self.call("TransactWriteItems", json!({"TransactItems": actions, "ClientRequestToken": "token"}))
            .await;
        self.fill_others().await;
        let backup = self.call("CreateBackup", json!({"TableName": "Music", "BackupName": "golden"})).await;
        let backup = json!({"BackupArn": backup["BackupDetails"]["BackupArn"]});
        self.until("DescribeBackup", backup, "/BackupDescription/BackupDetails/BackupStatus", "AVAILABLE")
            .await;
        let table = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Music");
        let export =
            self.call("ExportTableToPointInTime", json!({"TableArn": table, "S3Bucket": "golden"})).await;
        let export = json!({"ExportArn": export["ExportDescription"]["ExportArn"]});
        self.until("DescribeExport", export, "/ExportDescription/ExportStatus", "COMPLETED").await;
    }

    async fn fill_others(&self) {
        let pictures = json!({"TableName": "Pictures", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "B"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "VectorIndexes": [{"IndexName": "ByLook", "VectorAttribute": {"AttributeName": "look"}, "Dimensions": 2, "DistanceFunction": "EUCLIDEAN",
                "Projection": {"ProjectionType": "ALL"}}]});
        self.call("CreateTable", pictures).await;
        for number in 0..9 {
            let look = json!({"L": [{"N": number.to_string()}, {"N": "0.5"}]});
            let item = json!({"id": {"B": format!("AAA{number}")}, "look": look});
            self.call("PutItem", json!({"TableName": "Pictures", "Item": item})).await;
        }
        let global = json!({"TableName": "Global", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}});
        self.call("CreateTable", global).await;
        let replica = json!([{"Create": {"RegionName": "eu-west-1"}}]);
        self.call("UpdateTable", json!({"TableName": "Global", "ReplicaUpdates": replica})).await;
        self.until(
            "DescribeTable",
            json!({"TableName": "Global"}),
            "/Table/Replicas/0/ReplicaStatus",
            "ACTIVE",
        )
        .await;
        self.call("PutItem", json!({"TableName": "Global", "Item": {"id": {"S": "one"}}})).await;
    }
}

/// These attributes of items, without their types.
fn short(items: &Value, attributes: &[&str]) -> Value {
    let value = |value: &Value| value.as_object().and_then(|value| value.values().next().cloned());
    let short = |item: &Value| attributes.iter().map(|name| value(&item[name]).unwrap_or_default()).collect();
    items.as_array().expect("items").iter().map(short).collect::<Vec<Value>>().into()
}

/// JSON with a line for each element of what was observed.
fn readable(observed: &Value) -> String {
    let line = |(name, value): (&String, &Value)| match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(|value| format!("    {value}")).collect();
            format!("  {:?}: [\n{}\n  ]", name, values.join(",\n"))
        }
        other => format!("  {name:?}: {other}"),
    };
    let lines: Vec<String> = observed.as_object().expect("an object").iter().map(line).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

fn music() -> Value {
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    json!({"TableName": "Music", "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        "AttributeDefinitions": [attribute("artist", "S"), attribute("song", "N"), attribute("genre", "S"), attribute("year", "N")],
        "KeySchema": [key("artist", "HASH"), key("song", "RANGE")],
        "GlobalSecondaryIndexes": [{"IndexName": "ByGenre", "KeySchema": [key("genre", "HASH"), key("song", "RANGE")],
            "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}}],
        "LocalSecondaryIndexes": [{"IndexName": "ByYear", "KeySchema": [key("artist", "HASH"), key("year", "RANGE")],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["plays"]}}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "Tags": [{"Key": "kind", "Value": "golden"}]})
}

/// An item with values of every type.
fn song(number: u32, edition: u32) -> Value {
    json!({"artist": {"S": format!("artist {}", number % 4)}, "song": {"N": number.to_string()},
        "genre": {"S": format!("genre {}", (number + edition) % 3)}, "year": {"N": (1990 + number % 9).to_string()},
        "plays": {"N": format!("{edition}.{number}5")}, "cover": {"B": "aGVsbG8="}, "live": {"BOOL": number.is_multiple_of(2)},
        "label": {"NULL": true}, "tags": {"SS": ["a", "b"]}, "charts": {"NS": ["-1", "2.5"]}, "marks": {"BS": ["AQ=="]},
        "until": {"N": "4000000000"}, "credits": {"M": {"by": {"L": [{"S": "ä"}, {"N": "1E+30"}]}}}})
}

#[tokio::test]
#[ignore = "`cargo xtask golden make` runs it: it makes the data that the other tests use"]
async fn make() {
    assert!(!current_dump().exists(), "{} is there already: data is never changed", current_dump().display());
    if !current().exists() {
        make_folder(&current()).await;
        make_files(&current());
    }
    make_dump(&current_dump()).await;
}

async fn make_folder(place: &Path) {
    fs::create_dir_all(place.join("buckets/golden")).expect("a folder is made");
    let store = folder_store(place).expect("a store");
    let opened = Opened::on(Arc::new(store), place, NOW_MS).await;
    opened.fill().await;
    opened.engine.close().await.expect("a database closes");
    drop(opened);
    let _ = fs::remove_file(place.join("data/lock"));
    // A repository has no empty folders.
    let _ = fs::remove_dir(place.join("data/store/aside"));

    let copy = tempfile::tempdir().expect("a temporary folder");
    copy_all(place, copy.path());
    let store = folder_store(copy.path()).expect("a store");
    let observed = Opened::on(Arc::new(store), copy.path(), NOW_MS + 60_000).await.observed().await;
    fs::write(place.join(OBSERVED), readable(&observed)).expect("a file is written");
}

fn make_files(place: &Path) {
    let reader = "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess";
    success(&["access", "add", "reader", "--policy", reader, "--file", path(&place.join(ACCESS))]);
    fs::copy("../../examples/models/m01-shop.yaml", place.join(MODEL)).expect("a file is copied");
}

async fn make_dump(file: &Path) {
    let url = TestServer::shared().create_database().await;
    let place = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir_all(place.path().join("buckets/golden")).expect("a folder is made");
    let store = PostgresStore::open(&url, Default::default()).await.expect("a store");
    let opened = Opened::on(Arc::new(store), place.path(), NOW_MS).await;
    opened.fill().await;
    opened.engine.close().await.expect("a database closes");
    let arguments = ["--no-owner", "--no-privileges", "--restrict-key=golden", "--compress=9", "--file"];
    let dumped = Command::new("pg_dump").args(arguments).arg(file).arg(&url).status();
    assert!(dumped.expect("pg_dump starts").success());
}

#[test]
fn todays_formats_have_data() {
    for made in [current().join("data"), current_dump()] {
        assert!(
            made.exists(),
            "{} is missing: a format of data has changed. Go on reading the earlier one, which the other tests check, and \
             add data of today's with `cargo xtask golden make`",
            made.display()
        );
    }
}

#[tokio::test]
async fn data_folders_of_every_format_are_opened_verified_and_used() {
    let copies = copies();
    assert!(copies.len() > 1, "data of today's format and of earlier ones");
    for (name, copy) in copies {
        let found = store_lsm::verify(&copy.path().join("data")).expect("a folder");
        assert!(found.findings.is_empty(), "{name}: {:?}. {ADVICE}", found.findings);
        let store = folder_store(copy.path()).unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
        let opened = Opened::on(Arc::new(store), copy.path(), NOW_MS + 60_000).await;
        let expected = expected(copy.path());
        assert_eq!(opened.observed().await, expected, "{name}. {ADVICE}");
        if copy.path().join("buckets").exists() {
            opened.check_copies(&expected).await;
        }
        opened.check_use().await;
        drop(opened);
        let store = folder_store(copy.path()).expect("the folder opens again");
        let again = Opened::on(Arc::new(store), copy.path(), NOW_MS + 120_000).await;
        again.check_use().await;
    }
}

#[tokio::test]
async fn databases_in_postgresql_of_every_format_are_opened_verified_and_used() {
    for (name, copy) in copies() {
        let files =
            fs::read_dir(copy.path()).expect("a folder is listed").map(|file| file.expect("an entry").path());
        for dump in files.filter(|file| file.extension().is_some_and(|extension| extension == "gz")) {
            let url = TestServer::shared().create_database().await;
            let restore = "gunzip -c \"$1\" | psql --quiet --set=ON_ERROR_STOP=1 --output=/dev/null \"$2\"";
            let restored = Command::new("sh").args(["-c", restore, "sh"]).arg(&dump).arg(&url).status();
            assert!(
                restored.expect("a shell starts").success(),
                "{name}: {} can't be restored",
                dump.display()
            );
            let store = PostgresStore::open(&url, Default::default()).await;
            let store = store.unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
            let opened = Opened::on(Arc::new(store), copy.path(), NOW_MS + 60_000).await;
            assert_eq!(opened.observed().await, expected(copy.path()), "{name}. {ADVICE}");
            opened.check_use().await;
        }
    }
}

/// What was observed when the data was made.
fn expected(copy: &Path) -> Value {
    let text = fs::read(copy.join(OBSERVED)).expect("what was observed");
    serde_json::from_slice(&text).expect("JSON")
}

#[test]
fn access_files_and_models_of_every_version_are_read() {
    for (name, copy) in copies() {
        let (access, model) = (copy.path().join(ACCESS), copy.path().join(MODEL));
        if access.exists() {
            fs::set_permissions(&access, fs::Permissions::from_mode(0o600)).expect("a mode");
            let table = "arn:aws:dynamodb:us-east-1:000000000000:table/Music";
            let asked = ["access", "check", "reader", "dynamodb:GetItem", table, "--file", path(&access)];
            assert!(success(&asked).starts_with("yes: "), "{name}: {}. {ADVICE}", success(&asked));
        }
        if model.exists() {
            // Later versions may find more in it, but they read and serve it.
            success(&["model", "code", path(&model)]);
            success(&["model", "prove", path(&model)]);
        }
    }
}
