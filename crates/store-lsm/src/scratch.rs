//! A scratch copy of a store: commands that read a data folder open the copy and change nothing in the
//! folder.
//!
//! The copy is in a temporary folder: the log is copied, tables are reached through symbolic links. It
//! is a store like any other and may be written to. The data folder stays as it is, to the last byte.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::database;
use crate::error::OpenError;
use crate::folder::{FORMAT, Paths, STORE};
use crate::manifest;
use crate::tree::{TABLES, TreeFiles};
use crate::vfs::{Disk, FileSystem};
use crate::wal::record::Commits;

/// Copies a store, if all its files are whole.
pub(crate) fn copy(data: &Path) -> Result<tempfile::TempDir, OpenError> {
    let failed = |error| OpenError::io(data, error);
    let from = Paths::of(data, STORE);
    if !from.store.is_dir() {
        return Err(OpenError::Missing { folder: data.to_owned() });
    }
    let found = database::examine(&Disk, &from, &mut Commits::new())?;
    let scratch = tempfile::tempdir().map_err(failed)?;
    copy_files(&from, &Paths::of(scratch.path(), STORE), &found.tree).map_err(failed)?;
    Ok(scratch)
}

fn copy_files(from: &Paths, to: &Paths, tree: &TreeFiles) -> io::Result<()> {
    for folder in [&to.store, &to.log, &to.aside, &to.tree, &to.tree.join(TABLES)] {
        fs::create_dir(folder)?;
    }
    for name in [FORMAT, manifest::FILE_NAME] {
        fs::copy(from.store.join(name), to.store.join(name))?;
    }
    for name in Disk.list(&from.log)? {
        fs::copy(from.log.join(&name), to.log.join(name))?;
    }
    for name in ["current".to_owned(), format!("v{}", tree.version.number)] {
        fs::copy(from.tree.join(&name), to.tree.join(name))?;
    }
    let tables = std::path::absolute(&from.tree)?;
    for table in &tree.tables {
        symlink(tables.join(table.file_name()), to.tree.join(table.file_name()))?;
    }
    Ok(())
}
