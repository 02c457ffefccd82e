use serde_json::{Value, json};

use crate::SHAPE;
use crate::database::{Database, on_every_store};

/// Updates the item a/b of the table and returns the answer's attributes.
async fn update(database: &Database, expression: &str, values: Value, returned: &str) -> Value {
    let mut input = json!({
        "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}},
        "UpdateExpression": expression, "ReturnValues": returned,
    });
    if !values.is_null() {
        input["ExpressionAttributeValues"] = values;
    }
    database.ok("UpdateItem", input).await["Attributes"].take()
}

on_every_store! {
    async fn an_update_makes_the_item_if_it_is_not_there(database) {
        database.with_table("Table").await;
        let new = update(database, "ADD hits :one", json!({":one": {"N": "1"}}), "ALL_NEW").await;
        assert_eq!(new, json!({"p": {"S": "a"}, "s": {"S": "b"}, "hits": {"N": "1"}}));
    }

    async fn an_update_without_an_expression_makes_a_key_only_item(database) {
        database.with_table("Table").await
            .ok("UpdateItem", json!({"TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}})).await;
        let key = json!({"p": {"S": "a"}, "s": {"S": "b"}});
        assert_eq!(database.get(key.clone()).await, key);
    }

    async fn removing_from_a_missing_item_makes_nothing(database) {
        database.with_table("Table").await;
        assert_eq!(update(database, "REMOVE x", Value::Null, "ALL_NEW").await, Value::Null);
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await, Value::Null);
    }

    async fn every_read_sees_the_item_before_the_update(database) {
        database.with_table("Table").await.put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"N": "1"}, "y": {"N": "2"}})).await;
        let new = update(database, "SET x = y, y = x REMOVE z", Value::Null, "UPDATED_NEW").await;
        assert_eq!(new, json!({"x": {"N": "2"}, "y": {"N": "1"}}));
    }

    async fn return_values_show_what_was_touched(database) {
        let item = json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"N": "1"}, "m": {"M": {"k": {"S": "v"}, "l": {"S": "w"}}}});
        for (returned, expected) in [
            ("NONE", Value::Null),
            ("ALL_OLD", item.clone()),
            ("UPDATED_OLD", json!({"x": {"N": "1"}, "m": {"M": {"k": {"S": "v"}}}})),
            ("UPDATED_NEW", json!({"x": {"N": "2"}, "m": {"M": {"k": {"S": "new"}}}})),
            ("ALL_NEW", json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"N": "2"}, "m": {"M": {"k": {"S": "new"}, "l": {"S": "w"}}}})),
        ] {
            if returned == "NONE" {
                database.with_table("Table").await;
            }
            database.put(item.clone()).await;
            let values = json!({":one": {"N": "1"}, ":new": {"S": "new"}});
            assert_eq!(update(database, "SET x = x + :one, m.k = :new", values, returned).await, expected, "{returned}");
        }
    }

    async fn a_stale_version_is_refused(database) {
        database.with_table("Table").await.put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "version": {"N": "3"}})).await;
        let input = json!({
            "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}, "UpdateExpression": "SET version = :new",
            "ConditionExpression": "version = :old", "ExpressionAttributeValues": {":new": {"N": "3"}, ":old": {"N": "2"}},
        });
        database.refused("UpdateItem", input, "ConditionalCheckFailedException", "The conditional request failed").await;
    }

    async fn an_item_can_not_outgrow_the_limit(database) {
        database.with_table("Table").await
            .put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"S": "x".repeat(300_000)}})).await;
        let input = json!({
            "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}, "UpdateExpression": "SET y = :y",
            "ExpressionAttributeValues": {":y": {"S": "y".repeat(150_000)}},
        });
        let message = "Item size to update has exceeded the maximum allowed size";
        database.refused("UpdateItem", input, "ValidationException", message).await;
    }

    async fn wrong_updates_are_refused(database) {
        database.with_table("Table").await.put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"S": "text"}})).await;
        for (expression, values, message) in [
            ("SET p = :v", json!({":v": {"S": "c"}}),
             "One or more parameter values were invalid: Cannot update attribute p. This attribute is part of the key".to_owned()),
            ("SET x = x + :v", json!({":v": {"N": "1"}}), "An operand in the update expression has an incorrect data type".into()),
            ("SET y = z", Value::Null, "The provided expression refers to an attribute that does not exist in the item".into()),
            ("SET y.z = :v", json!({":v": {"N": "1"}}),
             "The document path provided in the update expression is invalid for update".into()),
            ("SET status = :v", json!({":v": {"N": "1"}}),
             format!("{SHAPE}Invalid UpdateExpression: Attribute name is a reserved keyword; reserved keyword: status")),
            ("", Value::Null, format!("{SHAPE}Invalid UpdateExpression: The expression can not be empty;")),
            ("SET y = :v", Value::Null, format!(
                "{SHAPE}Invalid UpdateExpression: An expression attribute value used in expression is not defined; attribute value: :v")),
        ] {
            let mut input = json!({
                "TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}, "UpdateExpression": expression,
            });
            if !values.is_null() {
                input["ExpressionAttributeValues"] = values;
            }
            database.refused("UpdateItem", input, "ValidationException", &message).await;
        }
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await["x"], json!({"S": "text"}));
    }
}
