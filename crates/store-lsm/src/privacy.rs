//! Who may read a data folder: its owner alone, whatever the umask is.
//!
//! Our own files and folders are made that way. lsm-tree makes its files with the modes that the umask
//! leaves; they get ours when the manifest names them, and are in a folder of ours until then. An
//! opening corrects what an earlier program has made, or a copy has changed.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::folder::{LOCK, STORE};

pub(crate) const FOLDER_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;

/// Corrects the modes of a data folder and everything of ours in it. A process that does not own the
/// folder can't; the folder is then used as it is, and the log says so.
pub(crate) fn correct(data: &Path) {
    if let Err(error) = correct_all(data) {
        tracing::warn!("others may be able to read the data folder {}: {error}", data.display());
    }
}

fn correct_all(data: &Path) -> io::Result<()> {
    set_mode(data, FOLDER_MODE)?;
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        // `store` and its neighbours `store.new` and `store.damaged-1`. Backups are not the store's.
        let name = entry.file_name();
        if name == LOCK || name.to_string_lossy().starts_with(STORE) {
            correct_below(&entry.path())?;
        }
    }
    Ok(())
}

/// Corrects the modes of a file, or of a folder and everything in it. Links are left alone: what they
/// name belongs to another folder.
pub(crate) fn correct_below(path: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_dir() {
        set_mode(path, FOLDER_MODE)?;
        fs::read_dir(path)?.try_for_each(|entry| correct_below(&entry?.path()))
    } else if kind.is_file() {
        set_mode(path, FILE_MODE)
    } else {
        Ok(())
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let permissions = fs::metadata(path)?.permissions();
    if permissions.mode() & 0o7777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
