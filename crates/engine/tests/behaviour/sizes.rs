use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

/// A table with a sparse index on `g` that keeps the keys alone.
async fn with_index(database: &Database) {
    database.ok("CreateTable", json!({
        "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "Index", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
    })).await;
}

async fn described(database: &Database) -> Value {
    database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take()
}

/// Items and bytes of the table and of its first index, if it has one.
async fn sizes(database: &Database) -> [i64; 4] {
    let table = described(database).await;
    let index = &table["GlobalSecondaryIndexes"][0];
    [&table["ItemCount"], &table["TableSizeBytes"], &index["ItemCount"], &index["IndexSizeBytes"]]
        .map(|number| number.as_i64().unwrap_or_default())
}

async fn check(database: &Database, expected: [i64; 4]) {
    assert_eq!(sizes(database).await, expected);
}

/// Waits until the background has counted.
async fn until(database: &Database, expected: [i64; 4]) {
    let what = format!("the sizes are {expected:?}");
    crate::support::until(&what, async || sizes(database).await == expected).await;
}

async fn change(database: &Database) {
    // 2 + 2 + 6 bytes; 2 + 2 in the index.
    database.put(json!({"p": {"S": "a"}, "g": {"S": "x"}, "v": {"S": "12345"}})).await;
    database.put(json!({"p": {"S": "b"}})).await;
    database.put(json!({"p": {"S": "c"}, "g": {"S": "x"}})).await;
    database.ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": "c"}}})).await;
}

on_every_store! { one server {
    async fn every_write_adjusts_the_sizes(database) {
        with_index(database).await;
        check(database, [0, 0, 0, 0]).await;
        change(database).await;
        check(database, [2, 12, 1, 4]).await;
        let update = |expression: &str, condition: &str| json!({
            "TableName": "Table", "Key": {"p": {"S": "a"}}, "UpdateExpression": expression, "ConditionExpression": condition,
        });
        database.ok("UpdateItem", update("REMOVE g", "attribute_exists(p)")).await;
        check(database, [2, 10, 0, 0]).await;
        database.call("UpdateItem", update("REMOVE v", "attribute_exists(g)")).await.unwrap_err();
        check(database, [2, 10, 0, 0]).await;
    }

    async fn sizes_survive_a_restart_and_are_counted_after_a_crash(database) {
        with_index(database).await;
        change(database).await;
        let restarted = database.restarted().await;
        check(&restarted, [2, 12, 1, 4]).await;
        restarted.put(json!({"p": {"S": "d"}})).await;
        until(&restarted.reopened().await, [3, 14, 1, 4]).await;
    }

    async fn an_index_that_is_made_later_has_its_size(database) {
        database.with_table("Table").await;
        for i in 0..120 {
            database.put(json!({"p": {"S": "a"}, "s": {"S": i.to_string()}, "g": {"S": "x"}})).await;
        }
        database.ok("UpdateTable", json!({
            "TableName": "Table", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": {
                "IndexName": "Index", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }}],
        })).await;
        database.ok("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "7"}}})).await;
        database.until("Index", Some("ACTIVE")).await;
        let [items, bytes, index_items, index_bytes] = sizes(database).await;
        assert_eq!((items, index_items, index_bytes), (119, 119, bytes));
        check(&database.restarted().await, [items, bytes, index_items, index_bytes]).await;
    }

    async fn a_write_that_was_cut_off_is_counted_at_the_next_start(database) {
        with_index(database).await;
        change(database).await;
        let put = database.call("PutItem", json!({"TableName": "Table", "Item": {"p": {"S": "d"}}}));
        // Dropped wherever it is after a first step: it may have been committed or not.
        let _ = poll_once(put).await;
        // If it was committed, it can be read when a later write has returned.
        database.put(json!({"p": {"S": "b"}})).await;
        let restarted = database.restarted().await;
        let item = restarted.get(json!({"p": {"S": "d"}})).await;
        until(&restarted, if item.is_null() { [2, 12, 1, 4] } else { [3, 14, 1, 4] }).await;
    }
}}

/// Polls once and drops.
async fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
