//! Restoring a table: a job that copies an earlier state into a new table, which is CREATING until then.
//!
//! The new table appears whole or not at all. If the process ends before, the copy goes on when the database is next
//! opened. The source keeps its log for as long as the copy needs it.

use std::sync::Arc;

use item::Item;
use store::{Key, Position, Space, StoreError, WriteSet};
use transfer::{Export, ExportError};

use crate::Namespace;
use crate::background::{Job, Starter};
use crate::base::origin::Origin;
use crate::base::space;
use crate::base::table::{Restore, Table, TableState};
use crate::base::walk;
use crate::commit::{self, Change, Failure, Plan, WriteError};
use crate::copies::Copies;
use crate::copies::backup::Backup;
use crate::copies::past::Past;
use crate::copies::{failures, holds, places, records};
use crate::tables::catalog::LiveTable;

/// Items that one commit writes: few, so that it is never too large for a store.
const COMMIT_ITEMS: usize = 25;

/// Copies an earlier state of a table into a table that is CREATING.
pub struct RestoreTable {
    copies: Arc<Copies>,
    target: Arc<LiveTable>,
    restore: Restore,
}

impl RestoreTable {
    /// The restore of a table; none if it is not being restored from another table.
    pub fn of(copies: Arc<Copies>, target: Arc<LiveTable>) -> Option<RestoreTable> {
        let restore = target.restore.clone().filter(|restore| restore.source_backup_arn.is_none())?;
        Some(RestoreTable { copies, target, restore })
    }
}

impl Job for RestoreTable {
    fn name(&self) -> &'static str {
        "restore of a table"
    }

    fn subject(&self) -> String {
        self.target.full_name()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Some(target) =
            self.copies.catalog.successor(&self.target).filter(|table| table.restore.is_some())
        else {
            return Ok(());
        };
        let Some(source) = self.source() else {
            return self.fail(&format!("{} is gone", self.restore.source_table_arn)).await;
        };
        if !source.is_held_for(&target.arn()) {
            return self.fail("the restore took too long to begin").await;
        }
        let overlay = self.copies.catalog.scratch_space().await?;
        let copied = self.copy(&source, &target, overlay).await;
        let cleared = self.copies.catalog.clear(overlay).await;
        copied.and(cleared)?;
        if !self.copies.is_held(&source, &target.arn()).await? {
            return self.fail(holds::NOT_HELD).await;
        }
        finish(&self.copies, &target).await?;
        holds::release(&self.copies, &source, &target.arn()).await?;
        walk::forget_progress(&*self.copies.store, &space::progress_key(target.space())).await
    }

    async fn gave_up(&self, reason: &StoreError) -> Result<(), StoreError> {
        self.fail(&reason.to_string()).await
    }
}

impl RestoreTable {
    /// Drops the new table, and lets the source forget its log.
    async fn fail(&self, reason: &str) -> Result<(), StoreError> {
        fail(&self.copies, &self.target, reason).await?;
        walk::forget_progress(&*self.copies.store, &space::progress_key(self.target.space())).await?;
        match self.source() {
            Some(source) => holds::release(&self.copies, &source, &self.target.arn()).await,
            None => Ok(()),
        }
    }

    /// Puts the items of the source as they were. It goes on from where an earlier run was.
    async fn copy(
        &self,
        source: &Arc<LiveTable>,
        target: &Arc<LiveTable>,
        overlay: Space,
    ) -> Result<(), StoreError> {
        let progress = space::progress_key(target.space());
        let position = walk::read_progress(&*self.copies.store, &progress).await?;
        let mut past =
            Past::new(self.copies.clone(), source.clone(), self.restore.time_us, overlay, position);
        while let Some(items) = past.next().await? {
            self.put(target, &items).await?;
            if let Some((position, _)) = items.last() {
                self.keep_progress(&progress, position).await?;
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn source(&self) -> Option<Arc<LiveTable>> {
        let Namespace { account, region } = &self.target.namespace;
        let prefix = format!("arn:aws:dynamodb:{region}:{account}:table/");
        let name = self.restore.source_table_arn.strip_prefix(&prefix)?;
        self.copies.catalog.find(&self.target.namespace, name)
    }

    async fn put(&self, target: &Arc<LiveTable>, items: &[(Position, Item)]) -> Result<(), StoreError> {
        for items in items.chunks(COMMIT_ITEMS) {
            let items = items.iter().map(|(_, item)| item.clone());
            put_all(&self.copies, target, Origin::Restore, items).await?;
        }
        Ok(())
    }

    async fn keep_progress(&self, key: &Key, position: &Position) -> Result<(), StoreError> {
        let row = walk::encode_progress(position);
        let mut put = |_: &[_]| WriteSet { puts: vec![(key.clone(), row.clone())], ..WriteSet::default() };
        self.copies.store.update(std::slice::from_ref(key), &mut put).await
    }
}

/// Copies the items of a backup into a table that is CREATING.
pub struct RestoreBackup {
    copies: Arc<Copies>,
    target: Arc<LiveTable>,
    backup_arn: String,
}

impl Job for RestoreBackup {
    fn name(&self) -> &'static str {
        "restore of a backup"
    }

    fn subject(&self) -> String {
        self.target.full_name()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Some(target) =
            self.copies.catalog.successor(&self.target).filter(|table| table.restore.is_some())
        else {
            return Ok(());
        };
        let backup = records::get::<Backup>(&*self.copies.store, &target.namespace, &self.backup_arn).await?;
        let Some(manifest) = backup.and_then(|backup| backup.manifest) else {
            return fail(&self.copies, &self.target, &format!("{} is gone", self.backup_arn)).await;
        };
        let bucket = self.copies.backups_place().map_err(places::unavailable)?;
        let export = Export::open(bucket, &manifest).await.map_err(damaged)?;
        // Nothing is written before all files are known to be whole.
        export.verify().await.map_err(damaged)?;
        let mut items = export.items();
        let mut batch = Vec::with_capacity(COMMIT_ITEMS);
        while let Some(item) = items.next().await.map_err(damaged)? {
            batch.push(item);
            if batch.len() == COMMIT_ITEMS {
                put_all(&self.copies, &target, Origin::Restore, batch.drain(..)).await?;
            }
        }
        put_all(&self.copies, &target, Origin::Restore, batch.drain(..)).await?;
        finish(&self.copies, &target).await
    }

    async fn gave_up(&self, reason: &StoreError) -> Result<(), StoreError> {
        fail(&self.copies, &self.target, &reason.to_string()).await
    }
}

/// A place that can't be reached may be reachable later; files that are not whole stay so.
fn damaged(error: ExportError) -> StoreError {
    match error {
        ExportError::Place(error) => places::unavailable(error),
        error => StoreError::Corrupt(error.to_string()),
    }
}

impl Copies {
    /// Copies the items of a table that is being restored, in the background.
    pub(crate) fn start_restore(self: &Arc<Copies>, target: &Arc<LiveTable>, starter: &mut impl Starter) {
        let backup_arn = target.restore.as_ref().and_then(|restore| restore.source_backup_arn.clone());
        let (copies, target) = (self.clone(), target.clone());
        match backup_arn {
            Some(backup_arn) => starter.start(RestoreBackup { copies, target, backup_arn }),
            None => drop(RestoreTable::of(copies, target).map(|restore| starter.start(restore))),
        }
    }
}

/// Writes items to a table that clients can't write to yet.
pub async fn put_all(
    copies: &Copies,
    table: &Arc<LiveTable>,
    origin: Origin,
    items: impl Iterator<Item = Item>,
) -> Result<(), StoreError> {
    let plan = |item: Item| {
        let key = Key { space: table.space(), position: table.keys.position(item.as_ref()) };
        Plan { origin, ..Plan::of_client(table.clone(), key, Change::Put(item)) }
    };
    let mut plans: Vec<Plan> = items.map(plan).collect();
    let gone = || StoreError::Unavailable(format!("{} was deleted in the meantime", table.full_name()));
    let failure = |failure: Failure| match failure {
        Failure::TableGone => gone(),
        Failure::Store(error) => error,
    };
    for result in commit::apply_each(copies, None, &mut plans).await.map_err(failure)? {
        match result {
            Ok(_) => {}
            Err(WriteError::Failed(failed)) => return Err(failure(failed)),
            Err(WriteError::Refused(refusal)) => {
                let text = format!("{}: an item can't be written: {refusal:?}", table.full_name());
                return Err(StoreError::Corrupt(text));
            }
        }
    }
    Ok(())
}

/// Makes a table that was restored or imported ACTIVE.
pub async fn finish(copies: &Copies, target: &LiveTable) -> Result<(), StoreError> {
    let id = target.id.clone();
    let active = move |table: &Table, _| {
        let mut table = table.clone();
        if table.id != id {
            return Err(());
        }
        (table.state, table.restore, table.import) = (TableState::Active, None, None);
        Ok(table)
    };
    copies.catalog.replace(&target.namespace, &target.name, active).await?;
    Ok(())
}

/// Drops a table that can't be restored. Clients that ask for it get the reason.
async fn fail(copies: &Copies, target: &LiveTable, reason: &str) -> Result<(), StoreError> {
    let reason = format!("Its restore failed: {reason}");
    failures::keep(copies, &target.namespace, &target.arn(), &reason).await?;
    abandon(copies, target).await
}

/// Drops a table that was to be filled, unless it is complete.
pub async fn abandon(copies: &Copies, target: &LiveTable) -> Result<(), StoreError> {
    let id = target.id.clone();
    let deleting = move |table: &Table, _| {
        let mut table = table.clone();
        if table.id != id || (table.restore.is_none() && table.import.is_none()) {
            return Err(());
        }
        (table.state, table.restore, table.import) = (TableState::Deleting, None, None);
        Ok(table)
    };
    match copies.catalog.replace(&target.namespace, &target.name, deleting).await? {
        Some(Ok(table)) => copies.state_change(&table).finish().await,
        _ => Ok(()),
    }
}
