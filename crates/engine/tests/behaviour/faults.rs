//! What the database does when its store, its data or one of its own tasks fails.

use std::sync::Arc;

use bytes::Bytes;
use engine::{Health, TaskState};
use serde_json::{Value, json};
use store::fault::{Fault, FaultStore};
use store::{Key, Partition, Position, Space, Store, StoreError, WriteSet};

use crate::database::Database;
use crate::support::wait_for;

async fn with_items() -> (Database, Arc<FaultStore>) {
    let (database, store) = Database::on_faults().await;
    database.with_table("Table").await;
    for s in ["1", "2", "3"] {
        database.put(item(s)).await;
    }
    (database, store)
}

fn item(s: &str) -> Value {
    json!({"p": {"S": "a"}, "s": {"S": s}, "g": {"S": "x"}})
}

async fn create_index(database: &Database) {
    database
        .ok(
            "UpdateTable",
            json!({
                "TableName": "Table", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [{"Create": {
                    "IndexName": "Index", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }}],
            }),
        )
        .await;
}

async fn index_status(database: &Database) -> Value {
    let table = database.ok("DescribeTable", json!({"TableName": "Table"})).await;
    table["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"].clone()
}

/// Lets the background work until this is so. Nothing in memory takes time.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("never: {what}");
}

/// Waits until the job of this name has given up, and returns its reason.
async fn gave_up(database: &Database, name: &str) -> String {
    let reason = || {
        let tasks = database.engine.tasks();
        tasks.into_iter().find_map(|task| match task.state {
            TaskState::GaveUp(reason) if task.name == name => Some(reason),
            _ => None,
        })
    };
    until(name, || reason().is_some()).await;
    reason().unwrap()
}

/// A row of the table that is no item. The table's space is the first that a table can have.
fn unreadable_row() -> Key {
    let position = Position { partition: Partition([0x77; Partition::LENGTH]), sort: b"row".to_vec() };
    Key { space: Space(16), position }
}

async fn write(store: &dyn Store, write_set: impl Fn() -> WriteSet + Send + Sync) {
    store.update(&[unreadable_row()], &mut |_| write_set()).await.unwrap();
}

async fn damage(store: &dyn Store) {
    let puts = || vec![(unreadable_row(), Bytes::from_static(b"\xff\xff\xff"))];
    write(store, || WriteSet { puts: puts(), ..WriteSet::default() }).await;
}

async fn repair(store: &dyn Store) {
    write(store, || WriteSet { deletes: vec![unreadable_row()], ..WriteSet::default() }).await;
}

#[tokio::test]
async fn a_panic_in_the_background_stops_writes_at_once_and_says_why() {
    let (database, store) = with_items().await;
    assert_eq!(database.engine.health(), Health::Healthy);
    // The table is changed; the first batch of the back-fill panics.
    store.follow([None, Some(Fault::Panic)]);
    create_index(&database).await;
    until("unhealthy", || database.engine.health() != Health::Healthy).await;

    let reason = "writes are refused until the database is opened again: the background task \"change of an \
                  index\" on index Index of table Table of account 123456789012 in us-east-1 panicked: an \
                  injected panic";
    assert_eq!(database.engine.health(), Health::Unhealthy(reason.to_owned()));
    let message = format!("Internal server error: {reason}");
    let put = json!({"TableName": "Table", "Item": item("4")});
    database.refused("PutItem", put, "InternalServerError", &message).await;
    let batch = json!({"TransactItems": [{"Put": {"TableName": "Table", "Item": item("4")}}]});
    database.refused("TransactWriteItems", batch, "InternalServerError", &message).await;
    let update = json!({"TableName": "Table", "DeletionProtectionEnabled": true});
    database.refused("UpdateTable", update, "InternalServerError", &message).await;

    assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await, item("1"), "reads go on");
    assert_eq!(index_status(&database).await, "CREATING");
    database.engine.close().await.unwrap();
    let reopened = database.reopened().await;
    reopened.until("Index", Some("ACTIVE")).await;
    reopened.put(item("4")).await;
}

#[tokio::test]
async fn a_poisoned_store_is_unhealthy_and_clients_learn_why() {
    let (database, store) = with_items().await;
    store.follow([Some(Fault::Poison)]);
    let put = json!({"TableName": "Table", "Item": item("4")});
    let reason = "writes are refused until the database is opened again: an injected fault";
    let message = format!("Internal server error: {reason}");
    database.refused("PutItem", put, "InternalServerError", &message).await;
    assert_eq!(database.engine.health(), Health::Unhealthy(reason.to_owned()));
    assert_eq!(database.get(json!({"p": {"S": "a"}, "s": {"S": "1"}})).await, item("1"), "reads go on");
}

#[tokio::test]
async fn an_item_that_cannot_be_read_stops_the_back_fill_of_an_index() {
    let (database, store) = with_items().await;
    damage(&*store).await;
    create_index(&database).await;
    let reason = gave_up(&database, "change of an index").await;
    let row = format!("partition {}, sort 726f77", "77".repeat(Partition::LENGTH));
    let expected = format!(
        "stored data cannot be read: table Table of account 123456789012 in us-east-1: the row at {row}: "
    );
    assert!(reason.starts_with(&expected), "{reason}");
    assert_eq!(index_status(&database).await, "CREATING");
    assert_eq!(database.engine.health(), Health::Healthy);
    database.put(item("4")).await;

    repair(&*store).await;
    let reopened = database.restarted().await;
    reopened.until("Index", Some("ACTIVE")).await;
    let scan = json!({"TableName": "Table", "IndexName": "Index"});
    assert_eq!(reopened.ok("Scan", scan).await["Count"], 4);
    assert_eq!(reopened.engine.verify().await.unwrap().reports, Vec::<String>::new());
}

#[tokio::test]
async fn an_item_that_cannot_be_read_stops_the_count_of_its_table() {
    let (database, store) = with_items().await;
    damage(&*store).await;
    let reopened = database.reopened().await;
    let reason = gave_up(&reopened, "count of items").await;
    assert!(reason.starts_with("stored data cannot be read: table Table of account"), "{reason}");

    repair(&*store).await;
    let repaired = reopened.restarted().await;
    until("counted", || !repaired.engine.tasks().iter().any(|task| task.name == "count of items")).await;
    assert_eq!(repaired.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"]["ItemCount"], 3);
}

#[tokio::test]
async fn an_error_of_the_store_is_an_error_of_the_progress_report() {
    let (database, store) = with_items().await;
    damage(&*store).await;
    create_index(&database).await;
    gave_up(&database, "change of an index").await;
    let progress = database.engine.index_progress().await.unwrap();
    assert_eq!((progress.len(), progress[0].index.as_str()), (1, "Index"));
    store.fail_reads(true);
    assert!(matches!(database.engine.index_progress().await, Err(StoreError::Unavailable(_))));
}

#[tokio::test(start_paused = true)]
async fn a_job_outlasts_a_failure_of_the_store() {
    let (database, store) = with_items().await;
    // The change of the table succeeds; the first batch fails, before its commit and then after it.
    store.follow([None, Some(Fault::BeforeCommit), Some(Fault::AfterCommit)]);
    create_index(&database).await;
    database.until("Index", Some("ACTIVE")).await;
    let scan = json!({"TableName": "Table", "IndexName": "Index"});
    assert_eq!(database.ok("Scan", scan).await["Count"], 3);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_all_background_work() {
    let database = Database::delayed().await;
    database.with_table("Table").await;
    let names: Vec<&str> = database.engine.tasks().iter().map(|task| task.name).collect();
    assert!(names.contains(&"change of a table's state"), "{names:?}");
    database.engine.close().await.unwrap();
    assert_eq!(database.engine.tasks(), []);
}

#[tokio::test]
async fn a_change_of_a_table_starts_from_what_is_stored() {
    let (first, _) = Database::on_faults().await;
    first.with_table("Table").await;
    // Another server on the same data: its memory knows nothing of the later changes of the first.
    let second = first.reopened().await;
    let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Table";
    let tag = |key: &str| json!({"ResourceArn": arn, "Tags": [{"Key": key, "Value": "v"}]});
    first.ok("TagResource", tag("first")).await;
    second.ok("TagResource", tag("second")).await;
    let tags = first.reopened().await.ok("ListTagsOfResource", json!({"ResourceArn": arn})).await;
    assert_eq!(tags["Tags"].as_array().unwrap().len(), 2, "{tags}");

    first.ok("DeleteTable", json!({"TableName": "Table"})).await;
    let message = format!("Requested resource not found: ResourcArn: {arn} not found");
    second.refused("TagResource", tag("third"), "ResourceNotFoundException", &message).await;
    assert_eq!(first.reopened().await.ok("ListTables", json!({})).await, json!({"TableNames": []}));
}

#[tokio::test]
async fn a_backup_that_cannot_be_made_is_gone_and_says_why() {
    let (database, store) = with_items().await;
    damage(&*store).await;
    let begun = database.ok("CreateBackup", json!({"TableName": "Table", "BackupName": "nightly"})).await;
    let arn = begun["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned();
    gave_up(&database, "backup of a table").await;
    let failure = database.call("DescribeBackup", json!({"BackupArn": arn})).await.unwrap_err();
    let expected = format!(
        "Backup not found: {arn}. The backup could not be made: stored data cannot be read: table Table of account"
    );
    assert_eq!(failure.name, "BackupNotFoundException");
    assert!(failure.message.starts_with(&expected), "{}", failure.message);
    assert_eq!(database.ok("ListBackups", json!({})).await["BackupSummaries"], json!([]));
    // The table is no longer held for the copy.
    database.ok("DeleteTable", json!({"TableName": "Table"})).await;
}

#[tokio::test]
async fn a_restore_that_cannot_end_leaves_no_table_and_says_why() {
    let (database, store) = with_items().await;
    let specification = json!({"PointInTimeRecoveryEnabled": true});
    let recovery = json!({"TableName": "Table", "PointInTimeRecoverySpecification": specification});
    database.ok("UpdateContinuousBackups", recovery).await;
    damage(&*store).await;
    let restore =
        json!({"SourceTableName": "Table", "TargetTableName": "Target", "UseLatestRestorableTime": true});
    database.ok("RestoreTableToPointInTime", restore.clone()).await;
    gave_up(&database, "restore of a table").await;
    let failure = database.call("DescribeTable", json!({"TableName": "Target"})).await.unwrap_err();
    assert_eq!(failure.name, "ResourceNotFoundException");
    let expected = "Requested resource not found: Table: Target not found. Its restore failed: stored data";
    assert!(failure.message.starts_with(expected), "{}", failure.message);

    // The name is free, and nothing reminds of the failure once there is such a table.
    repair(&*store).await;
    database.ok("RestoreTableToPointInTime", restore).await;
    for _ in 0..10_000 {
        let table = database.ok("DescribeTable", json!({"TableName": "Target"})).await;
        if table["Table"]["TableStatus"] == "ACTIVE" {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(database.ok("Scan", json!({"TableName": "Target"})).await["Count"], 3);
    database.ok("DeleteTable", json!({"TableName": "Target"})).await;
    let gone = "Requested resource not found: Table: Target not found";
    database
        .refused("DescribeTable", json!({"TableName": "Target"}), "ResourceNotFoundException", gone)
        .await;
    database.ok("DeleteTable", json!({"TableName": "Table"})).await;
}

#[tokio::test]
async fn a_backup_whose_files_are_damaged_is_not_restored_in_part() {
    let database = Database::with_backups_in_a_folder().await;
    database.with_table("Table").await;
    for s in ["1", "2", "3"] {
        database.put(item(s)).await;
    }
    let begun = database.ok("CreateBackup", json!({"TableName": "Table", "BackupName": "nightly"})).await;
    let arn = begun["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned();
    database.until_available(&arn).await;
    let file = database.backup_files().into_iter().find(|path| path.extension() == Some("gz".as_ref()));
    let file = file.expect("a data file");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    database.ok("RestoreTableFromBackup", json!({"BackupArn": arn, "TargetTableName": "Target"})).await;
    let failure = wait_for("the table is dropped", async || {
        database.call("DescribeTable", json!({"TableName": "Target"})).await.err()
    })
    .await;
    let message = failure.message;
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(message.contains("Its restore failed") && message.contains(name), "{message}");
}
