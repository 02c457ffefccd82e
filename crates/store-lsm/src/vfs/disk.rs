//! The real file system.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::{File, FileSystem};
use crate::privacy::{FILE_MODE, FOLDER_MODE};

/// How many zeros are written at once where the system cannot allocate.
const ZEROS_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl File for fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            use rustix::io::Errno;

            match fallocate(self, FallocateFlags::empty(), 0, length) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
                outcome => return Ok(outcome?),
            }
        }
        write_zeros(self, 0, length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Zeros from `start` to `end`. A file system that writes in place needs no further room for what is
/// written over them, and has nothing but data to sync.
pub(crate) fn write_zeros(file: &dyn File, start: u64, end: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES.min(end - start) as usize];
    let mut position = start;
    while position < end {
        let length = ZEROS_BYTES.min(end - position);
        file.write_all_at(&zeros[..length as usize], position)?;
        position += length;
    }
    Ok(())
}

impl FileSystem for Disk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut options = fs::File::options();
        options.read(true).write(true).create(true).truncate(true).mode(FILE_MODE);
        let file = options.open(path)?;
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(fs::File::options().read(true).write(true).open(path)?))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(fs::File::open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(FOLDER_MODE).create(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }
}
