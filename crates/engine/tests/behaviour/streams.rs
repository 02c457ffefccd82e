use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::database::{Database, on_every_store};
use crate::support::until;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// Switches the stream of `Table` on and returns its ARN.
async fn switch_on(database: &Database, view: &str) -> String {
    let specification = json!({"StreamEnabled": true, "StreamViewType": view});
    let answer =
        database.ok("UpdateTable", json!({"TableName": "Table", "StreamSpecification": specification})).await;
    answer["TableDescription"]["LatestStreamArn"].as_str().unwrap().to_owned()
}

async fn switch_off(database: &Database) {
    let specification = json!({"StreamEnabled": false});
    database.ok("UpdateTable", json!({"TableName": "Table", "StreamSpecification": specification})).await;
}

async fn describe(database: &Database, arn: &str) -> Value {
    database.streams("DescribeStream", json!({"StreamArn": arn})).await["StreamDescription"].take()
}

/// The ids of the stream's shards.
async fn shards(database: &Database, arn: &str) -> Vec<String> {
    let shards = describe(database, arn).await["Shards"].take();
    shards.as_array().unwrap().iter().map(|shard| shard["ShardId"].as_str().unwrap().to_owned()).collect()
}

async fn iterator(database: &Database, arn: &str, shard: &str, kind: &str) -> String {
    let input = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind});
    database.streams("GetShardIterator", input).await["ShardIterator"].as_str().unwrap().to_owned()
}

/// Everything that one shard holds from an iterator on, and the iterator behind it; none at its end.
async fn read_on(database: &Database, iterator: String, limit: u32) -> (Vec<Value>, Option<String>) {
    let (mut records, mut next) = (Vec::new(), Some(iterator));
    while let Some(iterator) = next.take() {
        let page = database.streams("GetRecords", json!({"ShardIterator": iterator, "Limit": limit})).await;
        let found = page["Records"].as_array().unwrap();
        next = page["NextShardIterator"].as_str().map(str::to_owned);
        records.extend(found.iter().cloned());
        if found.is_empty() {
            break;
        }
    }
    (records, next)
}

/// All records of a stream, shard by shard.
pub async fn records(database: &Database, arn: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for shard in shards(database, arn).await {
        let start = iterator(database, arn, &shard, "TRIM_HORIZON").await;
        all.extend(read_on(database, start, 2).await.0);
    }
    all
}

fn key(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "s"}})
}

fn item(p: &str, value: u32) -> Value {
    json!({"p": {"S": p}, "s": {"S": "s"}, "v": {"N": value.to_string()}})
}

async fn delete(database: &Database, p: &str) {
    database.ok("DeleteItem", json!({"TableName": "Table", "Key": key(p)})).await;
}

on_every_store! { two servers {
    async fn a_stream_shows_each_change_with_the_images_of_its_view(database) {
        for (view, old, new) in [
            ("KEYS_ONLY", false, false),
            ("NEW_IMAGE", false, true),
            ("OLD_IMAGE", true, false),
            ("NEW_AND_OLD_IMAGES", true, true),
        ] {
            database.with_table("Table").await;
            let arn = switch_on(database, view).await;
            database.put(item("a", 1)).await;
            database.put(item("a", 2)).await;
            delete(database, "a").await;
            let found = records(database, &arn).await;
            let names: Vec<&Value> = found.iter().map(|record| &record["eventName"]).collect();
            assert_eq!(names, ["INSERT", "MODIFY", "REMOVE"], "{view}");
            for (record, (before, after)) in found.iter().zip([(None, Some(1)), (Some(1), Some(2)), (Some(2), None)]) {
                let image = |value: Option<u32>, shown: bool| {
                    value.filter(|_| shown).map_or(Value::Null, |value| item("a", value))
                };
                let shown = &record["dynamodb"];
                assert_eq!(shown["Keys"], key("a"));
                assert_eq!(shown["OldImage"], image(before, old), "{view}");
                assert_eq!(shown["NewImage"], image(after, new), "{view}");
                assert_eq!(shown["StreamViewType"], view);
                assert_eq!(shown["ApproximateCreationDateTime"], json!(1_800_000_000));
                assert_eq!((&record["eventSource"], &record["awsRegion"]), (&json!("aws:dynamodb"), &json!("us-east-1")));
                assert_eq!(record["eventID"].as_str().unwrap().len(), 32);
                assert_eq!(record["userIdentity"], Value::Null);
            }
            database.ok("DeleteTable", json!({"TableName": "Table"})).await;
        }
    }

    async fn a_write_that_changes_nothing_leaves_no_record(database) {
        database.with_table("Table").await;
        database.put(item("a", 1)).await;
        let arn = switch_on(database, "NEW_AND_OLD_IMAGES").await;
        database.put(item("a", 1)).await;
        delete(database, "missing").await;
        let same = json!({"TableName": "Table", "Key": key("a"), "UpdateExpression": "SET v = :v",
            "ExpressionAttributeValues": {":v": {"N": "1.0"}}});
        database.ok("UpdateItem", same).await;
        assert_eq!(records(database, &arn).await, Vec::<Value>::new());
    }

    async fn batches_transactions_and_statements_are_recorded_too(database) {
        database.with_table("Table").await;
        let arn = switch_on(database, "KEYS_ONLY").await;
        let puts: Vec<Value> = ["a", "b", "c"].iter().map(|p| json!({"PutRequest": {"Item": item(p, 1)}})).collect();
        database.ok("BatchWriteItem", json!({"RequestItems": {"Table": puts}})).await;
        let put = |p: &str| json!({"Put": {"TableName": "Table", "Item": item(p, 1)}});
        database.ok("TransactWriteItems", json!({"TransactItems": [put("d"), put("e")]})).await;
        let statement = "INSERT INTO \"Table\" VALUE {'p': 'f', 's': 's'}";
        database.ok("ExecuteStatement", json!({"Statement": statement})).await;
        let mut keys: Vec<String> = records(database, &arn).await.iter()
            .map(|record| record["dynamodb"]["Keys"]["p"]["S"].as_str().unwrap().to_owned()).collect();
        keys.sort();
        assert_eq!(keys, ["a", "b", "c", "d", "e", "f"]);
    }

    async fn a_stream_that_was_switched_off_can_be_read_for_a_day(database) {
        database.with_table("Table").await;
        let first = switch_on(database, "NEW_IMAGE").await;
        database.put(item("a", 1)).await;
        switch_off(database).await;
        database.put(item("a", 2)).await;
        let second = switch_on(database, "NEW_IMAGE").await;
        assert_ne!(first, second);
        database.put(item("a", 3)).await;
        database.ok("DeleteTable", json!({"TableName": "Table"})).await;

        let database = &database.reopened().await;
        let listed = database.streams("ListStreams", json!({"TableName": "Table"})).await;
        let arns: Vec<&Value> = listed["Streams"].as_array().unwrap().iter().map(|stream| &stream["StreamArn"]).collect();
        assert_eq!(arns, [&first, &second]);
        for (arn, value) in [(first, 1), (second, 3)] {
            let description = describe(database, &arn).await;
            assert_eq!(description["StreamStatus"], "DISABLED");
            for shard in description["Shards"].as_array().unwrap() {
                assert!(shard["SequenceNumberRange"]["EndingSequenceNumber"].is_string());
                let start = iterator(database, &arn, shard["ShardId"].as_str().unwrap(), "TRIM_HORIZON").await;
                assert_eq!(read_on(database, start, 1000).await.1, None, "a closed shard ends");
            }
            let found = records(database, &arn).await;
            let images: Vec<&Value> = found.iter().map(|record| &record["dynamodb"]["NewImage"]["v"]["N"]).collect();
            assert_eq!(images, [&json!(value.to_string())]);
        }
    }

    async fn iterators_begin_where_the_request_says(database) {
        database.with_table("Table").await;
        let arn = switch_on(database, "NEW_IMAGE").await;
        for value in 1..=3 {
            database.put(item("a", value)).await;
            database.pass_ms(1000);
        }
        let all = records(database, &arn).await;
        let mut shard = None;
        for candidate in shards(database, &arn).await {
            let start = iterator(database, &arn, &candidate, "TRIM_HORIZON").await;
            if !read_on(database, start, 1).await.0.is_empty() {
                shard = Some(candidate);
            }
        }
        let shard = shard.unwrap();
        let second = &all[1]["dynamodb"]["SequenceNumber"];
        let ask = |more: Value| {
            let mut input = json!({"StreamArn": arn, "ShardId": shard});
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            input
        };
        for (kind, expected) in [
            (json!({"ShardIteratorType": "TRIM_HORIZON"}), 0..3),
            (json!({"ShardIteratorType": "LATEST"}), 3..3),
            (json!({"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": second}), 1..3),
            (json!({"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": second}), 2..3),
            (json!({"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1_800_000_002}), 2..3),
            (json!({"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1_799_000_000}), 0..3),
        ] {
            let answer = database.streams("GetShardIterator", ask(kind.clone())).await;
            let start = answer["ShardIterator"].as_str().unwrap().to_owned();
            assert_eq!(read_on(database, start, 1000).await.0, all[expected], "{kind}");
        }
        let latest = iterator(database, &arn, &shard, "LATEST").await;
        database.put(item("a", 4)).await;
        assert_eq!(read_on(database, latest.clone(), 1000).await.0.len(), 1);
        database.pass_ms(16 * 60 * 1000);
        let expired = database.call_streams("GetRecords", json!({"ShardIterator": latest})).await.unwrap_err();
        assert_eq!(expired.name, "ExpiredIteratorException");
        database.pass_ms(24 * HOUR_MS);
        let old = ask(json!({"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": second}));
        let trimmed = database.call_streams("GetShardIterator", old).await.unwrap_err();
        assert_eq!(trimmed.name, "TrimmedDataAccessException");
        assert_eq!(records(database, &arn).await, Vec::<Value>::new(), "a day later nothing is left");
    }

    async fn records_go_on_after_a_restart(database) {
        database.with_table("Table").await;
        let arn = switch_on(database, "NEW_IMAGE").await;
        database.put(item("a", 1)).await;
        let database = &database.restarted().await;
        database.put(item("a", 2)).await;
        let found = records(database, &arn).await;
        let values: Vec<&Value> = found.iter().map(|record| &record["dynamodb"]["NewImage"]["v"]["N"]).collect();
        assert_eq!(values, ["1", "2"]);
        let numbers: Vec<&str> =
            found.iter().map(|record| record["dynamodb"]["SequenceNumber"].as_str().unwrap()).collect();
        assert!(numbers[0] < numbers[1]);
    }

    async fn a_stream_is_switched_on_once_and_off_once(database) {
        database.with_table("Table").await;
        let update = |specification: Value| json!({"TableName": "Table", "StreamSpecification": specification});
        let off = database.call("UpdateTable", update(json!({"StreamEnabled": false}))).await.unwrap_err();
        assert_eq!(off.name, "ValidationException");
        let on = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        database.ok("UpdateTable", update(on.clone())).await;
        let twice = database.call("UpdateTable", update(on)).await.unwrap_err();
        assert_eq!(twice.name, "ValidationException");
        let table = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
        assert_eq!(table["StreamSpecification"], json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}));
    }
}}

/// Every shard has children after some hours. A reader that takes parents before children gets the changes of each item
/// in their order, none missing and none twice.
#[tokio::test]
async fn shards_close_after_hours_and_children_follow() {
    let mut database = Database::on_lsm().await;
    database.with_table("Table").await;
    let arn = switch_on(&database, "NEW_AND_OLD_IMAGES").await;
    let first = shards(&database, &arn).await;
    for value in 0..5 {
        for p in ["a", "b", "c", "d"] {
            database.put(item(p, value)).await;
        }
        database.pass_ms(2 * HOUR_MS + 1);
        // The next opening looks after the shards at once.
        database = database.reopened().await;
        until_rolled(&database, &arn, first.len(), value >= 1).await;
    }
    let database = &database;
    let description = describe(database, &arn).await;
    let shards = description["Shards"].as_array().unwrap();
    assert!(shards.len() > first.len());
    let parents: Vec<&Value> =
        shards.iter().map(|shard| &shard["ParentShardId"]).filter(|parent| parent.is_string()).collect();
    assert!(!parents.is_empty());
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    // Ids are in the order of time, so parents come before their children.
    for record in records(database, &arn).await {
        let shown = &record["dynamodb"];
        let p = shown["Keys"]["p"]["S"].as_str().unwrap().to_owned();
        let before = last.insert(p, shown["NewImage"].clone()).unwrap_or(Value::Null);
        assert_eq!(shown["OldImage"], before, "each record starts from what the one before it left");
    }
    assert!(last.values().all(|image| image["v"]["N"] == "4"));
}

async fn until_rolled(database: &Database, arn: &str, first: usize, expected: bool) {
    let has_children = async || !expected || shards(database, arn).await.len() > first;
    until("the shards have children", has_children).await;
}

#[tokio::test]
async fn writes_are_refused_when_change_records_take_too_much_room() {
    let options = engine::Options { change_log_bytes_max: Some(500), ..engine::Options::default() };
    let database = &Database::in_memory_with(options).await;
    database.with_table("Table").await;
    for value in 0..20 {
        database.put(item("a", value)).await;
    }
    let arn = switch_on(database, "NEW_AND_OLD_IMAGES").await;
    let mut refused = None;
    for value in 0..20 {
        let put = json!({"TableName": "Table", "Item": item("a", value)});
        refused = refused.or(database.call("PutItem", put).await.err());
    }
    let refused = refused.expect("the limit is reached");
    assert_eq!(refused.name, "InternalServerError");
    assert!(refused.message.contains("--change-log-max"), "{}", refused.message);
    assert!(!records(database, &arn).await.is_empty(), "records can still be read");
    switch_off(database).await;
    database.put(item("a", 100)).await;
}
