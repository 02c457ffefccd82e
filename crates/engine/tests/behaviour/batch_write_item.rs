use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

const DUPLICATES: &str = "Provided list of item keys contains duplicates";
const KEY_SCHEMA: &str = "The provided key element does not match the schema";

fn put(item: Value) -> Value {
    json!({"PutRequest": {"Item": item}})
}

fn delete(key: Value) -> Value {
    json!({"DeleteRequest": {"Key": key}})
}

fn key(p: &str, s: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": s}})
}

async fn refused(database: &Database, requests: Value, message: &str) {
    database
        .refused("BatchWriteItem", json!({"RequestItems": requests}), "ValidationException", message)
        .await;
}

async fn count(database: &Database) -> Value {
    database.ok("Scan", json!({"TableName": "Table"})).await["Count"].take()
}

on_every_store! {
    async fn puts_and_deletes_in_several_tables_all_happen(database) {
        database.with_table("Table").await.with_table("Other").await.put(key("old", "1")).await;
        let answer = database.ok("BatchWriteItem", json!({"RequestItems": {
            "Table": [put(key("a", "1")), delete(key("old", "1")), delete(key("missing", "1"))],
            "Other": [put(key("a", "1"))],
        }})).await;
        assert_eq!(answer, json!({"UnprocessedItems": {}}));
        assert_eq!(database.get(key("a", "1")).await, key("a", "1"));
        assert_eq!(database.get(key("old", "1")).await, Value::Null);
        assert_eq!(database.ok("Scan", json!({"TableName": "Other"})).await["Count"], 1);
    }

    async fn a_full_batch_is_written(database) {
        database.with_table("Table").await;
        let requests: Vec<Value> = (0..25).map(|n| put(key("a", &format!("{n:02}")))).collect();
        database.ok("BatchWriteItem", json!({"RequestItems": {"Table": requests}})).await;
        assert_eq!(count(database).await, 25);
    }

    async fn the_charge_is_summed_for_each_table(database) {
        database.with_table("Table").await.with_table("Other").await;
        let long = |p: &str| json!({"p": {"S": p}, "s": {"S": "1"}, "x": {"S": "x".repeat(1500)}});
        let answer = database.ok("BatchWriteItem", json!({
            "RequestItems": {"Table": [put(long("a")), put(long("b")), delete(key("c", "1"))], "Other": [put(key("a", "1"))]},
            "ReturnConsumedCapacity": "TOTAL",
        })).await;
        let mut consumed = answer["ConsumedCapacity"].as_array().unwrap().clone();
        consumed.sort_by_key(|table| table["TableName"].to_string());
        assert_eq!(consumed, [
            json!({"TableName": "Other", "CapacityUnits": 1.0}), json!({"TableName": "Table", "CapacityUnits": 5.0}),
        ]);
    }

    async fn one_wrong_request_rejects_all_before_a_write(database) {
        database.with_table("Table").await.with_table("Other").await;
        let good = put(key("a", "1"));
        let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p";
        for (wrong, message) in [
            (put(json!({"p": {"S": "b"}})), KEY_SCHEMA),
            (put(json!({"p": {"N": "1"}, "s": {"S": "b"}})), KEY_SCHEMA),
            (delete(json!({"p": {"S": "b"}})), KEY_SCHEMA),
            (delete(json!({"p": {"S": "b"}, "s": {"S": "b"}, "x": {"S": "b"}})), KEY_SCHEMA),
            (put(key("", "1")), empty),
            (put(json!({"p": {"S": "b"}, "s": {"S": "b"}, "x": {"SS": []}})),
             "One or more parameter values were invalid: An string set  may not be empty"),
            (put(json!({"p": {"S": "b"}, "s": {"S": "b"}, "x": {"S": "x".repeat(409_600)}})),
             "Item size has exceeded the maximum allowed size"),
            (json!({}), "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
            (json!({"PutRequest": {"Item": key("b", "1")}, "DeleteRequest": {"Key": key("b", "1")}}),
             "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"),
            (good.clone(), DUPLICATES),
            (delete(key("a", "1")), DUPLICATES),
        ] {
            refused(database, json!({"Table": [good, wrong]}), message).await;
        }
        let unknown = json!({"RequestItems": {"Table": [good], "Nowhere": [good]}});
        database.refused("BatchWriteItem", unknown, "ResourceNotFoundException", "Requested resource not found").await;
        assert_eq!(count(database).await, 0);
    }

    async fn numbers_of_equal_value_are_duplicates(database) {
        database.ok("CreateTable", json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        })).await;
        let requests = json!({"Table": [put(json!({"n": {"N": "1000"}})), put(json!({"n": {"N": "1e3"}}))]});
        refused(database, requests, DUPLICATES).await;
    }

    async fn the_same_key_in_two_tables_is_no_duplicate(database) {
        database.with_table("Table").await.with_table("Other").await;
        let same = [put(key("a", "1"))];
        database.ok("BatchWriteItem", json!({"RequestItems": {"Table": same, "Other": same}})).await;
        assert_eq!(count(database).await, 1);
    }

    async fn batches_have_their_bounds(database) {
        database.with_table("Table").await.with_table("Other").await;
        let requests = |count: usize| (0..count).map(|n| put(key("a", &n.to_string()))).collect::<Vec<Value>>();
        let bounds = "1 validation error detected: Value '{Table=[...]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]";
        refused(database, json!({}), "The requestItems parameter is required for BatchWriteItem").await;
        refused(database, json!({"Table": []}), bounds).await;
        refused(database, json!({"Table": requests(26)}), bounds).await;
        refused(database, json!({"Table": requests(13), "Other": requests(13)}),
                "Too many items requested for the BatchWriteItem call").await;
        database.refused("BatchWriteItem", json!({}), "ValidationException",
            "1 validation error detected: Value null at 'requestItems' failed to satisfy constraint: Member must not be null").await;
        refused(database, json!({"a!": requests(1)}), "1 validation error detected: Value '{a!=...}' at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]").await;
    }

    async fn collections_are_measured_where_there_is_a_local_index(database) {
        database.with_table("Table").await;
        database.ok("CreateTable", json!({
            "TableName": "Local", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"},
                {"AttributeName": "t", "AttributeType": "S"},
            ],
            "LocalSecondaryIndexes": [{
                "IndexName": "byT", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "t", "KeyType": "RANGE"}],
            }],
        })).await;
        let answer = database.ok("BatchWriteItem", json!({
            "RequestItems": {"Local": [put(key("a", "1")), put(key("a", "2"))], "Table": [put(key("a", "1"))]},
            "ReturnItemCollectionMetrics": "SIZE",
        })).await;
        assert_eq!(answer["ItemCollectionMetrics"], json!({
            "Local": [{"ItemCollectionKey": {"p": {"S": "a"}}, "SizeEstimateRangeGB": [0.0, 1.0]}],
        }));
        // A wrong key of an index is found before the first write.
        let wrong = json!({"p": {"S": "z"}, "s": {"S": "1"}, "t": {"N": "1"}});
        refused(database, json!({"Local": [put(key("b", "1")), put(wrong)]}),
            "One or more parameter values were invalid: Type mismatch for Index Key t Expected: S Actual: N IndexName: byT").await;
        assert_eq!(database.ok("Scan", json!({"TableName": "Local"})).await["Count"], 2);
    }
}
