//! Reads of global indexes while they lag behind their tables.

use std::time::Duration;

use engine::Options;
use serde_json::{Value, json};

use crate::database::Database;

const DELAY: Duration = Duration::from_secs(1);

/// `Table`, with a local index on `t` and a global one on `g`.
async fn database() -> Database {
    let database = Database::in_memory_with(Options { index_delay: DELAY, ..Options::default() }).await;
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let all = json!({"ProjectionType": "ALL"});
    database
        .ok("CreateTable", json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("p", "s"),
            "AttributeDefinitions": (["p", "s", "t", "g"].map(attribute)),
            "LocalSecondaryIndexes": [{"IndexName": "byT", "KeySchema": keys("p", "t"), "Projection": all}],
            "GlobalSecondaryIndexes": [{"IndexName": "byG", "KeySchema": keys("g", "s"), "Projection": all}],
        }))
        .await;
    pass(&database, 2 * DELAY).await;
    database
}

/// Lets time pass for the background and for requests, in steps that are shorter than those of the snapshots.
async fn pass(database: &Database, time: Duration) {
    let step = DELAY / 10;
    for _ in 0..(time.as_millis() / step.as_millis()) {
        database.pass_ms(step.as_millis() as u64);
        crate::support::pass(step).await;
    }
}

fn item(value: &str) -> Value {
    json!({"p": {"S": "a"}, "s": {"S": "1"}, "t": {"S": "x"}, "g": {"S": "x"}, "v": {"S": value}})
}

/// The values that reads of a table or index find.
async fn found(database: &Database, operation: &str, index: Option<&str>) -> Vec<String> {
    let mut input = json!({"TableName": "Table"});
    if let Some(index) = index {
        input["IndexName"] = json!(index);
    }
    if operation == "Query" {
        let name = if index == Some("byG") { "g" } else { "p" };
        let value = if index == Some("byG") { "x" } else { "a" };
        input["KeyConditionExpression"] = json!("#k = :k");
        input["ExpressionAttributeNames"] = json!({"#k": name});
        input["ExpressionAttributeValues"] = json!({":k": {"S": value}});
    }
    let answer = database.ok(operation, input).await;
    let items = answer["Items"].as_array().unwrap();
    items.iter().map(|item| item["v"]["S"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_global_index_misses_what_was_just_written() {
    let database = database().await;
    database.put(item("first")).await;
    for operation in ["Query", "Scan"] {
        assert_eq!(found(&database, operation, None).await, ["first"], "{operation} of the table");
        assert_eq!(
            found(&database, operation, Some("byT")).await,
            ["first"],
            "{operation} of the local index"
        );
        assert!(found(&database, operation, Some("byG")).await.is_empty(), "{operation} of the global index");
    }
}

#[tokio::test(start_paused = true)]
async fn a_global_index_has_everything_that_is_older_than_the_delay() {
    let database = database().await;
    database.put(item("first")).await;
    pass(&database, DELAY + DELAY / 5).await;
    assert_eq!(found(&database, "Query", Some("byG")).await, ["first"]);
    database.put(item("second")).await;
    assert_eq!(found(&database, "Query", Some("byG")).await, ["first"], "what an update replaced");
    pass(&database, DELAY + DELAY / 5).await;
    assert_eq!(found(&database, "Query", Some("byG")).await, ["second"]);
    let key = json!({"p": {"S": "a"}, "s": {"S": "1"}});
    database.ok("DeleteItem", json!({"TableName": "Table", "Key": key})).await;
    assert_eq!(found(&database, "Query", Some("byG")).await, ["second"], "what was deleted");
    pass(&database, DELAY + DELAY / 5).await;
    assert!(found(&database, "Query", Some("byG")).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_read_lags_by_no_more_than_the_delay_even_if_no_snapshot_is_taken() {
    let database = database().await;
    database.put(item("first")).await;
    // For requests alone: nothing else runs in between.
    database.pass_ms(2 * DELAY.as_millis() as u64);
    assert_eq!(found(&database, "Query", Some("byG")).await, ["first"]);
}

#[tokio::test(start_paused = true)]
async fn statements_lag_as_queries_do() {
    let database = database().await;
    database.put(item("first")).await;
    let select = json!({"Statement": "SELECT v FROM \"Table\".\"byG\" WHERE g = 'x'"});
    assert_eq!(database.ok("ExecuteStatement", select.clone()).await["Items"], json!([]));
    pass(&database, DELAY + DELAY / 5).await;
    assert_eq!(database.ok("ExecuteStatement", select).await["Items"], json!([{"v": {"S": "first"}}]));
}
