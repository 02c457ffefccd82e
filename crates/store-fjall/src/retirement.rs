//! Retirement: what the engine no longer needs is freed by a thread of ours.
//!
//! The engine keeps a history of its versions, each of them the write buffers and tables of a time, and
//! forgets old ones while it holds the lock that every reader and writer needs. Whoever forgets the
//! last version with a write buffer or a table in it has to free fifty thousand rows, or delete files
//! of 64 MiB: together a fifth of a second, in which nobody is served.
//!
//! So this thread holds on to each version until the engine's history has forgotten it, and is the last to let go.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use fjall::{AbstractTree, Database, Keyspace};

use crate::background::{Background, Signals};

/// How often it looks, while there is something to see.
const LOOK_TIME: Duration = Duration::from_millis(5);
/// How many times in a row it looks in vain before it waits to be woken by a write: ten seconds, longer
/// than most merges take.
const LOOKS_IN_VAIN_MAX: u32 = 2000;

pub(crate) fn start(database: &Database, rows: &Keyspace) -> io::Result<Background> {
    let (database, rows) = (database.clone(), rows.clone());
    Background::start("retirement", move |signals| run(signals, &database, &rows))
}

fn run(signals: &Signals, database: &Database, rows: &Keyspace) {
    // The newest stays here while nothing happens: the next may replace it before anybody looks.
    let mut held = VecDeque::new();
    let mut newest = None;
    // A reader that came a moment ago may still have it; it must not be the last either.
    let mut leaving = Vec::new();
    while signals.wait() {
        let mut looks_in_vain = 0;
        while looks_in_vain < LOOKS_IN_VAIN_MAX && !signals.stopping() {
            leaving.clear();
            looks_in_vain += 1;
            let name = Some((rows.tree.active_memtable().id(), rows.tree.current_version().id()));
            if newest != name {
                newest = name;
                looks_in_vain = 0;
                held.push_back(rows.tree.get_version_history_lock().latest_version());
            }
            // To forget, it keeps all readers out: not while there is nothing but the newest.
            if held.len() > 1 {
                // The history remembers the newest ones.
                let forgotten = held.len().saturating_sub(remembered(database, rows));
                leaving.extend(held.drain(..forgotten));
            }
            std::thread::sleep(LOOK_TIME);
        }
    }
}

/// Has the engine forget what nobody can see any more, and tells how many versions it remembers then.
fn remembered(database: &Database, rows: &Keyspace) -> usize {
    let unseen = database.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
    let mut history = rows.tree.get_version_history_lock();
    if let Err(error) = history.maintenance(rows.path(), unseen) {
        tracing::debug!("old versions are kept for now: {error}");
    }
    history.len()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use fjall::KeyspaceCreateOptions;

    use super::*;

    #[test]
    fn tables_that_were_merged_leave_the_disk_while_the_store_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::builder(folder.path()).worker_threads(1).open().expect("a database");
        let options =
            || KeyspaceCreateOptions::default().compaction_strategy(crate::compaction::left_alone());
        let rows = database.keyspace("rows", options).expect("a keyspace");
        let retirement = start(&database, &rows).expect("the thread starts");
        retirement.wake();
        for round in 0..3_u8 {
            (0..100_u8).for_each(|key| rows.insert([key], [round]).expect("a row"));
            rows.rotate_memtable_and_wait().expect("a table");
        }
        rows.major_compact().expect("a merge");

        let files = || std::fs::read_dir(rows.path().join("tables")).expect("a folder of tables").count();
        let deadline = Instant::now() + Duration::from_secs(20);
        while files() > 1 {
            // The engine notices that nobody reads old rows when some have read new ones.
            rows.insert([0], [3]).expect("a row");
            (0..10_000).for_each(|_| drop(database.snapshot()));
            assert!(Instant::now() < deadline, "{} files, {} tables", files(), rows.table_count());
            std::thread::sleep(LOOK_TIME);
        }
        assert_eq!(rows.get([7]).expect("a row").as_deref(), Some(&[2][..]));
    }
}
