//! Exports, imports and backups of a world: they are begun while everything happens, and looked at in the peace
//! afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use transfer::Export;

use crate::bucket::BUCKET;
use crate::judge::{self, Copy};
use crate::requests::{TABLE, by_key};
use crate::run::{PEACE, WAIT, World};
use crate::servers::Failure;

/// Where the files of imports are, and how many items they have.
const IMPORT_FILES: u64 = 3;
const IMPORT_ITEMS: u64 = 60;
const IMPORT_PREFIX: &str = "items/";

impl World {
    /// Puts the files that imports read.
    pub(crate) async fn put_import_files(&self) -> Result<(), String> {
        let bucket = self.servers.objects.bucket();
        for file in 0..IMPORT_FILES {
            let numbers = (0..IMPORT_ITEMS).filter(|number| number % IMPORT_FILES == file);
            let lines: String =
                numbers.map(|number| format!("{}\n", json!({"Item": imported(number)}))).collect();
            let key = format!("{IMPORT_PREFIX}{file}.json");
            bucket.put(&key, lines.into()).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// How long a client waits for the answer to the request for a transfer: some don't wait for it at all.
    fn transfer_wait(&self, name: &str, number: u32) -> Duration {
        let mut chance = self.executor.chance(&format!("wait for {name} {number}"));
        match chance.u8(0..3) {
            0 => Duration::from_micros(chance.u64(0..20_000)),
            _ => WAIT,
        }
    }

    /// Makes a backup, to be restored in peace.
    pub(crate) async fn back_up(self: Arc<World>, number: u32) -> Result<(), String> {
        let server = self.some_time("backup", number).await;
        let invoked = self.clock.tick();
        let input = json!({"TableName": TABLE, "BackupName": format!("backup-{number}")});
        let wait = self.transfer_wait("backup", number);
        let made = self.servers.call(server, 0, "CreateBackup", input, wait).await;
        if let Ok(made) = made {
            let arn = made["BackupDetails"]["BackupArn"].as_str().unwrap_or_default().to_owned();
            let returned = self.clock.tick();
            self.say(&format!("backup {number} is made"));
            self.copies.lock().push(Copy::of_backup(number, arn, invoked, returned));
        }
        Ok(())
    }

    /// Asks for an export of the table as it is now.
    pub(crate) async fn export(self: Arc<World>, number: u32) -> Result<(), String> {
        let server = self.some_time("export", number).await;
        let arn = format!("arn:aws:dynamodb:us-east-1:123456789012:table/{TABLE}");
        let input = json!({"TableArn": arn, "S3Bucket": BUCKET, "S3Prefix": format!("export-{number}")});
        let wait = self.transfer_wait("export", number);
        let asked = self.servers.call(server, 0, "ExportTableToPointInTime", input, wait).await;
        self.say(&format!("export {number}: {:?}", asked.as_ref().err()));
        accepted(asked)
    }

    /// Asks for an import into a table of its own.
    pub(crate) async fn import(self: Arc<World>, number: u32) -> Result<(), String> {
        let server = self.some_time("import", number).await;
        let input = json!({
            "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": IMPORT_PREFIX},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": {
                "TableName": format!("Imported{number}"), "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            },
        });
        let wait = self.transfer_wait("import", number);
        let asked = self.servers.call(server, 0, "ImportTable", input, wait).await;
        self.say(&format!("import {number}: {:?}", asked.as_ref().err()));
        accepted(asked)
    }

    /// Every transfer that was begun comes to an end, and did what it was to do.
    pub(crate) async fn look_at_transfers(&self) -> Result<(), String> {
        if self.plan.features.backups > 0 {
            self.are_backups_made().await?;
        }
        if self.plan.features.exports > 0 {
            for export in self.ended("Export").await? {
                self.look_at_export(&export).await?;
            }
        }
        if self.plan.features.imports > 0 {
            for import in self.ended("Import").await? {
                self.look_at_import(&import).await?;
            }
        }
        Ok(())
    }

    /// All backups are there, also those whose client did not wait for the answer.
    async fn are_backups_made(&self) -> Result<(), String> {
        self.settled("all backups are made", PEACE, || async move {
            let listed = self.servers.call(0, 0, "ListBackups", json!({"TableName": TABLE}), WAIT).await?;
            let mut backups = listed["BackupSummaries"].as_array().into_iter().flatten();
            Ok(backups.all(|backup| backup["BackupStatus"] == "AVAILABLE"))
        })
        .await
    }

    /// The descriptions of all exports or imports, once none is under way.
    async fn ended(&self, kind: &str) -> Result<Vec<Value>, String> {
        let what = format!("no {kind} is under way");
        self.settled(&what, PEACE, || async move {
            let listed = self.servers.call(0, 0, &format!("List{kind}s"), json!({}), WAIT).await?;
            let mut summaries = listed[summaries_of(kind)].as_array().into_iter().flatten();
            Ok(summaries.all(|summary| summary[format!("{kind}Status")] != "IN_PROGRESS"))
        })
        .await?;
        let listed = self.ok(&format!("List{kind}s"), json!({})).await?;
        let mut described = Vec::new();
        for summary in listed[summaries_of(kind)].as_array().into_iter().flatten() {
            let arn = format!("{kind}Arn");
            let input = json!({&arn: summary[&arn]});
            let mut answer = self.ok(&format!("Describe{kind}"), input).await?;
            let description = if kind == "Export" { "ExportDescription" } else { "ImportTableDescription" };
            described.push(answer[description].take());
        }
        Ok(described)
    }

    /// An export has what the table had at its time.
    async fn look_at_export(&self, described: &Value) -> Result<(), String> {
        if described["ExportStatus"] != "COMPLETED" {
            return self.may_have_failed(described);
        }
        let seconds = described["ExportTime"].as_f64().ok_or_else(|| format!("no time: {described}"))?;
        let key = described["ExportManifest"].as_str().unwrap_or_default();
        let items = self.read_export(key).await.map_err(|error| format!("{error}: {described}"))?;
        if described["ItemCount"] != items.len() {
            return Err(format!("{} items are exported: {described}", items.len()));
        }
        let name = described["S3Prefix"].as_str().unwrap_or_default();
        let copy = Copy::of_export(name, (seconds * 1e6).round() as u64, by_key(&Value::Array(items)));
        self.say(&format!("exported {copy:?}"));
        self.copies.lock().push(copy);
        Ok(())
    }

    async fn read_export(&self, manifest_key: &str) -> Result<Vec<Value>, String> {
        let opened = Export::open(self.servers.objects.bucket(), manifest_key).await;
        let export = opened.map_err(|error| error.to_string())?;
        let mut items = export.items();
        let mut found = Vec::new();
        while let Some(item) = items.next().await.map_err(|error| error.to_string())? {
            found.push(judge::json_of(&item).ok_or("an item is no JSON")?);
        }
        Ok(found)
    }

    /// An import has all items of its files.
    async fn look_at_import(&self, described: &Value) -> Result<(), String> {
        if described["ImportStatus"] != "COMPLETED" {
            return self.may_have_failed(described);
        }
        let table = described["TableCreationParameters"]["TableName"].as_str().unwrap_or_default();
        self.is_active(table).await?;
        let scanned = self.ok("Scan", json!({"TableName": table, "ConsistentRead": true})).await?;
        let found: BTreeMap<String, Value> = scanned["Items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| (item["p"]["S"].to_string(), item.clone()))
            .collect();
        let items = (0..IMPORT_ITEMS).map(imported);
        let expected = items.map(|item| (item["p"]["S"].to_string(), item)).collect();
        if found != expected || described["ImportedItemCount"] != IMPORT_ITEMS {
            return Err(format!("{table} has {found:?}: {described}"));
        }
        Ok(())
    }

    /// A transfer fails only because of the bucket, whose fault is not one of items or tables.
    fn may_have_failed(&self, described: &Value) -> Result<(), String> {
        match self.plan.has_failing_bucket() && described["FailureCode"] == "UNKNOWN" {
            true => Ok(()),
            false => Err(format!("a transfer has failed: {described}")),
        }
    }

    /// The table can be deleted, and goes: nothing holds it any more.
    pub(crate) async fn delete_table(&self) -> Result<(), String> {
        self.settled("the table is deleted", PEACE, || async move {
            let table = json!({"TableName": TABLE});
            match self.servers.call(0, 0, "DescribeTable", table.clone(), WAIT).await {
                Ok(described) if described["Table"]["TableStatus"] == "DELETING" => Ok(false),
                Ok(_) => self.servers.call(0, 0, "DeleteTable", table, WAIT).await.map(|_| false),
                Err(failure) if failure.name() == "ResourceNotFoundException" => Ok(true),
                Err(failure) => Err(failure),
            }
        })
        .await
    }
}

/// An item of the files that are imported.
fn imported(number: u64) -> Value {
    json!({"p": {"S": format!("imported-{number}")}, "n": {"N": (number * number).to_string()}})
}

fn summaries_of(kind: &str) -> &'static str {
    if kind == "Export" { "ExportSummaries" } else { "ImportSummaryList" }
}

/// The server may not refuse such a request.
fn accepted(asked: Result<Value, Failure>) -> Result<(), String> {
    match asked {
        Err(failure) if !failure.is_in_doubt() => Err(format!("{failure:?}")),
        _ => Ok(()),
    }
}
