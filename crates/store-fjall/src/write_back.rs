//! Write-back: the disk takes a new table bit by bit while the engine writes it.
//!
//! It would otherwise get the whole table at once, 32 MiB of a flush or 64 MiB of a merge, when the engine syncs
//! it, and nobody else's sync would get through: all writers waited for up to a tenth of a second. For the last
//! table of a merge the engine even keeps all readers out meanwhile.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fjall::Keyspace;

use crate::background::{Background, Signals};

/// How much of a table is written before the disk is to take it: some milliseconds of its time.
const PART_BYTES: u64 = 1 << 20;
/// How often it looks, while tables grow.
const LOOK_TIME: Duration = Duration::from_millis(2);
/// How many times in a row a table has not grown before it counts as complete, and all together before it waits to be
/// woken by a write: a second, longer than a merge ever rests.
const LOOKS_IN_VAIN_MAX: u32 = 500;
/// How often it looks whether a number was left out: a table to which nothing was written is removed at once. A tenth
/// of a second.
const LOOKS_FOR_GAPS: u32 = 50;

pub(crate) fn start(rows: &Keyspace) -> io::Result<Background> {
    let mut tables = NewTables::from_now_on(rows.path().join("tables"))?;
    let background = Background::start("write-back", move |signals| run(signals, &mut tables))?;
    // What an earlier process has left is merged at once.
    background.wake();
    Ok(background)
}

fn run(signals: &Signals, tables: &mut NewTables) {
    while signals.wait() {
        let mut looks_in_vain = 0;
        while looks_in_vain < LOOKS_IN_VAIN_MAX && !signals.stopping() {
            looks_in_vain += 1;
            // That the disk could not begin early is no failure; the engine's sync will tell.
            if tables.begin().unwrap_or(false) {
                looks_in_vain = 0;
            }
            std::thread::sleep(LOOK_TIME);
        }
    }
}

/// The tables that are being written.
struct NewTables {
    folder: PathBuf,
    /// The number of the next table. They are numbered in the order in which they are begun.
    next: u64,
    growing: Vec<Growing>,
    looks: u32,
}

struct Growing {
    table: File,
    length: u64,
    begun: u64,
    looks_in_vain: u32,
}

impl NewTables {
    fn from_now_on(folder: PathBuf) -> io::Result<Self> {
        let next = numbers(&folder)?.max().map_or(0, |last| last + 1);
        Ok(NewTables { folder, next, growing: Vec::new(), looks: 0 })
    }

    /// Has the disk begin to take what was written since the last time. False when no table has grown.
    fn begin(&mut self) -> io::Result<bool> {
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS_FOR_GAPS)
            && let Some(there) = numbers(&self.folder)?.filter(|number| *number >= self.next).min()
        {
            self.next = there;
        }
        while let Ok(table) = File::open(path(&self.folder, self.next)) {
            self.growing.push(Growing { table, length: 0, begun: 0, looks_in_vain: 0 });
            self.next += 1;
        }
        let mut grown = false;
        for table in &mut self.growing {
            grown |= table.begin()?;
        }
        self.growing.retain(|table| table.looks_in_vain < LOOKS_IN_VAIN_MAX);
        Ok(grown)
    }
}

fn numbers(folder: &Path) -> io::Result<impl Iterator<Item = u64>> {
    Ok(std::fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

fn path(folder: &Path, table: u64) -> PathBuf {
    folder.join(table.to_string())
}

impl Growing {
    fn begin(&mut self) -> io::Result<bool> {
        let length = self.table.metadata()?.len();
        if length == self.length {
            self.looks_in_vain += 1;
            return Ok(false);
        }
        (self.length, self.looks_in_vain) = (length, 0);
        let parts = length / PART_BYTES * PART_BYTES;
        if parts > self.begun {
            begin_write_back(&self.table, self.begun, parts - self.begun)?;
            self.begun = parts;
        }
        Ok(true)
    }
}

/// Whoever says that they don't need a part of a file has the system begin to write it, if it is not on the disk yet;
/// nothing is forgotten before it is.
#[cfg(target_os = "linux")]
fn begin_write_back(file: &File, start: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{Advice, fadvise};

    Ok(fadvise(file, start, std::num::NonZeroU64::new(length), Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn begin_write_back(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn tables_are_followed_from_the_next_one_on_and_keep_what_they_hold() {
        let folder = tempfile::tempdir().expect("a folder");
        let table = |number: u64| File::create(path(folder.path(), number)).expect("a table");
        table(7);
        let mut tables = NewTables::from_now_on(folder.path().to_owned()).expect("a folder of tables");
        assert!(!tables.begin().expect("nothing to begin"));

        let (mut first, mut second) = (table(8), table(9));
        let bytes = vec![5; 5 * PART_BYTES as usize / 2];
        first.write_all(&bytes).expect("a write");
        second.write_all(&bytes[..100]).expect("a write");
        assert!(tables.begin().expect("a beginning"));
        let begun: Vec<u64> = tables.growing.iter().map(|table| table.begun).collect();
        assert_eq!(begun, [2 * PART_BYTES, 0]);
        assert_eq!(std::fs::read(path(folder.path(), 8)).expect("a table is read"), bytes);
    }

    #[test]
    fn a_number_that_was_left_out_holds_nothing_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tables = NewTables::from_now_on(folder.path().to_owned()).expect("a folder of tables");
        std::fs::write(path(folder.path(), 3), "rows").expect("a table");
        assert!((0..LOOKS_FOR_GAPS).any(|_| tables.begin().expect("a look")));
        assert_eq!(tables.next, 4);
    }

    #[test]
    fn a_table_that_grows_no_more_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tables = NewTables::from_now_on(folder.path().to_owned()).expect("a folder of tables");
        std::fs::write(path(folder.path(), 0), "rows").expect("a table");
        assert!(tables.begin().expect("a beginning"));
        for _ in 0..LOOKS_IN_VAIN_MAX {
            assert!(!tables.growing.is_empty());
            assert!(!tables.begin().expect("nothing to begin"));
        }
        assert!(tables.growing.is_empty());
    }
}
