//! The store without its threads, for simulations: the caller decides who does the next piece of work,
//! so that a run can be repeated from its seed.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use lsm_tree::AbstractTree;
use store::{Decide, Key, Log, LogPosition, StoreError};
use tokio::sync::oneshot;

use crate::database::Database;
use crate::error::read_failure;
use crate::folder::Folder;
use crate::vfs::FileSystem;
use crate::wal::writer::Writer;
use crate::{OpenError, Options, Refusal};

pub struct Stepped {
    database: Arc<Database>,
    writer: Writer,
    _folder: Folder,
}

/// A commit that was taken: answered when it is durable, or never.
pub struct Pending(oneshot::Receiver<()>);

impl Pending {
    /// Whether the commit was acknowledged, if that is known.
    pub fn outcome(&mut self) -> Option<bool> {
        match self.0.try_recv() {
            Ok(()) => Some(true),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(false),
        }
    }
}

impl Stepped {
    pub fn open(fs: Arc<dyn FileSystem>, path: &Path, options: &Options) -> Result<Stepped, OpenError> {
        let folder = Folder::take(path)?;
        let (database, writer) = Database::open(fs, path, options)?;
        Ok(Stepped { database, writer, _folder: folder })
    }

    pub(crate) fn database(&self) -> Arc<Database> {
        Arc::clone(&self.database)
    }

    /// Commits without waiting. Nothing when there is no room just now, or nothing to commit.
    pub fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<Option<Pending>, StoreError> {
        if self.database.lags(0) {
            return Ok(None);
        }
        match self.database.commit(keys, decide) {
            Ok(pending) => Ok(pending.map(Pending)),
            Err(Refusal::Lagging { .. }) => Ok(None),
            Err(Refusal::Error(error)) => Err(error),
        }
    }

    /// One piece of the log thread's work. False when there is none.
    pub fn step_log(&mut self) -> bool {
        self.database.wal.step(&mut self.writer, false)
    }

    /// All of the log thread's work, and then the maintenance thread's.
    pub fn maintain(&mut self) {
        self.database.wal.sync_soon();
        while self.step_log() {}
        if self.database.wal.failure().is_none() {
            self.database.maintain();
        }
    }

    /// Seals the memtable, however small it is.
    pub fn rotate(&self) {
        self.database.rotate();
    }

    /// Makes a table of the oldest sealed memtable. The manifest does not follow yet.
    pub fn flush(&mut self) {
        self.database.wal.sync_soon();
        while self.step_log() {}
        // A failure is tried again by the next maintenance.
        let _ = self.database.flush_oldest();
    }

    /// What the log's thread does when no client writes any more, and when the store is closed.
    pub fn rest(&mut self) {
        while self.step_log() {}
        let _ = self.writer.rest();
    }

    pub fn checkpoint(&mut self, target: &Path) -> std::io::Result<()> {
        self.database.wal.sync_soon();
        while self.step_log() {}
        self.database.checkpoint(target)
    }

    /// A row, as a reader sees it now.
    pub fn value(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        let database = &self.database;
        let row = database.tree.get(crate::layout::row_key(key), database.snapshots.visible());
        Ok(row.map_err(read_failure)?.map(Bytes::from))
    }

    /// A row as the next commit will see it, durable or not.
    pub fn newest(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        let row = self.database.tree.get(crate::layout::row_key(key), lsm_tree::SeqNo::MAX);
        Ok(row.map_err(read_failure)?.map(Bytes::from))
    }

    /// The records of a change log, as a reader sees them now.
    pub fn records(&self, log: Log, after: LogPosition) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.database.view().records(log, after, usize::MAX)
    }

    /// How many tables there are, and the number of the newest.
    pub fn tables(&self) -> (usize, u64) {
        (self.database.tree.table_count(), self.database.tree.current_version().id())
    }

    pub fn is_poisoned(&self) -> bool {
        self.database.wal.failure().is_some()
    }

    pub fn is_full(&self) -> bool {
        self.database.stall().is_some_and(|stall| stall.is_full)
    }
}
