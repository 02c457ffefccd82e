//! Holds: while a table is copied, it keeps its log from the moment of the copy on.
//!
//! A hold is in the row of the table. It is made first, and then the record of the copy: a backup, an export, a table
//! that is being restored. If a request is cut off between the two, its hold is for nothing: the log would grow without
//! end, and the table could never be deleted. So a hold that has no copy at two looks is given up, and a record is
//! stored only while its hold is there.
//!
//! A record can be stored right between the second look and the end of its hold. The copy then runs while its log may be
//! trimmed. So a copy is complete only if its hold is still there when it has read everything.

use std::sync::Arc;

use bytes::Bytes;
use store::{Consistency, StoreError, WriteSet};

use crate::background::{Job, Starter};
use crate::base::space;
use crate::base::table::{Copying, Table, TableState};
use crate::copies::Copies;
use crate::copies::backup::Backup;
use crate::copies::export::ExportRecord;
use crate::copies::records::{self, Record};
use crate::tables::catalog::{self, LiveTable};

/// Why a copy failed whose hold was given up.
pub const NOT_HELD: &str =
    "the request took too long to begin, and the changes since its moment were not kept: try again";

impl Copies {
    /// Keeps the log of a table from now on for a copy, and returns the moment of the copy: every change after
    /// it is in the log. None if the table is gone.
    pub(crate) async fn hold_log(&self, table: &LiveTable, target: &str) -> Result<Option<u64>, StoreError> {
        let from_us = self.clock.now_us(&*self.environment);
        match self.hold_log_from(table, target, from_us).await? {
            Some(table) => self.cut(&table).await.map(Some),
            None => Ok(None),
        }
    }

    /// Keeps the log of a table from a time on for a copy. None if the table is gone.
    pub(crate) async fn hold_log_from(
        &self,
        table: &LiveTable,
        target: &str,
        from_us: u64,
    ) -> Result<Option<Arc<LiveTable>>, StoreError> {
        let (target, shards) = (target.to_owned(), self.stream_shards);
        let hold = move |table: &Table, unused, now_us| {
            let mut table = table.clone();
            table.copies.push(Copying { target: target.clone(), from_us });
            table.settle_log(shards, unused, now_us);
            Ok::<_, std::convert::Infallible>(table)
        };
        let held = self.change_between_writes(table, hold).await?;
        Ok(held.and_then(Result::ok))
    }

    /// Stores the record of a copy, if the table still keeps its log for it.
    pub(crate) async fn put_held<R: Record + Sync>(
        &self,
        table: &LiveTable,
        record: &R,
    ) -> Result<(), StoreError> {
        let keys = [records::key(record), space::table_key(&table.namespace, &table.name)];
        let mut is_held = Ok(false);
        let mut decide = |rows: &[Option<Bytes>]| {
            let stored = rows[1].as_deref().map(catalog::decode_table).transpose();
            is_held = stored.map(|stored| {
                stored.is_some_and(|stored| stored.id == table.id && stored.is_held_for(record.arn()))
            });
            let put = || vec![(keys[0].clone(), records::encode(record))];
            let puts = if matches!(is_held, Ok(true)) { put() } else { Vec::new() };
            WriteSet { puts, ..WriteSet::default() }
        };
        self.store.update(&keys, &mut decide).await?;
        match is_held? {
            true => Ok(()),
            false => Err(StoreError::Unavailable("the copy took too long to begin: try again".to_owned())),
        }
    }

    /// Whether the table still keeps its log for a copy. A hold that was given up is not taken again while the copy runs:
    /// if it is there at the end, the copy has read the whole log.
    pub(crate) async fn is_held(&self, table: &LiveTable, target: &str) -> Result<bool, StoreError> {
        let key = space::table_key(&table.namespace, &table.name);
        let rows = self.store.get(&[key], Consistency::Latest).await?;
        let stored = rows[0].as_deref().map(catalog::decode_table).transpose()?;
        Ok(stored.is_some_and(|stored| stored.id == table.id && stored.is_held_for(target)))
    }

    /// Gives up the holds of a table that no copy needs.
    pub(crate) async fn give_up_holds(
        self: &Arc<Copies>,
        table: &Arc<LiveTable>,
        starter: &mut impl Starter,
    ) -> Result<(), StoreError> {
        for Copying { target, .. } in &table.copies {
            if !self.is_hold_needed(table, target).await? {
                let (copies, table) = (self.clone(), table.clone());
                starter.start(GiveUpHold { copies, table, target: target.clone() });
            }
        }
        Ok(())
    }

    async fn is_hold_needed(&self, table: &LiveTable, target: &str) -> Result<bool, StoreError> {
        let (store, namespace) = (&*self.store, &table.namespace);
        if let Some(backup) = records::get::<Backup>(store, namespace, target).await? {
            return Ok(!backup.is_available);
        }
        if let Some(export) = records::get::<ExportRecord>(store, namespace, target).await? {
            return export.is_under_way();
        }
        let is_target = |table: &Arc<LiveTable>| table.restore.is_some() && table.arn() == target;
        Ok(self.catalog.all().iter().any(is_target))
    }
}

/// The source need not keep its log for this copy any more.
pub async fn release(copies: &Copies, source: &LiveTable, target: &str) -> Result<(), StoreError> {
    let (target, shards) = (target.to_owned(), copies.stream_shards);
    let released = move |table: &Table, unused, now_us| {
        let mut table = table.clone();
        table.copies.retain(|copy| copy.target != target);
        table.settle_log(shards, unused, now_us);
        Ok::<_, ()>(table)
    };
    copies.change_between_writes(source, released).await?;
    Ok(())
}

/// Gives up a hold that was left behind.
struct GiveUpHold {
    copies: Arc<Copies>,
    table: Arc<LiveTable>,
    target: String,
}

impl Job for GiveUpHold {
    fn name(&self) -> &'static str {
        "giving up a hold"
    }

    fn subject(&self) -> String {
        self.target.clone()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Some(table) = self.copies.catalog.successor(&self.table) else { return Ok(()) };
        if self.copies.is_hold_needed(&table, &self.target).await? {
            return Ok(());
        }
        tracing::warn!(table = table.full_name(), "the log was kept for {}, which is no copy", self.target);
        release(&self.copies, &table, &self.target).await?;
        // Its record may have been stored since the look; from now on it can't be. The copy finds that its hold is gone.
        if self.copies.is_hold_needed(&table, &self.target).await? {
            return Ok(());
        }
        // A table that is deleted waits for its last copy.
        match self.copies.catalog.successor(&table) {
            Some(table) if table.state == TableState::Deleting => {
                self.copies.state_change(&table).finish().await
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
