//! Faults that somebody asked for: which requests meet them, and how they look.

use std::time::Duration;

use api::Operation;
use engine::{DELAY_MAX, FaultKind, FaultRule, Namespace};
use item::{Item, Value as ItemValue};
use serde_json::{Value, json};

use crate::database::{Database, Failure};

const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";

async fn database() -> Database {
    let database = Database::in_memory().await;
    database.with_table("Table").await;
    database
}

fn fault(kind: FaultKind) -> FaultRule {
    FaultRule {
        namespace: Namespace::new("123456789012", "us-east-1"),
        table: Some("Table".to_owned()),
        operation: None,
        key: None,
        kind,
        share: 1.0,
        delay: Duration::from_secs(1),
        ends_ms: None,
    }
}

fn of_key(p: &str, kind: FaultKind) -> FaultRule {
    let key: Item = [("p", ItemValue::S(p.to_owned()))].into_iter().collect();
    FaultRule { key: Some(key), ..fault(kind) }
}

fn item(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "1"}})
}

async fn put(database: &Database, p: &str) -> Result<Value, Failure> {
    database.call("PutItem", json!({"TableName": "Table", "Item": item(p)})).await
}

async fn get(database: &Database, p: &str) -> Result<Value, Failure> {
    database.call("GetItem", json!({"TableName": "Table", "Key": item(p)})).await
}

fn name(result: Result<Value, Failure>) -> String {
    result.expect_err("it meets the fault").name
}

#[tokio::test]
async fn a_fault_is_for_its_table_and_operation_until_it_is_removed() {
    let database = database().await;
    database.with_table("Other").await;
    let rule = FaultRule { operation: Some(Operation::PutItem), ..fault(FaultKind::Internal) };
    let id = database.engine.inject_fault(rule, None).unwrap();
    assert_eq!(name(put(&database, "a").await), "InternalServerError");
    assert_eq!(get(&database, "a").await.unwrap()["Item"], Value::Null, "nothing was written");
    database.ok("PutItem", json!({"TableName": "Other", "Item": item("a")})).await;
    assert_eq!(
        name(database.call("PutItem", json!({"TableName": ARN, "Item": item("a")})).await),
        "InternalServerError"
    );
    assert_eq!(database.engine.injected_faults()[0].met, 2);
    assert!(database.engine.remove_fault(id) && !database.engine.remove_fault(id));
    put(&database, "a").await.unwrap();
    assert!(database.engine.injected_faults().is_empty());
}

#[tokio::test]
async fn a_fault_ends_when_its_time_is_over() {
    let database = database().await;
    database.engine.inject_fault(fault(FaultKind::Internal), Some(Duration::from_secs(60))).unwrap();
    database.pass_ms(59_999);
    put(&database, "a").await.unwrap_err();
    database.pass_ms(1);
    put(&database, "a").await.unwrap();
    assert!(database.engine.injected_faults().is_empty());
}

#[tokio::test]
async fn a_throttled_request_says_why_as_its_table_would() {
    let database = database().await;
    database.engine.inject_fault(fault(FaultKind::Throttle), None).unwrap();
    let written = put(&database, "a").await.unwrap_err();
    assert_eq!(written.name, "ThrottlingException", "the table is on demand");
    assert_eq!(
        written.throttling,
        json!([{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": ARN}])
    );
    let read = get(&database, "a").await.unwrap_err();
    assert_eq!(read.throttling[0]["reason"], "TableReadKeyRangeThroughputExceeded");
    database.engine.remove_all_faults();
    let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 5});
    database
        .ok(
            "UpdateTable",
            json!({"TableName": "Table", "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}),
        )
        .await;
    database.engine.inject_fault(fault(FaultKind::Throttle), None).unwrap();
    let written = put(&database, "a").await.unwrap_err();
    assert_eq!(written.name, "ProvisionedThroughputExceededException");
    assert_eq!(written.throttling[0]["reason"], "TableWriteProvisionedThroughputExceeded");
    assert_eq!(
        name(database.call("DescribeTable", json!({"TableName": "Table"})).await),
        "ThrottlingException"
    );
}

#[tokio::test]
async fn a_throttled_batch_leaves_items_unprocessed() {
    let database = database().await;
    database.engine.inject_fault(of_key("b", FaultKind::Throttle), None).unwrap();
    let put = |p: &str| json!({"PutRequest": {"Item": item(p)}});
    let answer = database
        .ok("BatchWriteItem", json!({"RequestItems": {"Table": [put("a"), put("b"), put("c")]}}))
        .await;
    assert_eq!(answer["UnprocessedItems"], json!({"Table": [put("b")]}));
    let keys = json!({"Table": {"Keys": [item("a"), item("b")], "ConsistentRead": true}});
    let answer = database.ok("BatchGetItem", json!({"RequestItems": keys})).await;
    assert_eq!(answer["Responses"]["Table"], json!([item("a")]));
    assert_eq!(answer["UnprocessedKeys"], json!({"Table": {"Keys": [item("b")], "ConsistentRead": true}}));
    let all = database.call("BatchWriteItem", json!({"RequestItems": {"Table": [put("b")]}})).await;
    assert_eq!(name(all), "ThrottlingException", "none of it was processed");
}

#[tokio::test]
async fn a_conflict_cancels_a_transaction_for_the_items_that_meet_it() {
    let database = database().await;
    database.engine.inject_fault(of_key("b", FaultKind::Conflict), None).unwrap();
    assert_eq!(name(put(&database, "b").await), "TransactionConflictException");
    put(&database, "a").await.unwrap();
    get(&database, "b").await.unwrap();
    let action = |p: &str| json!({"Put": {"TableName": "Table", "Item": item(p)}});
    let cancelled =
        database.call("TransactWriteItems", json!({"TransactItems": [action("a"), action("b")]})).await;
    let cancelled = cancelled.unwrap_err();
    assert_eq!(cancelled.name, "TransactionCanceledException");
    assert_eq!(
        (&cancelled.reasons[0]["Code"], &cancelled.reasons[1]["Code"]),
        (&json!("None"), &json!("TransactionConflict"))
    );
    let update = json!({"Statement": "UPDATE \"Table\" SET v = 1 WHERE p = 'b' AND s = '1'"});
    assert_eq!(name(database.call("ExecuteStatement", update).await), "TransactionConflictException");
    database.ok("ExecuteStatement", json!({"Statement": "SELECT * FROM \"Table\" WHERE p = 'b'"})).await;
}

#[tokio::test]
async fn a_key_is_met_by_every_request_that_names_it() {
    let database = database().await;
    for p in ["a", "b"] {
        put(&database, p).await.unwrap();
    }
    database.engine.inject_fault(of_key("b", FaultKind::Internal), None).unwrap();
    let query = |p: &str| json!({"TableName": "Table", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": p}}});
    let condition = |p: &str| json!({"TableName": "Table", "KeyConditions": {"p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": p}]}}});
    let select = |p: &str| json!({"Statement": format!("SELECT * FROM \"Table\" WHERE p = '{p}'")});
    let key = |p: &str| json!({"TableName": "Table", "Key": item(p)});
    let gets = |p: &str| json!({"TransactItems": [{"Get": {"TableName": "Table", "Key": item(p)}}]});
    for p in ["a", "b"] {
        let requests = [
            ("GetItem", key(p)),
            ("DeleteItem", key(p)),
            ("Query", query(p)),
            ("Query", condition(p)),
            ("ExecuteStatement", select(p)),
            ("BatchExecuteStatement", json!({"Statements": [select(p)]})),
            ("TransactGetItems", gets(p)),
        ];
        for (operation, input) in requests {
            let answer = database.call(operation, input).await;
            assert_eq!(answer.is_err(), p == "b", "{operation} of {p}: {answer:?}");
        }
    }
    database.ok("Scan", json!({"TableName": "Table"})).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_request_is_carried_out_later() {
    let database = database().await;
    database.engine.inject_fault(fault(FaultKind::Slow), None).unwrap();
    let began = tokio::time::Instant::now();
    put(&database, "a").await.unwrap();
    assert_eq!(began.elapsed().as_millis(), 1000);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_may_have_been_carried_out() {
    let database = database().await;
    let id = database.engine.inject_fault(fault(FaultKind::Timeout), None).unwrap();
    for p in ["a", "b", "c", "d"] {
        let began = tokio::time::Instant::now();
        assert_eq!(name(put(&database, p).await), "InternalServerError");
        assert!(began.elapsed() >= DELAY_MAX, "longer than a client waits");
    }
    database.engine.remove_fault(id);
    let count = database.ok("Scan", json!({"TableName": "Table"})).await["Count"].clone();
    assert_eq!(count, 2, "chance counts up here, so every second is carried out");
}

#[tokio::test]
async fn faults_count_in_the_metrics_as_real_ones_do() {
    let database = database().await;
    database.engine.inject_fault(fault(FaultKind::Throttle), None).unwrap();
    put(&database, "a").await.unwrap_err();
    let totals = database.engine.metric_totals();
    let throttled = totals.iter().find(|total| total.id.metric == engine::Metric::ThrottledRequests);
    assert_eq!(throttled.map(|total| total.sum), Some(1.0));
}

#[tokio::test]
async fn the_number_of_faults_is_bounded() {
    let database = database().await;
    let added = (0..1000).take_while(|_| database.engine.inject_fault(fault(FaultKind::Slow), None).is_ok());
    assert_eq!(added.count(), 100);
}
