//! Metrics: what was used is counted by the minute, exactly, and kept.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{Dimensions, Enforcement, Metric, MetricId, Namespace};
use serde_json::{Value, json};

use crate::database::Database;
use crate::support::{pass, until};

fn namespace() -> Namespace {
    Namespace::new("123456789012", "us-east-1")
}

fn of_table() -> Dimensions {
    Dimensions { table: Some("Table".into()), ..Dimensions::default() }
}

fn of_operation(name: &str) -> Dimensions {
    Dimensions { operation: Some(name.into()), ..of_table() }
}

fn of_index(name: &str) -> Dimensions {
    Dimensions { index: Some(name.into()), ..of_table() }
}

/// The sum of a metric over all time, and how many values it had.
async fn sum(database: &Database, metric: Metric, dimensions: Dimensions) -> (f64, u64) {
    let id = MetricId { metric, dimensions };
    let points = database.engine.metric_points(&namespace(), &id, 0, 1 << 40).await.unwrap();
    points.iter().fold((0.0, 0), |(sum, count), (_, cell)| (sum + cell.sum, count + cell.count))
}

fn key(p: usize) -> Value {
    json!({"p": {"S": format!("{p}")}, "s": {"S": "1"}})
}

/// A table with a local index on `t` and a global one on `g`.
async fn table(database: &Database) {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let index = |name: &str, hash: &str, range: &str| json!({"IndexName": name, "KeySchema": keys(hash, range), "Projection": {"ProjectionType": "KEYS_ONLY"}});
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("p", "s"),
                "AttributeDefinitions": (["p", "s", "t", "g"].map(attribute)),
                "LocalSecondaryIndexes": [index("byT", "p", "t")],
                "GlobalSecondaryIndexes": [index("byG", "g", "s")],
            }),
        )
        .await;
}

/// The next of a series of numbers that look random.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

fn random_request(state: &mut u64) -> (&'static str, Value) {
    let (choice, p) = (next(state) % 11, next(state) % 7);
    let text = "v".repeat(next(state) % 9_000);
    let mut item = json!({"p": {"S": format!("{p}")}, "s": {"S": "1"}, "v": {"S": text}});
    for name in ["t", "g"] {
        if next(state).is_multiple_of(2) {
            item[name] = json!({"S": format!("{}", next(state) % 3)});
        }
    }
    let other = key(p + 7);
    let consistent = next(state).is_multiple_of(2);
    let query = |index: Option<&str>| {
        let (name, value) = if index == Some("byG") { ("g", "1".to_owned()) } else { ("p", format!("{p}")) };
        let mut query = json!({
            "TableName": "Table", "KeyConditionExpression": "#k = :k", "ExpressionAttributeNames": {"#k": name},
            "ExpressionAttributeValues": {":k": {"S": value}},
        });
        if let Some(index) = index {
            query["IndexName"] = json!(index);
        }
        if index == Some("byT") {
            query["Select"] = json!("ALL_ATTRIBUTES");
        }
        query
    };
    let put = json!({"Put": {"TableName": "Table", "Item": item}});
    let check = json!({"ConditionCheck": {"TableName": "Table", "Key": other, "ConditionExpression": "attribute_not_exists(zz)"}});
    let mut request = match choice {
        0 | 1 => ("PutItem", json!({"TableName": "Table", "Item": item})),
        2 => ("DeleteItem", json!({"TableName": "Table", "Key": key(p)})),
        3 => ("GetItem", json!({"TableName": "Table", "Key": key(p), "ConsistentRead": consistent})),
        4 => ("Query", query(None)),
        5 => ("Query", query(Some("byG"))),
        6 => ("Query", query(Some("byT"))),
        7 => ("Scan", json!({"TableName": "Table", "ConsistentRead": consistent})),
        8 => ("BatchGetItem", json!({"RequestItems": {"Table": {"Keys": [key(p), other]}}})),
        9 => ("TransactWriteItems", json!({"TransactItems": [put, check]})),
        _ => {
            let writes = json!([{"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": other}}]);
            ("BatchWriteItem", json!({"RequestItems": {"Table": writes}}))
        }
    };
    request.1["ReturnConsumedCapacity"] = json!("INDEXES");
    request
}

/// Adds the ConsumedCapacity of an answer, by access and by the throughput that was used: a local index uses its
/// table's.
fn add_consumed(sums: &mut BTreeMap<(bool, &'static str), f64>, is_write: bool, answer: &Value) {
    let list = match &answer["ConsumedCapacity"] {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    for consumed in list {
        let units = |part: &Value| part["CapacityUnits"].as_f64().unwrap_or(0.0);
        let local = units(&consumed["LocalSecondaryIndexes"]["byT"]);
        *sums.entry((is_write, "table")).or_default() += units(&consumed["Table"]) + local;
        *sums.entry((is_write, "byG")).or_default() += units(&consumed["GlobalSecondaryIndexes"]["byG"]);
    }
}

#[tokio::test]
async fn consumed_units_are_exactly_those_of_the_answers_over_restarts() {
    let mut database = Database::with_capacity(Enforcement::Shadow).await;
    table(&database).await;
    let (mut state, mut sums) = (16, BTreeMap::new());
    for number in 0..1_500 {
        let (operation, input) = random_request(&mut state);
        let is_write =
            operation.contains("Put") || operation.contains("Delete") || operation.contains("Write");
        add_consumed(&mut sums, is_write, &database.ok(operation, input).await);
        database.pass_ms(next(&mut state) as u64 % 2_000);
        if number % 400 == 399 {
            database = database.restarted().await;
        }
    }
    for (is_write, place) in [(false, "table"), (false, "byG"), (true, "table"), (true, "byG")] {
        let metric =
            if is_write { Metric::ConsumedWriteCapacityUnits } else { Metric::ConsumedReadCapacityUnits };
        let dimensions = if place == "table" { of_table() } else { of_index(place) };
        let expected = sums[&(is_write, place)];
        assert!(expected > 10.0);
        assert_eq!(sum(&database, metric, dimensions).await.0, expected, "{place}, write: {is_write}");
    }
}

#[tokio::test]
async fn the_distribution_of_latencies_is_kept_over_a_restart() {
    let mut database = Database::with_capacity(Enforcement::Shadow).await;
    table(&database).await;
    for run in 1..=2 {
        for p in 0..50 {
            database.put(key(p)).await;
        }
        database = database.restarted().await;
        let id = MetricId { metric: Metric::SuccessfulRequestLatency, dimensions: of_operation("PutItem") };
        let points = database.engine.metric_points(&namespace(), &id, 0, 1 << 40).await.unwrap();
        let counts = points.iter().map(|(_, cell)| cell.distribution.as_ref().unwrap().count());
        assert_eq!(counts.sum::<u64>(), 50 * run);
        for (_, cell) in &points {
            let median = cell.percentile(50.0).unwrap();
            assert!(cell.min <= median && median <= cell.max, "{cell:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_loses_the_last_seconds_and_counts_nothing_twice() {
    let database = Database::with_capacity(Enforcement::Shadow).await;
    table(&database).await;
    for p in 0..10 {
        database.put(key(p)).await;
    }
    pass(Duration::from_secs(6)).await;
    for p in 0..5 {
        database.put(key(p)).await;
    }
    let consumed = Metric::ConsumedWriteCapacityUnits;
    assert_eq!(sum(&database, consumed, of_table()).await, (15.0, 15));
    let crashed = database.reopened().await;
    assert_eq!(sum(&crashed, consumed, of_table()).await, (10.0, 10));
    crashed.put(key(0)).await;
    assert_eq!(sum(&crashed.restarted().await, consumed, of_table()).await, (11.0, 11));
}

#[tokio::test(start_paused = true)]
async fn minutes_are_kept_for_15_days_and_metrics_listed_for_14() {
    let database = Database::with_capacity(Enforcement::Shadow).await;
    table(&database).await;
    database.put(key(1)).await;
    let consumed = MetricId { metric: Metric::ConsumedWriteCapacityUnits, dimensions: of_table() };
    let latency = MetricId { metric: Metric::SuccessfulRequestLatency, dimensions: of_operation("PutItem") };
    let listed = database.engine.metrics(&namespace()).await.unwrap();
    assert_eq!(listed, [consumed.clone(), latency]);
    assert_eq!(database.engine.metrics(&Namespace::new("1", "us-east-1")).await.unwrap(), []);
    let database = database.restarted().await;
    assert_eq!(database.engine.metrics(&namespace()).await.unwrap().len(), 2, "stored");
    let day_ms = 24 * 3_600_000;
    database.pass_ms(14 * day_ms + 7_200_000);
    pass(Duration::from_secs(6)).await;
    assert!(!database.engine.metrics(&namespace()).await.unwrap().contains(&consumed));
    assert_eq!(sum(&database, consumed.metric, of_table()).await.0, 1.0);
    database.pass_ms(day_ms);
    pass(Duration::from_secs(6)).await;
    assert_eq!(sum(&database, consumed.metric, of_table()).await.0, 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_metric_of_the_last_seconds_of_a_minute_is_listed() {
    let database = Database::with_capacity(Enforcement::Shadow).await;
    table(&database).await;
    database.put(key(1)).await;
    database.pass_ms(60_000);
    database.get(key(1)).await;
    pass(Duration::from_secs(6)).await;
    let listed = database.engine.metrics(&namespace()).await.unwrap();
    let consumed = MetricId { metric: Metric::ConsumedWriteCapacityUnits, dimensions: of_table() };
    assert!(listed.contains(&consumed), "{listed:?}");
}

#[tokio::test]
async fn requests_are_counted_by_how_they_ended() {
    let database = Database::with_capacity(Enforcement::Declared).await;
    table(&database).await;
    database.put(key(1)).await;
    let put = json!({"TableName": "Table", "Item": key(1), "ConditionExpression": "attribute_not_exists(p)"});
    database.call("PutItem", put).await.unwrap_err();
    database.call("PutItem", json!({"TableName": "Table", "Item": {}})).await.unwrap_err();
    database.ok("Scan", json!({"TableName": "Table"})).await;
    let maximum = json!({"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 1});
    database.ok("UpdateTable", json!({"TableName": "Table", "OnDemandThroughput": maximum})).await;
    for _ in 0..3 {
        let _ = database
            .call("GetItem", json!({"TableName": "Table", "Key": key(1), "ConsistentRead": true}))
            .await;
    }
    let account = Dimensions::default;
    for (metric, dimensions, expected) in [
        (Metric::ConsumedWriteCapacityUnits, of_table(), (2.0, 2)),
        (Metric::ConditionalCheckFailedRequests, of_table(), (1.0, 1)),
        (Metric::UserErrors, account(), (1.0, 1)),
        (Metric::ReturnedItemCount, of_operation("Scan"), (1.0, 1)),
        (Metric::ReadThrottleEvents, of_table(), (2.0, 2)),
        (Metric::ReadMaxOnDemandThroughputThrottleEvents, of_table(), (2.0, 2)),
        (Metric::ThrottledRequests, of_operation("GetItem"), (2.0, 2)),
        (Metric::ThrottledRequests, of_table(), (2.0, 2)),
        (Metric::ShadowReadThrottleEvents, of_table(), (0.0, 0)),
    ] {
        assert_eq!(sum(&database, metric, dimensions).await, expected, "{}", metric.name());
    }
    assert_eq!(sum(&database, Metric::SuccessfulRequestLatency, of_operation("GetItem")).await.1, 1);
}

#[tokio::test]
async fn a_report_says_what_aws_would_have_throttled_and_which_keys() {
    let database = Database::with_capacity(Enforcement::Shadow).await;
    let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 1});
    database
        .ok("CreateTable", json!({
            "TableName": "Table", "ProvisionedThroughput": units,
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"},
            ],
        }))
        .await;
    database.put(json!({"p": {"S": "0"}, "s": {"S": "1"}, "v": {"S": "v".repeat(400_000)}})).await;
    for number in 0..6 {
        database.put(key(number / 4)).await;
    }
    let report = database.engine.capacity_report(&namespace(), "Table").await.unwrap().unwrap();
    let write = &report.resources[0].write;
    assert_eq!((report.billing_mode, report.capacity, write.declared), ("PROVISIONED", "shadow", Some(1)));
    assert_eq!(write.consumed, 391.0 + 391.0 + 5.0);
    assert_eq!(write.would_throttle, BTreeMap::from([("ProvisionedThroughputExceeded", 6)]));
    assert_eq!(write.throttled, BTreeMap::new());
    let keys: Vec<(Value, u64)> = report.shadow_keys.iter().map(|key| (key.key.clone(), key.count)).collect();
    assert_eq!(keys, [(json!({"p": {"S": "0"}}), 4), (json!({"p": {"S": "1"}}), 2)]);
    assert_eq!(database.engine.capacity_report(&namespace(), "none").await.unwrap(), None);
}

#[tokio::test]
async fn nothing_is_counted_when_capacity_is_off() {
    let database = Database::with_capacity(Enforcement::Off).await;
    table(&database).await;
    database.put(key(1)).await;
    assert_eq!(database.engine.metrics(&namespace()).await.unwrap(), []);
}

#[tokio::test]
async fn a_faster_clock_goes_on_where_it_was() {
    let database = Database::with_time_scale(60).await;
    let began_ms = database.engine.usage().now().ms;
    database.pass_ms(1_000);
    assert_eq!(database.engine.usage().now().ms, began_ms + 60_000);
    let database = database.restarted().await;
    assert_eq!(database.engine.usage().now().ms, began_ms + 60_000);
    database.pass_ms(1_000);
    assert_eq!(database.engine.usage().now().ms, began_ms + 120_000);
}

#[tokio::test(start_paused = true)]
async fn a_back_fill_waits_for_the_write_throughput_of_its_index() {
    let database = Database::with_capacity(Enforcement::Aws).await;
    let units = |read: u64, write: u64| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let create = json!({
        "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "ProvisionedThroughput": units(10, 1_000),
    });
    database.ok("CreateTable", create).await;
    // 2,000 units in the index, of which it saves 300.
    for number in 0..200 {
        let item = json!({"p": {"S": format!("{number}")}, "g": {"S": "x"}, "v": {"S": "v".repeat(10_000)}});
        database.put(item).await;
        database.pass_ms(1_000);
    }
    let index = json!({
        "IndexName": "byG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": units(1, 1),
    });
    let update = json!({
        "TableName": "Table", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    });
    database.ok("UpdateTable", update).await;
    until("the back-fill is held up", async || {
        sum(&database, Metric::OnlineIndexThrottleEvents, of_index("byG")).await.1 > 0
    })
    .await;
    let status = || async {
        let described = database.ok("DescribeTable", json!({"TableName": "Table"})).await;
        described["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"].as_str().unwrap().to_owned()
    };
    assert_eq!(status().await, "CREATING");
    until("the index is ACTIVE", async || {
        database.pass_ms(60_000);
        status().await == "ACTIVE"
    })
    .await;
    let (consumed, _) = sum(&database, Metric::OnlineIndexConsumedWriteCapacity, of_index("byG")).await;
    assert_eq!(consumed, 2_000.0);
}
