use serde_json::json;

use crate::database::on_every_store;

on_every_store! {
    async fn a_missing_item_is_absent_not_empty(database) {
        let answer = database.with_table("Table").await
            .ok("GetItem", json!({"TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}})).await;
        assert_eq!(answer, json!({}));
    }

    async fn a_projection_keeps_the_documents_structure(database) {
        database.with_table("Table").await.put(json!({
            "p": {"S": "a"}, "s": {"S": "b"}, "elements": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]},
            "map": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}},
        })).await;
        let answer = database.ok("GetItem", json!({
            "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}},
            "ProjectionExpression": "#m.x, elements[2], elements[0], nowhere", "ExpressionAttributeNames": {"#m": "map"},
        })).await;
        assert_eq!(answer, json!({"Item": {
            "map": {"M": {"x": {"N": "1"}}}, "elements": {"L": [{"N": "0"}, {"N": "2"}]},
        }}));
    }

    async fn the_charge_follows_size_and_consistency(database) {
        database.with_table("Table").await
            .put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"S": "x".repeat(5000)}})).await;
        for (sort, consistent, units) in [("b", false, 1.0), ("b", true, 2.0), ("none", false, 0.5), ("none", true, 1.0)] {
            let answer = database.ok("GetItem", json!({
                "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": sort}}, "ConsistentRead": consistent,
                "ReturnConsumedCapacity": "INDEXES", "ProjectionExpression": "p",
            })).await;
            assert_eq!(answer["ConsumedCapacity"], json!({
                "TableName": "Table", "CapacityUnits": units, "Table": {"CapacityUnits": units},
            }));
        }
    }

    async fn keys_that_do_not_fit_are_refused(database) {
        database.with_table("Table").await;
        let schema = "The provided key element does not match the schema";
        let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: s";
        for (key, message) in [
            (json!({"p": {"S": "a"}}), schema),
            (json!({"p": {"S": "a"}, "s": {"N": "1"}}), schema),
            (json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"S": "c"}}), schema),
            (json!({"p": {"S": "a"}, "s": {"S": ""}}), empty),
        ] {
            database.refused("GetItem", json!({"TableName": "Table", "Key": key}), "ValidationException", message).await;
        }
    }
}
