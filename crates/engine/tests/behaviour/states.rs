//! Tables on a database whose changes of state take a second. Time is tokio's own and jumps ahead when
//! nothing else is to be done.

use std::time::Duration;

use serde_json::{Value, json};

use crate::database::Database;

fn name() -> Value {
    json!({"TableName": "Table"})
}

async fn check_status(database: &Database, status: &str) {
    assert_eq!(database.ok("DescribeTable", name()).await["Table"]["TableStatus"], status);
}

async fn pass() {
    crate::support::pass(Duration::from_millis(1100)).await;
}

async fn active() -> Database {
    let database = Database::delayed().await;
    database.with_table("Table").await;
    pass().await;
    database
}

fn protect(enabled: bool) -> Value {
    json!({"TableName": "Table", "DeletionProtectionEnabled": enabled})
}

const IN_USE: &str = "Attempt to change a resource which is still in use: Table is being";

#[tokio::test(start_paused = true)]
async fn a_table_that_is_being_created_can_be_seen_and_nothing_else() {
    let database = Database::delayed().await;
    database.with_table("Table").await;
    check_status(&database, "CREATING").await;
    assert_eq!(database.ok("ListTables", json!({})).await, json!({"TableNames": ["Table"]}));
    let key = json!({"p": {"S": "a"}, "s": {"S": "b"}});
    let requests = [("PutItem", "Item"), ("GetItem", "Key")];
    for (operation, member) in requests {
        let input = json!({"TableName": "Table", member: key});
        database.refused(operation, input, "ResourceNotFoundException", "Requested resource not found").await;
    }
    let message = format!("{IN_USE} created: Table");
    database.refused("DeleteTable", name(), "ResourceInUseException", &message).await;
    database.refused("UpdateTable", protect(true), "ResourceInUseException", &message).await;
    pass().await;
    check_status(&database, "ACTIVE").await;
    database.put(key).await;
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_being_updated_serves_but_can_not_be_changed_again() {
    let database = active().await;
    let answer = database.ok("UpdateTable", protect(true)).await;
    assert_eq!(answer["TableDescription"]["TableStatus"], "UPDATING");
    check_status(&database, "UPDATING").await;
    database.put(json!({"p": {"S": "a"}, "s": {"S": "b"}})).await;
    let message = format!("{IN_USE} updated: Table");
    database.refused("DeleteTable", name(), "ResourceInUseException", &message).await;
    database.refused("UpdateTable", protect(false), "ResourceInUseException", &message).await;
    pass().await;
    check_status(&database, "ACTIVE").await;
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_being_deleted_is_described_until_it_is_gone() {
    let database = active().await;
    for _ in 0..2 {
        let answer = database.ok("DeleteTable", name()).await["TableDescription"].take();
        assert_eq!(answer["TableStatus"], "DELETING");
        assert_eq!(answer["KeySchema"], Value::Null);
    }
    check_status(&database, "DELETING").await;
    let key = json!({"TableName": "Table", "Key": {"p": {"S": "a"}, "s": {"S": "b"}}});
    database.refused("GetItem", key, "ResourceNotFoundException", "Requested resource not found").await;
    database
        .refused("UpdateTable", protect(true), "ResourceInUseException", &format!("{IN_USE} deleted: Table"))
        .await;
    pass().await;
    database
        .refused(
            "DescribeTable",
            name(),
            "ResourceNotFoundException",
            "Requested resource not found: Table: Table not found",
        )
        .await;
    database.with_table("Table").await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_ends_the_delay() {
    let database = Database::delayed().await;
    database.with_table("Table").await;
    let created = database.reopened().await;
    check_status(&created, "ACTIVE").await;

    let database = active().await;
    database.ok("UpdateTable", protect(true)).await;
    let updated = database.reopened().await;
    check_status(&updated, "ACTIVE").await;
    updated.refused("DeleteTable", name(), "ValidationException",
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.").await;

    let database = active().await;
    database.ok("DeleteTable", name()).await;
    let deleted = database.reopened().await;
    assert_eq!(deleted.ok("ListTables", json!({})).await, json!({"TableNames": []}));
}
