//! The parameters from before there were expressions mean what DynamoDB means by them.

use serde_json::{Map, Value, json};

use crate::SHAPE;
use crate::database::{Database, on_every_store};

const INVALID: &str = "One or more parameter values were invalid: ";

fn key() -> Value {
    json!({"p": {"S": "a"}, "s": {"S": "b"}})
}

/// The key with more attributes.
fn item(attributes: Value) -> Value {
    let mut item = key();
    item.as_object_mut().unwrap().extend(attributes.as_object().unwrap().clone());
    item
}

/// An item with an attribute of every type; it has none of the name `missing`.
fn sample() -> Value {
    item(json!({
        "number": {"N": "5"}, "string": {"S": "hello"}, "binary": {"B": "aGVsbG8="}, "high": {"B": "gA=="},
        "bool": {"BOOL": true}, "null": {"NULL": true}, "map": {"M": {"x": {"N": "1"}}},
        "strings": {"SS": ["a", "b"]}, "numbers": {"NS": ["2", "4"]}, "list": {"L": [{"N": "2"}, {"S": "x"}]},
    }))
}

async fn with_sample(database: &Database) {
    database.with_table("Table").await.put(sample()).await;
}

/// A condition on one attribute.
fn condition(attribute: &str, operator: &str, values: Value) -> Value {
    json!({attribute: {"ComparisonOperator": operator, "AttributeValueList": values}})
}

/// The operation on the sample, with one more parameter.
fn input(operation: &str, parameter: &str, value: Value) -> Value {
    let mut input = json!({"TableName": "Table"});
    match operation {
        "PutItem" => input["Item"] = sample(),
        "Scan" => {}
        "Query" => input["KeyConditions"] = condition("p", "EQ", json!([{"S": "a"}])),
        _ => input["Key"] = key(),
    }
    input[parameter] = value;
    input
}

/// Asks the conditions about the sample: as a condition of a write, and as the filter of both reads.
async fn holds(database: &Database, conditions: &Value, operator: Option<&str>) -> bool {
    let input = |operation, parameter| {
        let mut input = input(operation, parameter, conditions.clone());
        if let Some(operator) = operator {
            input["ConditionalOperator"] = json!(operator);
        }
        input
    };
    let written = match database.call("PutItem", input("PutItem", "Expected")).await {
        Ok(_) => true,
        Err(failure) => {
            assert_eq!(failure.name, "ConditionalCheckFailedException", "{conditions}: {}", failure.message);
            false
        }
    };
    for (operation, parameter) in [("Query", "QueryFilter"), ("Scan", "ScanFilter")] {
        let read = database.ok(operation, input(operation, parameter)).await;
        assert_eq!(read["Count"], json!(usize::from(written)), "{operation} {conditions}");
        assert_eq!(read["ScannedCount"], json!(1), "{operation} {conditions}");
    }
    written
}

/// The sort keys that a Query of the partition `a` finds.
async fn found(database: &Database, sort: Value) -> Vec<Value> {
    let mut conditions = condition("p", "EQ", json!([{"S": "a"}]));
    conditions.as_object_mut().unwrap().extend(sort.as_object().unwrap().clone());
    let answer = database.ok("Query", json!({"TableName": "Table", "KeyConditions": conditions})).await;
    answer["Items"].as_array().unwrap().iter().map(|item| item["s"]["S"].clone()).collect()
}

on_every_store! {
    async fn an_operator_judges_an_attribute(database) {
        with_sample(database).await;
        for (attribute, operator, values, expected) in [
            ("number", "EQ", json!([{"N": "5.0"}]), true),
            ("number", "EQ", json!([{"N": "6"}]), false),
            ("number", "EQ", json!([{"S": "5"}]), false),
            ("missing", "EQ", json!([{"N": "5"}]), false),
            ("bool", "EQ", json!([{"BOOL": true}]), true),
            ("null", "EQ", json!([{"NULL": true}]), true),
            ("strings", "EQ", json!([{"SS": ["b", "a"]}]), true),
            ("list", "EQ", json!([{"L": [{"N": "2"}, {"S": "x"}]}]), true),
            ("map", "EQ", json!([{"M": {"x": {"N": "1"}}}]), true),
            ("number", "NE", json!([{"N": "5"}]), false),
            ("number", "NE", json!([{"S": "5"}]), true),
            ("missing", "NE", json!([{"N": "5"}]), true),
            ("list", "NE", json!([{"L": []}]), true),
            ("number", "LT", json!([{"N": "5"}]), false),
            ("number", "LT", json!([{"N": "10"}]), true),
            ("number", "LE", json!([{"N": "5"}]), true),
            ("number", "GT", json!([{"N": "5"}]), false),
            ("number", "GT", json!([{"N": "-10"}]), true),
            ("number", "GE", json!([{"N": "5"}]), true),
            ("string", "LT", json!([{"S": "help"}]), true),
            ("string", "GT", json!([{"S": "help"}]), false),
            ("binary", "LT", json!([{"B": "aGVscA=="}]), true),
            ("high", "GT", json!([{"B": "fw=="}]), true),
            ("string", "LT", json!([{"N": "5"}]), false),
            ("list", "GT", json!([{"N": "1"}]), false),
            ("missing", "LE", json!([{"N": "5"}]), false),
            ("number", "BETWEEN", json!([{"N": "5"}, {"N": "6"}]), true),
            ("number", "BETWEEN", json!([{"N": "4"}, {"N": "5"}]), true),
            ("number", "BETWEEN", json!([{"N": "6"}, {"N": "7"}]), false),
            ("number", "BETWEEN", json!([{"S": "4"}, {"S": "6"}]), false),
            ("numbers", "BETWEEN", json!([{"N": "1"}, {"N": "6"}]), false),
            ("missing", "BETWEEN", json!([{"N": "0"}, {"N": "100"}]), false),
            ("number", "IN", json!([{"N": "4"}, {"N": "5"}]), true),
            ("number", "IN", json!([{"N": "4"}]), false),
            ("numbers", "IN", json!([{"N": "2"}, {"N": "4"}]), false),
            ("missing", "IN", json!([{"N": "2"}]), false),
            ("string", "CONTAINS", json!([{"S": "ell"}]), true),
            ("string", "CONTAINS", json!([{"S": "dog"}]), false),
            ("string", "CONTAINS", json!([{"N": "1"}]), false),
            ("binary", "CONTAINS", json!([{"B": "ZWxs"}]), true),
            ("numbers", "CONTAINS", json!([{"N": "4.0"}]), true),
            ("numbers", "CONTAINS", json!([{"N": "5"}]), false),
            ("list", "CONTAINS", json!([{"N": "2"}]), true),
            ("missing", "CONTAINS", json!([{"N": "2"}]), false),
            ("string", "NOT_CONTAINS", json!([{"S": "ell"}]), false),
            ("string", "NOT_CONTAINS", json!([{"S": "dog"}]), true),
            ("string", "NOT_CONTAINS", json!([{"N": "1"}]), true),
            ("strings", "NOT_CONTAINS", json!([{"S": "a"}]), false),
            ("list", "NOT_CONTAINS", json!([{"N": "1"}]), true),
            ("missing", "NOT_CONTAINS", json!([{"N": "1"}]), false),
            ("string", "BEGINS_WITH", json!([{"S": "hell"}]), true),
            ("string", "BEGINS_WITH", json!([{"S": "ell"}]), false),
            ("binary", "BEGINS_WITH", json!([{"B": "aGU="}]), true),
            ("number", "BEGINS_WITH", json!([{"S": "5"}]), false),
            ("null", "NOT_NULL", json!([]), true),
            ("missing", "NOT_NULL", json!([]), false),
            ("null", "NULL", json!([]), false),
            ("missing", "NULL", json!([]), true),
            ("missing", "NULL", Value::Null, true),
        ] {
            let asked = condition(attribute, operator, values);
            assert_eq!(holds(database, &asked, None).await, expected, "{asked}");
        }
    }

    async fn an_operator_refuses_values_that_do_not_fit_it(database) {
        with_sample(database).await;
        let count = |operator: &str| format!("{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator");
        let kind = |operator: &str, kind: &str| {
            format!("{INVALID}ComparisonOperator {operator} is not valid for {kind} AttributeValue type")
        };
        let mixed = format!("{INVALID}AttributeValues inside AttributeValueList must be of same type");
        let order = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound";
        let mut cases = vec![
            ("NULL", json!([{"N": "1"}]), count("NULL")),
            ("NOT_NULL", json!([{"N": "1"}]), count("NOT_NULL")),
            ("IN", json!([]), count("IN")),
            ("IN", json!([{"N": "3"}, {"S": "dog"}]), mixed.clone()),
            ("IN", json!([{"L": []}, {"L": []}]), kind("IN", "L")),
            ("BETWEEN", json!([]), count("BETWEEN")),
            ("BETWEEN", json!([{"N": "1"}]), count("BETWEEN")),
            ("BETWEEN", json!([{"N": "1"}, {"N": "2"}, {"N": "3"}]), count("BETWEEN")),
            ("BETWEEN", json!([{"N": "4"}, {"N": "3"}]), order.to_owned()),
            ("BETWEEN", json!([{"S": "dog"}, {"S": "cat"}]), order.to_owned()),
            ("BETWEEN", json!([{"N": "4"}, {"S": "dog"}]), mixed),
            ("BETWEEN", json!([{"NS": ["1"]}, {"NS": ["2"]}]), kind("BETWEEN", "NS")),
            ("LT", json!([{"L": []}]), kind("LT", "L")),
            ("LE", json!([{"M": {}}]), kind("LE", "M")),
            ("GT", json!([{"BOOL": true}]), kind("GT", "BOOL")),
            ("GE", json!([{"NULL": true}]), kind("GE", "NULL")),
            ("CONTAINS", json!([{"L": [{"N": "1"}]}]), kind("CONTAINS", "L")),
            ("NOT_CONTAINS", json!([{"SS": ["a"]}]), kind("NOT_CONTAINS", "SS")),
            ("BEGINS_WITH", json!([{"N": "3"}]), kind("BEGINS_WITH", "N")),
        ];
        for operator in ["EQ", "NE", "LT", "LE", "GT", "GE", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"] {
            cases.push((operator, json!([]), count(operator)));
            cases.push((operator, json!([{"S": "1"}, {"S": "2"}]), count(operator)));
        }
        for (operator, values, message) in cases {
            let asked = condition("number", operator, values);
            for (operation, parameter, prefix) in [
                ("PutItem", "Expected", SHAPE), ("UpdateItem", "Expected", SHAPE), ("DeleteItem", "Expected", SHAPE),
                ("Query", "QueryFilter", ""), ("Scan", "ScanFilter", ""), ("Query", "KeyConditions", ""),
            ] {
                let input = input(operation, parameter, asked.clone());
                database.refused(operation, input, "ValidationException", &format!("{prefix}{message}")).await;
            }
        }
    }

    async fn conditions_are_joined_by_and_unless_by_or(database) {
        with_sample(database).await;
        let right = condition("number", "EQ", json!([{"N": "5"}]));
        let also_right = condition("string", "NOT_NULL", json!([]));
        let wrong = condition("binary", "NULL", json!([]));
        let also_wrong = condition("list", "EQ", json!([{"N": "1"}]));
        let both = |one: &Value, other: &Value| {
            let parts = [one, other].map(|part| part.as_object().unwrap().clone());
            Value::Object(parts.into_iter().flatten().collect::<Map<String, Value>>())
        };
        for (conditions, and, or) in [
            (both(&right, &also_right), true, true),
            (both(&right, &wrong), false, true),
            (both(&wrong, &right), false, true),
            (both(&wrong, &also_wrong), false, false),
        ] {
            assert_eq!(holds(database, &conditions, None).await, and, "{conditions}");
            assert_eq!(holds(database, &conditions, Some("AND")).await, and, "{conditions}");
            assert_eq!(holds(database, &conditions, Some("OR")).await, or, "{conditions}");
        }
        assert!(holds(database, &json!({}), None).await, "no condition is no obstacle");
    }

    async fn expected_values_and_absences_decide_about_a_write(database) {
        with_sample(database).await;
        for (expected, passes) in [
            (json!({"number": {"Value": {"N": "5"}}}), true),
            (json!({"number": {"Value": {"N": "6"}}}), false),
            (json!({"missing": {"Value": {"N": "5"}}}), false),
            (json!({"number": {"Value": {"N": "5"}, "Exists": true}}), true),
            (json!({"number": {"Value": {"N": "6"}, "Exists": true}}), false),
            (json!({"missing": {"Exists": false}}), true),
            (json!({"number": {"Exists": false}}), false),
            (json!({"number": {"Value": {"N": "4"}, "ComparisonOperator": "GT"}}), true),
            (json!({"number": {"Value": {"N": "5"}}, "missing": {"Exists": false}}), true),
            (json!({"number": {"Value": {"N": "5"}}, "string": {"Exists": false}}), false),
        ] {
            for operation in ["PutItem", "UpdateItem", "DeleteItem"] {
                database.put(sample()).await;
                let answer = database.call(operation, input(operation, "Expected", expected.clone())).await;
                let name = answer.map_err(|failure| failure.name);
                match passes {
                    true => assert!(name.is_ok(), "{operation} {expected}: {name:?}"),
                    false => assert_eq!(name, Err("ConditionalCheckFailedException".to_owned()), "{operation} {expected}"),
                }
                assert_eq!(database.get(key()).await.is_null(), passes && operation == "DeleteItem", "{operation} {expected}");
            }
        }
    }

    async fn a_failed_expectation_can_show_the_item(database) {
        with_sample(database).await;
        let mut input = input("DeleteItem", "Expected", json!({"number": {"Exists": false}}));
        input["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
        let failure = database.call("DeleteItem", input).await.unwrap_err();
        assert_eq!(failure.item, Some(sample()));
    }

    async fn expectations_that_contradict_themselves_are_refused(database) {
        with_sample(database).await;
        for (expected, message) in [
            (json!({}), "Value must be provided when Exists is null for Attribute: number"),
            (json!({"Exists": true}), "Value must be provided when Exists is true for Attribute: number"),
            (json!({"Exists": false, "Value": {"N": "5"}}), "Value cannot be used when Exists is false for Attribute: number"),
            (json!({"AttributeValueList": [{"N": "5"}]}),
             "AttributeValueList can only be used with a ComparisonOperator for Attribute: number"),
            (json!({"Value": {"N": "5"}, "AttributeValueList": [{"N": "5"}], "ComparisonOperator": "EQ"}),
             "Value and AttributeValueList cannot be used together for Attribute: number"),
            (json!({"Exists": false, "AttributeValueList": [{"N": "5"}], "ComparisonOperator": "EQ"}),
             "Exists and ComparisonOperator cannot be used together for Attribute: number"),
            (json!({"ComparisonOperator": "EQ"}),
             "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: number"),
        ] {
            for operation in ["PutItem", "UpdateItem", "DeleteItem"] {
                let input = input(operation, "Expected", json!({"number": expected}));
                database.refused(operation, input, "ValidationException", &format!("{SHAPE}{INVALID}{message}")).await;
            }
        }
    }

    async fn key_conditions_select_a_stretch_of_a_partition(database) {
        database.with_table("Table").await;
        for sort in ["1", "11", "2", "3"] {
            database.put(json!({"p": {"S": "a"}, "s": {"S": sort}})).await;
        }
        database.put(json!({"p": {"S": "b"}, "s": {"S": "1"}})).await;
        for (operator, values, expected) in [
            ("EQ", json!([{"S": "2"}]), vec!["2"]),
            ("LT", json!([{"S": "2"}]), vec!["1", "11"]),
            ("LE", json!([{"S": "2"}]), vec!["1", "11", "2"]),
            ("GT", json!([{"S": "2"}]), vec!["3"]),
            ("GE", json!([{"S": "2"}]), vec!["2", "3"]),
            ("BETWEEN", json!([{"S": "11"}, {"S": "2"}]), vec!["11", "2"]),
            ("BEGINS_WITH", json!([{"S": "1"}]), vec!["1", "11"]),
        ] {
            assert_eq!(found(database, condition("s", operator, values)).await, expected, "{operator}");
        }
        assert_eq!(found(database, json!({})).await, ["1", "11", "2", "3"]);
    }

    async fn key_conditions_that_do_not_name_a_stretch_are_refused(database) {
        with_sample(database).await;
        let with_partition = |attribute: &str, operator: &str, values: Value| {
            let mut conditions = condition(attribute, operator, values);
            conditions["p"] = condition("p", "EQ", json!([{"S": "a"}]))["p"].take();
            conditions
        };
        let not_indexable = "Attempted conditional constraint is not an indexable operation";
        let mut three = with_partition("s", "EQ", json!([{"S": "b"}]));
        three["number"] = three["s"].clone();
        for (conditions, message) in [
            (json!({}), "Conditions can be of length 1 or 2 only"),
            (three, "Conditions can be of length 1 or 2 only"),
            (condition("p", "LT", json!([{"S": "a"}])), "Query key condition not supported"),
            (condition("p", "BEGINS_WITH", json!([{"S": "a"}])), "Query key condition not supported"),
            (condition("p", "BETWEEN", json!([{"S": "a"}, {"S": "a"}])), "Query key condition not supported"),
            (condition("p", "NE", json!([{"S": "a"}])), not_indexable),
            (with_partition("s", "IN", json!([{"S": "a"}])), not_indexable),
            (with_partition("s", "CONTAINS", json!([{"S": "a"}])), not_indexable),
            (with_partition("s", "NOT_CONTAINS", json!([{"S": "a"}])), not_indexable),
            (with_partition("s", "NULL", json!([])), not_indexable),
            (with_partition("s", "NOT_NULL", json!([])), not_indexable),
            (condition("s", "EQ", json!([{"S": "b"}])), "Query condition missed key schema element: p"),
            (with_partition("number", "EQ", json!([{"N": "5"}])), "Query condition missed key schema element: s"),
            (with_partition("s", "EQ", json!([{"N": "5"}])),
             "One or more parameter values were invalid: Condition parameter type does not match schema type"),
        ] {
            database.refused("Query", input("Query", "KeyConditions", conditions), "ValidationException", message).await;
        }
    }

    async fn key_conditions_go_with_every_expression_but_their_own(database) {
        with_sample(database).await;
        let values = json!({":five": {"N": "5"}});
        let mut query = input("Query", "FilterExpression", json!("#n = :five"));
        query["ExpressionAttributeNames"] = json!({"#n": "number"});
        query["ExpressionAttributeValues"] = values;
        query["ProjectionExpression"] = json!("#n");
        assert_eq!(database.ok("Query", query).await["Items"], json!([{"number": {"N": "5"}}]));

        let message = |older: &str, newer: &str| {
            format!("Can not use both expression and non-expression parameters in the same request: \
                     Non-expression parameters: {{{older}}} Expression parameters: {{{newer}}}")
        };
        let both = input("Query", "KeyConditionExpression", json!("p = :p"));
        let refusal = message("KeyConditions", "KeyConditionExpression");
        database.refused("Query", both, "ValidationException", &refusal).await;
        let mut both = input("Query", "QueryFilter", condition("number", "NULL", json!([])));
        both["ProjectionExpression"] = json!("x");
        let refusal = message("QueryFilter", "ProjectionExpression");
        database.refused("Query", both, "ValidationException", &refusal).await;
    }

    async fn a_query_filter_may_not_name_the_key_but_a_scan_filter_may(database) {
        with_sample(database).await;
        for (name, value) in [("p", "a"), ("s", "b")] {
            let mut filter = condition(name, "EQ", json!([{"S": value}]));
            let scan = input("Scan", "ScanFilter", filter.clone());
            assert_eq!(database.ok("Scan", scan).await["Count"], json!(1), "{name}");
            filter["number"] = filter[name].clone();
            let query = input("Query", "QueryFilter", filter);
            let message =
                format!("QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}");
            database.refused("Query", query, "ValidationException", &message).await;
        }
    }

    async fn attribute_updates_change_whole_attributes(database) {
        database.with_table("Table").await;
        for (before, updates, after) in [
            (json!({"x": {"N": "1"}}), json!({}), json!({"x": {"N": "1"}})),
            (json!({"x": {"N": "1"}}), json!({"y": {"Value": {"S": "new"}}}), json!({"x": {"N": "1"}, "y": {"S": "new"}})),
            (json!({"x": {"N": "1"}}), json!({"x": {"Action": "PUT", "Value": {"L": []}}}), json!({"x": {"L": []}})),
            (json!({"x": {"N": "1"}}), json!({"x": {"Action": "DELETE"}}), json!({})),
            (json!({}), json!({"x": {"Action": "DELETE"}}), json!({})),
            (json!({"x": {"NS": ["1", "2", "3"]}}), json!({"x": {"Action": "DELETE", "Value": {"NS": ["2", "4"]}}}),
             json!({"x": {"NS": ["1", "3"]}})),
            (json!({"x": {"SS": ["a"]}}), json!({"x": {"Action": "DELETE", "Value": {"SS": ["a"]}}}), json!({})),
            (json!({}), json!({"x": {"Action": "DELETE", "Value": {"SS": ["a"]}}}), json!({})),
            (json!({"x": {"N": "7"}}), json!({"x": {"Action": "ADD", "Value": {"N": "-3.5"}}}), json!({"x": {"N": "3.5"}})),
            (json!({}), json!({"x": {"Action": "ADD", "Value": {"N": "2"}}}), json!({"x": {"N": "2"}})),
            (json!({"x": {"SS": ["a"]}}), json!({"x": {"Action": "ADD", "Value": {"SS": ["b", "a"]}}}),
             json!({"x": {"SS": ["a", "b"]}})),
            (json!({}), json!({"x": {"Action": "ADD", "Value": {"BS": ["AA=="]}}}), json!({"x": {"BS": ["AA=="]}})),
            (json!({"x": {"L": [{"N": "1"}]}}), json!({"x": {"Action": "ADD", "Value": {"L": [{"S": "a"}, {"N": "1"}]}}}),
             json!({"x": {"L": [{"N": "1"}, {"S": "a"}, {"N": "1"}]}})),
            (json!({}), json!({"x": {"Action": "ADD", "Value": {"L": [{"N": "7"}]}}}), json!({"x": {"L": [{"N": "7"}]}})),
            (json!({"a.b": {"N": "1"}}), json!({"a.b": {"Value": {"N": "2"}}}), json!({"a.b": {"N": "2"}})),
        ] {
            database.put(item(before.clone())).await;
            let mut input = input("UpdateItem", "AttributeUpdates", updates.clone());
            input["ReturnValues"] = json!("ALL_OLD");
            assert_eq!(database.ok("UpdateItem", input).await["Attributes"], item(before), "{updates}");
            assert_eq!(database.get(key()).await, item(after), "{updates}");
        }
    }

    async fn attribute_updates_make_an_item_unless_they_only_take_away(database) {
        database.with_table("Table").await;
        for (updates, made) in [
            (json!({}), Some(json!({}))),
            (json!({"x": {"Value": {"N": "1"}}}), Some(json!({"x": {"N": "1"}}))),
            (json!({"x": {"Action": "ADD", "Value": {"N": "1"}}, "y": {"Action": "DELETE"}}), Some(json!({"x": {"N": "1"}}))),
            (json!({"x": {"Action": "DELETE"}}), None),
            (json!({"x": {"Action": "DELETE", "Value": {"NS": ["1"]}}}), None),
        ] {
            database.ok("DeleteItem", json!({"TableName": "Table", "Key": key()})).await;
            let mut input = input("UpdateItem", "AttributeUpdates", updates.clone());
            input["ReturnValues"] = json!("ALL_NEW");
            let expected = made.map_or(Value::Null, item);
            assert_eq!(database.ok("UpdateItem", input).await["Attributes"], expected, "{updates}");
            assert_eq!(database.get(key()).await, expected, "{updates}");
        }
    }

    async fn attribute_updates_that_can_not_be_done_are_refused(database) {
        with_sample(database).await;
        let add = |kind: &str| format!("{SHAPE}{INVALID}ADD action is not supported for the type {kind}");
        let delete = |kind: &str| format!("{SHAPE}{INVALID}DELETE action with value is not supported for the type {kind}");
        let alone = format!("{SHAPE}{INVALID}Only DELETE action is allowed when no attribute value is specified");
        let mismatch = "Type mismatch for attribute to update".to_owned();
        let of_key = |name: &str| format!("{INVALID}Cannot update attribute {name}. This attribute is part of the key");
        let overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range";
        let long = "x".repeat(65_536);
        for (attribute, update, message) in [
            ("number", json!({}), alone.clone()),
            ("number", json!({"Action": "PUT"}), alone.clone()),
            ("number", json!({"Action": "ADD"}), alone),
            ("string", json!({"Action": "ADD", "Value": {"S": "a"}}), add("S")),
            ("map", json!({"Action": "ADD", "Value": {"M": {}}}), add("M")),
            ("bool", json!({"Action": "ADD", "Value": {"BOOL": true}}), add("BOOL")),
            ("string", json!({"Action": "DELETE", "Value": {"S": "hello"}}), delete("S")),
            ("list", json!({"Action": "DELETE", "Value": {"L": []}}), delete("L")),
            ("null", json!({"Action": "DELETE", "Value": {"NULL": true}}), delete("NULL")),
            ("strings", json!({"Action": "DELETE", "Value": {"NS": ["1"]}}), mismatch.clone()),
            ("number", json!({"Action": "DELETE", "Value": {"NS": ["1"]}}), mismatch.clone()),
            ("strings", json!({"Action": "ADD", "Value": {"NS": ["1"]}}), mismatch.clone()),
            ("strings", json!({"Action": "ADD", "Value": {"N": "1"}}), mismatch.clone()),
            ("number", json!({"Action": "ADD", "Value": {"L": []}}), mismatch.clone()),
            ("list", json!({"Action": "ADD", "Value": {"SS": ["a"]}}), mismatch),
            ("number", json!({"Action": "ADD", "Value": {"N": "9.9e125"}}), overflow.to_owned()),
            ("p", json!({"Value": {"S": "c"}}), of_key("p")),
            ("s", json!({"Action": "DELETE"}), of_key("s")),
            ("", json!({"Value": {"S": "c"}}), format!("{SHAPE}Empty attribute name")),
            (long.as_str(), json!({"Value": {"S": "c"}}),
             format!("{SHAPE}Attribute name is too large, must be less than 65536 bytes")),
        ] {
            let input = input("UpdateItem", "AttributeUpdates", json!({attribute: update}));
            database.refused("UpdateItem", input, "ValidationException", &message).await;
        }
        assert_eq!(database.get(key()).await, sample());
    }

    async fn only_the_attributes_to_get_are_returned(database) {
        with_sample(database).await;
        database.put(json!({"p": {"S": "a"}, "s": {"S": "c"}})).await;
        for (names, first, second) in [
            (json!(["string"]), json!({"string": {"S": "hello"}}), json!({})),
            (json!(["s", "number"]), json!({"s": {"S": "b"}, "number": {"N": "5"}}), json!({"s": {"S": "c"}})),
            (json!(["missing"]), json!({}), json!({})),
            (json!(["map.x"]), json!({}), json!({})),
        ] {
            let get = input("GetItem", "AttributesToGet", names.clone());
            assert_eq!(database.ok("GetItem", get).await["Item"], first, "{names}");
            for operation in ["Query", "Scan"] {
                let read = input(operation, "AttributesToGet", names.clone());
                assert_eq!(database.ok(operation, read).await["Items"], json!([first, second]), "{operation} {names}");
            }
        }
        let mut query = input("Query", "AttributesToGet", json!(["string"]));
        query["QueryFilter"] = condition("number", "EQ", json!([{"N": "5"}]));
        assert_eq!(database.ok("Query", query).await["Items"], json!([{"string": {"S": "hello"}}]));
    }

    async fn wrong_lists_of_attributes_to_get_are_refused(database) {
        with_sample(database).await;
        for operation in ["GetItem", "Query", "Scan"] {
            for (names, message) in [
                (json!(["x", "x"]), format!("{INVALID}Duplicate value in attribute name: x")),
                (json!([""]), "Empty attribute name".to_owned()),
            ] {
                let input = input(operation, "AttributesToGet", names);
                database.refused(operation, input, "ValidationException", &message).await;
            }
        }
    }
}
