//! The pace of a merge, so that those who read and write hardly notice it.
//!
//! The engine shows each row that it merges to a filter. Ours keeps them all, and takes the opportunity:
//! - to rest for as long as it has worked, if somebody writes meanwhile and merging does not lag behind;
//! - to have the disk take what has been written so far. It would otherwise get a whole table at once, when
//!   the engine syncs it, and nobody else's sync would get through; for the last table of a merge the
//!   engine even keeps all readers out meanwhile;
//! - to give up when the store is being closed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fjall::LsmError;
use fjall::compaction::filter::{
    CompactionFilter, CompactionFilterResult, Context, Factory, ItemAccessor, Verdict,
};

/// Rows between two looks at the clock, some tenths of a millisecond.
const LOOK_ROWS: u32 = 64;
/// How long it works before it rests.
const WORK_TIME: Duration = Duration::from_millis(2);
/// From so many fresh tables on it does not rest.
const HURRY_TABLES: usize = 8;
/// How much of a table is written before the disk is to take it.
const WRITE_BACK_BYTES: u64 = 1 << 20;

#[derive(Clone, Default)]
pub(crate) struct Pace(Arc<State>);

#[derive(Default)]
struct State {
    /// Where the tables are.
    folder: OnceLock<PathBuf>,
    fresh_tables: AtomicUsize,
    /// Somebody has written since the last look.
    written: AtomicBool,
    stopping: AtomicBool,
}

impl Pace {
    /// Tells where the tables are, once that is known.
    pub(crate) fn watch(&self, folder: PathBuf) {
        let _ = self.0.folder.set(folder);
    }

    /// Tells that somebody writes, and how many fresh tables there are now.
    pub(crate) fn written(&self, fresh_tables: usize) {
        self.0.fresh_tables.store(fresh_tables, Ordering::Relaxed);
        self.0.written.store(true, Ordering::Relaxed);
    }

    /// Has the merge under way fail.
    pub(crate) fn stop(&self) {
        self.0.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Acquire)
    }
}

impl Factory for Pace {
    fn name(&self) -> &str {
        "pace"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        let tables = self.0.folder.get().and_then(|folder| WriteBack::of_new_tables(folder).ok());
        Box::new(Merge { pace: self.clone(), rows: 0, rested: Instant::now(), tables })
    }
}

/// A merge under way.
struct Merge {
    pace: Pace,
    /// Since the last look at the clock.
    rows: u32,
    rested: Instant,
    tables: Option<WriteBack>,
}

impl Merge {
    fn look(&mut self) -> Result<(), LsmError> {
        if self.pace.stopping() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store is being closed").into());
        }
        let worked = self.rested.elapsed();
        if worked < WORK_TIME {
            return Ok(());
        }
        if let Some(tables) = &mut self.tables {
            // That it could not be begun early is no failure; the sync will tell.
            let _ = tables.begin();
        }
        let State { fresh_tables, written, .. } = &*self.pace.0;
        if written.swap(false, Ordering::Relaxed) && fresh_tables.load(Ordering::Relaxed) < HURRY_TABLES {
            std::thread::sleep(worked.min(10 * WORK_TIME));
        }
        self.rested = Instant::now();
        Ok(())
    }
}

impl CompactionFilter for Merge {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> CompactionFilterResult {
        self.rows += 1;
        if self.rows >= LOOK_ROWS {
            self.rows = 0;
            self.look()?;
        }
        Ok(Verdict::Keep)
    }
}

/// Has the disk take tables while they are still being written.
struct WriteBack {
    folder: PathBuf,
    /// The number of the next table. They are numbered in the order in which they are begun.
    next: u64,
    /// Each with how far it was begun.
    tables: Vec<(File, u64)>,
}

impl WriteBack {
    /// Of those that are begun from now on.
    fn of_new_tables(folder: &Path) -> io::Result<Self> {
        let mut next = 0;
        for entry in std::fs::read_dir(folder)? {
            let number = entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
            next = next.max(number.map_or(0, |number| number + 1));
        }
        Ok(WriteBack { folder: folder.to_owned(), next, tables: Vec::new() })
    }

    fn begin(&mut self) -> io::Result<()> {
        while let Ok(file) = File::open(self.folder.join(self.next.to_string())) {
            self.tables.push((file, 0));
            self.next += 1;
        }
        for (file, begun) in &mut self.tables {
            let written = file.metadata()?.len() / WRITE_BACK_BYTES * WRITE_BACK_BYTES;
            if written > *begun {
                begin_write_back(file, *begun, written - *begun)?;
                *begun = written;
            }
        }
        Ok(())
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
        let table = |number: u64| File::create(folder.path().join(number.to_string())).expect("a table");
        table(7);
        let mut tables = WriteBack::of_new_tables(folder.path()).expect("a folder of tables");
        tables.begin().expect("nothing to begin");
        assert!(tables.tables.is_empty());

        let (mut first, mut second) = (table(8), table(9));
        let bytes = vec![5; 5 * WRITE_BACK_BYTES as usize / 2];
        first.write_all(&bytes).expect("a write");
        second.write_all(&bytes[..100]).expect("a write");
        tables.begin().expect("a beginning");
        let begun: Vec<u64> = tables.tables.iter().map(|(_, begun)| *begun).collect();
        assert_eq!(begun, [2 * WRITE_BACK_BYTES, 0]);
        assert_eq!(std::fs::read(folder.path().join("8")).expect("a table is read"), bytes);
    }
}
