use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

fn key(p: &str, s: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": s}})
}

async fn refused(database: &Database, requests: Value, message: &str) {
    database.refused("BatchGetItem", json!({"RequestItems": requests}), "ValidationException", message).await;
}

on_every_store! {
    async fn each_table_answers_with_the_items_it_has(database) {
        database.with_table("Table").await.with_table("Other").await.put(key("a", "1")).await;
        database.put(json!({"p": {"S": "a"}, "s": {"S": "2"}, "x": {"N": "2"}})).await;
        let answer = database.ok("BatchGetItem", json!({"RequestItems": {
            "Table": {"Keys": [key("a", "1"), key("missing", "1"), key("a", "2")], "ConsistentRead": true},
            "Other": {"Keys": [key("a", "1")]},
        }})).await;
        assert_eq!(answer, json!({
            "Responses": {"Table": [key("a", "1"), {"p": {"S": "a"}, "s": {"S": "2"}, "x": {"N": "2"}}], "Other": []},
            "UnprocessedKeys": {},
        }));
    }

    async fn each_table_has_its_own_projection(database) {
        database.with_table("Table").await.with_table("Other").await
            .put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": "2"}, "y": {"N": "3"}})).await;
        for projection in [
            json!({"Keys": [key("a", "1")], "AttributesToGet": ["x"]}),
            json!({"Keys": [key("a", "1")], "ProjectionExpression": "#x", "ExpressionAttributeNames": {"#x": "x"}}),
        ] {
            let answer = database.ok("BatchGetItem", json!({
                "RequestItems": {"Table": projection, "Other": {"Keys": [key("a", "1")]}},
            })).await;
            assert_eq!(answer["Responses"]["Table"], json!([{"x": {"N": "2"}}]));
        }
    }

    async fn the_charge_is_rounded_for_each_item_and_summed_for_each_table(database) {
        database.with_table("Table").await
            .put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"S": "x".repeat(5000)}})).await;
        for (consistent, units) in [(false, 1.5), (true, 3.0)] {
            let answer = database.ok("BatchGetItem", json!({
                "RequestItems": {"Table": {"Keys": [key("a", "1"), key("missing", "1")], "ConsistentRead": consistent}},
                "ReturnConsumedCapacity": "INDEXES",
            })).await;
            assert_eq!(answer["ConsumedCapacity"], json!([
                {"TableName": "Table", "CapacityUnits": units, "Table": {"CapacityUnits": units}},
            ]));
        }
    }

    async fn what_does_not_fit_comes_back_to_be_asked_again(database) {
        database.with_table("Table").await;
        let sorts: Vec<String> = (0..42).map(|n| format!("{n:02}")).collect();
        for sort in &sorts {
            database.put(json!({"p": {"S": "a"}, "s": {"S": sort}, "x": {"S": "x".repeat(400_000)}})).await;
        }
        let keys: Vec<Value> = sorts.iter().map(|sort| key("a", sort)).collect();
        let mut requests = json!({"Table": {
            "Keys": keys, "ConsistentRead": true, "ProjectionExpression": "#s", "ExpressionAttributeNames": {"#s": "s"},
        }});
        let first = database.ok("BatchGetItem", json!({"RequestItems": requests})).await;
        // 16 MB hold 41 items of 400,004 bytes.
        assert_eq!(first["Responses"]["Table"].as_array().unwrap().len(), 41);
        requests["Table"]["Keys"] = json!([key("a", "41")]);
        assert_eq!(first["UnprocessedKeys"], requests);
        let second = database.ok("BatchGetItem", json!({"RequestItems": first["UnprocessedKeys"]})).await;
        assert_eq!(second, json!({"Responses": {"Table": [{"s": {"S": "41"}}]}, "UnprocessedKeys": {}}));
    }

    async fn wrong_requests_are_refused(database) {
        database.with_table("Table").await.with_table("Other").await;
        let keys = |count: usize| (0..count).map(|n| key("a", &n.to_string())).collect::<Vec<Value>>();
        refused(database, json!({}), "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1").await;
        refused(database, json!({"Table": {"Keys": keys(101)}}), "1 validation error detected: Value at 'RequestItems.Table.member.Keys' failed to satisfy constraint: Member must have length less than or equal to 100").await;
        refused(database, json!({"Table": {"Keys": []}}), "1 validation error detected: Value at 'RequestItems.Table.member.Keys' failed to satisfy constraint: Member must have length greater than or equal to 1").await;
        refused(database, json!({"Table": {"Keys": keys(51)}, "Other": {"Keys": keys(50)}}),
                "Too many items requested for the BatchGetItem call").await;
        refused(database, json!({"Table": {"Keys": [key("a", "1"), key("a", "1")]}}),
                "Provided list of item keys contains duplicates").await;
        refused(database, json!({"Table": {"Keys": [key("a", "1"), {"p": {"S": "a"}}]}}),
                "The provided key element does not match the schema").await;
        refused(database, json!({
            "Table": {"Keys": keys(1), "AttributesToGet": ["x"]}, "Other": {"Keys": keys(1), "ProjectionExpression": "x"},
        }), "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}").await;
        refused(database, json!({"Table": {
            "Keys": keys(1), "ProjectionExpression": "x", "ExpressionAttributeNames": {"#x": "x"},
        }}), "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}").await;
        refused(database, json!({"Table": {"Keys": keys(1), "ExpressionAttributeNames": {"#x": "x"}}}),
                "ExpressionAttributeNames can only be specified when using expressions").await;
        let unknown = json!({"RequestItems": {"Table": {"Keys": keys(1)}, "Nowhere": {"Keys": keys(1)}}});
        database.refused("BatchGetItem", unknown, "ResourceNotFoundException", "Requested resource not found").await;
    }
}
