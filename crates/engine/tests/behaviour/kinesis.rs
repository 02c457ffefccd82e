//! Kinesis streaming destinations: their states, and that every change arrives, in order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{
    Dimensions, KinesisRecord, KinesisStream, KinesisStreams, Metric, MetricId, Namespace, Options,
    PutFuture, PutOutcome,
};
use serde_json::{Value, json};

use crate::database::Database;
use crate::support::wait_for;

const ARN: &str = "arn:aws:kinesis:us-east-1:123456789012:stream/orders";
const STATE: &str = "Table is not in a valid state to enable Kinesis Streaming Destination: ";

/// A stream in this process: what it has got, and how much more it takes.
struct Stream {
    records: Mutex<Vec<KinesisRecord>>,
    /// How many records it takes of each put; all if there is none.
    takes: Mutex<Option<usize>>,
}

impl Stream {
    fn new() -> Arc<Stream> {
        Arc::new(Stream { records: Mutex::default(), takes: Mutex::new(None) })
    }

    fn take(&self, count: Option<usize>) {
        *self.takes.lock().unwrap() = count;
    }

    fn records(&self) -> Vec<Value> {
        let records = self.records.lock().unwrap();
        records.iter().map(|record| serde_json::from_slice(&record.data).expect("JSON")).collect()
    }

    /// Waits until there are `count` records.
    async fn until(&self, count: usize) -> Vec<Value> {
        wait_for(&format!("{count} records come"), async || {
            Some(self.records()).filter(|records| records.len() >= count)
        })
        .await
    }
}

impl KinesisStream for Stream {
    fn put<'a>(&'a self, records: &'a [KinesisRecord]) -> PutFuture<'a> {
        Box::pin(async move {
            let count = self.takes.lock().unwrap().unwrap_or(records.len()).min(records.len());
            self.records.lock().unwrap().extend_from_slice(&records[..count]);
            let obstacle = (count < records.len()).then(|| "it takes no more".to_owned());
            PutOutcome { arrived: count, throttled: records.len() - count, obstacle }
        })
    }
}

fn options(stream: &Arc<Stream>) -> Options {
    let stream: Arc<dyn KinesisStream> = stream.clone();
    let kinesis: KinesisStreams = [("orders".to_owned(), stream)].into_iter().collect();
    Options { kinesis, ..Options::default() }
}

async fn with_stream() -> (Database, Arc<Stream>) {
    let stream = Stream::new();
    let database = Database::with_options(options(&stream)).await;
    database.with_table("Table").await;
    (database, stream)
}

fn named() -> Value {
    json!({"TableName": "Table", "StreamArn": ARN})
}

async fn enable(database: &Database) -> Value {
    database.ok("EnableKinesisStreamingDestination", named()).await
}

async fn described(database: &Database) -> Value {
    let answer = database.ok("DescribeKinesisStreamingDestination", json!({"TableName": "Table"})).await;
    assert_eq!(answer["TableName"], "Table");
    answer["KinesisDataStreamDestinations"].clone()
}

fn item(p: &str, v: usize) -> Value {
    json!({"p": {"S": p}, "s": {"S": "s"}, "v": {"N": v.to_string()}})
}

/// The values of each item, in the order in which its changes arrived; what came twice in a row counts once.
fn by_item(records: &[Value]) -> BTreeMap<String, Vec<usize>> {
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for record in records.iter().filter(|record| seen.insert(record["eventID"].to_string())) {
        let p = record["dynamodb"]["Keys"]["p"]["S"].as_str().unwrap().to_owned();
        let v = record["dynamodb"]["NewImage"]["v"]["N"].as_str().unwrap().parse().unwrap();
        found.entry(p).or_default().push(v);
    }
    found
}

#[tokio::test(start_paused = true)]
async fn a_destination_is_enabled_updated_and_disabled() {
    let (database, _) = with_stream().await;
    assert_eq!(described(&database).await, json!([]));
    let answer = enable(&database).await;
    let configuration = json!({"ApproximateCreationDateTimePrecision": "MILLISECOND"});
    let expected = json!({
        "TableName": "Table", "StreamArn": ARN, "DestinationStatus": "ENABLING",
        "EnableKinesisStreamingConfiguration": configuration,
    });
    assert_eq!(answer, expected);
    let shown = |status: &str, precision: &str| json!([{"StreamArn": ARN, "DestinationStatus": status, "ApproximateCreationDateTimePrecision": precision}]);
    assert_eq!(described(&database).await, shown("ACTIVE", "MILLISECOND"));

    let mut update = named();
    update["UpdateKinesisStreamingConfiguration"] =
        json!({"ApproximateCreationDateTimePrecision": "MICROSECOND"});
    let answer = database.ok("UpdateKinesisStreamingDestination", update).await;
    assert_eq!(answer["DestinationStatus"], "UPDATING");
    assert_eq!(described(&database).await, shown("ACTIVE", "MICROSECOND"));

    let answer = database.ok("DisableKinesisStreamingDestination", named()).await;
    assert_eq!(answer["DestinationStatus"], "DISABLING");
    assert_eq!(described(&database).await, shown("DISABLED", "MICROSECOND"));
    enable(&database).await;
    assert_eq!(described(&database).await, shown("ACTIVE", "MILLISECOND"));
}

#[tokio::test(start_paused = true)]
async fn passing_states_last_as_long_as_those_of_tables() {
    let stream = Stream::new();
    let options = Options { state_delay: Duration::from_millis(200), ..options(&stream) };
    let database = Database::with_options(options).await;
    database.with_table("Table").await;
    database.until_active("Table").await;
    enable(&database).await;
    // The clock of the database does not move by itself.
    assert_eq!(described(&database).await[0]["DestinationStatus"], "ENABLING");
    let message = format!("{STATE}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.");
    let disable = "DisableKinesisStreamingDestination";
    database.refused(disable, named(), "ValidationException", &message).await;
    database.pass_ms(200);
    assert_eq!(described(&database).await[0]["DestinationStatus"], "ACTIVE");
    database.ok(disable, named()).await;
    assert_eq!(described(&database).await[0]["DestinationStatus"], "DISABLING");
    database.pass_ms(200);
    assert_eq!(described(&database).await[0]["DestinationStatus"], "DISABLED");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_the_state_is_refused() {
    let (database, _) = with_stream().await;
    let refused = |operation: &'static str, input: Value, message: String| {
        let database = &database;
        async move { database.refused(operation, input, "ValidationException", &message).await }
    };
    for (operation, verb) in
        [("DisableKinesisStreamingDestination", "DISABLE"), ("UpdateKinesisStreamingDestination", "UPDATE")]
    {
        let mut input = named();
        if verb == "UPDATE" {
            input["UpdateKinesisStreamingConfiguration"] =
                json!({"ApproximateCreationDateTimePrecision": "MICROSECOND"});
        }
        let reason = format!("KinesisStreamingDestination must be ACTIVE to perform {verb} operation.");
        refused(operation, input, format!("{STATE}{reason}")).await;
    }
    enable(&database).await;
    let reason =
        "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation.";
    refused("EnableKinesisStreamingDestination", named(), format!("{STATE}{reason}")).await;
    let reason = "Streaming destination cannot be updated with given parameters: \
                  UpdateKinesisStreamingConfiguration cannot be null or contain only null values";
    refused("UpdateKinesisStreamingDestination", named(), reason.to_owned()).await;
    let table = database.ok("DescribeTable", json!({"TableName": "Table"})).await;
    let id = table["Table"]["TableId"].as_str().unwrap().to_owned();
    let mut same = named();
    same["UpdateKinesisStreamingConfiguration"] =
        json!({"ApproximateCreationDateTimePrecision": "MILLISECOND"});
    let reason = "Invalid Request: Precision is already set to the desired value of MILLISECOND";
    let message = format!("{reason} for tableId: {id}, kdsArn: {ARN}");
    refused("UpdateKinesisStreamingDestination", same, message).await;
    let other = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders";
    let message = format!(
        "StreamArn must be the ARN of a Kinesis data stream in account 123456789012 and Region us-east-1: {other}"
    );
    let input = json!({"TableName": "Table", "StreamArn": other});
    refused("EnableKinesisStreamingDestination", input, message).await;
    let missing = json!({"TableName": "Nowhere", "StreamArn": ARN});
    let message = "Requested resource not found: Table: Nowhere not found";
    for operation in ["EnableKinesisStreamingDestination", "DisableKinesisStreamingDestination"] {
        database.refused(operation, missing.clone(), "ResourceNotFoundException", message).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_has_at_most_two_destinations_that_are_on() {
    let (database, _) = with_stream().await;
    let arn = |name: &str| format!("arn:aws:kinesis:us-east-1:123456789012:stream/{name}");
    let operation = "EnableKinesisStreamingDestination";
    for name in ["orders", "second"] {
        database.ok(operation, json!({"TableName": "Table", "StreamArn": arn(name)})).await;
    }
    let third = json!({"TableName": "Table", "StreamArn": arn("third")});
    let message = "A table can have at most 2 active Kinesis streaming destinations";
    database.refused(operation, third.clone(), "LimitExceededException", message).await;
    // The server knows no stream of this name.
    let shown = described(&database).await;
    assert_eq!(shown[1]["DestinationStatus"], "ENABLE_FAILED");
    assert!(shown[1]["DestinationStatusDescription"].as_str().unwrap().contains("--kinesis second="));
    database
        .ok("DisableKinesisStreamingDestination", json!({"TableName": "Table", "StreamArn": arn("second")}))
        .await;
    database.ok(operation, third).await;
}

#[tokio::test(start_paused = true)]
async fn every_change_arrives_in_the_form_of_dynamodb() {
    let (database, stream) = with_stream().await;
    database.put(item("before", 1)).await;
    enable(&database).await;
    database.put(item("a", 1)).await;
    database.put(item("a", 2)).await;
    // What changes nothing is no change.
    database.put(item("a", 2)).await;
    let key = json!({"p": {"S": "a"}, "s": {"S": "s"}});
    database.ok("DeleteItem", json!({"TableName": "Table", "Key": key})).await;
    let mut records = stream.until(3).await;
    let time = records[0]["dynamodb"]["ApproximateCreationDateTime"].as_u64().expect("milliseconds");
    assert!((1_000_000_000_000..10_000_000_000_000).contains(&time), "{time}");
    let id = records[0]["eventID"].take();
    assert_eq!(id.as_str().unwrap().len(), 36);
    let first = json!({
        "awsRegion": "us-east-1", "eventID": null, "eventName": "INSERT", "userIdentity": null,
        "recordFormat": "application/json", "tableName": "Table", "eventSource": "aws:dynamodb",
        "dynamodb": {
            "ApproximateCreationDateTime": time, "Keys": key, "NewImage": item("a", 1), "SizeBytes": 11,
            "ApproximateCreationDateTimePrecision": "MILLISECOND",
        },
    });
    assert_eq!(records[0], first);
    assert_eq!(records[1]["eventName"], "MODIFY");
    assert_eq!(records[1]["dynamodb"]["OldImage"], item("a", 1));
    assert_eq!(records[1]["dynamodb"]["NewImage"], item("a", 2));
    assert_eq!(records[2]["eventName"], "REMOVE");
    assert_eq!(records[2]["dynamodb"]["OldImage"], item("a", 2));
    assert_eq!(records[2]["dynamodb"].get("NewImage"), None);
    let keys: Vec<String> = {
        let records = stream.records.lock().unwrap();
        records.iter().map(|record| record.partition_key.clone()).collect()
    };
    assert!(keys.iter().all(|key| key.len() == 32 && *key == keys[0]), "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn times_are_as_exact_as_the_destination_says() {
    let (database, stream) = with_stream().await;
    let mut input = named();
    input["EnableKinesisStreamingConfiguration"] =
        json!({"ApproximateCreationDateTimePrecision": "MICROSECOND"});
    database.ok("EnableKinesisStreamingDestination", input).await;
    database.put(item("a", 1)).await;
    let record = stream.until(1).await.remove(0);
    assert_eq!(record["dynamodb"]["ApproximateCreationDateTimePrecision"], "MICROSECOND");
    let time = record["dynamodb"]["ApproximateCreationDateTime"].as_u64().expect("microseconds");
    assert!(time > 1_000_000_000_000_000, "{time}");
}

#[tokio::test(start_paused = true)]
async fn what_a_stream_does_not_take_is_put_again_in_order() {
    let (database, stream) = with_stream().await;
    enable(&database).await;
    stream.take(Some(0));
    for v in 0..20 {
        for p in ["a", "b", "c"] {
            database.put(item(p, v)).await;
        }
    }
    assert_eq!(stream.records().len(), 0);
    stream.take(Some(7));
    let expected: Vec<usize> = (0..20).collect();
    let records = stream.until(60).await;
    for (p, values) in by_item(&records) {
        assert_eq!(values, expected, "{p}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_goes_on_after_a_restart_and_shards_that_are_divided_keep_the_order() {
    let (database, stream) = with_stream().await;
    enable(&database).await;
    stream.take(Some(0));
    for v in 0..5 {
        for p in 0..8 {
            database.put(item(&p.to_string(), v)).await;
        }
    }
    // Twice as many shards: the minute's look at logs divides them.
    let database = database.restarted_with(Options { stream_shards: 8, ..options(&stream) }).await;
    for v in 5..10 {
        for p in 0..8 {
            database.put(item(&p.to_string(), v)).await;
        }
    }
    stream.take(None);
    let records = stream.until(80).await;
    let found = by_item(&records);
    assert_eq!(found.len(), 8);
    for (p, values) in found {
        assert_eq!(values, (0..10).collect::<Vec<usize>>(), "{p}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_arrives_after_a_destination_was_disabled() {
    let (database, stream) = with_stream().await;
    enable(&database).await;
    database.put(item("a", 1)).await;
    stream.until(1).await;
    database.ok("DisableKinesisStreamingDestination", named()).await;
    database.put(item("a", 2)).await;
    enable(&database).await;
    database.put(item("a", 3)).await;
    let records = stream.until(2).await;
    assert_eq!(by_item(&records)["a"], [1, 3]);
}

/// The points of a metric of deliveries, added up: how many values, their sum and the largest.
async fn metric(database: &Database, metric: Metric) -> (u64, f64, f64) {
    let dimensions = Dimensions {
        table: Some("Table".into()),
        delegated_operation: Some("PutRecord".into()),
        ..Dimensions::default()
    };
    let (namespace, id) = (Namespace::new("123456789012", "us-east-1"), MetricId { metric, dimensions });
    let points = database.engine.metric_points(&namespace, &id, 0, 1 << 40).await.unwrap();
    points.iter().fold((0, 0.0, 0.0), |(count, sum, largest), (_, cell)| {
        (count + cell.count, sum + cell.sum, f64::max(largest, cell.max))
    })
}

/// Waits until a metric of deliveries has this sum.
async fn until_sum(database: &Database, name: Metric, expected: f64) {
    let what = format!("{} has the sum {expected}", name.name());
    let sum = wait_for(&what, async || Some(metric(database, name).await.1).filter(|sum| *sum >= expected));
    assert_eq!(sum.await, expected, "{}", name.name());
}

#[tokio::test(start_paused = true)]
async fn deliveries_are_counted_in_units_of_the_larger_image() {
    let (database, stream) = with_stream().await;
    enable(&database).await;
    let mut large = item("a", 1);
    large["text"] = json!({"S": "x".repeat(2500)});
    database.put(large).await;
    database.put(item("a", 2)).await;
    database.put(item("a", 3)).await;
    stream.until(3).await;
    // 3 KB come, the same 3 KB go, and a small item is changed.
    until_sum(&database, Metric::ConsumedChangeDataCaptureUnits, 3.0 + 3.0 + 1.0).await;
    assert_eq!(metric(&database, Metric::ConsumedChangeDataCaptureUnits).await.0, 3);
    assert!(metric(&database, Metric::AgeOfOldestUnreplicatedRecord).await.0 > 0);
    assert_eq!(metric(&database, Metric::ThrottledPutRecordCount).await, (0, 0.0, 0.0));
    assert_eq!(metric(&database, Metric::FailedToReplicateRecordCount).await, (0, 0.0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn what_a_stream_turns_away_is_counted_and_grows_old() {
    let (database, stream) = with_stream().await;
    enable(&database).await;
    stream.take(Some(0));
    database.put(item("a", 1)).await;
    database.pass_ms(90_000);
    let oldest_ms = wait_for("the record is old", async || {
        let (_, _, oldest_ms) = metric(&database, Metric::AgeOfOldestUnreplicatedRecord).await;
        Some(oldest_ms).filter(|oldest_ms| *oldest_ms >= 89_000.0)
    })
    .await;
    assert!((89_000.0..91_000.0).contains(&oldest_ms), "{oldest_ms}");
    assert!(metric(&database, Metric::ThrottledPutRecordCount).await.1 >= 1.0);
    assert_eq!(metric(&database, Metric::ConsumedChangeDataCaptureUnits).await.0, 0);
    stream.take(None);
    until_sum(&database, Metric::ConsumedChangeDataCaptureUnits, 1.0).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_a_day_old_is_given_up_and_counted() {
    let (database, stream) = with_stream().await;
    enable(&database).await;
    stream.take(Some(0));
    for v in 0..3 {
        database.put(item("a", v)).await;
    }
    database.pass_ms(24 * 60 * 60 * 1000 + 1);
    database.put(item("a", 3)).await;
    until_sum(&database, Metric::FailedToReplicateRecordCount, 3.0).await;
    stream.take(None);
    assert_eq!(by_item(&stream.until(1).await)["a"], [3]);
}
