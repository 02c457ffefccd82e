//! Heat: which key ranges were used in which minute.

use engine::{Enforcement, HeatColumn, Namespace, ResourceHeat};
use serde_json::{Value, json};

use crate::database::Database;

fn namespace() -> Namespace {
    Namespace::new("123456789012", "us-east-1")
}

/// A table with a global index on `g`.
async fn table(database: &Database) {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let hash = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
    let index =
        json!({"IndexName": "byG", "KeySchema": hash("g"), "Projection": {"ProjectionType": "KEYS_ONLY"}});
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST", "KeySchema": hash("p"),
                "AttributeDefinitions": (["p", "g"].map(attribute)), "GlobalSecondaryIndexes": [index],
            }),
        )
        .await;
}

fn heat(database: &Database) -> Vec<ResourceHeat> {
    database.engine.heat(&namespace(), "Table").unwrap().resources
}

fn sum(column: &HeatColumn) -> [f32; 3] {
    column.squares.iter().fold([0.0; 3], |sum, square| std::array::from_fn(|at| sum[at] + square[at]))
}

fn item(p: &str) -> Value {
    json!({"p": {"S": p}, "g": {"S": "group"}})
}

#[tokio::test]
async fn a_request_heats_the_range_of_its_key_in_its_minute() {
    let database = Database::in_memory().await;
    table(&database).await;
    database.put(item("a")).await;
    database.put(item("b")).await;
    database.pass_ms(60_000);
    database.get(json!({"p": {"S": "a"}})).await;
    database.ok("Scan", json!({"TableName": "Table"})).await;
    let [of_table, of_index] = heat(&database).try_into().unwrap();
    assert_eq!((of_table.index, of_index.index), (None, Some("byG".to_owned())));
    let [writes, reads] = of_table.columns.try_into().unwrap();
    assert_eq!((writes.minute + 1, writes.minutes, sum(&writes)), (reads.minute, 1, [0.0, 2.0, 0.0]));
    assert_eq!(sum(&reads), [1.0, 0.0, 0.0], "a Scan has no key");
    let heated = |column: &HeatColumn| column.squares.iter().filter(|square| **square != [0.0; 3]).count();
    assert_eq!((writes.squares.len(), heated(&writes)), (64, 2));
    // Both items have the same key in the index.
    assert_eq!((heated(&of_index.columns[0]), sum(&of_index.columns[0])), (1, [0.0, 2.0, 0.0]));
}

#[tokio::test]
async fn requests_that_met_a_limit_are_part_of_the_picture() {
    let database = Database::with_capacity(Enforcement::Declared).await;
    let create = json!({
        "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
    });
    database.ok("CreateTable", create).await;
    let mut refused = 0.0;
    for _ in 0..1_000 {
        let get = json!({"TableName": "Table", "Key": {"p": {"S": "a"}}});
        refused += f32::from(u8::from(database.call("GetItem", get).await.is_err()));
    }
    assert!(refused > 0.0);
    assert_eq!(sum(&heat(&database)[0].columns[0]), [(1_000.0 - refused) / 2.0, 0.0, refused]);
}

#[tokio::test]
async fn an_index_that_is_gone_leaves_no_heat_and_neither_does_a_table() {
    let database = Database::in_memory().await;
    table(&database).await;
    database.put(item("a")).await;
    let update =
        json!({"TableName": "Table", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "byG"}}]});
    database.ok("UpdateTable", update).await;
    database.until("byG", None).await;
    assert_eq!(heat(&database).len(), 1);
    database.ok("DeleteTable", json!({"TableName": "Table"})).await;
    assert_eq!(database.engine.heat(&namespace(), "Table"), None);
}
