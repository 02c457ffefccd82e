use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

/// Table T with one partition of these sort keys, and a neighbour that must never show.
async fn with_sorts(database: &Database, sorts: &[&str]) {
    database.with_table("Table").await;
    for sort in sorts {
        database.put(json!({"p": {"S": "a"}, "s": {"S": sort}, "len": {"N": sort.len().to_string()}})).await;
    }
    database.put(json!({"p": {"S": "other"}, "s": {"S": "m"}})).await;
}

fn sorts(answer: &Value) -> Vec<String> {
    answer["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["s"]["S"].as_str().unwrap().to_owned())
        .collect()
}

on_every_store! {
    async fn sort_conditions_select_byte_order_ranges(database) {
        with_sorts(database, &["", "1", "10", "9", "A", "a", "ab", "b", "é"].map(|s| if s.is_empty() { "!" } else { s })).await;
        for (condition, values, expected) in [
            ("p = :p", json!({}), vec!["!", "1", "10", "9", "A", "a", "ab", "b", "é"]),
            ("p = :p AND s = :s", json!({":s": {"S": "a"}}), vec!["a"]),
            ("p = :p AND s < :s", json!({":s": {"S": "9"}}), vec!["!", "1", "10"]),
            ("p = :p AND s <= :s", json!({":s": {"S": "9"}}), vec!["!", "1", "10", "9"]),
            ("p = :p AND s > :s", json!({":s": {"S": "a"}}), vec!["ab", "b", "é"]),
            (":s <= s AND p = :p", json!({":s": {"S": "ab"}}), vec!["ab", "b", "é"]),
            ("p = :p AND s BETWEEN :s AND :t", json!({":s": {"S": "10"}, ":t": {"S": "A"}}), vec!["10", "9", "A"]),
            ("(p = :p AND begins_with(s, :s))", json!({":s": {"S": "a"}}), vec!["a", "ab"]),
        ] {
            let mut values = values;
            values[":p"] = json!({"S": "a"});
            let query = json!({"TableName": "Table", "KeyConditionExpression": condition, "ExpressionAttributeValues": values});
            let answer = database.ok("Query", query.clone()).await;
            assert_eq!(sorts(&answer), expected, "{condition}");
            let mut backwards = query;
            backwards["ScanIndexForward"] = json!(false);
            let reversed: Vec<_> = expected.into_iter().rev().collect();
            assert_eq!(sorts(&database.ok("Query", backwards).await), reversed, "{condition} backwards");
        }
    }

    async fn an_empty_filter_is_judged_before_the_key_condition(database) {
        database.with_table("Table").await;
        for key_condition in ["", "p = = :p", "p = :undefined", "nothing = :p"] {
            database.refused("Query", json!({
                "TableName": "Table", "KeyConditionExpression": key_condition, "FilterExpression": "",
                "ExpressionAttributeValues": {":p": {"S": "a"}},
            }), "ValidationException", "Invalid FilterExpression: The expression can not be empty;").await;
        }
        // Only emptiness is: any other filter comes after the key condition.
        database.refused("Query", json!({
            "TableName": "Table", "KeyConditionExpression": "", "FilterExpression": "a = = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        }), "ValidationException", "Invalid KeyConditionExpression: The expression can not be empty;").await;
    }

    async fn number_sort_keys_are_ordered_by_value(database) {
        database.ok("CreateTable", json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "B"}, {"AttributeName": "n", "AttributeType": "N"}],
        })).await;
        let ordered = ["-1000", "-9", "-0.5", "0", "0.001", "9", "10", "1000"];
        for number in ["10", "9", "-9", "0", "1000", "-1000", "0.001", "-0.5"] {
            database.put(json!({"p": {"B": "AA=="}, "n": {"N": number}})).await;
        }
        let answer = database.ok("Query", json!({
            "TableName": "Table", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"B": "AA=="}},
        })).await;
        let numbers: Vec<_> = answer["Items"].as_array().unwrap().iter().map(|item| item["n"]["N"].as_str().unwrap()).collect();
        assert_eq!(numbers, ordered);
    }

    async fn pages_lose_and_repeat_nothing_in_both_directions(database) {
        let all: Vec<String> = (0..23).map(|n| format!("{n:02}")).collect();
        with_sorts(database, &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
        for forward in [true, false] {
            let mut seen = Vec::new();
            let mut start = Value::Null;
            loop {
                let mut query = json!({
                    "TableName": "Table", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}},
                    "Limit": 5, "ScanIndexForward": forward,
                });
                if !start.is_null() {
                    query["ExclusiveStartKey"] = start;
                }
                let mut answer = database.ok("Query", query).await;
                seen.extend(sorts(&answer));
                start = answer["LastEvaluatedKey"].take();
                if start.is_null() {
                    break;
                }
                assert_eq!(start["s"]["S"].as_str(), seen.last().map(String::as_str));
            }
            if !forward {
                seen.reverse();
            }
            assert_eq!(seen, all);
        }
    }

    async fn a_page_ends_when_a_megabyte_was_read(database) {
        database.with_table("Table").await;
        for n in 0..12 {
            database.put(json!({"p": {"S": "a"}, "s": {"S": format!("{n:02}")}, "x": {"S": "x".repeat(100_000)}})).await;
        }
        let query = json!({
            "TableName": "Table", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "a"}},
            "Select": "COUNT", "ReturnConsumedCapacity": "TOTAL",
        });
        let answer = database.ok("Query", query).await;
        assert_eq!(answer["Count"], 11);
        assert_eq!(answer["LastEvaluatedKey"], json!({"p": {"S": "a"}, "s": {"S": "10"}}));
        assert_eq!(answer.get("Items"), None);
        assert_eq!(answer["ConsumedCapacity"]["CapacityUnits"], 134.5);
    }

    async fn a_filter_reduces_the_answer_not_the_charge(database) {
        with_sorts(database, &["a", "bb", "cc"]).await;
        let answer = database.ok("Query", json!({
            "TableName": "Table", "KeyConditionExpression": "p = :p", "FilterExpression": "#len = :two",
            "ExpressionAttributeNames": {"#len": "len"}, "ProjectionExpression": "s",
            "ExpressionAttributeValues": {":p": {"S": "a"}, ":two": {"N": "2"}}, "ReturnConsumedCapacity": "TOTAL",
        })).await;
        assert_eq!(answer, json!({
            "Items": [{"s": {"S": "bb"}}, {"s": {"S": "cc"}}], "Count": 2, "ScannedCount": 3,
            "ConsumedCapacity": {"TableName": "Table", "CapacityUnits": 0.5},
        }));
    }

    async fn wrong_queries_are_refused(database) {
        with_sorts(database, &["a"]).await;
        let values = json!({":p": {"S": "a"}, ":n": {"N": "1"}, ":s": {"S": "a"}, ":e": {"S": ""}});
        for (condition, used, message) in [
            ("s = :s", vec![":s"], "Query condition missed key schema element: p"),
            ("p > :p", vec![":p"], "Query key condition not supported"),
            ("p = :p AND s = :n", vec![":p", ":n"],
             "One or more parameter values were invalid: Condition parameter type does not match schema type"),
            ("p = :p AND x = :s", vec![":p", ":s"], "Query condition missed key schema element: s"),
            ("p = :p AND s = :e", vec![":p", ":e"],
             "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
              string value. Key: s"),
            ("p = :p AND s BETWEEN :e AND :s", vec![":p", ":e", ":s"],
             "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
              string value. Key: s"),
            ("p = :p OR s = :s", vec![":p", ":s"], "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: OR"),
        ] {
            let used: serde_json::Map<_, _> = used.into_iter().map(|name| (name.to_owned(), values[name].clone())).collect();
            let query = json!({"TableName": "Table", "KeyConditionExpression": condition, "ExpressionAttributeValues": used});
            database.refused("Query", query, "ValidationException", message).await;
        }
    }

    async fn key_attributes_have_no_parts(database) {
        with_sorts(database, &["a"]).await;
        let message = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: ";
        let key = json!({"p": {"S": "a"}, "s": {"S": "a"}});
        for (operation, request, name) in [
            ("GetItem", json!({"TableName": "Table", "Key": key, "ProjectionExpression": "p.x"}), "p"),
            ("BatchGetItem", json!({"RequestItems": {"Table": {"Keys": [key], "ProjectionExpression": "s[1]"}}}), "s"),
            ("TransactGetItems", json!({"TransactItems": [{"Get": {
                "TableName": "Table", "Key": key, "ProjectionExpression": "p.x",
            }}]}), "p"),
            ("Query", json!({
                "TableName": "Table", "KeyConditionExpression": "p = :p", "FilterExpression": "s.x = :p",
                "ExpressionAttributeValues": {":p": {"S": "a"}},
            }), "s"),
            ("Scan", json!({
                "TableName": "Table", "FilterExpression": "attribute_exists(p[0])",
            }), "p"),
            ("Scan", json!({"TableName": "Table", "ProjectionExpression": "len, s.x"}), "s"),
            ("PutItem", json!({"TableName": "Table", "Item": key, "ConditionExpression": "attribute_exists(p.x)"}), "p"),
            ("DeleteItem", json!({"TableName": "Table", "Key": key, "ConditionExpression": "attribute_exists(s[0])"}), "s"),
            ("UpdateItem", json!({"TableName": "Table", "Key": key, "ConditionExpression": "attribute_exists(p.x)"}), "p"),
        ] {
            database.refused(operation, request, "ValidationException", &format!("{message}{name}")).await;
        }
        let check = json!({"TableName": "Table", "Key": key, "ConditionExpression": "attribute_exists(p.x)"});
        database.refused(
            "TransactWriteItems", json!({"TransactItems": [{"ConditionCheck": check}]}), "TransactionCanceledException",
            "Transaction cancelled, please refer cancellation reasons for specific reasons [ValidationError]",
        ).await;
    }

    async fn start_keys_must_fit_the_query(database) {
        with_sorts(database, &["a", "b", "c"]).await;
        for (start, message) in [
            (json!({"p": {"S": "a"}}), "The provided starting key is invalid"),
            (json!({"p": {"S": "other"}, "s": {"S": "b"}}),
             "The provided starting key is outside query boundaries based on provided conditions"),
            (json!({"p": {"S": "a"}, "s": {"S": "z"}}), "The provided starting key does not match the range key predicate"),
        ] {
            let query = json!({
                "TableName": "Table", "KeyConditionExpression": "p = :p AND s < :c", "ExclusiveStartKey": start,
                "ExpressionAttributeValues": {":p": {"S": "a"}, ":c": {"S": "c"}},
            });
            database.refused("Query", query, "ValidationException", message).await;
        }
    }

    async fn a_filter_may_not_name_the_key(database) {
        with_sorts(database, &["a"]).await;
        let query = json!({
            "TableName": "Table", "KeyConditionExpression": "p = :p", "FilterExpression": "s = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        });
        let message = "Filter Expression can only contain non-primary key attributes: Primary key attribute: s";
        database.refused("Query", query, "ValidationException", message).await;
    }
}
