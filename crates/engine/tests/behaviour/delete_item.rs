use serde_json::{Value, json};

use crate::database::on_every_store;

on_every_store! {
    async fn a_deleted_item_is_gone_and_shown_once(database) {
        let item = json!({"p": {"S": "a"}, "s": {"S": "b"}, "v": {"N": "1"}});
        database.with_table("Table").await.put(item.clone()).await;
        let delete = json!({"TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}, "ReturnValues": "ALL_OLD"});
        assert_eq!(database.ok("DeleteItem", delete.clone()).await, json!({"Attributes": item}));
        assert_eq!(database.ok("DeleteItem", delete).await, json!({}));
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await, Value::Null);
    }

    async fn a_condition_on_a_missing_item_sees_an_empty_item(database) {
        let delete = json!({
            "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}, "ConditionExpression": "attribute_exists(p)",
        });
        database.with_table("Table").await
            .refused("DeleteItem", delete, "ConditionalCheckFailedException", "The conditional request failed").await;
    }

    async fn the_charge_is_the_old_item_or_one_unit(database) {
        database.with_table("Table").await
            .put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"S": "x".repeat(3000)}})).await;
        for units in [3.0, 1.0] {
            let answer = database.ok("DeleteItem", json!({
                "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}, "ReturnConsumedCapacity": "TOTAL",
            })).await;
            assert_eq!(answer, json!({"ConsumedCapacity": {"TableName": "Table", "CapacityUnits": units}}));
        }
    }
}
