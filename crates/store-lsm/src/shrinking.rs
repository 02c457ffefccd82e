//! Shrinking: a store at rest gives back the space of deleted rows.
//!
//! A deletion is a row of its own, until compaction has brought it down to the row that it deletes. Later writes cause
//! that in the end. Without them, a dropped table would keep its space. So when no client writes, the memtable with the
//! deletions of a cleared space is flushed; and when many rows of the tables are deletions, all tables are merged once.
//!
//! Of what was written since an older reader began, a merge keeps everything: deleted rows and their deletions. The tables
//! are merged again when that reader is gone, or when the tree has changed, and not before: nothing would be gained.

use std::sync::atomic::Ordering;
use std::time::Duration;

use lsm_tree::AbstractTree;
use rustix::fs::statvfs;

use crate::database::Database;

/// All tables are merged if at least one row of this many is a deletion. So at most this many times as much is written
/// as was deleted.
const ROWS_PER_DELETION: u64 = 10;

/// How the last shrinking left the tree.
#[derive(Debug, Default)]
pub(crate) struct Shrunk {
    version: u64,
    /// Rows that were deleted before this moment are kept until no reader is older.
    kept_before: Option<u64>,
}

impl Database {
    /// Gives back the space of deleted rows, if a store at rest has many. Returns the pause until the next look.
    pub(crate) fn shrink(&self) -> Duration {
        if !self.is_worth_shrinking() {
            return self.tuning.quiet_time;
        }
        let flushed = self.flushed.load(Ordering::Acquire);
        let visible = self.snapshots.visible();
        let is_read = self.snapshots.oldest() < visible;
        let merged = self.compact_all();
        // A flush in between may have brought deletions that were not merged.
        if self.flushed.load(Ordering::Acquire) == flushed {
            // Also after a failure: a merge of all tables is not tried again and again.
            let kept_before = (merged.is_ok() && is_read).then_some(visible);
            *self.shrunk.lock() = Shrunk { version: self.tree.current_version().id(), kept_before };
        }
        self.after_compaction(merged)
    }

    fn is_worth_shrinking(&self) -> bool {
        let version = self.tree.current_version();
        let count = |count: fn(&lsm_tree::Table) -> u64| version.iter_tables().map(count).sum::<u64>();
        let deletions = count(lsm_tree::Table::tombstone_count);
        let rows = count(|table| table.metadata.item_count);
        if deletions == 0 || deletions.saturating_mul(ROWS_PER_DELETION) < rows {
            return false;
        }
        self.may_gain(version.id()) && self.has_room_for_a_copy()
    }

    /// Whether this version is not the one that the last shrinking left, or the readers from then are gone.
    fn may_gain(&self, version: u64) -> bool {
        let shrunk = self.shrunk.lock();
        let are_readers_gone = |kept_before| self.snapshots.oldest() >= kept_before;
        shrunk.version != version || shrunk.kept_before.is_some_and(are_readers_gone)
    }

    /// Whether the disk has room for the old tables beside the new ones.
    fn has_room_for_a_copy(&self) -> bool {
        let free = statvfs(&self.paths.tree).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        free.is_ok_and(|free| free > 2 * self.tree.disk_space())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use store::{Key, Partition, Position, Space, WriteSet};

    use super::*;
    use crate::Options;
    use crate::vfs::Disk;
    use crate::wal::writer::Writer;

    const ROWS: u32 = 100;

    fn key(row: u32) -> Key {
        let position = Position { partition: Partition::FIRST, sort: row.to_be_bytes().to_vec() };
        Key { space: Space(1), position }
    }

    /// Commits, and writes the memtable out.
    fn write(database: &Arc<Database>, writer: &mut Writer, writes: impl Fn() -> WriteSet + Send + Sync) {
        let committed = database.commit(&[], &mut |_: &[Option<Bytes>]| writes());
        assert!(committed.is_ok());
        database.wal.sync_soon();
        while database.wal.step(writer, false) {}
        database.rotate();
        database.maintain();
    }

    fn fill(database: &Arc<Database>, writer: &mut Writer) {
        let puts = || (0..ROWS).map(|row| (key(row), Bytes::from_static(b"a row"))).collect();
        write(database, writer, || WriteSet { puts: puts(), ..WriteSet::default() });
    }

    fn clear(database: &Arc<Database>, writer: &mut Writer) {
        let deletes = || (0..ROWS).map(key).collect();
        write(database, writer, || WriteSet { deletes: deletes(), ..WriteSet::default() });
    }

    fn version(database: &Database) -> u64 {
        database.tree.current_version().id()
    }

    fn rows_in_tables(database: &Database) -> u64 {
        database.tree.current_version().iter_tables().map(|table| table.metadata.item_count).sum()
    }

    #[test]
    fn deletions_that_a_reader_keeps_are_merged_once_and_again_when_it_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, mut writer) =
            Database::open(Arc::new(Disk), folder.path(), &Options::default()).expect("it opens");
        let reader = database.view();
        fill(&database, &mut writer);
        clear(&database, &mut writer);

        let before = version(&database);
        database.shrink();
        let shrunk = version(&database);
        assert!(shrunk > before, "all tables were merged");
        assert_eq!(rows_in_tables(&database), 2 * u64::from(ROWS), "rows and deletions are kept");
        for _ in 0..3 {
            database.shrink();
            assert_eq!(version(&database), shrunk, "a store at rest is not written again");
        }

        drop(reader);
        database.shrink();
        assert_eq!(rows_in_tables(&database), 0, "nothing of the rows is left");
        let last = version(&database);
        database.shrink();
        assert_eq!(version(&database), last);
    }
}
