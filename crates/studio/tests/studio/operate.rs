//! Streams and recovery through the door.

use std::time::Duration;

use engine::{FaultKind, FaultRule, Namespace};
use http::StatusCode;
use serde_json::{Value, json};
use studio::Options;

use crate::support::{UNITS_EACH, desk, desk_with, order};

#[tokio::test]
async fn a_stream_is_read_as_any_client_reads_it() {
    let desk = desk().await.with_orders().await;
    let stream = json!({ "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" });
    desk.ask("call/UpdateTable", &json!({ "TableName": "app", "StreamSpecification": stream })).await;
    desk.ask("call/PutItem", &json!({ "TableName": "app", "Item": order(1, "SHIPPED") })).await;
    let streams = desk.ask("call/ListStreams", &json!({ "TableName": "app" })).await;
    let arn = &streams["Streams"][0]["StreamArn"];
    let described = desk.ask("call/DescribeStream", &json!({ "StreamArn": arn })).await;
    let mut records: Vec<Value> = Vec::new();
    for shard in described["StreamDescription"]["Shards"].as_array().expect("shards") {
        let from =
            json!({ "StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON" });
        let iterator = desk.ask("call/GetShardIterator", &from).await;
        let page = desk.ask("call/GetRecords", &json!({ "ShardIterator": iterator["ShardIterator"] })).await;
        records.extend(page["Records"].as_array().expect("records").clone());
    }
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0]["dynamodb"]["OldImage"]["status"]["S"], "OPEN");
    assert_eq!(records[0]["dynamodb"]["NewImage"]["status"]["S"], "SHIPPED");
}

#[tokio::test]
async fn a_read_only_studio_follows_streams() {
    let desk = desk_with(Options { read_only: true, ..Options::default() }).await;
    for operation in ["ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"] {
        let (status, answer) = desk.post(&format!("call/{operation}"), &json!({})).await;
        assert_ne!(status, StatusCode::FORBIDDEN, "{operation}: {answer}");
    }
}

#[tokio::test]
async fn a_table_without_recovery_has_no_difference() {
    let desk = desk().await.with_orders().await;
    let (status, answer) = desk.post("difference", &json!({ "table": "app", "time": 1.0 })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        answer["__type"]
            .as_str()
            .is_some_and(|name| name.ends_with("PointInTimeRecoveryUnavailableException")),
        "{answer}"
    );
}

#[tokio::test]
async fn traffic_is_counted_by_range_and_key() {
    let desk = desk().await.with_orders().await;
    let query = json!({
        "TableName": "app", "IndexName": "byStatus", "KeyConditionExpression": "#s = :s",
        "ExpressionAttributeNames": { "#s": "status" }, "ExpressionAttributeValues": { ":s": { "S": "OPEN" } },
    });
    desk.ask("call/Query", &query).await;
    let found = desk.ask("traffic", &json!({ "table": "app" })).await;
    let parts = found["parts"].as_array().expect("parts");
    let names: Vec<&Value> = parts.iter().map(|part| &part["index"]).collect();
    assert_eq!(names, [&Value::Null, &json!("byStatus"), &json!("open")]);
    let columns = parts[0]["columns"].as_array().expect("columns");
    let squares = columns.iter().flat_map(|column| column["squares"].as_array().expect("squares"));
    let writes: f64 = squares.filter_map(|square| square[2].as_f64()).sum();
    assert_eq!(writes, 3.0, "each item takes one unit of the table");
    assert_eq!(parts[0]["ranges"], 64);
    let busiest = &found["parts"][0]["keys"][0];
    assert_eq!(busiest["key"]["PK"], "CUST#a", "{busiest}");
    assert!(busiest["range"].as_u64().is_some_and(|range| range < 64), "{busiest}");
    assert_eq!(busiest["minutes"].as_array().map(Vec::len), Some(1), "the time never changes: {busiest}");
}

#[tokio::test]
async fn what_clients_ask_while_somebody_learns_becomes_patterns_of_a_model() {
    let desk = desk().await.with_orders().await;
    let table = json!({ "table": "app" });
    let by_status = json!({
        "TableName": "app", "IndexName": "byStatus", "KeyConditionExpression": "#s = :s",
        "ExpressionAttributeNames": { "#s": "status" }, "ExpressionAttributeValues": { ":s": { "S": "OPEN" } },
    });
    desk.client("Query", &by_status).await;
    let before = desk.ask("learn", &table).await;
    assert_eq!((&before["learning"], &before["requests"]), (&json!(false), &json!(0)));

    let begun = desk.ask("learn", &json!({ "table": "app", "on": true })).await;
    assert_eq!((&begun["learning"], &begun["patterns"]), (&json!(true), &json!([])));
    let (status, _) = desk.post("learn", &json!({ "table": "app", "on": true })).await;
    assert_eq!(status, StatusCode::CONFLICT, "somebody learns already");
    for _ in 0..4 {
        desk.client("Query", &by_status).await;
    }
    desk.client("Scan", &json!({ "TableName": "app" })).await;
    desk.client("PutItem", &json!({ "TableName": "app", "Item": order(9, "OPEN") })).await;
    // What a page of the studio asks is not what an application asks.
    desk.ask("call/Scan", &json!({ "TableName": "app" })).await;

    let ended = desk.ask("learn", &json!({ "table": "app", "on": false })).await;
    assert_eq!((&ended["learning"], &ended["requests"]), (&json!(false), &json!(6)), "{ended}");
    let patterns = ended["patterns"].as_array().expect("patterns");
    let first = &patterns[0];
    assert_eq!((&first["operation"], &first["index"]), (&json!("Query"), &json!("byStatus")), "{first}");
    assert_eq!(first["seen"]["requests"], 4);
    assert_eq!(first["seen"]["units"], UNITS_EACH, "as measured");
    assert!(first["seen"]["rate"].as_str().is_some_and(|rate| rate.contains('/')), "{first}");
    let unserved = patterns.iter().filter(|one| one["seen"]["unserved"] == true);
    assert_eq!(unserved.map(|one| &one["operation"]).collect::<Vec<_>>(), ["Scan"]);
    let text = ended["text"].as_str().expect("a model file");
    assert!(text.contains(first["id"].as_str().expect("a name")), "{text}");
    assert!(!text.contains("ORDER#9"), "forms are kept, values are not: {text}");
    let other = desk.ask("learn", &json!({ "table": "other" })).await;
    assert_eq!((&other["requests"], &other["patterns"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn metrics_have_what_was_consumed_and_how_long_each_operation_took() {
    let desk = desk().await.with_orders().await;
    let found = desk.ask("metrics", &json!({ "minutes": 60, "table": "app" })).await;
    let series = found["series"].as_array().expect("series");
    let of = |metric: &str, index: Value| {
        let own = |one: &&Value| one["metric"] == metric && one["index"] == index;
        series.iter().find(own).unwrap_or_else(|| panic!("{metric}: {series:?}"))
    };
    assert_eq!(of("ConsumedWriteCapacityUnits", Value::Null)["points"][0][2], 3.0);
    assert_eq!(of("ConsumedWriteCapacityUnits", json!("byStatus"))["table"], "app");
    let latency = of("SuccessfulRequestLatency", Value::Null);
    assert_eq!((&latency["operation"], &latency["points"][0][1]), (&json!("PutItem"), &json!(3)));
    let put =
        found["latencies"].as_array().expect("latencies").iter().find(|one| one["operation"] == "PutItem");
    let put = put.expect("PutItem");
    assert!(put["p50"].as_f64() <= put["p99"].as_f64() && put["p99"].is_number(), "{put}");
    assert_eq!(found["clock"], Value::Null, "nothing is wrong with it");
    assert_eq!(desk.ask("metrics", &json!({ "table": "other" })).await["series"], json!([]));
    let week = desk.ask("metrics", &json!({ "minutes": 10_080 })).await;
    assert_eq!(week["period"], 10_800, "a week has at most 120 points: {week}");
}

#[tokio::test]
async fn faults_that_are_on_are_shown_and_can_be_removed() {
    let desk = desk().await.with_orders().await;
    assert_eq!(desk.ask("faults", &json!({})).await, json!({ "faults": [] }));
    let rule = |table: Option<&str>, kind: FaultKind, region: &str| FaultRule {
        namespace: Namespace::new("000000000000", region),
        table: table.map(str::to_owned),
        operation: None,
        key: None,
        kind,
        share: 1.0,
        delay: Duration::from_millis(1500),
        ends_ms: None,
    };
    let inject = |rule, lasts| desk.engine.inject_fault(rule, lasts).expect("room for one more");
    let throttled = inject(rule(Some("app"), FaultKind::Throttle, "us-east-1"), None);
    let slow = inject(rule(None, FaultKind::Slow, "us-east-1"), Some(Duration::from_secs(60)));
    let elsewhere = inject(rule(None, FaultKind::Internal, "eu-west-1"), None);
    let key = json!({ "PK": { "S": "CUST#a" }, "SK": { "S": "ORDER#1" } });
    let (status, _) = desk.post("call/GetItem", &json!({ "TableName": "app", "Key": key })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "it is throttled");
    let found = desk.ask("faults", &json!({})).await;
    assert_eq!(
        found["faults"],
        json!([
            { "fault": throttled, "table": "app", "operation": null, "key": null, "error": "throttle", "share": 1.0,
              "delay": null, "remaining": null, "met": 1 },
            { "fault": slow, "table": null, "operation": null, "key": null, "error": "slow", "share": 1.0,
              "delay": 1.5, "remaining": 60.0, "met": 0 },
        ])
    );
    let left = desk.ask("faults", &json!({ "remove": throttled })).await;
    assert_eq!(left["faults"].as_array().map(Vec::len), Some(1));
    desk.ask("faults", &json!({ "remove": elsewhere })).await;
    assert_eq!(desk.ask("faults", &json!({ "remove": "all" })).await, json!({ "faults": [] }));
    assert_eq!(desk.engine.injected_faults().len(), 1, "that of another Region is none of this page's");
}

#[tokio::test]
async fn a_read_only_studio_shows_faults_and_removes_none() {
    let desk = desk_with(Options { read_only: true, ..Options::default() }).await;
    assert_eq!(desk.ask("faults", &json!({})).await, json!({ "faults": [] }));
    let (status, _) = desk.post("faults", &json!({ "remove": "all" })).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn regions_of_a_table_are_shown_and_a_link_is_cut_and_healed() {
    let desk = desk().await.with_orders().await;
    let replica = json!([{ "Create": { "RegionName": "eu-west-1" } }]);
    desk.ask("call/UpdateTable", &json!({ "TableName": "app", "ReplicaUpdates": replica })).await;
    let found = desk.ask("regions", &json!({ "table": "app" })).await;
    let pairs = found["pairs"].as_array().expect("pairs").iter();
    let ways: Vec<_> = pairs.map(|pair| (&pair["from"], &pair["to"])).collect();
    assert!(ways.contains(&(&json!("us-east-1"), &json!("eu-west-1"))), "{found}");
    assert_eq!(found["cut"], json!([]));
    let link = json!(["us-east-1", "eu-west-1"]);
    let cut = desk.ask("regions", &json!({ "table": "app", "cut": link })).await;
    assert_eq!(cut["cut"], json!([["eu-west-1", "us-east-1"]]));
    let healed = desk.ask("regions", &json!({ "table": "app", "heal": link })).await;
    assert_eq!(healed["cut"], json!([]));
    for wrong in [json!(["us-east-1"]), json!(["us-east-1", "us-east-1"]), json!(["us-east-1", 7])] {
        let (status, _) = desk.post("regions", &json!({ "table": "app", "cut": wrong })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn a_read_only_studio_cuts_no_link() {
    let desk = desk_with(Options { read_only: true, ..Options::default() }).await;
    let link = json!(["us-east-1", "eu-west-1"]);
    let (status, _) = desk.post("regions", &json!({ "table": "app", "cut": link })).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(desk.ask("regions", &json!({ "table": "app" })).await["cut"], json!([]));
}

#[tokio::test]
async fn capacity_is_reported_for_the_table_and_each_index() {
    let desk = desk().await.with_orders().await;
    let report = desk.ask("capacity", &json!({ "table": "app" })).await;
    let names: Vec<&Value> =
        report["resources"].as_array().expect("resources").iter().map(|one| &one["index"]).collect();
    assert_eq!(names[0], &Value::Null);
    assert!(names.contains(&&json!("byStatus")), "{names:?}");
    assert_eq!(report["resources"][0]["write"]["consumed"], 3.0);
    let (status, answer) = desk.post("capacity", &json!({ "table": "none" })).await;
    assert_eq!((status, &answer["message"]), (StatusCode::NOT_FOUND, &json!("There is no table none.")));
}

#[tokio::test]
async fn a_table_without_a_model_is_surveyed_and_becomes_one() {
    let desk = desk().await.with_orders().await;
    let found = desk.ask("survey", &json!({ "table": "app" })).await;
    let text = found["text"].as_str().expect("a text");
    let checked = desk.ask("model/check", &json!({ "text": text })).await;
    assert_eq!(checked["readable"], true, "{text}\n{checked}");
    assert!(text.contains("partition: PK"), "{text}");
}
