//! How often a table may be changed in a day, where AWS's limits are enforced.

use engine::Enforcement;
use serde_json::{Value, json};

use crate::database::Database;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

fn units(units: u64) -> Value {
    json!({"ReadCapacityUnits": units, "WriteCapacityUnits": units})
}

/// A table with a global index on `g`, both with 100 units.
async fn database(capacity: Enforcement) -> Database {
    let database = Database::with_capacity(capacity).await;
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let hash = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let index = json!({
        "IndexName": "byG", "KeySchema": hash("g"), "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": units(100),
    });
    let create = json!({
        "TableName": "Table", "KeySchema": hash("p"), "AttributeDefinitions": (["p", "g"].map(attribute)),
        "ProvisionedThroughput": units(100), "GlobalSecondaryIndexes": [index],
    });
    database.ok("CreateTable", create).await;
    database
}

fn of_table(to: u64) -> Value {
    json!({"TableName": "Table", "ProvisionedThroughput": units(to)})
}

fn of_index(to: u64) -> Value {
    let update = json!({"IndexName": "byG", "ProvisionedThroughput": units(to)});
    json!({"TableName": "Table", "GlobalSecondaryIndexUpdates": [{"Update": update}]})
}

#[tokio::test]
async fn after_four_decreases_a_table_is_decreased_once_an_hour() {
    let database = database(Enforcement::Aws).await;
    // The clock of tests begins on Friday, January 15, 2027, at 8:00.
    for to in [90, 80, 70, 60] {
        database.ok("UpdateTable", of_table(to)).await;
        database.pass_ms(MINUTE_MS);
    }
    let message = "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. \
                   After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most \
                   once every 3600 seconds. Number of decreases today: 4. Last decrease at Friday, January 15, 2027 \
                   8:03:00 AM UTC. Next decrease can be made at Friday, January 15, 2027 9:03:00 AM UTC";
    database.refused("UpdateTable", of_table(50), "LimitExceededException", message).await;
    // Increases are free, and an index has decreases of its own.
    database.ok("UpdateTable", of_table(200)).await;
    database.ok("UpdateTable", of_index(50)).await;
    let described = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
    assert_eq!(described["ProvisionedThroughput"]["NumberOfDecreasesToday"], 4);
    let index = &described["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"];
    assert_eq!(index["NumberOfDecreasesToday"], 1);
    database.pass_ms(HOUR_MS);
    database.ok("UpdateTable", of_table(50)).await;
    let database = database.restarted().await;
    assert!(database.call("UpdateTable", of_table(40)).await.is_err());
    database.pass_ms(24 * HOUR_MS);
    let described = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
    assert_eq!(described["ProvisionedThroughput"]["NumberOfDecreasesToday"], 0);
    database.ok("UpdateTable", of_table(40)).await;
}

#[tokio::test]
async fn a_table_becomes_on_demand_four_times_in_a_day() {
    let database = database(Enforcement::Aws).await;
    let on_demand = || json!({"TableName": "Table", "BillingMode": "PAY_PER_REQUEST"});
    let provisioned = || {
        let mut update = of_index(100);
        update["BillingMode"] = json!("PROVISIONED");
        update["ProvisionedThroughput"] = units(100);
        update
    };
    for _ in 0..4 {
        database.ok("UpdateTable", on_demand()).await;
        database.ok("UpdateTable", provisioned()).await;
        database.pass_ms(HOUR_MS);
    }
    let message = "Subscriber limit exceeded: Update to PayPerRequest mode are limited to 4 times in 1 day(s). Last \
                   update at Fri Jan 15 11:00:00 UTC 2027. Next update can be made at Sat Jan 16 08:00:00 UTC 2027";
    database.refused("UpdateTable", on_demand(), "LimitExceededException", message).await;
    database.pass_ms(20 * HOUR_MS);
    database.ok("UpdateTable", on_demand()).await;
}

#[tokio::test]
async fn where_aws_is_not_enforced_changes_are_counted_and_made() {
    for capacity in [Enforcement::Shadow, Enforcement::Declared, Enforcement::Off] {
        let database = database(capacity).await;
        for to in (1..=10).rev() {
            database.ok("UpdateTable", of_table(to)).await;
        }
        let described = database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
        assert_eq!(described["ProvisionedThroughput"]["NumberOfDecreasesToday"], 10);
    }
}
