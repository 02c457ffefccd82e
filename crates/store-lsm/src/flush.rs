//! Memtable rotation and flush: a full memtable is sealed, and then written as a table of L0.
//!
//! A flush begins only when all commits of the memtable are durable in the log. So no table holds a
//! commit that the log lost, and the tables hold a prefix of all commits.
//!
//! Idle flush: a large store flushes its memtable when no client has written for a while, so that reads
//! skip it. A store that is hardly larger than its memtable keeps it, because a read is faster there
//! than in a table.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lsm_tree::{AbstractTree, InternalValue, Memtable, Table};

use crate::database::Database;
use crate::write_back::WriteBack;

/// An idle flush needs a memtable that is at least a quarter full. Otherwise a few writes now and then
/// would make many small tables, which compaction merges again and again.
const IDLE_FLUSH_PART: u64 = 4;
/// An idle flush needs tables that hold at least this many times the bytes of the memtable.
const IDLE_FLUSH_TABLES_TIMES: u64 = 4;
/// Rows between two looks at the new table's length.
const LOOK_ROWS: u32 = 256;

impl Database {
    pub(crate) fn memtable_is_full(&self) -> bool {
        self.active.read().size() >= self.tuning.memtable_bytes
    }

    pub(crate) fn is_worth_an_idle_flush(&self) -> bool {
        let bytes = self.active.read().size();
        bytes >= self.tuning.memtable_bytes / IDLE_FLUSH_PART
            && self.tree.disk_space() >= IDLE_FLUSH_TABLES_TIMES * bytes
    }

    /// Seals the memtable. The write lock waits for commits that are in the log and not yet in the
    /// memtable, so no commit is split over two memtables.
    pub(crate) fn rotate(&self) {
        let mut active = self.active.write();
        if let Some(sealed) = self.tree.rotate_memtable() {
            *active = self.tree.active_memtable();
            assert!(active.is_empty(), "the new memtable has no commit yet");
            let mut waiting = self.sealed.lock();
            debug_assert!(follows(waiting.back(), &sealed), "memtables are sealed in the order of commits");
            waiting.push_back(sealed);
            self.sealed_count.fetch_add(1, Ordering::Release);
        }
    }

    /// Writes the oldest sealed memtable as a table. False if there is none, or the log has failed.
    pub(crate) fn flush_oldest(&self) -> Result<bool, lsm_tree::Error> {
        let Some(memtable) = self.sealed.lock().front().cloned() else { return Ok(false) };
        if !self.wal.wait_durable() {
            return Ok(false);
        }
        let highest = memtable.get_highest_seqno().unwrap_or(0);
        assert!(self.wal.is_durable(highest), "a table would hold commit {highest}, which the log may lose");
        self.settle_version()?;
        let first_new = self.tree.next_table_id();
        let flushed = self.write_tables(&memtable).and_then(|tables| {
            self.hold_version();
            self.tree.register_tables(&tables, None, None, &[memtable.id()], self.snapshots.oldest())
        });
        if let Err(error) = flushed {
            self.give_up_tables(first_new);
            return Err(error);
        }
        let oldest = self.sealed.lock().pop_front();
        assert!(oldest.is_some_and(|oldest| oldest.id() == memtable.id()), "the oldest memtable was flushed");
        let count = self.sealed_count.fetch_sub(1, Ordering::Release);
        debug_assert!(count > 0, "each sealed memtable is counted");
        let before = self.flushed.fetch_max(highest + 1, Ordering::AcqRel);
        assert!(before <= highest, "tables had commit {highest} already, they have all below {before}");
        Ok(true)
    }

    fn write_tables(&self, memtable: &Memtable) -> Result<Vec<Table>, lsm_tree::Error> {
        let mut write_back = WriteBack::new(&self.paths.tree);
        let mut rows = 0;
        let stream = newest(memtable.iter()).map(|row| {
            rows += 1;
            if rows % LOOK_ROWS == 0 {
                write_back.begin(&self.tree);
            }
            Ok(row)
        });
        Ok(self.tree.flush_to_tables(stream)?.map(|(tables, _)| tables).unwrap_or_default())
    }
}

/// Whether all commits of `next` come after those of `last`.
fn follows(last: Option<&Arc<Memtable>>, next: &Memtable) -> bool {
    last.is_none_or(|last| last.get_highest_seqno() < next.get_highest_seqno())
}

/// The newest version of each row. A reader at an older moment reads the memtable itself: the new
/// table belongs to a version of the tree that is newer than all commits in the table.
fn newest(rows: impl Iterator<Item = InternalValue>) -> impl Iterator<Item = InternalValue> {
    let mut last = None;
    rows.filter(move |row| {
        let is_newest = last.as_ref() != Some(&row.key.user_key);
        if is_newest {
            last = Some(row.key.user_key.clone());
        }
        is_newest
    })
}
