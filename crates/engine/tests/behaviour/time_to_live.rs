use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

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

async fn check(database: &Database, description: Value) {
    let answer = database.ok("DescribeTimeToLive", json!({"TableName": "Table"})).await;
    assert_eq!(answer, json!({"TimeToLiveDescription": description}));
}

on_every_store! {
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

    async fn a_missing_table_has_no_time_to_live(database) {
        let message = "Requested resource not found: Table: Table not found";
        let input = json!({"TableName": "Table", "TimeToLiveSpecification": specification("x", true)});
        database.refused("UpdateTimeToLive", input, "ResourceNotFoundException", message).await;
        database.refused("DescribeTimeToLive", json!({"TableName": "Table"}), "ResourceNotFoundException", message).await;
    }
}
