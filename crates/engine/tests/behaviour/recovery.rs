use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::database::{Database, on_every_store};

const START_S: f64 = 1_800_000_000.0;

async fn switch_on(database: &Database, table: &str) {
    let specification = json!({"PointInTimeRecoveryEnabled": true});
    let input = json!({"TableName": table, "PointInTimeRecoverySpecification": specification});
    database.ok("UpdateContinuousBackups", input).await;
}

/// Restores `Table` and waits until the target is ACTIVE.
async fn restore(database: &Database, target: &str, time_s: f64) {
    let input = json!({"SourceTableName": "Table", "TargetTableName": target, "RestoreDateTime": time_s});
    let answer = database.ok("RestoreTableToPointInTime", input).await;
    assert_eq!(answer["TableDescription"]["TableStatus"], "CREATING");
    until_active(database, target).await;
}

async fn until_active(database: &Database, table: &str) {
    let description = database.until_active(table).await;
    assert_eq!(description["RestoreSummary"], Value::Null, "gone once the table is ACTIVE");
}

/// All items of a table or index by their key.
async fn items(database: &Database, table: &str, index: Option<&str>) -> BTreeMap<String, Value> {
    let mut input = json!({"TableName": table});
    if let Some(index) = index {
        input["IndexName"] = json!(index);
    }
    let mut found = BTreeMap::new();
    loop {
        let page = database.ok("Scan", input.clone()).await;
        for item in page["Items"].as_array().unwrap() {
            found.insert(format!("{}/{}", item["p"]["S"], item["s"]["S"]), item.clone());
        }
        match page.get("LastEvaluatedKey") {
            Some(key) => input["ExclusiveStartKey"] = key.clone(),
            None => return found,
        }
    }
}

fn item(p: u32, value: u32) -> Value {
    json!({"p": {"S": format!("p{p}")}, "s": {"S": "s"}, "v": {"N": value.to_string()}, "g": {"S": format!("g{}", value % 3)}})
}

async fn with_index(database: &Database) {
    database.with_table("Table").await;
    database
        .ok(
            "UpdateTable",
            json!({
                "TableName": "Table",
                "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [{"Create": {
                    "IndexName": "ByG",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }}],
            }),
        )
        .await;
    database.until("ByG", Some("ACTIVE")).await;
}

/// One of several changes, chosen by a number that looks random.
async fn change(database: &Database, chance: &mut u64) {
    let mut draw = |below: u64| {
        *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*chance >> 33) % below) as u32
    };
    let (p, value) = (draw(12), draw(1000));
    match draw(4) {
        0 => {
            let key = json!({"p": {"S": format!("p{p}")}, "s": {"S": "s"}});
            database.ok("DeleteItem", json!({"TableName": "Table", "Key": key})).await;
        }
        1 => {
            let put = |p: u32| json!({"Put": {"TableName": "Table", "Item": item(p, value)}});
            let items = json!({"TransactItems": [put(p), put((p + 5) % 12), put((p + 7) % 12)]});
            database.ok("TransactWriteItems", items).await;
        }
        _ => database.put(item(p, value)).await,
    }
}

/// They go by the number of items, which other servers know a moment later.
mod one_server {
    use super::*;

    on_every_store! { one server {
        async fn the_difference_to_a_time_is_what_a_restore_would_undo(database) {
            with_index(database).await;
            let mut chance = 11;
            for _ in 0..10 {
                change(database, &mut chance).await;
            }
            switch_on(database, "Table").await;
            let mut history = Vec::new();
            for second in 0..6 {
                history.push((START_S + f64::from(second) + 0.5, items(database, "Table", None).await));
                database.pass_ms(600);
                change(database, &mut chance).await;
                change(database, &mut chance).await;
                database.pass_ms(400);
            }
            let now = items(database, "Table", None).await;
            for (time_s, then) in &history {
                let found = database.difference("Table", *time_s).await.unwrap();
                let count = |keys: usize| keys as u64;
                let changed = now.iter().filter(|(key, item)| then.get(*key).is_some_and(|old| old != *item)).count();
                assert_eq!(found.added, count(now.keys().filter(|key| !then.contains_key(*key)).count()), "at {time_s}");
                assert_eq!(found.removed, count(then.keys().filter(|key| !now.contains_key(*key)).count()), "at {time_s}");
                assert_eq!(found.changed, count(changed), "at {time_s}");
                assert_eq!(found.items_then, count(then.len()), "at {time_s}");
                assert!(found.is_complete);
                assert_eq!(found.examples.len() as u64, found.added + found.removed + found.changed);
                assert!(found.examples.iter().all(|one| one.then != one.now));
            }
            assert_eq!(database.difference("Table", START_S - 100.0).await.unwrap_err().name, "InvalidRestoreTimeException");
            assert_eq!(database.difference("Missing", START_S).await.unwrap_err().name, "TableNotFoundException");
        }
    }}
}

on_every_store! { two servers {
    async fn every_second_of_a_history_can_be_restored(database) {
        with_index(database).await;
        let mut chance = 7;
        for _ in 0..10 {
            change(database, &mut chance).await;
        }
        switch_on(database, "Table").await;
        let mut history = Vec::new();
        for second in 0..20 {
            history.push((START_S + f64::from(second) + 0.5, items(database, "Table", None).await));
            database.pass_ms(600);
            for _ in 0..3 {
                change(database, &mut chance).await;
            }
            database.pass_ms(400);
        }
        for (number, (time_s, expected)) in history.iter().enumerate().step_by(3) {
            let target = format!("Restored{number}");
            restore(database, &target, *time_s).await;
            assert_eq!(items(database, &target, None).await, *expected, "at {time_s}");
            let indexed: BTreeMap<String, Value> = items(database, &target, Some("ByG")).await;
            assert_eq!(indexed, *expected, "the index at {time_s}");
        }
    }


    async fn a_restore_is_not_disturbed_by_writes_and_goes_on_after_a_restart(database) {
        with_index(database).await;
        switch_on(database, "Table").await;
        for p in 0..700 {
            database.put(item(p, p)).await;
        }
        let expected = items(database, "Table", None).await;
        database.pass_ms(1000);
        let input = json!({"SourceTableName": "Table", "TargetTableName": "Restored", "RestoreDateTime": START_S + 0.5});
        database.ok("RestoreTableToPointInTime", input).await;
        for p in (0..700).step_by(7) {
            database.put(item(p, 1)).await;
        }
        let database = &database.restarted().await;
        until_active(database, "Restored").await;
        assert_eq!(items(database, "Restored", None).await, expected);
    }

    async fn what_cannot_be_restored_is_refused(database) {
        database.with_table("Table").await;
        let ask = |more: Value| {
            let mut input = json!({"SourceTableName": "Table", "TargetTableName": "Restored"});
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            input
        };
        let latest = json!({"UseLatestRestorableTime": true});
        database.refused("RestoreTableToPointInTime", ask(latest.clone()), "PointInTimeRecoveryUnavailableException",
            "Point in time recovery is not enabled for table 'Table'").await;
        switch_on(database, "Table").await;
        let past = database.call("RestoreTableToPointInTime", ask(json!({"RestoreDateTime": START_S - 100.0}))).await;
        assert_eq!(past.unwrap_err().name, "InvalidRestoreTimeException");
        let future = database.call("RestoreTableToPointInTime", ask(json!({"RestoreDateTime": START_S + 1000.0}))).await;
        assert_eq!(future.unwrap_err().name, "InvalidRestoreTimeException");
        database.refused("RestoreTableToPointInTime", ask(json!({})), "ValidationException",
            "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both").await;
        let taken = json!({"SourceTableName": "Table", "TargetTableName": "Table", "UseLatestRestorableTime": true});
        database.refused("RestoreTableToPointInTime", taken, "TableAlreadyExistsException", "Table already exists: Table").await;
        database.refused("UpdateContinuousBackups",
            json!({"TableName": "Missing", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
            "TableNotFoundException", "Table not found: Missing").await;
        let answer = database.ok("DescribeContinuousBackups", json!({"TableName": "Table"})).await;
        let recovery = &answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert_eq!((&recovery["PointInTimeRecoveryStatus"], &recovery["RecoveryPeriodInDays"]), (&json!("ENABLED"), &json!(35)));
    }
}}
