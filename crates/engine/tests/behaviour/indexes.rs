use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

/// Table `Table` (p, s) with a global index `ByG` (g, h) of this projection and a local index `ByL` (p, l) of
/// keys only.
async fn with_indexes(database: &Database, projection: Value) {
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let definition = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("p", "s"),
                "AttributeDefinitions": (["p", "s", "g", "h", "l"].map(definition)),
                "GlobalSecondaryIndexes": [{"IndexName": "ByG", "KeySchema": key("g", "h"), "Projection": projection}],
                "LocalSecondaryIndexes": [{
                    "IndexName": "ByL", "KeySchema": key("p", "l"), "Projection": {"ProjectionType": "KEYS_ONLY"},
                }],
            }),
        )
        .await;
}

/// An item p/s with more string attributes.
fn item(p: &str, s: &str, attributes: &[(&str, &str)]) -> Value {
    let mut item = json!({"p": {"S": p}, "s": {"S": s}});
    for (name, value) in attributes {
        item[*name] = json!({"S": value});
    }
    item
}

/// A query of one partition of an index.
fn query(index: &str, condition: &str, value: &str) -> Value {
    json!({
        "TableName": "Table", "IndexName": index, "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {":v": {"S": value}},
    })
}

fn all() -> Value {
    json!({"ProjectionType": "ALL"})
}

on_every_store! {
    async fn only_items_with_both_index_keys_are_in_the_index(database) {
        with_indexes(database, all()).await;
        database.put(item("a", "1", &[("g", "x"), ("h", "2")])).await;
        database.put(item("b", "1", &[("g", "x"), ("h", "1")])).await;
        database.put(item("c", "1", &[("g", "x")])).await;
        database.put(item("d", "1", &[("h", "1")])).await;
        let answer = database.ok("Query", query("ByG", "g = :v", "x")).await;
        assert_eq!(answer["Items"], json!([
            item("b", "1", &[("g", "x"), ("h", "1")]), item("a", "1", &[("g", "x"), ("h", "2")]),
        ]));
        let scanned = database.ok("Scan", json!({"TableName": "Table", "IndexName": "ByG"})).await;
        assert_eq!(scanned["Count"], 2);
    }

    async fn an_item_leaves_the_index_with_its_key(database) {
        with_indexes(database, all()).await;
        database.put(item("a", "1", &[("g", "OPEN"), ("h", "1")])).await;
        database.ok("UpdateItem", json!({
            "TableName": "Table", "Key": item("a", "1", &[]), "UpdateExpression": "SET x = :x REMOVE g, h",
            "ExpressionAttributeValues": {":x": {"S": "shipped"}},
        })).await;
        assert_eq!(database.ok("Query", query("ByG", "g = :v", "OPEN")).await["Count"], 0);
        assert_eq!(database.get(item("a", "1", &[])).await, item("a", "1", &[("x", "shipped")]));
    }

    async fn an_item_moves_within_the_index_when_its_key_changes(database) {
        with_indexes(database, all()).await;
        database.put(item("a", "1", &[("g", "x"), ("h", "1")])).await;
        database.put(item("a", "1", &[("g", "y"), ("h", "1")])).await;
        assert_eq!(database.ok("Query", query("ByG", "g = :v", "x")).await["Count"], 0);
        assert_eq!(database.ok("Query", query("ByG", "g = :v", "y")).await["Count"], 1);
        database.ok("DeleteItem", json!({"TableName": "Table", "Key": item("a", "1", &[])})).await;
        assert_eq!(database.ok("Query", query("ByG", "g = :v", "y")).await["Count"], 0);
    }

    async fn an_index_holds_what_it_projects(database) {
        with_indexes(database, json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]})).await;
        database.put(item("a", "1", &[("g", "k"), ("h", "1"), ("x", "in"), ("y", "out")])).await;
        let answer = database.ok("Query", query("ByG", "g = :v", "k")).await;
        assert_eq!(answer["Items"], json!([item("a", "1", &[("g", "k"), ("h", "1"), ("x", "in")])]));
        let mut everything = query("ByG", "g = :v", "k");
        everything["Select"] = json!("ALL_ATTRIBUTES");
        database.refused("Query", everything, "ValidationException",
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global \
             secondary index ByG because its projection type is not ALL").await;
    }

    async fn a_local_index_fetches_from_the_table_what_it_lacks(database) {
        with_indexes(database, all()).await;
        let whole = item("a", "1", &[("l", "1"), ("x", "fetched")]);
        database.put(whole.clone()).await;
        let mut keys_only = query("ByL", "p = :v", "a");
        assert_eq!(database.ok("Query", keys_only.clone()).await["Items"], json!([item("a", "1", &[("l", "1")])]));
        keys_only["Select"] = json!("ALL_ATTRIBUTES");
        keys_only["ConsistentRead"] = json!(true);
        keys_only["ReturnConsumedCapacity"] = json!("INDEXES");
        let answer = database.ok("Query", keys_only).await;
        assert_eq!(answer["Items"], json!([whole]));
        assert_eq!(answer["ConsumedCapacity"], json!({
            "TableName": "Table", "CapacityUnits": 2.0, "Table": {"CapacityUnits": 1.0},
            "LocalSecondaryIndexes": {"ByL": {"CapacityUnits": 1.0}},
        }));
    }

    async fn a_global_index_can_not_be_read_consistently(database) {
        with_indexes(database, all()).await;
        let mut consistent = query("ByG", "g = :v", "x");
        consistent["ConsistentRead"] = json!(true);
        database.refused("Query", consistent, "ValidationException",
            "Consistent reads are not supported on global secondary indexes").await;
        database.refused("Query", query("None", "g = :v", "x"), "ValidationException",
            "The table does not have the specified index: None").await;
    }

    async fn pages_of_equal_index_keys_lose_and_repeat_nothing(database) {
        with_indexes(database, all()).await;
        for n in 0..7 {
            database.put(item(&format!("p{n}"), "1", &[("g", "same"), ("h", "same")])).await;
        }
        for forward in [true, false] {
            let mut seen = Vec::new();
            let mut start = Value::Null;
            loop {
                let mut page = query("ByG", "g = :v", "same");
                page["Limit"] = json!(2);
                page["ScanIndexForward"] = json!(forward);
                if !start.is_null() {
                    page["ExclusiveStartKey"] = start;
                }
                let mut answer = database.ok("Query", page).await;
                let found = answer["Items"].as_array().unwrap().iter().map(|item| item["p"]["S"].to_string());
                seen.extend(found);
                start = answer["LastEvaluatedKey"].take();
                if start.is_null() {
                    break;
                }
                assert_eq!(start.as_object().unwrap().len(), 4, "{start}");
            }
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 7);
        }
    }

    async fn items_with_equal_index_keys_come_in_the_order_of_the_table_key(database) {
        with_indexes(database, all()).await;
        let sorts: Vec<String> = (0..12).map(|n| format!("{n:02}")).collect();
        for sort in sorts.iter().rev() {
            database.put(item("a", sort, &[("l", "same")])).await;
        }
        let long = "z".repeat(1000);
        database.put(item("a", &long, &[("l", "same")])).await;
        let answer = database.ok("Query", query("ByL", "p = :v", "a")).await;
        let found = answer["Items"].as_array().unwrap().iter().map(|item| item["s"]["S"].as_str().unwrap());
        assert!(found.eq(sorts.iter().map(String::as_str).chain([long.as_str()])));
    }

    async fn writes_with_index_keys_that_do_not_fit_are_refused_whole(database) {
        with_indexes(database, all()).await;
        let mut wrong_type = item("a", "1", &[("h", "1")]);
        wrong_type["g"] = json!({"N": "1"});
        database.refused("PutItem", json!({"TableName": "Table", "Item": wrong_type}), "ValidationException",
            "One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: ByG").await;
        let empty = item("a", "1", &[("g", ""), ("h", "1")]);
        database.refused("PutItem", json!({"TableName": "Table", "Item": empty}), "ValidationException",
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. \
             The AttributeValue for a key attribute cannot contain an empty string value. IndexName: ByG, IndexKey: g").await;
        let long = item("a", "1", &[("g", "x"), ("h", &"h".repeat(1025))]);
        database.refused("PutItem", json!({"TableName": "Table", "Item": long}), "ValidationException",
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes").await;
        assert_eq!(database.ok("Scan", json!({"TableName": "Table"})).await["Count"], 0);
    }

    async fn each_index_is_charged_for_what_changed_in_it(database) {
        with_indexes(database, json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]})).await;
        let long = "x".repeat(1500);
        let cases = [
            ("not in the index", item("a", "1", &[]), None),
            ("appears", item("a", "1", &[("g", "k"), ("h", "1")]), Some(1.0)),
            ("stays the same", item("a", "1", &[("g", "k"), ("h", "1"), ("y", "elsewhere")]), None),
            ("changes in place", item("a", "1", &[("g", "k"), ("h", "1"), ("x", &long)]), Some(2.0)),
            ("moves", item("a", "1", &[("g", "k"), ("h", "2")]), Some(3.0)),
            ("disappears", item("a", "1", &[]), Some(1.0)),
        ];
        for (case, item, expected) in cases {
            let answer = database.ok("PutItem", json!({
                "TableName": "Table", "Item": item, "ReturnConsumedCapacity": "INDEXES",
            })).await;
            let charged = answer["ConsumedCapacity"].get("GlobalSecondaryIndexes").map(|it| it["ByG"]["CapacityUnits"].as_f64().unwrap());
            assert_eq!(charged, expected, "{case}: {answer}");
        }
    }

    async fn a_key_of_several_attributes_is_used_from_left_to_right(database) {
        let definition = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
        database.ok("CreateTable", json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": (["p", "tenant", "region", "day", "hour"].map(definition)),
            "GlobalSecondaryIndexes": [{"IndexName": "Many", "Projection": {"ProjectionType": "ALL"}, "KeySchema": [
                {"AttributeName": "tenant", "KeyType": "HASH"}, {"AttributeName": "region", "KeyType": "HASH"},
                {"AttributeName": "day", "KeyType": "RANGE"}, {"AttributeName": "hour", "KeyType": "RANGE"},
            ]}],
        })).await;
        for (n, (day, hour)) in [("1", "01"), ("1", "02"), ("2", "01"), ("10", "01")].iter().enumerate() {
            database.put(json!({
                "p": {"S": n.to_string()}, "tenant": {"S": "t"}, "region": {"S": "r"}, "day": {"S": day}, "hour": {"S": hour},
            })).await;
        }
        let count = async |condition: &str| {
            let query = json!({
                "TableName": "Table", "IndexName": "Many", "KeyConditionExpression": condition,
                "ExpressionAttributeNames": {"#r": "region", "#d": "day", "#h": "hour"},
                "ExpressionAttributeValues": {":t": {"S": "t"}, ":r": {"S": "r"}, ":d": {"S": "1"}, ":h": {"S": "01"}},
            });
            database.ok("Query", query).await["Count"].as_i64().unwrap()
        };
        assert_eq!(count("tenant = :t AND #r = :r AND #d = :d AND #h > :h").await, 1);
        let query = json!({
            "TableName": "Table", "IndexName": "Many", "KeyConditionExpression": "tenant = :t",
            "ExpressionAttributeValues": {":t": {"S": "t"}},
        });
        database.refused("Query", query, "ValidationException",
            "HASH key attributes region must have equality conditions specified in the query").await;
    }

    async fn an_index_made_later_holds_the_items_from_before(database) {
        database.with_table("Table").await;
        for n in 0..120 {
            database.put(item(&format!("p{n}"), "1", &[("g", "x"), ("h", &format!("{n:03}"))])).await;
        }
        let mut misfit = item("misfit", "1", &[("h", "1")]);
        misfit["g"] = json!({"N": "1"});
        database.put(misfit).await;
        let answer = database.ok("UpdateTable", json!({
            "TableName": "Table",
            "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "h", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": {
                "IndexName": "Later", "Projection": {"ProjectionType": "KEYS_ONLY"},
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "h", "KeyType": "RANGE"}],
            }}],
        })).await;
        assert_eq!(answer["TableDescription"]["GlobalSecondaryIndexes"][0]["IndexStatus"], "CREATING");
        database.until("Later", Some("ACTIVE")).await;
        let answer = database.ok("Query", query("Later", "g = :v", "x")).await;
        assert_eq!(answer["Count"], 120);
        database.ok("UpdateTable", json!({
            "TableName": "Table", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "Later"}}],
        })).await;
        database.until("Later", None).await;
        let table = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
        assert_eq!(table["AttributeDefinitions"].as_array().unwrap().len(), 2);
    }
}

/// What a put into the collection `a` tells of its size.
async fn put_into_collection(database: &Database, sort: &str, bytes: usize) -> Value {
    database
        .ok(
            "PutItem",
            json!({
                "TableName": "Table", "Item": item("a", sort, &[("l", "1"), ("x", &"x".repeat(bytes))]),
                "ReturnItemCollectionMetrics": "SIZE",
            }),
        )
        .await["ItemCollectionMetrics"]
        .take()
}

#[tokio::test]
async fn an_item_collection_can_not_outgrow_its_limit() {
    let options = engine::Options { item_collection_bytes_max: 5000, ..Default::default() };
    let database = &Database::in_memory_with(options).await;
    with_indexes(database, all()).await;
    let metrics = put_into_collection(database, "1", 2000).await;
    assert_eq!(metrics, json!({"ItemCollectionKey": {"p": {"S": "a"}}, "SizeEstimateRangeGB": [0.0, 1.0]}));
    put_into_collection(database, "2", 2000).await;

    let third = json!({"TableName": "Table", "Item": item("a", "3", &[("x", &"x".repeat(2000))])});
    let refused = ("ItemCollectionSizeLimitExceededException", "Collection size exceeded.");
    database.refused("PutItem", third.clone(), refused.0, refused.1).await;
    let elsewhere = json!({"TableName": "Table", "Item": item("b", "3", &[("x", &"x".repeat(2000))])});
    database.ok("PutItem", elsewhere).await;

    put_into_collection(database, "2", 10).await;
    database.ok("DeleteItem", json!({"TableName": "Table", "Key": item("a", "1", &[])})).await;
    database.ok("PutItem", third).await;
}
