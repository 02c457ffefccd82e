use serde_json::json;

use crate::SHAPE;
use crate::database::on_every_store;

on_every_store! {
    async fn an_item_comes_back_as_it_was_put(database) {
        let item = json!({
            "p": {"S": "a"}, "s": {"S": "b"}, "n": {"N": "12.50"}, "bin": {"B": "AAEC"}, "yes": {"BOOL": true},
            "nothing": {"NULL": true}, "ss": {"SS": ["x", "y"]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": ["AA=="]},
            "list": {"L": [{"S": "é"}, {"M": {}}]}, "map": {"M": {"deep": {"M": {"empty": {"S": ""}}}}},
        });
        database.with_table("Table").await.put(item.clone()).await;
        let mut expected = item;
        expected["n"] = json!({"N": "12.5"});
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await, expected);
    }

    async fn a_second_put_replaces_the_whole_item(database) {
        database.with_table("Table").await.put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "old": {"N": "1"}})).await;
        let answer = database.ok("PutItem", json!({
            "TableName": "Table", "Item": {"p": {"S": "a"}, "s": {"S": "b"}, "new": {"N": "2"}}, "ReturnValues": "ALL_OLD",
        })).await;
        assert_eq!(answer, json!({"Attributes": {"p": {"S": "a"}, "s": {"S": "b"}, "old": {"N": "1"}}}));
        let key = json!({"p": {"S": "a"}, "s": {"S": "b"}});
        assert_eq!(database.get(key).await, json!({"p": {"S": "a"}, "s": {"S": "b"}, "new": {"N": "2"}}));
    }

    async fn a_first_put_has_no_old_attributes(database) {
        let answer = database.with_table("Table").await.ok("PutItem", json!({
            "TableName": "Table", "Item": {"p": {"S": "a"}, "s": {"S": "b"}}, "ReturnValues": "ALL_OLD",
        })).await;
        assert_eq!(answer, json!({}));
    }

    async fn a_failed_condition_changes_nothing(database) {
        database.with_table("Table").await.put(json!({"p": {"S": "a"}, "s": {"S": "b"}, "v": {"N": "1"}})).await;
        let put = json!({
            "TableName": "Table", "Item": {"p": {"S": "a"}, "s": {"S": "b"}, "v": {"N": "2"}},
            "ConditionExpression": "attribute_not_exists(p)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        });
        let failure = database.call("PutItem", put).await.unwrap_err();
        assert_eq!(failure.name, "ConditionalCheckFailedException");
        assert_eq!(failure.message, "The conditional request failed");
        let stored = json!({"p": {"S": "a"}, "s": {"S": "b"}, "v": {"N": "1"}});
        assert_eq!(failure.item, Some(stored.clone()));
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await, stored);
    }

    async fn the_charge_is_the_larger_image_in_whole_kilobytes(database) {
        database.with_table("Table").await;
        for (length, units) in [(10, 1.0), (1200, 2.0), (2500, 3.0), (10, 3.0)] {
            let answer = database.ok("PutItem", json!({
                "TableName": "Table", "Item": {"p": {"S": "a"}, "s": {"S": "b"}, "x": {"S": "x".repeat(length)}},
                "ReturnConsumedCapacity": "TOTAL",
            })).await;
            assert_eq!(answer, json!({"ConsumedCapacity": {"TableName": "Table", "CapacityUnits": units}}));
        }
    }

    async fn keys_of_equal_value_are_one_item(database) {
        database.ok("CreateTable", json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        })).await;
        database.put(json!({"n": {"N": "1"}, "v": {"S": "first"}})).await;
        database.put(json!({"n": {"N": "1.0"}, "v": {"S": "second"}})).await;
        assert_eq!(database.get(json!({"n": {"N": "1e0"}})).await, json!({"n": {"N": "1"}, "v": {"S": "second"}}));
    }

    async fn the_longest_keys_and_the_largest_items_are_stored(database) {
        // Control characters take the most room in a key: each becomes two bytes.
        let longest = |character: &str| character.repeat(1024);
        database.ok("CreateTable", json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "p", "AttributeType": "S"},
                {"AttributeName": "s", "AttributeType": "S"},
                {"AttributeName": "i", "AttributeType": "S"},
            ],
            "GlobalSecondaryIndexes": [{
                "IndexName": "Index", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "i", "KeyType": "RANGE"}],
            }],
        })).await;
        for character in ["x", "\u{1}"] {
            let (p, s, i) = (character.repeat(2048), longest(character), longest(character));
            // The names take 8 bytes and the three keys 4096 of the 409,600 that an item may have.
            let item = json!({
                "p": {"S": p}, "s": {"S": s}, "i": {"S": i}, "large": {"S": "y".repeat(409_600 - 4096 - 8)},
            });
            database.put(item.clone()).await;
            assert!(database.get(json!({"p": {"S": p}, "s": {"S": s}})).await == item);
            let found = database.ok("Query", json!({
                "TableName": "Table", "IndexName": "Index", "KeyConditionExpression": "p = :p AND i = :i",
                "ExpressionAttributeValues": {":p": {"S": p}, ":i": {"S": i}},
            })).await;
            assert!(found["Items"] == json!([item]));
        }
    }

    async fn wrong_items_are_refused(database) {
        database.with_table("Table").await;
        let cases = [
            (json!({"s": {"S": "b"}}), "One or more parameter values were invalid: Missing the key p in the item".to_owned()),
            (json!({"p": {"N": "1"}, "s": {"S": "b"}}),
             "One or more parameter values were invalid: Type mismatch for key p expected: S actual: N".into()),
            (json!({"p": {"S": ""}, "s": {"S": "b"}}),
             "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p".into()),
            (json!({"p": {"S": "x".repeat(2049)}, "s": {"S": "b"}}),
             "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes".into()),
            (json!({"p": {"S": "a"}, "s": {"S": "x".repeat(1025)}}),
             "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes".into()),
            (json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"S": "x".repeat(409_600)}}),
             "Item size has exceeded the maximum allowed size".into()),
            (json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"SS": []}}),
             format!("{SHAPE}One or more parameter values were invalid: An string set  may not be empty")),
            (json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {}}),
             "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes".into()),
            (json!({"p": {"S": "a"}, "s": {"S": "b"}, "x": {"N": "1x"}}),
             "The parameter cannot be converted to a numeric value: 1x".into()),
        ];
        for (item, message) in cases {
            database.refused("PutItem", json!({"TableName": "Table", "Item": item}), "ValidationException", &message).await;
        }
        assert_eq!(database.ok("Scan", json!({"TableName": "Table"})).await["Count"], 0);
    }

    async fn an_unknown_table_is_not_found(database) {
        database.refused(
            "PutItem", json!({"TableName": "Nowhere", "Item": {"p": {"S": "a"}}}),
            "ResourceNotFoundException", "Requested resource not found",
        ).await;
    }
}
