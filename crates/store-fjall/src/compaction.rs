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
use std::sync::{Arc, OnceLock};

use fjall::compaction::Leveled;
use fjall::{AbstractTree, Database, Keyspace, LsmError};
use store::StoreError;

use crate::background::{Background, Signals};
use crate::pace::Pace;

/// So many fresh tables are merged at once into the first level. A query has to look into each of them.
const FRESH_TABLES: u8 = 2;
/// How large the tables of the levels below become. The first level takes as many as are merged into
/// it at once, 128 MiB, and each one below ten times as much.
const TABLE_BYTES: u64 = 64 << 20;
/// A table that no merge exceeds: what fjall's own worker chooses with it are moves without a merge.
const ENDLESS_TABLE_BYTES: u64 = 1 << 50;

pub(crate) struct Compaction {
    pace: Pace,
    failure: Arc<OnceLock<String>>,
    thread: Background,
}

/// The strategy for fjall's own worker.
pub(crate) fn left_alone() -> Arc<Leveled> {
    Arc::new(Leveled::default().with_l0_threshold(u8::MAX).with_table_target_size(ENDLESS_TABLE_BYTES))
}

impl Compaction {
    /// Starts the thread, which first merges what an earlier process has left.
    pub(crate) fn start(database: &Database, rows: &Keyspace, pace: Pace) -> io::Result<Self> {
        let failure = Arc::<OnceLock<String>>::default();
        let thread = Background::start("compaction", {
            let (database, rows) = (database.clone(), rows.clone());
            let (pace, failure) = (pace.clone(), Arc::clone(&failure));
            move |signals| run(signals, &database, &rows, &pace, &failure)
        })?;
        thread.wake();
        Ok(Compaction { pace, failure, thread })
    }

    /// Tells that somebody writes, and how many fresh tables there are now.
    pub(crate) fn fresh_tables(&self, count: usize) {
        self.pace.written(count);
        if count >= usize::from(FRESH_TABLES) {
            self.thread.wake();
        }
    }

    /// Fails once a compaction has failed: from then on nothing may be written.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.failure.get() {
            None => Ok(()),
            Some(failure) => Err(StoreError::Poisoned(failure.clone())),
        }
    }

    /// Ends the thread. What it is in the middle of is given up; the next opening begins it again.
    pub(crate) fn stop(&self) {
        self.pace.stop();
        self.thread.stop();
    }
}

impl Drop for Compaction {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(signals: &Signals, database: &Database, rows: &Keyspace, pace: &Pace, failure: &OnceLock<String>) {
    while signals.wait() {
        match tidy(signals, database, rows) {
            Err(_) if pace.stopping() => return,
            Err(error) => {
                tracing::error!("tables could not be merged, refusing further writes: {error}");
                let _ = failure.set(error.to_string());
                return;
            }
            Ok(()) => {}
        }
    }
}

/// Merges until a merge has changed nothing.
fn tidy(signals: &Signals, database: &Database, rows: &Keyspace) -> Result<(), LsmError> {
    let strategy =
        Arc::new(Leveled::default().with_l0_threshold(FRESH_TABLES).with_table_target_size(TABLE_BYTES));
    while !signals.stopping() {
        let before = rows.tree.current_version().id();
        let unseen = database.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
        rows.tree.compact(Arc::clone(&strategy) as _, unseen)?;
        if rows.tree.current_version().id() == before {
            break;
        }
    }
    Ok(())
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

        let compaction = Compaction::start(&database, &rows, Pace::default()).expect("the thread starts");
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

    #[test]
    fn a_merge_that_is_given_up_when_the_store_closes_loses_nothing_and_is_no_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = || KeyspaceCreateOptions::default().compaction_strategy(left_alone());
        let open = |pace: &Pace| {
            let pace = pace.clone();
            let database = Database::builder(folder.path())
                .worker_threads(1)
                .with_compaction_filter_factories(Arc::new(move |_| Some(Arc::new(pace.clone()) as _)))
                .open()
                .expect("a database");
            let rows = database.keyspace("rows", options).expect("a keyspace");
            (database, rows)
        };
        let key = |number: u32| number.to_be_bytes();
        let files = |rows: &Keyspace| std::fs::read_dir(rows.path().join("tables")).expect("tables").count();
        {
            let pace = Pace::default();
            let (database, rows) = open(&pace);
            for round in 0..5_u8 {
                (0..1000).for_each(|number| rows.insert(key(number), [round]).expect("a row"));
                rows.rotate_memtable_and_wait().expect("a table");
            }
            pace.stop();
            let before = rows.tree.current_version().id();
            let failure = OnceLock::new();
            run(&Signals::woken(), &database, &rows, &pace, &failure);
            assert_eq!(failure.get(), None);
            assert_eq!(rows.tree.current_version().id(), before, "nothing was merged");
            assert!(files(&rows) > rows.table_count(), "something was begun");
        }
        let (_database, rows) = open(&Pace::default());
        assert_eq!(files(&rows), rows.table_count(), "what had been begun is gone");
        assert!((0..1000).all(|number| rows.get(key(number)).expect("a row").as_deref() == Some(&[4])));
    }
}
