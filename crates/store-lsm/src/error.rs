//! Why a data folder could not be opened, and which errors callers get for failures of the tree and the
//! disk.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use store::StoreError;

use crate::folder::{FORMAT_VERSION, OLDEST_VERSION};
use crate::wal::reader::ReadError;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the data folder {} is in use by {holder}", .folder.display())]
    Taken { folder: PathBuf, holder: String },
    #[error(
        "the data folder {} has format version {found}, this program reads versions {OLDEST_VERSION} to {FORMAT_VERSION}",
        .folder.display()
    )]
    OtherVersion { folder: PathBuf, found: u32 },
    #[error("the folder {} is no data folder of Lodestone: it contains {entry:?}", .folder.display())]
    Foreign { folder: PathBuf, entry: String },
    #[error("there is no database in the folder {}", .folder.display())]
    Missing { folder: PathBuf },
    #[error("the disk of the data folder {} is full", .folder.display())]
    DiskFull { folder: PathBuf },
    #[error("the data folder {} is damaged: {file}: {what}", .folder.display())]
    Damaged { folder: PathBuf, file: String, what: String },
    #[error("the data folder {} cannot be opened: {error}", .folder.display())]
    Io { folder: PathBuf, error: io::Error },
}

impl OpenError {
    pub(crate) fn io(folder: &Path, error: io::Error) -> Self {
        let folder = folder.to_owned();
        if is_full(&error) { OpenError::DiskFull { folder } } else { OpenError::Io { folder, error } }
    }

    pub(crate) fn damaged(folder: &Path, file: impl Into<String>, what: impl Into<String>) -> Self {
        OpenError::Damaged { folder: folder.to_owned(), file: file.into(), what: what.into() }
    }

    /// Files that are whole, but were never together in one store.
    pub(crate) fn mixed(folder: &Path, file: impl Into<String>, what: &str) -> Self {
        let hint = "the files are of different moments or stores; to copy a folder that is in use, use \
                    `lodestone checkpoint`";
        OpenError::damaged(folder, file, format!("{what}: {hint}"))
    }

    pub(crate) fn log(folder: &Path, error: ReadError) -> Self {
        match error {
            ReadError::Damage(damage) => {
                OpenError::damaged(folder, format!("log/{}", damage.file), damage.what)
            }
            ReadError::Io(error) => OpenError::io(folder, error),
        }
    }

    pub(crate) fn tree(folder: &Path, error: lsm_tree::Error) -> Self {
        match error {
            lsm_tree::Error::Io(error) => OpenError::io(folder, error),
            other => OpenError::damaged(folder, "tree", other.to_string()),
        }
    }
}

/// Whether there is no room left, rather than something broken.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// A read that failed concerns its own request only.
pub(crate) fn read_failure(error: lsm_tree::Error) -> StoreError {
    match error {
        lsm_tree::Error::Io(error) if error.kind() != ErrorKind::UnexpectedEof => {
            StoreError::Unavailable(error.to_string())
        }
        other => StoreError::Corrupt(other.to_string()),
    }
}
