//! Shrinking: a store at rest gives back the space of deleted rows.
//!
//! A deletion is a row of its own, until compaction has brought it down to the row that it deletes. Later writes cause
//! that in the end. Without them, a dropped table would keep its space. So when no client writes, the memtable with the
//! deletions of a cleared space is flushed; and when many rows of the tables are deletions, all tables are merged once.

use std::sync::atomic::Ordering;

use lsm_tree::AbstractTree;
use rustix::fs::statvfs;

use crate::database::Database;

/// All tables are merged if at least one row of this many is a deletion. So at most this many times as much is written
/// as was deleted.
const ROWS_PER_DELETION: u64 = 10;

impl Database {
    pub(crate) fn is_worth_shrinking(&self) -> bool {
        let version = self.tree.current_version();
        let count = |count: fn(&lsm_tree::Table) -> u64| version.iter_tables().map(count).sum::<u64>();
        let deletions = count(lsm_tree::Table::tombstone_count);
        let rows = count(|table| table.metadata.item_count);
        if deletions == 0 || deletions.saturating_mul(ROWS_PER_DELETION) < rows {
            return false;
        }
        // A reader that still sees the deleted rows keeps them: then there is nothing to gain before the next change.
        let is_new = self.shrunk.swap(version.id(), Ordering::Relaxed) != version.id();
        is_new && self.has_room_for_a_copy()
    }

    /// Whether the disk has room for the old tables beside the new ones.
    fn has_room_for_a_copy(&self) -> bool {
        let free = statvfs(&self.paths.tree).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        free.is_ok_and(|free| free > 2 * self.tree.disk_space())
    }
}
