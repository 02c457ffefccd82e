use serde_json::{Value, json};

use crate::database::{Database, Failure, on_every_store};

/// Table `Table` (p, s) with a global index `ByG` (g) that holds x beside its keys and a local index `ByL` (p, l) of
/// keys only. Partition a holds sort keys 1 to 5, b holds 1 and 2; x counts up, odd items have y.
async fn with_items(database: &Database) {
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let definition = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [attribute("p", "HASH"), attribute("s", "RANGE")],
                "AttributeDefinitions": (["p", "s", "g", "l"].map(definition)),
                "GlobalSecondaryIndexes": [{
                    "IndexName": "ByG", "KeySchema": [attribute("g", "HASH")],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
                }],
                "LocalSecondaryIndexes": [{
                    "IndexName": "ByL", "KeySchema": [attribute("p", "HASH"), attribute("l", "RANGE")],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }],
            }),
        )
        .await;
    for (x, (p, s)) in
        ["a1", "a2", "a3", "a4", "a5", "b1", "b2"].map(|key| key.split_at(1)).into_iter().enumerate()
    {
        let mut item = json!({
            "p": {"S": p}, "s": {"S": s}, "x": {"N": x.to_string()}, "g": {"S": format!("g{}", x % 2)},
            "l": {"S": format!("l{}", 9 - x)}, "m": {"M": {"list": {"L": [{"S": "zero"}, {"S": "one"}]}}},
        });
        if x % 2 == 1 {
            item["y"] = json!({"S": "odd"});
        }
        database.put(item).await;
    }
}

async fn execute(database: &Database, statement: &str) -> Result<Value, Failure> {
    database.call("ExecuteStatement", json!({"Statement": statement})).await
}

async fn refused(database: &Database, statement: &str, message: &str) {
    let input = json!({"Statement": statement});
    database.refused("ExecuteStatement", input, "ValidationException", message).await;
}

/// Items that fail their conditions are asked for.
async fn transact(database: &Database, statements: &[&str]) -> Result<Value, Failure> {
    let statement =
        |text: &&str| json!({"Statement": text, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"});
    let statements: Vec<Value> = statements.iter().map(statement).collect();
    database.call("ExecuteTransaction", json!({"TransactStatements": statements})).await
}

/// The keys of the items, as `a1 b2`.
fn keys(items: &Value) -> String {
    let key =
        |item: &Value| format!("{}{}", item["p"]["S"].as_str().unwrap(), item["s"]["S"].as_str().unwrap());
    items.as_array().unwrap().iter().map(key).collect::<Vec<String>>().join(" ")
}

/// A scan has an order, but not one to rely upon.
fn sorted(keys: &str) -> String {
    let mut keys: Vec<&str> = keys.split_whitespace().collect();
    keys.sort_unstable();
    keys.join(" ")
}

/// Each statement with the keys that it finds, in order if a partition is named.
const SELECTS: &[(&str, &str)] = &[
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND s = '2'"#, "a2"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND s = '9'"#, ""),
    (r#"SELECT * FROM "Table" WHERE p = 'a'"#, "a1 a2 a3 a4 a5"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' ORDER BY s DESC"#, "a5 a4 a3 a2 a1"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND s > '2' AND s <= '4'"#, "a3 a4"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND s BETWEEN '2' AND '3' AND y = 'odd'"#, "a2"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND begins_with(s, '3')"#, "a3"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND s IN ['1', '4']"#, "a1 a4"),
    (r#"SELECT * FROM "Table" WHERE p IN ['b', 'a'] AND s < '3'"#, "b1 b2 a1 a2"),
    (r#"SELECT * FROM "Table" WHERE p IN ['b', 'a', 'b'] ORDER BY p DESC, s DESC"#, "b2 b1 a5 a4 a3 a2 a1"),
    (r#"SELECT * FROM "Table" WHERE (p = 'c' OR p = 'b') AND x >= 6"#, "b2"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND y IS MISSING"#, "a1 a3 a5"),
    (r#"SELECT * FROM "Table" WHERE p = 'a' AND NOT y = 'odd'"#, "a1 a3 a5"),
    (r#"SELECT * FROM "Table""#, "a1 a2 a3 a4 a5 b1 b2"),
    (r#"SELECT * FROM "Table" WHERE x > 3"#, "a5 b1 b2"),
    (r#"SELECT * FROM "Table" WHERE p = 'b' OR x = 0"#, "a1 b1 b2"),
    (r#"SELECT * FROM "Table" WHERE contains(y, 'od') AND m.list[1] = 'one'"#, "a2 a4 b1"),
    (r#"SELECT * FROM "Table"."ByG" WHERE g = 'g1' AND x <> 3"#, "a2 b1"),
    (r#"SELECT * FROM "Table"."ByG""#, "a1 a2 a3 a4 a5 b1 b2"),
    (r#"SELECT * FROM "Table"."ByL" WHERE p = 'a' AND l < 'l8'"#, "a5 a4 a3"),
    (r#"SELECT * FROM "Table"."ByL" WHERE p = 'a' ORDER BY l DESC"#, "a1 a2 a3 a4 a5"),
];

/// Whether the rows of a statement come in an order that its author asked for.
fn is_ordered(statement: &str) -> bool {
    statement.contains("p = 'a'") || statement.contains("p IN")
}

on_every_store! {
    async fn a_select_finds_what_its_where_clause_names(database) {
        with_items(database).await;
        for (statement, expected) in SELECTS {
            let answer = execute(database, statement).await.unwrap_or_else(|failure| panic!("{statement}: {failure:?}"));
            let found = keys(&answer["Items"]);
            let found = if is_ordered(statement) { found } else { sorted(&found) };
            assert_eq!(found, *expected, "{statement}");
            assert_eq!(answer.as_object().unwrap().len(), 1, "{statement}: {answer}");
        }
    }

    async fn pages_of_any_size_hold_the_same_rows(database) {
        with_items(database).await;
        for (statement, _) in SELECTS {
            let whole = execute(database, statement).await.unwrap()["Items"].take();
            for limit in [1, 2, 3] {
                let mut rows = Vec::new();
                let mut input = json!({"Statement": statement, "Limit": limit});
                for page in 0.. {
                    assert!(page < 20, "{statement} goes on and on");
                    let answer = database.ok("ExecuteStatement", input.clone()).await;
                    let items = answer["Items"].as_array().unwrap();
                    assert!(items.len() <= limit, "{statement}");
                    rows.extend(items.iter().cloned());
                    assert_eq!(answer["NextToken"].is_null(), answer["LastEvaluatedKey"].is_null());
                    if answer["NextToken"].is_null() {
                        break;
                    }
                    input["NextToken"] = answer["NextToken"].clone();
                }
                assert_eq!(Value::Array(rows), whole, "{statement} by {limit}");
            }
        }
    }

    async fn a_page_ends_after_a_megabyte_also_between_partitions(database) {
        database.with_table("Table").await;
        for p in ["a", "b"] {
            for s in ["1", "2"] {
                database.put(json!({"p": {"S": p}, "s": {"S": s}, "x": {"S": "x".repeat(390_000)}})).await;
            }
        }
        let mut input = json!({"Statement": "SELECT p, s FROM \"Table\" WHERE p IN ['a', 'b']"});
        let first = database.ok("ExecuteStatement", input.clone()).await;
        assert_eq!(keys(&first["Items"]), "a1 a2 b1");
        assert_eq!(first["LastEvaluatedKey"], json!({"p": {"S": "b"}, "s": {"S": "1"}}));
        input["NextToken"] = first["NextToken"].clone();
        let second = database.ok("ExecuteStatement", input).await;
        assert_eq!(keys(&second["Items"]), "b2");
        assert_eq!(second["NextToken"], Value::Null);
    }

    async fn a_token_serves_its_own_statement_and_parameters_alone(database) {
        with_items(database).await;
        let statement = "SELECT * FROM \"Table\" WHERE p = ?";
        let input = |statement: &str, p: &str, token: &str| json!({
            "Statement": statement, "Parameters": [{"S": p}], "Limit": 2, "NextToken": token,
        });
        let first = json!({"Statement": statement, "Parameters": [{"S": "a"}], "Limit": 2});
        let token = database.ok("ExecuteStatement", first).await["NextToken"].as_str().unwrap().to_owned();
        let second = database.ok("ExecuteStatement", input(statement, "a", &token)).await;
        assert_eq!(keys(&second["Items"]), "a3 a4");
        let cut = &token[..token.len() - 2];
        let lengthened = format!("{token}AAAA");
        for (statement, p, token) in [
            (statement, "b", token.as_str()),
            ("SELECT * FROM \"Table\" WHERE  p = ?", "a", &token),
            ("SELECT * FROM \"Table\" WHERE p = ? AND s < '3'", "a", &token),
            ("DELETE FROM \"Table\" WHERE p = ? AND s = '1'", "a", &token),
            (statement, "a", cut),
            (statement, "a", &lengthened),
            (statement, "a", "no token at all"),
        ] {
            database.refused("ExecuteStatement", input(statement, p, token), "ValidationException",
                "NextToken does not match request").await;
        }
    }

    async fn a_select_list_makes_each_path_a_column(database) {
        with_items(database).await;
        for (list, row) in [
            ("p", json!({"p": {"S": "a"}})),
            ("x, nothing", json!({"x": {"N": "1"}})),
            ("m.list[1], s", json!({"list[1]": {"S": "one"}, "s": {"S": "2"}})),
            ("m.list", json!({"list": {"L": [{"S": "zero"}, {"S": "one"}]}})),
            ("nothing", json!({})),
        ] {
            let statement = format!("SELECT {list} FROM \"Table\" WHERE p = 'a' AND s = '2'");
            assert_eq!(execute(database, &statement).await.unwrap()["Items"], json!([row]), "{list}");
        }
    }

    async fn an_index_shows_what_it_holds_and_a_local_one_fetches_the_rest(database) {
        with_items(database).await;
        let global = execute(database, "SELECT * FROM \"Table\".\"ByG\" WHERE g = 'g0' AND p = 'b'").await.unwrap();
        assert_eq!(global["Items"], json!([{"p": {"S": "b"}, "s": {"S": "2"}, "g": {"S": "g0"}, "x": {"N": "6"}}]));
        let local = execute(database, "SELECT x, l FROM \"Table\".\"ByL\" WHERE p = 'b' AND l = 'l3'").await.unwrap();
        assert_eq!(local["Items"], json!([{"x": {"N": "6"}, "l": {"S": "l3"}}]));
        refused(database, "SELECT x, y FROM \"Table\".\"ByG\" WHERE g = 'g0'",
            "One or more parameter values were invalid: Global secondary index ByG does not project [y]").await;
        refused(database, "SELECT * FROM \"Table\".\"ByNothing\"",
            "The table does not have the specified index").await;
        let consistent = |index: &str| json!({"Statement": format!("SELECT * FROM \"Table\".\"{index}\""), "ConsistentRead": true});
        database.refused("ExecuteStatement", consistent("ByG"), "ValidationException",
            "Strongly consistent read is not supported on Global Secondary Indexes").await;
        database.refused("ExecuteStatement", consistent("ByNothing"), "ValidationException",
            "The table does not have the specified index").await;
        database.ok("ExecuteStatement", consistent("ByL")).await;
    }

    async fn wrong_statements_are_refused(database) {
        with_items(database).await;
        for (statement, message) in [
            ("SELECT * FROM \"Table\" WHERE p = ?", "Number of parameters in request and statement don't match."),
            ("SELECT * FROM \"Table\" WHERE p = ''",
             "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p"),
            ("SELECT * FROM \"Table\" WHERE p = 1",
             "One or more parameter values were invalid: Condition parameter type does not match schema type"),
            ("SELECT * FROM \"Table\" ORDER BY s", "Must have WHERE clause in the statement when using ORDER BY clause."),
            ("EXISTS(SELECT * FROM \"Table\" WHERE p = 'a' AND s = '1')", "EXISTS is supported only in ExecuteTransaction"),
            ("INSERT INTO \"Table\" VALUE {'p': 'a'}", "One or more parameter values were invalid: Missing the key s in the item"),
            ("INSERT INTO \"Table\" VALUE {'p': 'a', 's': 1}",
             "One or more parameter values were invalid: Type mismatch for key s expected: S actual: N"),
            ("INSERT INTO \"Table\" VALUE {'p': 'a', 's': 'n', 'g': 1}",
             "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: ByG"),
            ("UPDATE \"Table\" SET x = 1 WHERE p = 'a'", "Where clause does not contain a mandatory equality on all key attributes"),
            ("UPDATE \"Table\" SET x = 1 WHERE p = 'a' AND s > '1'", "Where clause does not contain a mandatory equality on all key attributes"),
            ("UPDATE \"Table\" SET x = 1 WHERE p = 'a' AND s = 1", "The provided key element does not match the schema"),
            ("UPDATE \"Table\" SET s = '2' WHERE p = 'a' AND s = '1'",
             "One or more parameter values were invalid: Cannot update attribute s. This attribute is part of the key"),
            ("DELETE FROM \"Table\" WHERE p = 'a' OR s = '1'", "Where clause does not contain a mandatory equality on all key attributes"),
        ] {
            refused(database, statement, message).await;
        }
        for statement in ["SELECT * FROM \"Nowhere\"", "DELETE FROM \"Nowhere\" WHERE p = 'a'"] {
            database.refused("ExecuteStatement", json!({"Statement": statement}), "ResourceNotFoundException",
                "Requested resource not found").await;
        }
        assert!(execute(database, "SELECT FROM WHERE").await.unwrap_err().message
            .starts_with("Statement wasn't well formed, can't be processed: "));
        let large = json!({
            "Statement": "INSERT INTO \"Table\" VALUE {'p': 'a', 's': 'l', 'x': ?}", "Parameters": [{"S": "x".repeat(410_000)}],
        });
        database.refused("ExecuteStatement", large, "ValidationException", "Item size has exceeded the maximum allowed size").await;
    }

    async fn an_insert_makes_a_new_item_and_never_replaces_one(database) {
        database.with_table("Table").await;
        let insert = |x: &str| json!({
            "Statement": "INSERT INTO \"Table\" VALUE {'p': 'a', 's': ?, 'x': ?, 'set': <<1, 2>>}",
            "Parameters": [{"S": "1"}, {"N": x}], "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        });
        assert_eq!(database.ok("ExecuteStatement", insert("1")).await, json!({"Items": []}));
        database.refused("ExecuteStatement", insert("2"), "DuplicateItemException", "Duplicate primary key exists in table").await;
        let item = database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
        assert_eq!(item, json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": "1"}, "set": {"NS": ["1", "2"]}}));
    }

    async fn an_update_changes_an_item_and_never_makes_one(database) {
        database.with_table("Table").await;
        let update = "UPDATE \"Table\" SET x = x + 1 SET l = list_append(l, ['new']) REMOVE y WHERE p = 'a' AND s = '1'";
        let input = json!({"Statement": update, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"});
        let failure = database.call("ExecuteStatement", input.clone()).await.unwrap_err();
        assert_eq!((failure.name.as_str(), failure.item), ("ConditionalCheckFailedException", None));
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await, Value::Null);
        database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": "1"}, "l": {"L": []}, "y": {"S": "y"}})).await;
        assert_eq!(database.ok("ExecuteStatement", input).await, json!({"Items": []}));
        let item = database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
        assert_eq!(item, json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": "2"}, "l": {"L": [{"S": "new"}]}}));
    }

    async fn a_delete_of_nothing_succeeds_unless_it_has_a_condition(database) {
        database.with_table("Table").await;
        let delete = "DELETE FROM \"Table\" WHERE p = 'a' AND s = '1'";
        assert_eq!(execute(database, delete).await.unwrap(), json!({"Items": []}));
        let conditional = format!("{delete} AND x = 1");
        assert_eq!(execute(database, &conditional).await.unwrap_err().name, "ConditionalCheckFailedException");
        database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": "1"}})).await;
        execute(database, &conditional).await.unwrap();
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await, Value::Null);
    }

    async fn returning_shows_the_item_before_or_after(database) {
        database.with_table("Table").await;
        let item = |x: i32| json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": x.to_string()}, "y": {"S": "y"}});
        for (returning, expected) in [
            ("", json!([])),
            ("RETURNING ALL OLD *", json!([item(1)])),
            ("RETURNING MODIFIED OLD *", json!([{"x": {"N": "1"}}])),
            ("RETURNING ALL NEW *", json!([item(2)])),
            ("RETURNING MODIFIED NEW *", json!([{"x": {"N": "2"}}])),
        ] {
            database.put(item(1)).await;
            let update = format!("UPDATE \"Table\" SET x = 2 WHERE p = 'a' AND s = '1' {returning}");
            assert_eq!(execute(database, &update).await.unwrap()["Items"], expected, "{returning}");
        }
        let delete = "DELETE FROM \"Table\" WHERE p = 'a' AND s = '1' RETURNING ALL OLD *";
        assert_eq!(execute(database, delete).await.unwrap()["Items"], json!([item(2)]));
        assert_eq!(execute(database, delete).await.unwrap()["Items"], json!([]));
    }

    async fn a_failed_condition_shows_the_item_if_asked(database) {
        database.with_table("Table").await;
        let item = json!({"p": {"S": "a"}, "s": {"S": "1"}, "x": {"N": "1"}});
        database.put(item.clone()).await;
        for statement in ["UPDATE \"Table\" SET x = 3", "DELETE FROM \"Table\""] {
            let statement = format!("{statement} WHERE p = 'a' AND s = '1' AND x = 2");
            for (asked, shown) in [("NONE", None), ("ALL_OLD", Some(item.clone()))] {
                let input = json!({"Statement": statement, "ReturnValuesOnConditionCheckFailure": asked});
                let failure = database.call("ExecuteStatement", input).await.unwrap_err();
                assert_eq!(failure, Failure {
                    name: "ConditionalCheckFailedException".to_owned(),
                    message: "The conditional request failed".to_owned(),
                    item: shown,
                    reasons: serde_json::Value::Null,
                    throttling: Value::Null,
                });
            }
        }
    }

    async fn a_statement_costs_what_the_native_operation_costs(database) {
        with_items(database).await;
        for (statement, consistent, table, indexes) in [
            ("SELECT * FROM \"Table\" WHERE p = 'a'", false, 0.5, json!({})),
            ("SELECT * FROM \"Table\" WHERE p = 'a'", true, 1.0, json!({})),
            ("SELECT * FROM \"Table\" WHERE p IN ['a', 'b', 'c']", true, 3.0, json!({})),
            ("SELECT * FROM \"Table\"", false, 2.0, json!({})),
            ("SELECT * FROM \"Table\".\"ByG\" WHERE g = 'g0'", false, 0.0, json!({"ByG": 0.5})),
            ("SELECT x FROM \"Table\".\"ByL\" WHERE p = 'b'", false, 1.0, json!({"ByL": 0.5})),
            ("INSERT INTO \"Table\" VALUE {'p': 'n', 's': 'n', 'g': 'n', 'l': 'n'}", false, 1.0, json!({"ByG": 1.0, "ByL": 1.0})),
            ("UPDATE \"Table\" SET x = 1, g = 'm' WHERE p = 'n' AND s = 'n'", false, 1.0, json!({"ByG": 2.0})),
            ("DELETE FROM \"Table\" WHERE p = 'nothing' AND s = 'n'", false, 1.0, json!({})),
        ] {
            let input = json!({"Statement": statement, "ConsistentRead": consistent, "ReturnConsumedCapacity": "INDEXES"});
            let consumed = database.ok("ExecuteStatement", input).await["ConsumedCapacity"].take();
            assert_eq!(consumed["Table"]["CapacityUnits"], table, "{statement}: {consumed}");
            let mut found = json!({});
            for scope in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
                for (name, part) in consumed[scope].as_object().into_iter().flatten() {
                    found[name] = part["CapacityUnits"].clone();
                }
            }
            assert_eq!(found, indexes, "{statement}");
        }
    }

    async fn a_batch_of_reads_answers_each_in_its_place(database) {
        with_items(database).await;
        let key = "Select statements within BatchExecuteStatement must specify the primary key in the where clause.";
        let validation = |message: &str| json!({"Code": "ValidationError", "Message": message});
        let cases = [
            ("SELECT x FROM \"Table\" WHERE p = 'a' AND s = '2'", json!({"TableName": "Table", "Item": {"x": {"N": "1"}}})),
            ("SELECT * FROM \"Table\" WHERE p = 'a' AND s = '9'", json!({"TableName": "Table"})),
            ("SELECT s FROM \"Table\" WHERE p = 'a' AND s = '3' AND x = 7", json!({"TableName": "Table"})),
            ("SELECT s FROM \"Table\" WHERE p = 'a' AND s = '4' AND x = 3", json!({"TableName": "Table", "Item": {"s": {"S": "4"}}})),
            ("SELECT * FROM \"Table\" WHERE p = 'a'", json!({"TableName": "Table", "Error": validation(key)})),
            ("SELECT * FROM \"Table\".\"ByG\" WHERE g = 'g0'", json!({"TableName": "Table", "Error": validation(key)})),
            ("SELECT * FROM \"Table\" WHERE p = 1 AND s = '1'",
             json!({"TableName": "Table", "Error": validation("The provided key element does not match the schema")})),
            ("SELECT * FROM \"Table\" WHERE p = ?", json!({"Error": validation("Number of parameters in request and statement don't match.")})),
            ("SELECT * FROM \"Nowhere\" WHERE p = 'a'",
             json!({"TableName": "Nowhere", "Error": {"Code": "ResourceNotFound", "Message": "Requested resource not found"}})),
        ];
        let statements: Vec<Value> = cases.iter().map(|(statement, _)| json!({"Statement": statement})).collect();
        let answer = database.ok("BatchExecuteStatement", json!({"Statements": statements, "ReturnConsumedCapacity": "TOTAL"})).await;
        for ((statement, expected), response) in cases.iter().zip(answer["Responses"].as_array().unwrap()) {
            assert_eq!(response, expected, "{statement}");
        }
        assert_eq!(answer["ConsumedCapacity"], json!([{"TableName": "Table", "CapacityUnits": 2.0}]));
    }

    async fn a_batch_of_writes_does_what_it_can(database) {
        with_items(database).await;
        let taken = json!({"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"});
        let failed = json!({"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"});
        let exists = json!({"Code": "ValidationError", "Message": "EXISTS is supported only in ExecuteTransaction"});
        let mut failed_item = failed.clone();
        failed_item["Item"] = database.get(json!({"p": {"S": "b"}, "s": {"S": "1"}})).await;
        let cases = [
            ("INSERT INTO \"Table\" VALUE {'p': 'n', 's': '1'}", json!({"TableName": "Table"})),
            ("INSERT INTO \"Table\" VALUE {'p': 'a', 's': '1'}", json!({"TableName": "Table", "Error": taken})),
            ("UPDATE \"Table\" SET x = 9 WHERE p = 'a' AND s = '2' RETURNING MODIFIED NEW *", json!({"TableName": "Table", "Item": {"x": {"N": "9"}}})),
            ("UPDATE \"Table\" SET x = 9 WHERE p = 'n' AND s = '2'", json!({"TableName": "Table", "Error": failed})),
            ("DELETE FROM \"Table\" WHERE p = 'b' AND s = '1' AND x = 1", json!({"TableName": "Table", "Error": failed_item})),
            ("DELETE FROM \"Table\" WHERE p = 'b' AND s = '2'", json!({"TableName": "Table"})),
            ("EXISTS(SELECT * FROM \"Table\" WHERE p = 'a' AND s = '3')", json!({"TableName": "Table", "Error": exists})),
        ];
        let statement = |statement: &str| json!({"Statement": statement, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"});
        let statements: Vec<Value> = cases.iter().map(|(text, _)| statement(text)).collect();
        let answer = database.ok("BatchExecuteStatement", json!({"Statements": statements})).await;
        for ((statement, expected), response) in cases.iter().zip(answer["Responses"].as_array().unwrap()) {
            assert_eq!(response, expected, "{statement}");
        }
        assert_eq!(answer.as_object().unwrap().len(), 1);
        let left = execute(database, "SELECT * FROM \"Table\" WHERE p IN ['b', 'n']").await.unwrap();
        assert_eq!(keys(&left["Items"]), "b1 n1");
    }

    async fn a_batch_is_refused_as_a_whole_for_what_concerns_all_of_it(database) {
        with_items(database).await;
        let select = "SELECT * FROM \"Table\" WHERE p = 'a' AND s = '1'";
        let delete = "DELETE FROM \"Table\" WHERE p = 'a' AND s = '1'";
        let update = "UPDATE \"Table\" SET x = 1 WHERE p = 'a' AND s = '1'";
        let other = "SELECT * FROM \"Table\" WHERE s = '1' AND p = 'a' AND x = 1";
        let mixed = "Read and write requests together in the same batch is not supported.";
        let duplicates = "Provided list of item keys contains duplicates";
        for (statements, message) in [
            ([select, delete], mixed), ([update, select], mixed), ([select, other], duplicates), ([update, delete], duplicates),
        ] {
            let statements = statements.map(|statement| json!({"Statement": statement}));
            database.refused("BatchExecuteStatement", json!({"Statements": statements}), "ValidationException", message).await;
        }
        let many: Vec<Value> = (0..26).map(|_| json!({"Statement": select})).collect();
        let failure = database.call("BatchExecuteStatement", json!({"Statements": many})).await.unwrap_err();
        assert!(failure.message.ends_with("Member must have length less than or equal to 25"), "{}", failure.message);
        assert_ne!(database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await, Value::Null);
    }

    async fn a_transaction_of_writes_does_all_of_them_or_none(database) {
        with_items(database).await;
        let insert = "INSERT INTO \"Table\" VALUE {'p': 'n', 's': '1'}";
        let update = "UPDATE \"Table\" SET x = x + 10 WHERE p = 'a' AND s = '1'";
        let delete = "DELETE FROM \"Table\" WHERE p = 'b' AND s = '1'";
        let exists = "EXISTS(SELECT * FROM \"Table\" WHERE p = 'a' AND s = '2' AND x = 1)";
        let no_longer = "EXISTS(SELECT * FROM \"Table\" WHERE p = 'a' AND s = '2' AND x = 2)";
        let failure = transact(database, &[insert, update, delete, no_longer]).await.unwrap_err();
        assert_eq!(failure.name, "TransactionCanceledException");
        let rows = "SELECT * FROM \"Table\" WHERE p IN ['b', 'n']";
        assert_eq!(keys(&execute(database, rows).await.unwrap()["Items"]), "b1 b2");

        let answer = transact(database, &[insert, update, delete, exists]).await.unwrap();
        assert_eq!(answer, json!({"Responses": [{}, {}, {}, {}]}));
        assert_eq!(keys(&execute(database, rows).await.unwrap()["Items"]), "b2 n1");
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await["x"], json!({"N": "10"}));
    }

    async fn a_cancelled_transaction_has_a_reason_for_each_statement(database) {
        with_items(database).await;
        let good = "DELETE FROM \"Table\" WHERE p = 'b' AND s = '2'";
        let failed = json!({"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"});
        let mut failed_item = failed.clone();
        failed_item["Item"] = database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await;
        let invalid = |message: &str| json!({"Code": "ValidationError", "Message": message});
        for (statement, reason) in [
            ("INSERT INTO \"Table\" VALUE {'p': 'a', 's': '1'}",
             json!({"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"})),
            ("UPDATE \"Table\" SET x = 1 WHERE p = 'n' AND s = '1'", failed.clone()),
            ("UPDATE \"Table\" SET x = 1 WHERE p = 'a' AND s = '1' AND x = 7", failed_item.clone()),
            ("DELETE FROM \"Table\" WHERE p = 'a' AND s = '1' AND y = 'odd'", failed_item.clone()),
            ("EXISTS(SELECT * FROM \"Table\" WHERE p = 'n' AND s = '1')", failed),
            ("EXISTS(SELECT * FROM \"Table\" WHERE p = 'a' AND s = '1' AND x > 0)", failed_item),
            ("DELETE FROM \"Table\" WHERE p = 1 AND s = '1'", invalid("The provided key element does not match the schema")),
            ("UPDATE \"Table\" SET g = 1 WHERE p = 'a' AND s = '1'", invalid(
                "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: ByG")),
            ("UPDATE \"Table\" SET y = y + 1 WHERE p = 'a' AND s = '2'",
             invalid("An operand in the update expression has an incorrect data type")),
        ] {
            let failure = transact(database, &[good, statement]).await.unwrap_err();
            assert_eq!(failure.name, "TransactionCanceledException", "{statement}: {failure:?}");
            assert_eq!(failure.reasons, json!([{"Code": "None"}, reason]), "{statement}");
        }
    }

    async fn a_transaction_of_reads_answers_each_in_its_place(database) {
        with_items(database).await;
        let answer = database.ok("ExecuteTransaction", json!({
            "TransactStatements": [
                {"Statement": "SELECT x FROM \"Table\" WHERE p = 'a' AND s = ?", "Parameters": [{"S": "3"}]},
                {"Statement": "SELECT * FROM \"Table\" WHERE p = 'n' AND s = '1'"},
                {"Statement": "SELECT * FROM \"Table\" WHERE p = 'a' AND s = '1' AND x = 7"},
            ],
            "ReturnConsumedCapacity": "TOTAL",
        })).await;
        assert_eq!(answer, json!({
            "Responses": [{"Item": {"x": {"N": "2"}}}, {}, {}],
            "ConsumedCapacity": [{"TableName": "Table", "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0}],
        }));
    }

    async fn a_transaction_without_sense_is_refused_as_a_whole(database) {
        with_items(database).await;
        let select = "SELECT * FROM \"Table\" WHERE p = 'a' AND s = '1'";
        let delete = "DELETE FROM \"Table\" WHERE p = 'a' AND s = '1'";
        let second = |message: &str| format!("Validation failed in TransactStatements[1]: {message}");
        for (statements, message) in [
            ([select, delete], "Read and write requests together in the same transaction is not supported.".to_owned()),
            ([select, select], "Transaction request cannot include multiple operations on one item".to_owned()),
            ([delete, "EXISTS(SELECT * FROM \"Table\" WHERE p = 'a' AND s = '1')"],
             "Transaction request cannot include multiple operations on one item".to_owned()),
            ([select, "SELECT * FROM \"Table\" WHERE p = 'a'"],
             second("Where clause does not contain a mandatory equality on all key attributes")),
            ([select, "SELECT * FROM \"Table\".\"ByG\" WHERE g = 'g0'"], second("Transactions do not read from indexes")),
            ([delete, "UPDATE \"Table\" SET x = 1 WHERE p = 'a'"],
             second("Where clause does not contain a mandatory equality on all key attributes")),
            ([delete, "DELETE FROM \"Table\" WHERE p = 'a' AND s = '2' RETURNING ALL OLD *"],
             second("RETURNING is not supported in a transaction")),
            ([delete, "DELETE FROM \"Table\" WHERE p = ? AND s = '2'"],
             second("Number of parameters in request and statement don't match.")),
            ([delete, "DELETE FROM \"Table\" WHERE p = '' AND s = '2'"],
             second("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p")),
        ] {
            let failure = transact(database, &statements).await.unwrap_err();
            assert_eq!((failure.name.as_str(), failure.message), ("ValidationException", message), "{statements:?}");
        }
        let failure = transact(database, &["DELETE FROM \"Nowhere\" WHERE p = 'a'"]).await.unwrap_err();
        assert_eq!((failure.name.as_str(), failure.message.as_str()), ("ResourceNotFoundException", "Requested resource not found"));
        let failure = transact(database, &[select; 101]).await.unwrap_err();
        assert_eq!(failure.message, "1 validation error detected: Value '[...]' at 'transactStatements' failed to satisfy constraint: Member must have length less than or equal to 100");
        let large = vec![json!({"Statement": "INSERT INTO \"Table\" VALUE ?", "Parameters": [{"S": "x".repeat(300_000)}]}); 14];
        database.refused("ExecuteTransaction", json!({"TransactStatements": large}), "ValidationException",
            "Transaction request size cannot exceed 4194304 bytes").await;
    }

    async fn a_transaction_sent_again_has_no_further_effect(database) {
        with_items(database).await;
        let request = |x: &str, token: &str| json!({
            "TransactStatements": [{
                "Statement": "UPDATE \"Table\" SET x = x + ? WHERE p = 'a' AND s = '1'", "Parameters": [{"N": x}],
            }],
            "ClientRequestToken": token, "ReturnConsumedCapacity": "TOTAL",
        });
        let first = database.ok("ExecuteTransaction", request("1", "one")).await;
        assert_eq!(first["ConsumedCapacity"], json!([{"TableName": "Table", "CapacityUnits": 3.0, "WriteCapacityUnits": 3.0}]));
        let again = database.ok("ExecuteTransaction", request("1", "one")).await;
        assert_eq!(again["Responses"], json!([{}]));
        assert_eq!(again["ConsumedCapacity"], json!([{"TableName": "Table", "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}]));
        let other = database.call("ExecuteTransaction", request("2", "one")).await.unwrap_err();
        assert_eq!(other.name, "IdempotentParameterMismatchException");
        // The tokens of another operation are its own.
        database.ok("TransactWriteItems", json!({
            "TransactItems": [{"Delete": {"TableName": "Table", "Key": {"p": {"S": "b"}, "s": {"S": "1"}}}}],
            "ClientRequestToken": "one",
        })).await;
        database.ok("ExecuteTransaction", request("5", "two")).await;
        assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await["x"], json!({"N": "6"}));
    }
}

/// Which it can only if nothing of it is kept anywhere but in itself.
#[tokio::test]
async fn a_token_can_be_used_after_a_restart() {
    let input = json!({"Statement": "SELECT * FROM \"Table\" WHERE p IN ['b', 'a']", "Limit": 3});
    let before = Database::in_memory().await;
    with_items(&before).await;
    let token = before.ok("ExecuteStatement", input.clone()).await["NextToken"].take();
    let after = Database::in_memory().await;
    with_items(&after).await;
    let mut input = input;
    input["NextToken"] = token;
    assert_eq!(keys(&after.ok("ExecuteStatement", input).await["Items"]), "a2 a3 a4");
}
