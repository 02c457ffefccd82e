//! Reclamation: memtables and tables that no version needs any more are freed by the maintenance thread.
//!
//! lsm-tree drops old versions while it holds the lock that every reader and writer needs. The thread
//! that drops the last reference to a memtable or a table frees fifty thousand rows, or deletes files of
//! 64 MiB. So the maintenance thread keeps a reference to each version that is about to be replaced. It
//! drops the reference outside the lock, some milliseconds after lsm-tree has dropped the version, so
//! that no reader which began just before has the last reference.
//!
//! While the manifest names an older version than the tree has, nothing is freed: an opening goes back
//! to the version that the manifest names.
//!
//! The files of a failed flush or compaction are removed before the next one begins.

use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::io;

use lsm_tree::AbstractTree;

use crate::database::Database;
use crate::tree;

#[derive(Default)]
pub(crate) struct Reclamation {
    /// Versions that lsm-tree may still have, by their number, oldest first.
    held: VecDeque<(u64, Box<dyn Any + Send>)>,
    /// Versions that lsm-tree has dropped. The next call drops them here.
    leaving: Vec<Box<dyn Any + Send>>,
    /// The tables of flushes and compactions that failed.
    unfinished: BTreeSet<u64>,
}

impl Database {
    /// Keeps a reference to the current version, which is about to be replaced.
    pub(crate) fn hold_version(&self) {
        let history = self.tree.get_version_history_lock();
        let latest = history.latest_version();
        drop(history);
        let number = self.tree.current_version().id();
        let held = &mut self.reclamation.lock().held;
        debug_assert!(held.back().is_none_or(|(last, _)| *last <= number), "versions are replaced in order");
        held.push_back((number, Box::new(latest)));
    }

    /// Drops the versions that the tree has dropped. True while there are versions left to drop.
    pub(crate) fn reclaim(&self) -> bool {
        drop(std::mem::take(&mut self.reclamation.lock().leaving));
        if self.reclamation.lock().held.is_empty() || self.manifest_is_behind() {
            return false;
        }
        let newest = self.tree.current_version().id();
        let mut history = self.tree.get_version_history_lock();
        if let Err(error) = history.maintenance(&self.paths.tree, self.snapshots.oldest()) {
            tracing::debug!("old versions are kept for now: {error}");
        }
        // The history has all versions up to the newest from some number on.
        let oldest = newest + 1 - (history.len() as u64).min(newest + 1);
        drop(history);
        let mut reclamation = self.reclamation.lock();
        while reclamation.held.front().is_some_and(|(number, _)| *number < oldest) {
            let (_, version) = reclamation.held.pop_front().expect("there is a version");
            reclamation.leaving.push(version);
        }
        !reclamation.leaving.is_empty() || !reclamation.held.is_empty()
    }

    /// Keeps the tables of replaced versions on disk when this process ends: a table that is dropped
    /// removes its file.
    pub(crate) fn keep_held_versions(&self) {
        std::mem::forget(std::mem::take(&mut self.reclamation.lock().held));
    }

    /// A flush or compaction has failed, which made tables from `first_new` on.
    pub(crate) fn give_up_tables(&self, first_new: u64) {
        self.reclamation.lock().unfinished.extend(first_new..self.tree.next_table_id());
        // After a failure, the next flush or compaction tries again before it begins.
        let _ = self.undo_unfinished();
    }

    /// Undoes a failed flush or compaction: resets `current` to the version that is in use, then removes
    /// the tables that this version does not have. lsm-tree may have failed after it had replaced
    /// `current`, and would write the file of that version again, in place.
    pub(crate) fn undo_unfinished(&self) -> io::Result<()> {
        if self.reclamation.lock().unfinished.is_empty() {
            return Ok(());
        }
        let version = self.tree.current_version();
        tree::point_current_to(&self.paths.tree, version.id())?;
        let known: Vec<u64> = version.iter_tables().map(lsm_tree::Table::id).collect();
        let unfinished = std::mem::take(&mut self.reclamation.lock().unfinished);
        for id in unfinished.into_iter().filter(|id| !known.contains(id)) {
            // If that fails, the next opening moves the file to `aside`.
            let _ = std::fs::remove_file(self.paths.tree.join(tree::TABLES).join(id.to_string()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::Options;
    use crate::vfs::Disk;

    #[test]
    fn after_a_failure_current_names_the_version_that_is_in_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, _writer) =
            Database::open(Arc::new(Disk), folder.path(), &Options::default()).expect("it opens");
        let path = |name: &str| database.paths.tree.join(name);
        let before = tree::read_current(&database.paths.tree).expect("there is a version");
        // As lsm-tree leaves it when it fails right after it has replaced `current`.
        let id = database.tree.next_table_id();
        fs::write(path(&format!("tables/{id}")), "a table").expect("a file is written");
        fs::write(path("v900"), "a version").expect("a file is written");
        let astray = [&900_u64.to_le_bytes()[..], &[5; 16], &[0]].concat();
        fs::write(path("current"), astray).expect("a file is written");

        database.reclamation.lock().unfinished.insert(id);
        database.undo_unfinished().expect("it is undone");
        assert_eq!(tree::read_current(&database.paths.tree), Ok(before));
        assert!(!path(&format!("tables/{id}")).exists());
        drop(database);
        Database::open(Arc::new(Disk), folder.path(), &Options::default()).expect("it opens");
    }
}
