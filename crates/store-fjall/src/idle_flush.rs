//! Idle flush: when nobody has written for a while, the write buffer becomes a table.
//!
//! The engine writes a buffer out when it is full. The rest of what was loaded would stay in memory for good if it is
//! only read from then on. Nearly every read would look through it in vain first, and every opening replay it. A store
//! that is hardly larger than its buffer keeps it: there a read finds what it looks for, and faster than in a table.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fjall::{AbstractTree, Keyspace};

use crate::WRITE_BUFFER_BYTES;
use crate::background::{Background, Signals};
use crate::housekeeping::Housekeeping;

/// How long nobody has written, at least. At most it is twice as long.
const QUIET_TIME: Duration = Duration::from_secs(5);
/// Less is not worth a table: what is written a little now and then would be merged again and again.
const WORTH_BYTES: u64 = WRITE_BUFFER_BYTES / 4;
/// How many times as much there is in tables, at least.
const TABLES_TIMES: u64 = 4;
/// How often it looks whether the table is there.
const LOOK_TIME: Duration = Duration::from_millis(20);

pub(crate) fn start(rows: &Keyspace, housekeeping: Arc<Housekeeping>) -> io::Result<Background> {
    let rows = rows.clone();
    let run = move |signals: &Signals| run(signals, &rows, &housekeeping, QUIET_TIME);
    let background = Background::start("idle-flush", run)?;
    // What the journal brought back is in the buffer.
    background.wake();
    Ok(background)
}

fn run(signals: &Signals, rows: &Keyspace, housekeeping: &Housekeeping, quiet_time: Duration) {
    while signals.wait() {
        // Whoever writes meanwhile wakes it again, and it starts over.
        if !signals.pause(quiet_time) || signals.wanted() || !is_worth_a_table(rows) {
            continue;
        }
        housekeeping.wake(rows.l0_table_count());
        if let Err(error) = rows.rotate_memtable() {
            tracing::warn!("the write buffer could not be written out: {error}");
            continue;
        }
        while rows.sealed_memtable_count() > 0 && signals.pause(LOOK_TIME) {}
        housekeeping.wake(rows.l0_table_count());
    }
}

fn is_worth_a_table(rows: &Keyspace) -> bool {
    let buffer = rows.tree.active_memtable().size();
    buffer >= WORTH_BYTES && rows.disk_space() >= TABLES_TIMES * buffer
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use fjall::{Database, KeyspaceCreateOptions};

    use super::*;
    use crate::pace::Pace;

    #[test]
    fn a_buffer_becomes_a_table_when_nobody_writes_any_more_unless_it_or_the_store_is_small() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::builder(folder.path()).worker_threads(1).open().expect("a database");
        let options =
            || KeyspaceCreateOptions::default().compaction_strategy(crate::compaction::left_alone());
        let rows = database.keyspace("rows", options).expect("a keyspace");
        let row = vec![1; 1 << 16];
        let row_count = 1 + WORTH_BYTES / row.len() as u64;
        let mut numbers = 0_u64..;
        let mut write = |count: u64| {
            for number in numbers.by_ref().take(count as usize) {
                rows.insert(number.to_be_bytes(), row.as_slice()).expect("a row");
            }
        };

        write(row_count);
        assert!(!is_worth_a_table(&rows), "there is nothing else");
        for _ in 0..TABLES_TIMES {
            write(row_count);
            rows.rotate_memtable_and_wait().expect("a table");
        }
        write(1);
        assert!(!is_worth_a_table(&rows), "there is little in it");
        write(row_count);
        assert!(is_worth_a_table(&rows));

        let housekeeping = Housekeeping::start(&database, &rows, Pace::default()).expect("threads");
        let background = Background::start("test", {
            let rows = rows.clone();
            move |signals| run(signals, &rows, &housekeeping, Duration::from_millis(20))
        })
        .expect("a thread");
        background.wake();
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_worth_a_table(&rows) {
            assert!(Instant::now() < deadline, "the buffer stays");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(rows.tree.active_memtable().size(), 0);
        assert_eq!(rows.get(3_u64.to_be_bytes()).expect("a row").as_deref(), Some(row.as_slice()));
    }
}
