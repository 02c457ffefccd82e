//! Write-back: the disk writes a new table part by part while the table is being made.
//!
//! Otherwise the disk would get the whole table when lsm-tree syncs it, 32 MiB of a flush or 64 MiB of a
//! compaction, and the log's sync would queue behind it for up to a tenth of a second. While lsm-tree
//! syncs the last table of a compaction, its lock even blocks all readers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use lsm_tree::{AbstractTree, Tree};

use crate::tree::TABLES;

/// The size of one part: some milliseconds of the disk's time.
const PART_BYTES: u64 = 1 << 20;

/// The tables that one flush or compaction writes.
pub(crate) struct WriteBack {
    folder: PathBuf,
    /// The newest of them: its number, its file, and the bytes whose write-back has begun.
    newest: Option<(u64, File, u64)>,
}

impl WriteBack {
    pub(crate) fn new(tree: &Path) -> Self {
        WriteBack { folder: tree.join(TABLES), newest: None }
    }

    /// Begins write-back of the parts that were completed since the last call. A failure is ignored: the
    /// tree's own sync reports it.
    pub(crate) fn begin(&mut self, tree: &Tree) {
        let id = tree.next_table_id().saturating_sub(1);
        if self.newest.as_ref().is_none_or(|(newest, ..)| *newest != id) {
            self.newest = File::open(self.folder.join(id.to_string())).ok().map(|file| (id, file, 0));
        }
        if let Some((_, file, begun)) = &mut self.newest {
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            let parts = length / PART_BYTES * PART_BYTES;
            if parts > *begun && begin_write_back(file, *begun, parts - *begun).is_ok() {
                *begun = parts;
            }
        }
    }
}

/// With `DontNeed`, Linux begins to write dirty pages of this range, and drops pages from its cache only
/// once they are on the disk.
#[cfg(target_os = "linux")]
fn begin_write_back(file: &File, start: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{Advice, fadvise};

    Ok(fadvise(file, start, std::num::NonZeroU64::new(length), Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn begin_write_back(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}
