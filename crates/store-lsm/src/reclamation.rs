//! Reclamation: memtables and tables that no version needs any more are freed by the maintenance thread.
//!
//! lsm-tree forgets old versions while it holds the lock that every reader and writer needs. Whoever
//! drops the last version with a memtable or a table in it has to free fifty thousand rows, or delete
//! files of 64 MiB. So this thread holds on to each version before it is replaced, and lets go of it
//! outside the lock, a moment after lsm-tree has forgotten it: a reader that came just before must not
//! be the last one either.

use std::any::Any;
use std::collections::VecDeque;

use lsm_tree::AbstractTree;

use crate::database::Database;

#[derive(Default)]
pub(crate) struct Reclamation {
    /// Versions by their number, oldest first.
    held: VecDeque<(u64, Box<dyn Any + Send>)>,
    leaving: Vec<Box<dyn Any + Send>>,
}

impl Database {
    /// Holds on to the present version, which is about to be replaced.
    pub(crate) fn hold_version(&self) {
        let history = self.tree.get_version_history_lock();
        let latest = history.latest_version();
        drop(history);
        let number = self.tree.current_version().id();
        self.reclamation.lock().held.push_back((number, Box::new(latest)));
    }

    /// Lets go of what the tree has forgotten. True while there is something left to let go of.
    pub(crate) fn reclaim(&self) -> bool {
        drop(std::mem::take(&mut self.reclamation.lock().leaving));
        if self.reclamation.lock().held.is_empty() {
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

    /// Removes the tables of a flush or compaction that failed.
    pub(crate) fn remove_unfinished_tables(&self, first_new: u64) {
        let known: Vec<u64> = self.tree.current_version().iter_tables().map(lsm_tree::Table::id).collect();
        for id in first_new..self.tree.next_table_id() {
            if !known.contains(&id) {
                // What cannot be removed now belongs to nothing; the next opening moves it aside.
                let _ = std::fs::remove_file(self.paths.tree.join(crate::tree::TABLES).join(id.to_string()));
            }
        }
    }
}
