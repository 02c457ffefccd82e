use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

fn key(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "1"}})
}

fn get(p: &str) -> Value {
    json!({"Get": {"TableName": "Table", "Key": key(p)}})
}

async fn refused(database: &Database, gets: Value, message: &str) {
    database
        .refused("TransactGetItems", json!({"TransactItems": gets}), "ValidationException", message)
        .await;
}

on_every_store! {
    async fn items_come_in_the_order_asked_and_missing_ones_leave_a_gap(database) {
        database.with_table("Table").await.with_table("Other").await
            .put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": "1"}, "y": {"N": "2"}})).await;
        database.put(key("b")).await;
        let answer = database.ok("TransactGetItems", json!({"TransactItems": [
            get("b"), get("missing"),
            {"Get": {"TableName": "Table", "Key": key("a"), "ProjectionExpression": "#x", "ExpressionAttributeNames": {"#x": "x"}}},
            {"Get": {"TableName": "Other", "Key": key("a")}},
        ]})).await;
        assert_eq!(answer, json!({"Responses": [{"Item": key("b")}, {}, {"Item": {"x": {"N": "1"}}}, {}]}));
    }

    async fn each_item_costs_twice_a_strong_read(database) {
        database.with_table("Table").await
            .put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"S": "x".repeat(5000)}})).await;
        let answer = database.ok("TransactGetItems", json!({
            "TransactItems": [get("a"), get("missing")], "ReturnConsumedCapacity": "INDEXES",
        })).await;
        assert_eq!(answer["ConsumedCapacity"], json!([{
            "TableName": "Table", "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0,
            "Table": {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        }]));
    }

    async fn a_key_that_does_not_fit_cancels(database) {
        database.with_table("Table").await;
        let wrong = json!({"Get": {"TableName": "Table", "Key": {"p": {"S": "a"}}}});
        let failure = database.call("TransactGetItems", json!({"TransactItems": [get("b"), wrong]})).await.unwrap_err();
        assert_eq!(failure.name, "TransactionCanceledException");
        assert_eq!(failure.reasons, json!([
            {"Code": "None"},
            {"Code": "ValidationError", "Message": "The provided key element does not match the schema"},
        ]));
    }

    async fn requests_without_sense_are_refused_as_a_whole(database) {
        database.with_table("Table").await;
        refused(database, json!([]), "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1").await;
        let many: Vec<Value> = (0..101).map(|n| get(&n.to_string())).collect();
        refused(database, json!(many), "1 validation error detected: Value '[...]' at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100").await;
        refused(database, json!([get("a"), get("a")]), "Transaction request cannot include multiple operations on one item").await;
        refused(database, json!([{}]), "1 validation error detected: Value null at 'transactItems.1.member.get' failed to satisfy constraint: Member must not be null").await;
        refused(database, json!([{"Get": {"TableName": "Table", "Key": key("a"), "ProjectionExpression": "x", "ExpressionAttributeNames": {"#q": "q"}}}]),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#q}").await;
        refused(database, json!([{"Get": {"TableName": "Table", "Key": key("a"), "ProjectionExpression": "#z"}}]),
            "Invalid ProjectionExpression: An expression attribute name used in the document path is not defined; attribute name: #z").await;
        refused(database, json!([{"Get": {"TableName": "Table", "Key": key("")}}]),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p").await;
        let unknown = json!({"TransactItems": [get("a"), {"Get": {"TableName": "Nowhere", "Key": key("a")}}]});
        database.refused("TransactGetItems", unknown, "ResourceNotFoundException", "Requested resource not found").await;
    }

    async fn four_megabytes_are_read_at_most(database) {
        database.with_table("Table").await;
        for n in 0..11 {
            database.put(json!({"p": {"S": n.to_string()}, "s": {"S": "1"}, "x": {"S": "x".repeat(400_000)}})).await;
        }
        let gets: Vec<Value> = (0..11).map(|n| get(&n.to_string())).collect();
        let answer = database.ok("TransactGetItems", json!({"TransactItems": gets[..10]})).await;
        assert_eq!(answer["Responses"].as_array().unwrap().len(), 10);
        refused(database, json!(gets), "Transaction request size cannot exceed 4194304 bytes").await;
    }
}
