//! Checkpoints: an instant physical copy of the whole store, taken while it serves.
//!
//! Tables and complete log segments never change, so the copy shares them by hard links. What does
//! change is small and copied: the version that is current, the manifest, and the log's last segment
//! up to where it is durable. The maintenance thread does it, so no file is added or removed in the
//! meantime.
//!
//! The copy holds every commit that was acknowledged before it was asked for.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::database::Database;
use crate::folder::{self, Paths, STORE, STORE_NEW};
use crate::privacy;
use crate::tree::{self, TABLES};
use crate::vfs::{File, FileSystem};
use crate::wal::{mark, segment};

/// How much of the log's tail is copied at once.
const COPY_BYTES: usize = 1 << 20;

pub(crate) struct CheckpointRequest {
    target: PathBuf,
    done: mpsc::SyncSender<io::Result<()>>,
}

impl Database {
    /// Asks the maintenance thread for a checkpoint in a folder that is empty or does not exist yet.
    pub(crate) fn request_checkpoint(&self, target: &Path) -> mpsc::Receiver<io::Result<()>> {
        let (done, answer) = mpsc::sync_channel(1);
        self.checkpoints.lock().push(CheckpointRequest { target: target.to_owned(), done });
        self.wakeup.wake();
        answer
    }

    pub(crate) fn serve_checkpoints(&self) {
        for request in std::mem::take(&mut *self.checkpoints.lock()) {
            // The receiver is gone if the request was cancelled.
            let _ = request.done.send(self.checkpoint(&request.target));
        }
    }

    pub(crate) fn checkpoint(&self, target: &Path) -> io::Result<()> {
        self.refuse_target(target)?;
        if !self.wal.wait_durable() {
            return Err(io::Error::other("the log has failed"));
        }
        // The manifest must name the version and the segments that are copied.
        self.follow_tree()?;
        DirBuilder::new().recursive(true).mode(0o700).create(target)?;
        // A folder that was there before, and is empty, may be open to others.
        std::fs::set_permissions(target, Permissions::from_mode(0o700))?;
        let paths = Paths::of(target, STORE_NEW);
        let copied = self.copy_files(&paths);
        if copied.is_err() {
            let _ = std::fs::remove_dir_all(&paths.store);
        }
        copied?;
        privacy::correct(target);
        self.fs.rename(&paths.store, &target.join(STORE))?;
        self.fs.sync_folder(target)?;
        match target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => self.fs.sync_folder(parent),
            None => Ok(()),
        }
    }

    /// The copy needs an empty or new folder outside of this data folder.
    fn refuse_target(&self, target: &Path) -> io::Result<()> {
        let refused =
            |why| Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} {why}", target.display())));
        let data = std::path::absolute(&self.paths.data)?;
        if std::path::absolute(target)?.starts_with(data) {
            return refused("is inside of the data folder");
        }
        match std::fs::read_dir(target).map(|mut entries| entries.next().is_some()) {
            Ok(true) => refused("is not empty"),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn copy_files(&self, to: &Paths) -> io::Result<()> {
        let fs = &*self.fs;
        for folder in [&to.store, &to.log, &to.aside, &to.tree, &to.tree.join(TABLES)] {
            fs.create_folder(folder)?;
        }
        let manifest = self.manifest.lock().clone();
        self.copy_log(&manifest.segments, manifest.store, to)?;
        let version_file = format!("v{}", manifest.tree.number);
        let version = tree::read_version(&self.paths.tree.join(&version_file), manifest.tree.checksum);
        for table in version.map_err(io::Error::other)? {
            share(fs, &self.paths.tree.join(table.file_name()), &to.tree.join(table.file_name()))?;
        }
        for name in [&*version_file, "current"] {
            copy(fs, &self.paths.tree.join(name), &to.tree.join(name))?;
        }
        manifest.write(fs, &to.store)?;
        folder::write_format(fs, &to.store)?;
        for folder in [&to.tree.join(TABLES), &to.tree, &to.log, &to.store] {
            fs.sync_folder(folder)?;
        }
        Ok(())
    }

    /// Complete segments are shared. The last one is copied up to where it is durable: records that are
    /// written in the meantime come after that.
    fn copy_log(&self, segments: &[segment::Entry], store: u64, to: &Paths) -> io::Result<()> {
        let fs = &*self.fs;
        let end = self.wal.durable_end();
        for entry in segments {
            let from = segment::path(&self.paths.log, entry.number);
            let target = segment::path(&to.log, entry.number);
            if entry.number < end.segment {
                share(fs, &from, &target)?;
                continue;
            }
            let file = fs.create(&target)?;
            file.allocate(entry.bytes)?;
            if entry.number == end.segment {
                assert!(end.offset <= entry.bytes, "the log ends inside its segment");
                copy_bytes(&*fs.open_to_read(&from)?, &*file, end.offset)?;
            }
            file.sync()?;
        }
        let mut mark = mark::Mark::create(fs, &to.log, store)?;
        mark.write(end.last.record, 0)?;
        mark.sync()
    }
}

/// A hard link, or a copy if the target is on another file system.
fn share(fs: &dyn FileSystem, from: &Path, to: &Path) -> io::Result<()> {
    match fs.link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy(fs, from, to),
        linked => linked,
    }
}

fn copy(fs: &dyn FileSystem, from: &Path, to: &Path) -> io::Result<()> {
    let source = fs.open_to_read(from)?;
    let file = fs.create(to)?;
    copy_bytes(&*source, &*file, source.length()?)?;
    file.sync()
}

fn copy_bytes(from: &dyn File, to: &dyn File, length: u64) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut position = 0;
    while position < length {
        let wanted = (length - position).min(COPY_BYTES as u64) as usize;
        let count = from.read_at(&mut buffer[..wanted], position)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all_at(&buffer[..count], position)?;
        position += count as u64;
    }
    Ok(())
}
