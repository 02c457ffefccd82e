use std::sync::Arc;
use std::time::Duration;

use engine::Enforcement;
use serde_json::{Value, json};
use store::fault::{Fault, FaultStore};

use crate::database::{Database, Failure};

const OF_TABLE: &str = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.";
const OF_INDEX: &str = "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with the UpdateTable API";
const TABLE_ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";
const INDEX_ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Table/index/byG";

fn units(read: u64, write: u64) -> Value {
    json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write})
}

/// `Table`, with a local index on `t` and a global one on `g`.
async fn table(database: &Database, table: Value, index: Value) {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let keys = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let all = json!({"ProjectionType": "ALL"});
    database
        .ok("CreateTable", json!({
            "TableName": "Table", "ProvisionedThroughput": table, "KeySchema": keys("p", "s"),
            "AttributeDefinitions": (["p", "s", "t", "g"].map(attribute)),
            "LocalSecondaryIndexes": [{"IndexName": "byT", "KeySchema": keys("p", "t"), "Projection": all}],
            "GlobalSecondaryIndexes": [{
                "IndexName": "byG", "KeySchema": keys("g", "s"), "Projection": all, "ProvisionedThroughput": index,
            }],
        }))
        .await;
}

async fn database(of_table: Value, of_index: Value) -> Database {
    database_with(Enforcement::Declared, of_table, of_index).await
}

async fn database_with(capacity: Enforcement, of_table: Value, of_index: Value) -> Database {
    let database = Database::with_capacity(capacity).await;
    table(&database, of_table, of_index).await;
    database
}

fn key(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "1"}})
}

/// An item that costs 100 units in the table and in each index whose key it has.
fn item(p: &str, index_key: Option<&str>) -> Value {
    let mut item = json!({"p": {"S": p}, "s": {"S": "1"}, "v": {"S": "v".repeat(102_000)}});
    if let Some(name) = index_key {
        item[name] = json!({"S": "x"});
    }
    item
}

async fn put(database: &Database, item: Value) -> Result<Value, Failure> {
    database.call("PutItem", json!({"TableName": "Table", "Item": item})).await
}

fn check(result: Result<Value, Failure>, message: &str, reason: &str, resource: &str) {
    let failure = result.unwrap_err();
    assert_eq!(failure.name, "ProvisionedThroughputExceededException");
    assert_eq!(failure.message, message);
    assert_eq!(failure.throttling, json!([{"reason": reason, "resource": resource}]));
}

#[tokio::test]
async fn a_table_serves_what_it_saved_and_then_its_rate() {
    let database = database(units(100, 1), units(100, 100)).await;
    for p in ["a", "b", "c"] {
        database.put(item(p, None)).await;
    }
    let refused = put(&database, item("d", None)).await;
    check(refused, OF_TABLE, "TableWriteProvisionedThroughputExceeded", TABLE_ARN);
    assert_eq!(database.get(key("d")).await, Value::Null, "nothing of it was written");
    // One unit comes back, and is enough to be admitted; the rest is a debt.
    database.pass_ms(1_000);
    database.put(item("d", None)).await;
    database.pass_ms(99_000);
    put(&database, key("e")).await.unwrap_err();
    database.pass_ms(1);
    database.put(key("e")).await;
}

#[tokio::test]
async fn a_condition_that_fails_is_reported_before_throughput() {
    let database = database(units(100, 1), units(100, 100)).await;
    database.put(item("a", Some("t"))).await;
    database.put(item("b", None)).await;
    put(&database, key("c")).await.unwrap_err();
    let input =
        json!({"TableName": "Table", "Item": key("a"), "ConditionExpression": "attribute_not_exists(p)"});
    database
        .refused("PutItem", input, "ConditionalCheckFailedException", "The conditional request failed")
        .await;
}

#[tokio::test]
async fn a_local_index_uses_the_throughput_of_its_table() {
    let database = database(units(100, 1), units(100, 100)).await;
    database.put(item("a", Some("t"))).await;
    database.put(item("b", Some("t"))).await;
    let refused = put(&database, item("c", Some("t"))).await;
    check(refused, OF_TABLE, "TableWriteProvisionedThroughputExceeded", TABLE_ARN);
}

#[tokio::test]
async fn a_global_index_without_throughput_refuses_what_must_reach_it() {
    let database = database(units(100, 1000), units(100, 1)).await;
    for p in ["a", "b", "c"] {
        database.put(item(p, Some("g"))).await;
    }
    let refused = put(&database, item("d", Some("g"))).await;
    check(refused, OF_INDEX, "IndexWriteProvisionedThroughputExceeded", INDEX_ARN);
    assert_eq!(database.get(key("d")).await, Value::Null);
    database.put(item("d", None)).await;
}

#[tokio::test]
async fn one_key_gets_no_more_than_a_partition_sustains() {
    let database = database_with(Enforcement::Aws, units(40_000, 40_000), units(40_000, 40_000)).await;
    let write = async || {
        let mut written = 0;
        loop {
            match put(&database, item("hot", None)).await {
                Ok(_) => written += 1,
                refused => {
                    check(refused, OF_TABLE, "TableWriteKeyRangeThroughputExceeded", TABLE_ARN);
                    return written;
                }
            }
        }
    };
    assert_eq!(write().await, 10, "1,000 units");
    database.put(item("cold", None)).await;
    database.pass_ms(1_000);
    assert_eq!(write().await, 10);
    let read = json!({"TableName": "Table", "Key": key("hot"), "ConsistentRead": true});
    for _ in 0..120 {
        database.ok("GetItem", read.clone()).await; // 25 units of 3,000
    }
    check(database.call("GetItem", read).await, OF_TABLE, "TableReadKeyRangeThroughputExceeded", TABLE_ARN);
    database.get(key("cold")).await;
}

#[tokio::test]
async fn a_hot_key_of_an_index_refuses_writes_of_many_keys() {
    let database = database_with(Enforcement::Aws, units(40_000, 40_000), units(40_000, 40_000)).await;
    for number in 0..10 {
        database.put(item(&format!("{number}"), Some("g"))).await;
    }
    let refused = put(&database, item("10", Some("g"))).await;
    check(refused, OF_INDEX, "IndexWriteKeyRangeThroughputExceeded", INDEX_ARN);
}

#[tokio::test]
async fn every_read_is_refused_when_nothing_is_left() {
    let database = database(units(1, 1000), units(1, 1000)).await;
    database.put(item("a", Some("g"))).await;
    let query = |name: &str| {
        json!({
            "TableName": "Table", "KeyConditionExpression": "#k = :k",
            "ExpressionAttributeNames": {"#k": name}, "ExpressionAttributeValues": {":k": {"S": if name == "p" { "a" } else { "x" }}},
        })
    };
    let mut of_index = query("g");
    of_index["IndexName"] = json!("byG");
    let select = "SELECT * FROM \"Table\" WHERE p = 'a'";
    let select_one = "SELECT * FROM \"Table\" WHERE p = 'a' AND s = '1'";
    let reads = [
        ("GetItem", json!({"TableName": "Table", "Key": key("a")})),
        ("Query", query("p")),
        ("Scan", json!({"TableName": "Table"})),
        ("BatchGetItem", json!({"RequestItems": {"Table": {"Keys": [key("a"), key("b")]}}})),
        ("ExecuteStatement", json!({"Statement": select})),
    ];
    for (operation, input) in &reads {
        database.ok(operation, input.clone()).await;
    }
    for _ in 0..10 {
        let _ = database.call("Scan", json!({"TableName": "Table", "ConsistentRead": true})).await;
    }
    for (operation, input) in reads {
        let refused = database.call(operation, input).await;
        check(refused, OF_TABLE, "TableReadProvisionedThroughputExceeded", TABLE_ARN);
    }
    let batch =
        database.ok("BatchExecuteStatement", json!({"Statements": [{"Statement": select_one}]})).await;
    assert_eq!(batch["Responses"][0]["Error"]["Code"], "ProvisionedThroughputExceeded");
    let get = json!({"TransactItems": [{"Get": {"TableName": "Table", "Key": key("a")}}]});
    let failure = database.call("TransactGetItems", get).await.unwrap_err();
    assert_eq!(failure.reasons[0]["Code"], "ProvisionedThroughputExceeded");
    // The index has its own: 13 units a page.
    for _ in 0..24 {
        database.ok("Query", of_index.clone()).await;
    }
    check(
        database.call("Query", of_index).await,
        OF_INDEX,
        "IndexReadProvisionedThroughputExceeded",
        INDEX_ARN,
    );
}

#[tokio::test]
async fn a_batch_gives_back_what_it_has_no_throughput_for() {
    let database = database(units(1, 1), units(1, 1)).await;
    let names = ["a", "b", "c", "d", "e"];
    let puts: Vec<Value> = names.iter().map(|p| json!({"PutRequest": {"Item": item(p, None)}})).collect();
    let batch = json!({"RequestItems": {"Table": puts}});
    let answer = database.ok("BatchWriteItem", batch).await;
    let left = answer["UnprocessedItems"]["Table"].clone();
    assert_eq!(left, json!(puts[3..]));
    let refused = database.call("BatchWriteItem", json!({"RequestItems": {"Table": left}})).await;
    check(refused, OF_TABLE, "TableWriteProvisionedThroughputExceeded", TABLE_ARN);

    // 275 of 300 units; the first of the batch uses the rest.
    for _ in 0..11 {
        database.get(key("a")).await;
    }
    let keys = ["a", "b", "c"].map(key);
    let batch = json!({"RequestItems": {"Table": {"Keys": keys, "ConsistentRead": true}}});
    let answer = database.ok("BatchGetItem", batch).await;
    assert_eq!(answer["Responses"]["Table"].as_array().unwrap().len(), 1);
    assert_eq!(answer["UnprocessedKeys"]["Table"], json!({"Keys": keys[1..], "ConsistentRead": true}));
}

#[tokio::test]
async fn a_transaction_costs_double_and_is_cancelled_as_a_whole() {
    let database = database(units(1, 2), units(1, 1000)).await;
    database.with_table("Other").await;
    let put = |table: &str, p: &str| json!({"Put": {"TableName": table, "Item": item(p, None)}});
    let write = |p: &str| json!({"TransactItems": [put("Other", p), put("Table", p)]});
    for p in ["a", "b", "c"] {
        database.ok("TransactWriteItems", write(p)).await;
    }
    let failure = database.call("TransactWriteItems", write("d")).await.unwrap_err();
    assert_eq!(failure.name, "TransactionCanceledException");
    assert_eq!(
        failure.reasons,
        json!([{"Code": "None"}, {"Code": "ProvisionedThroughputExceeded", "Message": OF_TABLE}])
    );
    assert_eq!(database.ok("Scan", json!({"TableName": "Other", "Select": "COUNT"})).await["Count"], 3);
}

#[tokio::test]
async fn update_table_changes_the_rate_and_keeps_what_is_left() {
    let database = database(units(1, 1), units(1, 1)).await;
    let update = async |throughput: Value| {
        database.ok("UpdateTable", json!({"TableName": "Table", "ProvisionedThroughput": throughput})).await;
    };
    for p in ["a", "b", "c"] {
        database.put(item(p, None)).await;
    }
    update(units(2, 1)).await;
    put(&database, key("d")).await.unwrap_err();
    update(units(2, 1000)).await;
    put(&database, key("d")).await.unwrap_err();
    database.pass_ms(100);
    database.put(item("d", None)).await;
    let on_demand = json!({"TableName": "Table", "BillingMode": "PAY_PER_REQUEST"});
    put(&database, key("e")).await.unwrap_err();
    database.ok("UpdateTable", on_demand).await;
    database.put(item("e", None)).await;
}

#[tokio::test]
async fn nothing_is_refused_unless_it_is_asked_for() {
    for capacity in [Enforcement::Shadow, Enforcement::Off] {
        let database = database_with(capacity, units(1, 1), units(1, 1)).await;
        for number in 0..10 {
            database.put(item(&format!("{number}"), Some("g"))).await;
        }
        for _ in 0..10 {
            database.ok("Scan", json!({"TableName": "Table", "ConsistentRead": true})).await;
        }
    }
}

#[tokio::test]
async fn a_failed_condition_costs_as_much_as_the_item() {
    let database = database(units(1, 1), units(1, 1000)).await;
    database.put(item("a", None)).await;
    let change =
        |condition: &str| json!({"TableName": "Table", "Item": key("a"), "ConditionExpression": condition});
    database.call("PutItem", change("attribute_not_exists(p)")).await.unwrap_err();
    let transaction = json!({"TransactItems": [{"Put": change("attribute_not_exists(p)")}]});
    database.call("TransactWriteItems", transaction).await.unwrap_err();
    let refused = put(&database, key("b")).await;
    check(refused, OF_TABLE, "TableWriteProvisionedThroughputExceeded", TABLE_ARN);
}

#[tokio::test]
async fn an_on_demand_table_refuses_what_exceeds_its_own_maximum() {
    let database = Database::with_capacity(Enforcement::Declared).await;
    database.with_table("Table").await;
    for p in ["a", "b", "c"] {
        database.put(item(p, None)).await;
    }
    let maximum = json!({"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 100});
    database.ok("UpdateTable", json!({"TableName": "Table", "OnDemandThroughput": maximum})).await;
    database.put(item("d", None)).await;
    let failure = put(&database, key("e")).await.unwrap_err();
    assert_eq!(failure.name, "ThrottlingException");
    let reason = json!([{"reason": "TableWriteMaxOnDemandThroughputExceeded", "resource": TABLE_ARN}]);
    assert_eq!(failure.throttling, reason);
    database.pass_ms(1_000);
    database.put(key("e")).await;
}

/// The same data, with faults in the next writes. Every bucket is full.
async fn failing(database: &Database, faults: impl IntoIterator<Item = Fault>) -> Database {
    let script: Vec<Option<Fault>> = faults.into_iter().map(Some).collect();
    database.reopened_on(|store| Arc::new(FaultStore::scripted(store, script))).await
}

#[tokio::test]
async fn a_write_that_is_decided_again_is_charged_once() {
    let database = database(units(1, 1), units(1, 1000)).await;
    let failing = failing(&database, [Fault::Conflict; 4]).await;
    for p in ["a", "b", "c"] {
        failing.put(item(p, Some("g"))).await;
    }
    let refused = put(&failing, item("d", None)).await;
    check(refused, OF_TABLE, "TableWriteProvisionedThroughputExceeded", TABLE_ARN);
}

#[tokio::test]
async fn a_write_that_fails_costs_nothing() {
    let database = database(units(1, 1), units(1, 1000)).await;
    let failing = failing(&database, [Fault::BeforeCommit; 5]).await;
    for _ in 0..5 {
        assert_eq!(put(&failing, item("a", Some("g"))).await.unwrap_err().name, "InternalServerError");
    }
    for p in ["a", "b", "c"] {
        failing.put(item(p, None)).await;
    }
    put(&failing, key("d")).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_cut_off_costs_nothing() {
    let database = database(units(1, 1), units(1, 1000)).await;
    let failing = failing(&database, [Fault::Delay(Duration::from_secs(60)); 5]).await;
    for _ in 0..5 {
        tokio::time::timeout(Duration::from_secs(1), put(&failing, item("a", None))).await.unwrap_err();
    }
    for p in ["a", "b", "c"] {
        failing.put(item(p, None)).await;
    }
    put(&failing, key("d")).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn what_one_write_holds_is_not_left_for_another() {
    let database = database(units(1, 1), units(1, 1000)).await;
    let slow = failing(&database, [Fault::Delay(Duration::from_millis(20)); 3]).await;
    let held = ["a", "b", "c"].map(|p| put(&slow, item(p, None)));
    // Those three are polled first and hold all there is while the store is slow.
    let (done, refused) =
        tokio::join!(futures_util::future::join_all(held), async { put(&slow, key("d")).await });
    assert!(done.iter().all(Result::is_ok));
    check(refused, OF_TABLE, "TableWriteProvisionedThroughputExceeded", TABLE_ARN);
}
