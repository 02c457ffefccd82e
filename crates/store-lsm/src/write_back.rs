//! Write-back: the disk takes a new table bit by bit while it is written.
//!
//! It would otherwise get the whole table when lsm-tree syncs it, 32 MiB of a flush or 64 MiB of a
//! compaction, and the log's sync would queue behind it for up to a tenth of a second. For the last
//! table of a compaction lsm-tree even keeps all readers out meanwhile.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use lsm_tree::{AbstractTree, Tree};

use crate::tree::TABLES;

/// How much of a table is written before the disk is to take it: some milliseconds of its time.
const PART_BYTES: u64 = 1 << 20;

/// The tables that one flush or compaction writes.
pub(crate) struct WriteBack {
    folder: PathBuf,
    /// The newest of them, and how much of it the disk was told to take.
    newest: Option<(u64, File, u64)>,
}

impl WriteBack {
    pub(crate) fn new(tree: &Path) -> Self {
        WriteBack { folder: tree.join(TABLES), newest: None }
    }

    /// Has the disk begin to take what was written since the last time. That it could not begin
    /// early is no failure; the tree's own sync will tell.
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

/// Whoever says that they don't need a part of a file has the system begin to write it, if it is not
/// on the disk yet; nothing is forgotten before it is.
#[cfg(target_os = "linux")]
fn begin_write_back(file: &File, start: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{Advice, fadvise};

    Ok(fadvise(file, start, std::num::NonZeroU64::new(length), Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn begin_write_back(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}
