//! Compaction: one thread merges fresh tables into the levels below until nothing is left to merge.
//!
//! fjall has workers for this, but we keep them to flushes. Of several workers one takes no
//! compaction: as long as another compacts, it hands the next one back to the queue and takes it out
//! again, a whole processor long. And they compact once for each flush, so after many writes the
//! levels stay untidy, and reads have to look everywhere, until somebody writes again.
//!
//! After a failure, as on a full disk, nothing is merged and nothing written any more until the
//! folder is opened again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use fjall::compaction::Leveled;
use fjall::{AbstractTree, Database, Keyspace};
use parking_lot::Mutex;
use store::StoreError;

/// So many fresh tables are merged at once into the first level. A query has to look into each of them.
const FRESH_TABLES: u8 = 2;
/// How large the tables of the levels below become. The first level takes as many as are merged into
/// it at once, 128 MiB, and each one below ten times as much.
const TABLE_BYTES: u64 = 64 << 20;
/// A table that no merge exceeds: what fjall's own worker chooses with it are moves without a merge.
const ENDLESS_TABLE_BYTES: u64 = 1 << 50;

pub(crate) struct Compaction {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    /// Somebody has asked since the last look.
    wanted: AtomicBool,
    stopping: AtomicBool,
    failure: OnceLock<String>,
}

/// The strategy for fjall's own worker.
pub(crate) fn left_alone() -> Arc<Leveled> {
    Arc::new(Leveled::default().with_l0_threshold(u8::MAX).with_table_target_size(ENDLESS_TABLE_BYTES))
}

impl Compaction {
    /// Starts the thread, which first merges what an earlier process has left.
    pub(crate) fn start(database: &Database, rows: &Keyspace) -> io::Result<Self> {
        let shared = Arc::new(Shared { wanted: AtomicBool::new(true), ..Shared::default() });
        let thread = std::thread::Builder::new().name("compaction".to_owned()).spawn({
            let (shared, database, rows) = (Arc::clone(&shared), database.clone(), rows.clone());
            move || shared.run(&database, &rows)
        })?;
        Ok(Compaction { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Tells how many fresh tables there are now.
    pub(crate) fn fresh_tables(&self, count: usize) {
        if count >= usize::from(FRESH_TABLES) && !self.shared.wanted.swap(true, Ordering::AcqRel) {
            self.wake();
        }
    }

    /// Fails once a compaction has failed: from then on nothing may be written.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.shared.failure.get() {
            None => Ok(()),
            Some(failure) => Err(StoreError::Poisoned(failure.clone())),
        }
    }

    /// Ends the thread after the merge that it is in the middle of.
    pub(crate) fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.lock().take() {
            // A panic on that thread has been told on standard error.
            let _ = thread.join();
        }
    }

    fn wake(&self) {
        if let Some(thread) = &*self.thread.lock() {
            thread.thread().unpark();
        }
    }
}

impl Drop for Compaction {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, database: &Database, rows: &Keyspace) {
        while !self.stopping.load(Ordering::Acquire) {
            if !self.wanted.swap(false, Ordering::AcqRel) {
                std::thread::park();
                continue;
            }
            if let Err(failure) = self.tidy(database, rows) {
                tracing::error!("tables could not be merged, refusing further writes: {failure}");
                let _ = self.failure.set(failure.to_string());
                return;
            }
        }
    }

    /// Merges until a merge has changed nothing.
    fn tidy(&self, database: &Database, rows: &Keyspace) -> Result<(), fjall::LsmError> {
        let strategy =
            Arc::new(Leveled::default().with_l0_threshold(FRESH_TABLES).with_table_target_size(TABLE_BYTES));
        while !self.stopping.load(Ordering::Acquire) {
            let before = rows.tree.current_version().id();
            let unseen = database.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
            rows.tree.compact(Arc::clone(&strategy) as _, unseen)?;
            if rows.tree.current_version().id() == before {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use fjall::KeyspaceCreateOptions;

    use super::*;

    #[test]
    fn fresh_tables_are_merged_by_us_alone_and_until_none_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::builder(folder.path()).worker_threads(1).open().expect("a database");
        let options = || KeyspaceCreateOptions::default().compaction_strategy(left_alone());
        let rows = database.keyspace("rows", options).expect("a keyspace");
        let write_table = |round: u8| {
            for key in 0..100_u8 {
                rows.insert([key], [round]).expect("a row");
            }
            rows.rotate_memtable_and_wait().expect("a table");
        };

        // The very first may be moved below, for nothing is there.
        (0..7).for_each(write_table);
        assert!(rows.l0_table_count() >= 6, "{} fresh tables", rows.l0_table_count());

        let compaction = Compaction::start(&database, &rows).expect("the thread starts");
        let merged = || rows.l0_table_count() < usize::from(FRESH_TABLES);
        let until_merged = || {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !merged() {
                assert!(Instant::now() < deadline, "{} fresh tables", rows.l0_table_count());
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        until_merged();

        (7..12).for_each(write_table);
        compaction.fresh_tables(rows.l0_table_count());
        until_merged();
        compaction.check().expect("nothing has failed");
        assert_eq!(rows.get([99]).expect("a row").as_deref(), Some(&[11][..]));
    }
}
