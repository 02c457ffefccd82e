//! The mark: up to which record the log was durable, in a file of its own.
//!
//! The log's thread writes it after each sync and before it acknowledges the commits, so after the end
//! of the process it is exact. It is synced only when no commit has arrived for a while, so a power
//! failure may leave an older one. Either way the log must be whole at least up to the mark. So a
//! damaged or stale last record is told apart from one that was never completed.
//!
//! There are two slots. Between two syncs only one of them is written, so a power failure always
//! leaves the other.

use std::io;
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::record::number;
use crate::vfs::{File, FileSystem};

pub(crate) const FILE_NAME: &str = "durable";
/// Each slot has a sector of its own.
const SLOT_BYTES: usize = 512;
pub(crate) const FILE_BYTES: usize = 2 * SLOT_BYTES;
const USED_BYTES: usize = 24;

pub(crate) struct Mark {
    file: Arc<dyn File>,
    store: u64,
    slot: usize,
}

impl Mark {
    pub(crate) fn create(fs: &dyn FileSystem, folder: &Path, store: u64) -> io::Result<Mark> {
        let file = fs.create(&folder.join(FILE_NAME))?;
        file.write_all_at(&[0; FILE_BYTES], 0)?;
        let mut mark = Mark { file, store, slot: 0 };
        mark.write(0, 0)?;
        mark.sync()?;
        Ok(mark)
    }

    pub(crate) fn open(fs: &dyn FileSystem, folder: &Path, store: u64) -> io::Result<Mark> {
        Ok(Mark { file: fs.open(&folder.join(FILE_NAME))?, store, slot: 0 })
    }

    pub(crate) fn write(&mut self, record: u64, time: u64) -> io::Result<()> {
        let mut bytes = [0; USED_BYTES];
        bytes[..8].copy_from_slice(&record.to_le_bytes());
        bytes[8..16].copy_from_slice(&time.to_le_bytes());
        let checksum = xxh3_64_with_seed(&bytes[..16], self.store);
        bytes[16..].copy_from_slice(&checksum.to_le_bytes());
        self.file.write_all_at(&bytes, (self.slot * SLOT_BYTES) as u64)
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync()?;
        debug_assert!(self.slot < 2, "there are two slots");
        self.slot = 1 - self.slot;
        Ok(())
    }
}

/// The highest record that a file of marks names, if it is one of this store.
pub(crate) fn read(bytes: &[u8], store: u64) -> Option<u64> {
    if bytes.len() != FILE_BYTES {
        return None;
    }
    let slot = |bytes: &[u8]| {
        let whole = number(&bytes[16..24]) == xxh3_64_with_seed(&bytes[..16], store);
        whole.then(|| number(bytes))
    };
    bytes.chunks(SLOT_BYTES).filter_map(slot).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::Disk;

    #[test]
    fn the_newest_mark_counts_and_a_torn_one_leaves_the_one_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let read_back = || read(&std::fs::read(folder.path().join(FILE_NAME)).expect("a file"), 5);
        let mut mark = Mark::create(&Disk, folder.path(), 5).expect("a mark");
        assert_eq!(read_back(), Some(0));
        for record in [3, 4, 9] {
            mark.write(record, 1).expect("a mark is written");
            assert_eq!(read_back(), Some(record));
        }
        mark.sync().expect("a sync");
        mark.write(12, 1).expect("a mark is written");
        let mut bytes = std::fs::read(folder.path().join(FILE_NAME)).expect("a file");
        let newest =
            bytes.chunks(SLOT_BYTES).position(|slot| slot[0] == 12).expect("the newest") * SLOT_BYTES;
        bytes[newest + 20] ^= 1;
        assert_eq!(read(&bytes, 5), Some(9));
        assert_eq!(read(&bytes, 6), None, "of another store");
        assert_eq!(read(&bytes[1..], 5), None, "cut short");
    }
}
