//! A hold that is given up while its copy runs: the copy fails with the reason, or begins again.

use std::time::Duration;

use api::{Operation, Request};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use store::memory::MemoryStore;
use store::{Decide, Direction, Key, Log, LogPosition, Range, Read, Space, Store, Visit};

use super::*;
use crate::copies::backup::{BackUp, BackupKind};
use crate::{Caller, Engine, Environment, Options};

struct Still;

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        1_800_000_000_000
    }

    fn random(&self) -> u128 {
        0
    }
}

type Happening = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A store in which something happens right before a read of a space.
struct Eventful {
    store: MemoryStore,
    next: Mutex<Option<(Space, Happening)>>,
}

impl Eventful {
    fn before_read_of(
        &self,
        space: Space,
        happening: impl FnOnce() -> BoxFuture<'static, ()> + Send + 'static,
    ) {
        *self.next.lock() = Some((space, Box::new(happening)));
    }

    async fn happen(&self, space: Space) {
        let happening = self.next.lock().take_if(|(of, _)| *of == space);
        if let Some((_, happening)) = happening {
            happening().await;
        }
    }
}

#[async_trait]
impl Read for Eventful {
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let rows = self.store.get(keys, consistency).await;
        // After the read, so that what it saw is outdated.
        for key in keys {
            self.happen(key.space).await;
        }
        rows
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.happen(range.space).await;
        self.store.scan(range, direction, consistency, visit).await
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.store.read_log(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.store.log_end(log).await
    }
}

#[async_trait]
impl Store for Eventful {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        self.store.update(keys, decide).await
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.store.clear(space).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        self.store.snapshot().await
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.store.trim_log(log, through).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

/// A database with a table `Table` that has an item and point-in-time recovery.
struct Database {
    engine: Engine,
    store: Arc<Eventful>,
    _folder: tempfile::TempDir,
}

impl Database {
    async fn new() -> Database {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bucket")).unwrap();
        let s3 = Arc::new(transfer::Buckets::open(folder.path().to_str().unwrap()).unwrap());
        let backups = Some(transfer::Bucket::in_memory());
        let options = Options { s3: Some(s3), backups, ..Options::default() };
        let store = Arc::new(Eventful { store: MemoryStore::new(), next: Mutex::default() });
        let engine = Engine::open_with(store.clone(), Arc::new(Still), options).await.unwrap();
        let database = Database { engine, store, _folder: folder };
        let table = json!({
            "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        });
        database.ok(Operation::CreateTable, table).await;
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let recovery = json!({"TableName": "Table", "PointInTimeRecoverySpecification": recovery});
        database.ok(Operation::UpdateContinuousBackups, recovery).await;
        database.ok(Operation::PutItem, json!({"TableName": "Table", "Item": {"p": {"S": "a"}}})).await;
        database
    }

    async fn call(&self, operation: Operation, input: Value) -> Result<Value, api::Error> {
        let request = Request::decode(operation, input.to_string().as_bytes()).unwrap();
        let response = self.engine.call(&Caller::new("123456789012", "us-east-1"), request).await?;
        let mut json = Vec::new();
        response.write_json(&mut json);
        Ok(serde_json::from_slice(&json).unwrap())
    }

    async fn ok(&self, operation: Operation, input: Value) -> Value {
        self.call(operation, input).await.unwrap()
    }

    fn table(&self) -> Arc<LiveTable> {
        let namespace = crate::Namespace::new("123456789012", "us-east-1");
        self.engine.catalog.find(&namespace, "Table").unwrap()
    }

    /// All holds of the table are given up when a copy begins to read it.
    fn give_up_when_read(&self) {
        let (regions, table) = (self.engine.regions.clone(), self.table());
        self.store.before_read_of(table.space(), move || {
            Box::pin(async move {
                let table = regions.catalog.successor(&table).unwrap();
                assert_eq!(table.copies.len(), 1, "the copy has its hold");
                release(&regions.copies, &table, &table.copies[0].target).await.unwrap();
            })
        });
    }

    /// Looks until something is there. The clock is paused, so the looks take no time.
    async fn until<T>(&self, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        for _ in 0..1000 {
            if let Some(found) = look().await {
                return found;
            }
            self.engine.environment.sleep(Duration::from_millis(100)).await;
        }
        panic!("it never happens");
    }

    /// A backup that has its hold, and no record yet.
    async fn new_backup(&self, kind: BackupKind) -> Backup {
        let (table, created_ms) = (self.table(), self.engine.environment.now_ms());
        let arn = format!("{}/backup/{}", table.arn(), transfer::id::operation_id(created_ms, 7));
        let time_us = self.engine.hold_log(&table, &arn).await.unwrap().unwrap();
        let (table, name) = (table.table.clone(), "Backup".to_owned());
        let (item_count, size_bytes, manifest, is_available) = (0, 0, None, false);
        Backup { arn, name, kind, table, time_us, created_ms, item_count, size_bytes, manifest, is_available }
    }

    /// Gives up the hold of a backup, whose record is stored right after the look for it.
    async fn give_up_while_it_begins(&self, backup: &Backup) {
        let (regions, table, recorded) = (self.engine.regions.clone(), self.table(), backup.clone());
        self.store.before_read_of(space::RECORDS, move || {
            Box::pin(async move { regions.put_held(&table, &recorded).await.unwrap() })
        });
        let (copies, table, target) = (self.engine.copies.clone(), self.table(), backup.arn.clone());
        GiveUpHold { copies, table, target }.run().await.unwrap();
        assert!(self.store.next.lock().is_none(), "it was recorded");
        assert!(!self.engine.is_held(&self.table(), &backup.arn).await.unwrap());
    }

    async fn described(&self, backup: &Backup) -> Result<Value, api::Error> {
        self.call(Operation::DescribeBackup, json!({"BackupArn": backup.arn})).await
    }
}

#[tokio::test]
async fn a_backup_whose_hold_is_given_up_while_it_begins_fails_with_the_reason() {
    let database = Database::new().await;
    let backup = database.new_backup(BackupKind::User).await;
    database.give_up_while_it_begins(&backup).await;
    BackUp { copies: database.engine.copies.clone(), backup: backup.clone() }.run().await.unwrap();
    let failure = database.described(&backup).await.unwrap_err();
    assert_eq!(failure.kind, api::ErrorKind::BackupNotFound);
    assert!(failure.message.ends_with(&format!("The backup could not be made: {NOT_HELD}")), "{failure:?}");
}

#[tokio::test]
async fn the_last_backup_of_a_deleted_table_begins_again() {
    let database = Database::new().await;
    let table = database.table();
    let deleting = |table: &Table, _: Space| {
        let mut table = table.clone();
        table.state = TableState::Deleting;
        Ok::<_, ()>(table)
    };
    database.engine.catalog.replace(&table.namespace, "Table", deleting).await.unwrap();
    let backup = database.new_backup(BackupKind::System).await;
    database.give_up_while_it_begins(&backup).await;
    assert_eq!(database.table().state, TableState::Deleting, "it waits for its last copy");

    let job = BackUp { copies: database.engine.copies.clone(), backup: backup.clone() };
    let error = job.run().await.unwrap_err();
    assert!(error.is_transient(), "it is tried again: {error:?}");
    job.run().await.unwrap();
    let described = database.described(&backup).await.unwrap();
    let details = &described["BackupDescription"]["BackupDetails"];
    assert_eq!((&details["BackupStatus"], &details["BackupSizeBytes"]), (&json!("AVAILABLE"), &json!(2)));
    assert!(database.engine.catalog.find(&table.namespace, "Table").is_none(), "the table is gone");
}

#[tokio::test(start_paused = true)]
async fn a_backup_whose_hold_is_given_up_while_it_is_copied_fails_with_the_reason() {
    let database = Database::new().await;
    database.give_up_when_read();
    let begun =
        database.ok(Operation::CreateBackup, json!({"TableName": "Table", "BackupName": "first"})).await;
    let arn = &begun["BackupDetails"]["BackupArn"];
    let failure = database
        .until(async || match database.call(Operation::DescribeBackup, json!({"BackupArn": arn})).await {
            Ok(described) => {
                let status = &described["BackupDescription"]["BackupDetails"]["BackupStatus"];
                assert_eq!(status, "CREATING", "its log was not kept");
                None
            }
            Err(failure) => Some(failure),
        })
        .await;
    assert!(failure.message.ends_with(NOT_HELD), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn an_export_whose_hold_is_given_up_fails_with_the_reason() {
    let database = Database::new().await;
    database.give_up_when_read();
    let input = json!({"TableArn": database.table().arn(), "S3Bucket": "bucket"});
    let begun = database.ok(Operation::ExportTableToPointInTime, input).await;
    let arn = &begun["ExportDescription"]["ExportArn"];
    let ended = database
        .until(async || {
            let export = database.ok(Operation::DescribeExport, json!({"ExportArn": arn})).await;
            let description = export["ExportDescription"].clone();
            (description["ExportStatus"] != "IN_PROGRESS").then_some(description)
        })
        .await;
    assert_eq!((&ended["ExportStatus"], &ended["FailureMessage"]), (&json!("FAILED"), &json!(NOT_HELD)));
}

#[tokio::test(start_paused = true)]
async fn a_restore_whose_hold_is_given_up_fails_with_the_reason() {
    let database = Database::new().await;
    database.give_up_when_read();
    let input = json!({
        "SourceTableName": "Table", "TargetTableName": "Restored", "UseLatestRestorableTime": true,
    });
    database.ok(Operation::RestoreTableToPointInTime, input).await;
    let failure = database
        .until(async || {
            match database.call(Operation::DescribeTable, json!({"TableName": "Restored"})).await {
                Ok(described) => {
                    assert_eq!(
                        described["Table"]["TableStatus"], "CREATING",
                        "its source's log was not kept"
                    );
                    None
                }
                Err(failure) => Some(failure),
            }
        })
        .await;
    assert!(failure.message.ends_with(NOT_HELD), "{failure:?}");
}
