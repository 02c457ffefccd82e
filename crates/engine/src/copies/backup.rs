//! Backups: the items of a table at a moment, as files with checksums outside of the store.
//!
//! A backup is an export in DynamoDB's own format, in the place for backups, together with a record of the
//! table's definition. A job makes it while writes go on. A table with point-in-time recovery that is deleted
//! leaves a last backup; it is dropped when that is there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use store::{Space, StoreError};
use transfer::export::{self, Period};
use transfer::{ExportWriter, Format, Summary};

use crate::Namespace;
use crate::background::Job;
use crate::base::table::{Table, TableState};
use crate::copies::Copies;
use crate::copies::past::Past;
use crate::copies::records::{self, Record};
use crate::copies::{failures, holds, places};
use crate::tables::catalog::LiveTable;

/// How long the backup of a deleted table is kept.
pub const SYSTEM_LIFETIME_MS: u64 = 35 * 24 * 60 * 60 * 1000;

/// A backup and the table that it is of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Backup {
    pub arn: String,
    pub name: String,
    pub kind: BackupKind,
    /// The table as it was.
    pub table: Table,
    /// The moment of the backup.
    pub time_us: u64,
    pub created_ms: u64,
    pub item_count: i64,
    pub size_bytes: i64,
    /// The key of its manifest in the place for backups, once all of its files are there.
    pub manifest: Option<String>,
    /// The files are there, and the table's log is no longer kept for them.
    #[serde(default)]
    pub is_available: bool,
}

/// Who made a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackupKind {
    User,
    /// The last state of a table that was deleted.
    System,
}

impl Record for Backup {
    const KIND: &'static str = "backup";

    fn namespace(&self) -> &Namespace {
        &self.table.namespace
    }

    fn arn(&self) -> &str {
        &self.arn
    }
}

/// Makes the files of a backup.
pub struct BackUp {
    pub copies: Arc<Copies>,
    pub backup: Backup,
}

impl Job for BackUp {
    fn name(&self) -> &'static str {
        "backup of a table"
    }

    fn subject(&self) -> String {
        self.backup.arn.clone()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Backup { table, arn, .. } = &self.backup;
        let stored = records::get::<Backup>(&*self.copies.store, &table.namespace, arn).await?;
        let is_complete = stored.is_none_or(|backup| backup.manifest.is_some());
        let Some(source) = self.source() else {
            return if is_complete {
                self.make_available().await
            } else {
                self.fail("the table is gone").await
            };
        };
        if !is_complete {
            let overlay = self.copies.catalog.scratch_space().await?;
            let copied = self.copy(&source, overlay).await;
            // An expelled server leaves the files alone: they may be those of its successor. So does one that does not know
            // whether the backup is recorded: the next try finds out, and a recorded backup needs its files.
            let leaves_files =
                |error: &StoreError| matches!(error, StoreError::Fenced(_) | StoreError::Ambiguous(_));
            if copied.as_ref().is_err_and(|error| !leaves_files(error)) {
                remove_files(&self.copies, arn).await;
            }
            let cleared = self.copies.catalog.clear(overlay).await;
            let is_whole = copied.and_then(|is_whole| cleared.map(|()| is_whole))?;
            if !is_whole {
                return self.begin_again(&source).await;
            }
        }
        holds::release(&self.copies, &source, arn).await?;
        if source.state == TableState::Deleting {
            self.copies.state_change(&source).finish().await?;
        }
        self.make_available().await
    }

    /// The table of a last backup stays DELETING, so that nothing is lost: the next start tries again.
    async fn gave_up(&self, reason: &StoreError) -> Result<(), StoreError> {
        match self.backup.kind {
            BackupKind::User => self.fail(&reason.to_string()).await,
            BackupKind::System => Ok(()),
        }
    }
}

impl BackUp {
    /// The table that is backed up.
    fn source(&self) -> Option<Arc<LiveTable>> {
        let table = &self.backup.table;
        self.copies.catalog.find(&table.namespace, &table.name).filter(|found| found.id == table.id)
    }

    /// The table has not kept its log until the end of the copy. Nothing changes a table that is DELETING, so its last
    /// backup can be made from then on; any other has missed its moment.
    async fn begin_again(&self, source: &Arc<LiveTable>) -> Result<(), StoreError> {
        match self.backup.kind {
            BackupKind::User => self.fail(holds::NOT_HELD).await,
            BackupKind::System => {
                self.copies.hold_log_from(source, &self.backup.arn, self.backup.time_us).await?;
                Err(StoreError::Unavailable(holds::NOT_HELD.to_owned()))
            }
        }
    }

    /// The last step: a client that sees the backup AVAILABLE can delete the table, too.
    async fn make_available(&self) -> Result<(), StoreError> {
        let Backup { table, arn, .. } = &self.backup;
        let available = |backup: &mut Backup| backup.is_available = true;
        records::change(&*self.copies.store, &table.namespace, arn, available).await
    }

    /// Forgets the backup and its files. Clients that ask for it get the reason.
    async fn fail(&self, reason: &str) -> Result<(), StoreError> {
        let Backup { table, arn, .. } = &self.backup;
        let reason = format!("The backup could not be made: {reason}");
        failures::keep(&self.copies, &table.namespace, arn, &reason).await?;
        records::remove::<Backup>(&*self.copies.store, &table.namespace, arn).await?;
        remove_files(&self.copies, arn).await;
        let Some(source) = self.source() else { return Ok(()) };
        holds::release(&self.copies, &source, arn).await?;
        if source.state == TableState::Deleting {
            self.copies.state_change(&source).finish().await?;
        }
        Ok(())
    }

    /// Writes the files. The old images of items that change in the meantime are in `overlay`. False if the table has
    /// not kept its log: then some of them may be missing.
    async fn copy(&self, source: &Arc<LiveTable>, overlay: Space) -> Result<bool, StoreError> {
        let Backup { table, arn, time_us, created_ms, .. } = &self.backup;
        let bucket = self.copies.backups_place().map_err(places::unavailable)?;
        // What a run that was killed has left would only take room.
        remove_files(&self.copies, arn).await;
        let summary = Summary {
            export_arn: arn.clone(),
            table_arn: table.arn(),
            table_id: table.id.clone(),
            start_time_millis: *created_ms,
            end_time_millis: 0,
            period: Period::Full { time_millis: time_us / 1000 },
            s3_bucket: bucket.name().to_owned(),
            s3_prefix: None,
            s3_sse_algorithm: None,
            s3_sse_kms_key_id: None,
            billed_size_bytes: 0,
        };
        let mut writer = ExportWriter::begin(bucket, Format::DynamodbJson, summary, self.copies.file_names())
            .await
            .map_err(places::unavailable)?;
        let mut past = Past::new(self.copies.clone(), source.clone(), *time_us, overlay, None);
        let (mut item_count, mut size_bytes) = (0, 0);
        while let Some(items) = past.next().await? {
            for (_, item) in items {
                item_count += 1;
                size_bytes += item.size_bytes() as i64;
                writer.item(item.as_ref()).await.map_err(places::unavailable)?;
            }
        }
        if !self.copies.is_held(source, arn).await? {
            return Ok(false);
        }
        let now_ms = self.copies.environment.now_ms();
        let completed = writer.finish(now_ms, size_bytes as u64).await.map_err(places::unavailable)?;
        let finish = move |backup: &mut Backup| {
            (backup.item_count, backup.size_bytes) = (item_count, size_bytes);
            backup.manifest = Some(completed.manifest_key.clone());
        };
        records::change(&*self.copies.store, &table.namespace, arn, finish).await?;
        Ok(true)
    }
}

/// Removes the files of a backup. Those that can't be removed only take room, so that is no error.
pub async fn remove_files(copies: &Copies, arn: &str) {
    let removed = async { copies.backups_place()?.delete_all(&export::folder(None, arn)?).await };
    if let Err(error) = removed.await {
        tracing::warn!(%error, backup = arn, "files of a backup were not removed");
    }
}
