use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

async fn with_items(database: &Database, count: usize) {
    database.with_table("Table").await;
    for n in 0..count {
        database.put(json!({"p": {"S": n.to_string()}, "s": {"S": "x"}, "even": {"BOOL": n % 2 == 0}})).await;
    }
}

/// All partition keys that a scan finds, page by page; a key found twice fails.
async fn scan_all(database: &Database, request: Value) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut start = Value::Null;
    loop {
        let mut request = request.clone();
        if !start.is_null() {
            request["ExclusiveStartKey"] = start;
        }
        let mut answer = database.ok("Scan", request).await;
        for item in answer["Items"].as_array().unwrap() {
            let key = item["p"]["S"].as_str().unwrap().to_owned();
            assert!(seen.insert(key.clone()), "{key} came twice");
        }
        start = answer["LastEvaluatedKey"].take();
        if start.is_null() {
            return seen;
        }
    }
}

on_every_store! {
    async fn pages_find_every_item_once(database) {
        with_items(database, 25).await;
        let all: BTreeSet<_> = (0..25).map(|n| n.to_string()).collect();
        assert_eq!(scan_all(database, json!({"TableName": "Table"})).await, all);
        assert_eq!(scan_all(database, json!({"TableName": "Table", "Limit": 4})).await, all);
    }

    async fn segments_are_disjoint_and_complete(database) {
        with_items(database, 40).await;
        let mut all = BTreeSet::new();
        for segment in 0..3 {
            let found = scan_all(database, json!({"TableName": "Table", "Segment": segment, "TotalSegments": 3, "Limit": 5})).await;
            assert!(found.len() < 40);
            assert!(all.is_disjoint(&found));
            all.extend(found);
        }
        assert_eq!(all.len(), 40);
    }

    async fn a_filter_counts_what_passes_and_what_was_read(database) {
        with_items(database, 10).await;
        let answer = database.ok("Scan", json!({
            "TableName": "Table", "FilterExpression": "even = :yes AND p <> :zero", "Select": "COUNT",
            "ExpressionAttributeValues": {":yes": {"BOOL": true}, ":zero": {"S": "0"}},
        })).await;
        assert_eq!(answer, json!({"Count": 4, "ScannedCount": 10}));
    }

    async fn a_scan_of_an_on_demand_table_visits_four_partitions(database) {
        with_items(database, 1).await;
        for (consistent, units) in [(false, 2.0), (true, 4.0)] {
            let answer = database.ok("Scan", json!({
                "TableName": "Table", "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL",
            })).await;
            assert_eq!(answer["ConsumedCapacity"], json!({"TableName": "Table", "CapacityUnits": units}));
        }
    }
}
