//! What the store asks of a file system: a narrow trait, so that tests can put one underneath that
//! crashes and fails.
//!
//! The log, the manifest and checkpoints go through it. The tree does its own input and output; the
//! simulated file system treats its folder as a whole.

mod disk;
#[cfg(feature = "simulation")]
pub mod simulated;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use disk::Disk;
pub(crate) use disk::write_zeros;

/// What [`File::read_all`] reads at once.
const PIECE_BYTES: usize = 64 << 10;

/// An open file. Offsets are given with each call, so threads can share it.
pub trait File: Send + Sync {
    /// Reads up to the length of `buffer`; fewer bytes mean the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Has the disk find room for this many bytes, which read as zeros.
    fn allocate(&self, length: u64) -> io::Result<()>;
    fn length(&self) -> io::Result<u64>;
    /// Returns when the disk has everything that was written.
    fn sync(&self) -> io::Result<()>;

    /// The whole file. Pieces of zeros stay untouched memory: segments are allocated long before they are full.
    fn read_all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.length()? as usize];
        let mut piece = vec![0; PIECE_BYTES];
        let mut read = 0;
        while read < bytes.len() {
            let wanted = PIECE_BYTES.min(bytes.len() - read);
            let count = self.read_at(&mut piece[..wanted], read as u64)?;
            if count == 0 {
                break;
            }
            if piece[..count].iter().any(|byte| *byte != 0) {
                bytes[read..read + count].copy_from_slice(&piece[..count]);
            }
            read += count;
        }
        bytes.truncate(read);
        Ok(bytes)
    }
}

pub trait FileSystem: Send + Sync {
    /// Makes an empty file, in place of one that is there.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    /// In place of a file that is there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// A second name for a file.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Returns when the disk has the names in a folder.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// The names in a folder, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Replaces a file by one with these bytes: after a crash it is the old one or the new one.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let new = PathBuf::from(format!("{}.new", path.display()));
        let file = self.create(&new)?;
        file.write_all_at(bytes, 0)?;
        file.sync()?;
        self.rename(&new, path)?;
        self.sync_folder(path.parent().unwrap_or(Path::new(".")))
    }
}
