//! Error messages for users: what went wrong, and what to do about it.

use std::io::{self, ErrorKind};

use lodestone::OpenError;
use store::StoreError;
use store_lsm::OpenError as FolderError;

/// Why a database can't be opened, and the way out where there is one.
pub fn about_opening(error: &OpenError) -> String {
    match error {
        OpenError::Folder(FolderError::Io { folder, error }) => {
            about_folder(&folder.display().to_string(), error)
        }
        OpenError::Folder(folder) => match way_out(folder) {
            Some(way_out) => format!("{folder}. {way_out}"),
            None => folder.to_string(),
        },
        OpenError::Store(error @ StoreError::Unavailable(_)) => format!(
            "{error}. Is the URL right (postgres://user:password@host:5432/database), does the server that it \
             names run, and may this user connect?"
        ),
        OpenError::FoundationDb(error @ StoreError::Unavailable(_)) => format!(
            "{error}. Does the file name the right cluster, do most of its coordinators run, and has the cluster a \
             database (`fdbcli --exec status`)?"
        ),
        OpenError::Store(error @ StoreError::Corrupt(_))
        | OpenError::FoundationDb(error @ StoreError::Corrupt(_)) => {
            format!("{error}. Restore the data from a copy; nothing was changed.")
        }
        OpenError::Store(error) | OpenError::FoundationDb(error) => error.to_string(),
    }
}

fn way_out(error: &FolderError) -> Option<&'static str> {
    match error {
        FolderError::Taken { .. } => Some("Stop that process, or name another folder with --data."),
        FolderError::Foreign { .. } => {
            Some("Name an empty folder, or one that isn't there yet, with --data.")
        }
        FolderError::OtherVersion { found: 1, .. } => Some(
            "Format 1 was written by builds up to commit 8d2467d, before the first release, and nothing converts \
             it. To begin with an empty database, name another folder with --data. To keep the data, build that commit, serve the \
             folder with it on another port, and copy each table from there to a server of this version: scan \
             it, and put its items.",
        ),
        FolderError::OtherVersion { .. } => {
            Some("Use the version of Lodestone that wrote it, or name another folder with --data.")
        }
        FolderError::DiskFull { .. } => Some("Make room, or name a folder on another disk with --data."),
        FolderError::Damaged { .. } => Some(
            "Nothing was changed. `lodestone verify` names everything that is damaged, and `lodestone repair` \
             tells what can be saved and saves it.",
        ),
        FolderError::Missing { .. } => Some("Name the data folder of a server."),
        FolderError::Io { .. } => None,
    }
}

fn about_folder(folder: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            format!("{folder} is a file, or is inside one. Name a folder with --data.")
        }
        ErrorKind::PermissionDenied => format!(
            "this user may not read and write the folder {folder}. Change its owner or permissions, or name \
             another folder with --data."
        ),
        ErrorKind::ReadOnlyFilesystem => format!(
            "the disk of the folder {folder} is mounted read-only. Name a folder on another disk with --data."
        ),
        _ if error.raw_os_error() == Some(TOO_MANY_OPEN_FILES) => format!(
            "the folder {folder} can't be opened: this process may not open more files. Raise the limit first, \
             e.g. with: ulimit -n 65536"
        ),
        _ => format!("the folder {folder} can't be opened: {error}. Name another folder with --data."),
    }
}

/// EMFILE, which has no kind of its own.
const TOO_MANY_OPEN_FILES: i32 = 24;

/// Why an address that other machines reach is not served, and how it can be.
pub fn about_open_host(host: &str) -> String {
    format!(
        "--host {host} can be reached from other machines, and every client there could read and change every \
         table. Say who may do that with --access FILE (lodestone access add makes one). If everybody on that \
         network may, start with --open-to-anyone. Without --host, only this machine can connect."
    )
}

/// Why an address can't be listened on, and what to use instead.
pub fn about_listening(host: &str, port: u16, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => format!(
            "port {port} on {host} is taken by another process. Choose another with --port, or --port 0 for a \
             free one."
        ),
        ErrorKind::PermissionDenied => format!(
            "this user may not listen on port {port}; ports below 1024 belong to root. Choose another with --port."
        ),
        ErrorKind::AddrNotAvailable => format!(
            "{host} is no address of this machine. Listen on one of its own with --host, or on all with \
             --host 0.0.0.0 --open-to-anyone."
        ),
        _ => format!(
            "can't listen on {host}:{port}: {error}. --host takes an address of this machine, such as \
             127.0.0.1 or 0.0.0.0."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: String, parts: &[&str]) {
        for part in parts {
            assert!(message.contains(part), "no {part:?} in: {message}");
        }
        assert!(!message.contains("os error"), "{message}");
    }

    fn folder(kind: ErrorKind) -> String {
        let error = FolderError::Io { folder: "/srv/db".into(), error: kind.into() };
        about_opening(&OpenError::Folder(error))
    }

    #[test]
    fn a_folder_that_cannot_be_used_says_what_to_do() {
        check(folder(ErrorKind::AlreadyExists), &["/srv/db is a file", "--data"]);
        check(folder(ErrorKind::NotADirectory), &["/srv/db is a file", "--data"]);
        check(folder(ErrorKind::PermissionDenied), &["/srv/db", "owner or permissions", "--data"]);
        check(folder(ErrorKind::ReadOnlyFilesystem), &["/srv/db", "read-only", "--data"]);
        let error = FolderError::Io { folder: "/srv/db".into(), error: io::Error::from_raw_os_error(24) };
        check(about_opening(&OpenError::Folder(error)), &["/srv/db", "ulimit -n"]);
        let error = FolderError::DiskFull { folder: "/srv/db".into() };
        check(about_opening(&OpenError::Folder(error)), &["full", "Make room", "--data"]);
    }

    #[test]
    fn a_folder_of_format_1_says_which_build_reads_it() {
        let error = FolderError::OtherVersion { folder: "/srv/db".into(), found: 1 };
        check(
            about_opening(&OpenError::Folder(error)),
            &["/srv/db", "version 1", "versions 2 to 3", "8d2467d", "copy each table", "--data"],
        );
    }

    #[test]
    fn an_address_that_cannot_be_listened_on_says_what_to_use() {
        let listening = |kind: ErrorKind| about_listening("10.0.0.1", 80, &kind.into());
        check(listening(ErrorKind::AddrInUse), &["port 80", "taken", "--port 0"]);
        check(listening(ErrorKind::PermissionDenied), &["port 80", "root", "--port"]);
        check(listening(ErrorKind::AddrNotAvailable), &["10.0.0.1", "--host 0.0.0.0"]);
    }

    #[test]
    fn a_foundationdb_cluster_that_does_not_answer_shows_where_to_look() {
        let error = StoreError::Unavailable("2 of 3 coordinators are away".to_owned());
        check(
            about_opening(&OpenError::FoundationDb(error)),
            &["2 of 3 coordinators", "file", "fdbcli --exec status"],
        );
    }

    #[test]
    fn postgres_that_cannot_be_reached_shows_what_a_url_looks_like() {
        let error = StoreError::Unavailable("connection refused".to_owned());
        check(
            about_opening(&OpenError::Store(error)),
            &["connection refused", "postgres://user:password@host"],
        );
    }
}
