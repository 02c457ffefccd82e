use serde_json::{Value, json};
use store::fault::Fault;

use crate::database::{Database, on_every_store};
use crate::support::wait_for;

fn item(p: u32, value: u32) -> Value {
    json!({"p": {"S": format!("p{p}")}, "s": {"S": "s"}, "v": {"N": value.to_string()}})
}

/// Backs `Table` up and waits until the backup is there.
async fn back_up(database: &Database, name: &str) -> String {
    let answer = database.ok("CreateBackup", json!({"TableName": "Table", "BackupName": name})).await;
    let details = &answer["BackupDetails"];
    assert_eq!((&details["BackupStatus"], &details["BackupType"]), (&json!("CREATING"), &json!("USER")));
    let arn = details["BackupArn"].as_str().unwrap().to_owned();
    database.until_available(&arn).await;
    arn
}

/// The values of all items, sorted.
async fn values(database: &Database, table: &str) -> Vec<u32> {
    let page = database.ok("Scan", json!({"TableName": table})).await;
    let mut values: Vec<u32> = page["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["v"]["N"].as_str().unwrap().parse().unwrap())
        .collect();
    values.sort_unstable();
    values
}

on_every_store! {
    async fn a_backup_holds_the_items_of_its_moment(database) {
        database.with_table("Table").await;
        for p in 0..60 {
            database.put(item(p, p)).await;
        }
        let answer = database.ok("CreateBackup", json!({"TableName": "Table", "BackupName": "first"})).await;
        let arn = answer["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned();
        for p in 0..30 {
            database.put(item(p, 1000)).await;
        }
        database.until_available(&arn).await;
        database.ok("DeleteTable", json!({"TableName": "Table"})).await;
        let restore = json!({"BackupArn": arn, "TargetTableName": "Restored"});
        let answer = database.ok("RestoreTableFromBackup", restore).await;
        let description = &answer["TableDescription"];
        assert_eq!(description["TableStatus"], "CREATING");
        assert_eq!(description["RestoreSummary"]["SourceBackupArn"], json!(arn));
        database.until_active("Restored").await;
        assert_eq!(values(database, "Restored").await, (0..60).collect::<Vec<u32>>());
        let details = database.ok("DescribeBackup", json!({"BackupArn": arn})).await["BackupDescription"].take();
        assert_eq!(details["SourceTableDetails"]["ItemCount"], 60);
        assert_eq!(details["SourceTableDetails"]["TableName"], "Table");
    }

    async fn backups_are_listed_and_deleted(database) {
        database.with_table("Table").await;
        let mut arns = Vec::new();
        for name in ["one", "two", "two"] {
            arns.push(back_up(database, name).await);
            database.pass_ms(1000);
        }
        let page = database.ok("ListBackups", json!({"TableName": "Table", "Limit": 2})).await;
        let listed = |page: &Value| -> Vec<String> {
            page["BackupSummaries"].as_array().unwrap().iter()
                .map(|summary| summary["BackupArn"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(listed(&page), arns[..2]);
        assert_eq!(page["LastEvaluatedBackupArn"], json!(arns[1]));
        let rest = json!({"ExclusiveStartBackupArn": arns[1]});
        assert_eq!(listed(&database.ok("ListBackups", rest).await), arns[2..]);
        assert_eq!(listed(&database.ok("ListBackups", json!({"TableName": "Other"})).await), Vec::<String>::new());
        let deleted = database.ok("DeleteBackup", json!({"BackupArn": arns[0]})).await;
        assert_eq!(deleted["BackupDescription"]["BackupDetails"]["BackupStatus"], "DELETED");
        for operation in ["DescribeBackup", "DeleteBackup"] {
            let message = format!("Backup not found: {}", arns[0]);
            database.refused(operation, json!({"BackupArn": arns[0]}), "BackupNotFoundException", &message).await;
        }
        database.refused("CreateBackup", json!({"TableName": "Missing", "BackupName": "one"}),
            "TableNotFoundException", "Table not found: Missing").await;
    }

    async fn a_deleted_table_with_recovery_leaves_its_last_state(database) {
        database.with_table("Table").await;
        let specification = json!({"PointInTimeRecoveryEnabled": true});
        database.ok("UpdateContinuousBackups",
            json!({"TableName": "Table", "PointInTimeRecoverySpecification": specification})).await;
        for p in 0..10 {
            database.put(item(p, p)).await;
        }
        database.ok("DeleteTable", json!({"TableName": "Table"})).await;
        let page = wait_for("the backup is AVAILABLE", async || {
            let page = database.ok("ListBackups", json!({"BackupType": "SYSTEM"})).await;
            Some(page).filter(|page| page["BackupSummaries"][0]["BackupStatus"] == "AVAILABLE")
        }).await;
        assert!(database.call("DescribeTable", json!({"TableName": "Table"})).await.is_err(), "it is gone by then");
        let summary = &page["BackupSummaries"][0];
        assert_eq!((&summary["BackupName"], &summary["BackupStatus"]),
            (&json!("Table$DeletedTableBackup"), &json!("AVAILABLE")));
        let arn = summary["BackupArn"].as_str().unwrap();
        assert!(arn.ends_with("-00000000"), "{arn}");
        database.ok("RestoreTableFromBackup", json!({"BackupArn": arn, "TargetTableName": "Table"})).await;
        database.until_active("Table").await;
        assert_eq!(values(database, "Table").await, (0..10).collect::<Vec<u32>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_backup_that_is_available_has_its_files_whichever_commit_has_an_unknown_outcome() {
    for commits_before in 0..12 {
        let (database, store) = Database::on_faults().await;
        database.with_table("Table").await;
        database.put(item(1, 7)).await;
        let answer = database.ok("CreateBackup", json!({"TableName": "Table", "BackupName": "first"})).await;
        let arn = answer["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned();
        store.follow((0..commits_before).map(|_| None).chain([Some(Fault::AfterCommit)]));
        database.until_available(&arn).await;
        store.follow([]);
        database.ok("RestoreTableFromBackup", json!({"BackupArn": arn, "TargetTableName": "Restored"})).await;
        database.until_active("Restored").await;
        assert_eq!(values(&database, "Restored").await, [7], "after {commits_before} commits");
    }
}
