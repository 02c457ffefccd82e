//! What to do about a database that can't be opened, for whoever typed the command.

use lodestone::OpenError;
use store::StoreError;
use store_fjall::OpenError as FolderError;

/// The error, and the way out where there is one.
pub fn explain(error: &OpenError) -> String {
    let way_out = match error {
        OpenError::Folder(FolderError::Taken { .. }) => {
            "Stop that process, or name another folder with --data."
        }
        OpenError::Folder(FolderError::Foreign { .. }) => {
            "Name an empty folder, or one that isn't there yet, with --data."
        }
        OpenError::Folder(FolderError::OtherVersion { .. }) => {
            "Use the version of Lodestone that wrote it, or name another folder with --data."
        }
        OpenError::Folder(FolderError::DiskFull { .. }) => {
            "Make room, or name a folder on another disk with --data."
        }
        OpenError::Store(StoreError::Unavailable(_)) => {
            "If it is in PostgreSQL: is the server that --postgres names running, and may this user connect?"
        }
        OpenError::Folder(_) | OpenError::Store(_) => return error.to_string(),
    };
    format!("{error}. {way_out}")
}
