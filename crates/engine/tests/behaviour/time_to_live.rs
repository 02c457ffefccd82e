use serde_json::{Value, json};

use crate::database::{Database, on_every_store};
use crate::support::{until, wait_for};

fn specification(attribute: &str, enabled: bool) -> Value {
    json!({"AttributeName": attribute, "Enabled": enabled})
}

async fn update(database: &Database, specification: Value) {
    let input = json!({"TableName": "Table", "TimeToLiveSpecification": specification});
    assert_eq!(
        database.ok("UpdateTimeToLive", input).await,
        json!({"TimeToLiveSpecification": specification})
    );
}

async fn refused(database: &Database, specification: Value, message: &str) {
    let input = json!({"TableName": "Table", "TimeToLiveSpecification": specification});
    database.refused("UpdateTimeToLive", input, "ValidationException", message).await;
}

/// Waits until the items that were there before are in the index of expiry times.
async fn check(database: &Database, description: Value) {
    let answer = wait_for("the items are in it", async || {
        let answer = database.ok("DescribeTimeToLive", json!({"TableName": "Table"})).await;
        Some(answer).filter(|answer| answer["TimeToLiveDescription"]["TimeToLiveStatus"] != "ENABLING")
    })
    .await;
    assert_eq!(answer, json!({"TimeToLiveDescription": description}));
}

/// Waits until this item of `Table` is gone.
async fn until_gone(database: &Database, p: &str) {
    let key = json!({"p": {"S": p}, "s": {"S": "s"}});
    until(&format!("{p} is deleted"), async || database.get(key.clone()).await.is_null()).await;
}

fn item(p: &str, expires: Value) -> Value {
    json!({"p": {"S": p}, "s": {"S": "s"}, "x": expires})
}

on_every_store! { two servers {
    async fn time_to_live_is_switched_on_and_off_by_naming_its_attribute(database) {
        database.with_table("Table").await;
        check(database, json!({"TimeToLiveStatus": "DISABLED"})).await;
        refused(database, specification("x", false), "TimeToLive is already disabled").await;
        update(database, specification("x", true)).await;
        refused(database, specification("x", true), "TimeToLive is already enabled").await;
        for enabled in [true, false] {
            refused(database, specification("y", enabled),
                "TimeToLive is active on a different AttributeName: current AttributeName is x").await;
        }
        check(&database.reopened().await, json!({"TimeToLiveStatus": "ENABLED", "AttributeName": "x"})).await;
        update(database, specification("x", false)).await;
        check(database, json!({"TimeToLiveStatus": "DISABLED"})).await;
    }

    async fn expired_items_are_deleted_and_others_stay(database) {
        const NOW: u64 = 1_800_000_000;
        database.with_table("Table").await;
        let seconds = |seconds: u64| json!({"N": seconds.to_string()});
        database.put(item("there before", seconds(NOW - 10))).await;
        update(database, specification("x", true)).await;
        let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        let answer = database.ok("UpdateTable", json!({"TableName": "Table", "StreamSpecification": stream})).await;
        let arn = answer["TableDescription"]["LatestStreamArn"].clone();
        for (p, expires) in [
            ("over", seconds(NOW - 1)),
            ("later", seconds(NOW + 100)),
            ("a fraction", json!({"N": (NOW - 5).to_string() + ".75"})),
            ("text", json!({"S": (NOW - 10).to_string()})),
            ("six years ago", seconds(NOW - 6 * 365 * 24 * 3600)),
            ("given more time", seconds(NOW + 50)),
        ] {
            database.put(item(p, expires)).await;
        }
        for gone in ["there before", "over", "a fraction"] {
            until_gone(database, gone).await;
        }
        database.put(item("given more time", seconds(NOW + 500))).await;
        let database = &database.reopened().await;
        database.pass_ms(200_000);
        until_gone(database, "later").await;
        let left = database.ok("Scan", json!({"TableName": "Table"})).await;
        let mut left: Vec<&str> = left["Items"].as_array().unwrap().iter().map(|item| item["p"]["S"].as_str().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["given more time", "six years ago", "text"]);

        let shards = database.streams("DescribeStream", json!({"StreamArn": arn})).await["StreamDescription"]["Shards"].take();
        let mut removed = 0;
        for shard in shards.as_array().unwrap() {
            let input = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = database.streams("GetShardIterator", input).await["ShardIterator"].take();
            let page = database.streams("GetRecords", json!({"ShardIterator": iterator})).await;
            for record in page["Records"].as_array().unwrap().iter().filter(|record| record["eventName"] == "REMOVE") {
                let identity = json!({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"});
                assert_eq!(record["userIdentity"], identity);
                removed += 1;
            }
        }
        assert!(removed >= 3, "{removed} deletions are recorded");
    }

    async fn a_missing_table_has_no_time_to_live(database) {
        let message = "Requested resource not found: Table: Table not found";
        let input = json!({"TableName": "Table", "TimeToLiveSpecification": specification("x", true)});
        database.refused("UpdateTimeToLive", input, "ResourceNotFoundException", message).await;
        database.refused("DescribeTimeToLive", json!({"TableName": "Table"}), "ResourceNotFoundException", message).await;
    }
}}
