//! Compaction: tables of L0 are merged into the levels below until nothing is left to merge.
//!
//! lsm-tree calls a filter for each row that it merges. Ours keeps all rows. It uses the call:
//! - to flush a memtable that has become full during the compaction, on the same thread, so that
//!   writers do not wait for the end of the compaction;
//! - to sleep for as long as it has worked, if clients write and compaction does not lag behind;
//! - to stop the compaction when the store is being closed.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use lsm_tree::compaction::filter::{CompactionFilter, Context, Factory, ItemAccessor, Verdict};
use lsm_tree::{AbstractTree, SeqNo};

use crate::database::Database;
use crate::tree;
use crate::write_back::WriteBack;

/// Rows between two looks at the clock, some tenths of a millisecond.
const LOOK_ROWS: u32 = 64;
/// Compaction does not sleep while L0 has this many tables or more.
const HURRY_TABLES: usize = 8;

impl Database {
    /// Merges once. False when there was nothing to merge.
    pub(crate) fn compact_once(&self) -> Result<bool, lsm_tree::Error> {
        let table_bytes = self.tuning.table_bytes;
        self.compact(|oldest| self.tree.compact(tree::strategy(table_bytes), oldest))
    }

    /// Merges all tables, so that nothing of deleted rows is left.
    pub(crate) fn compact_all(&self) -> Result<bool, lsm_tree::Error> {
        self.compact(|oldest| self.tree.major_compact(self.tuning.table_bytes, oldest))
    }

    /// A compaction, which is given the oldest moment that a reader sees.
    fn compact(
        &self,
        compaction: impl FnOnce(SeqNo) -> Result<(), lsm_tree::Error>,
    ) -> Result<bool, lsm_tree::Error> {
        self.settle_version()?;
        let first_new = self.tree.next_table_id();
        let before = self.tree.current_version().id();
        if let Err(error) = compaction(self.snapshots.oldest()) {
            self.give_up_tables(first_new);
            return Err(error);
        }
        Ok(self.tree.current_version().id() != before)
    }
}

/// Makes the filters. The tree is part of the database, so this knows it only by a weak reference.
#[derive(Clone, Default)]
pub(crate) struct Interruptions(pub(crate) Arc<OnceLock<AssertUnwindSafe<Weak<Database>>>>);

impl Factory for Interruptions {
    fn name(&self) -> &str {
        "interruptions"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        let database = self.0.get().and_then(|database| database.upgrade());
        let write_back = database.as_ref().map(|database| WriteBack::new(&database.paths.tree));
        Box::new(Merge { database, write_back, rows: 0, rested: Instant::now() })
    }
}

/// A compaction under way.
struct Merge {
    database: Option<Arc<Database>>,
    write_back: Option<WriteBack>,
    /// Since the last look at the clock.
    rows: u32,
    rested: Instant,
}

impl Merge {
    fn look(&mut self) -> Result<(), lsm_tree::Error> {
        let (Some(database), Some(write_back)) = (&self.database, &mut self.write_back) else {
            return Ok(());
        };
        if database.is_stopping() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store is being closed").into());
        }
        let worked = self.rested.elapsed();
        let work_time = database.tuning.work_time;
        if worked < work_time {
            return Ok(());
        }
        write_back.begin(&database.tree);
        database.urgent_work();
        if database.manifest_is_behind() {
            return Err(io::Error::other("the manifest could not follow a flush").into());
        }
        if database.written.swap(false, Ordering::Relaxed) && database.l0_tables() < HURRY_TABLES {
            std::thread::sleep(worked.min(10 * work_time));
        }
        self.rested = Instant::now();
        Ok(())
    }
}

impl CompactionFilter for Merge {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> lsm_tree::Result<Verdict> {
        self.rows += 1;
        if self.rows >= LOOK_ROWS {
            self.rows = 0;
            self.look()?;
        }
        Ok(Verdict::Keep)
    }

    /// Called right before the merged tables replace the old ones.
    fn finish(self: Box<Self>) {
        if let Some(database) = &self.database {
            database.hold_version();
        }
    }
}
