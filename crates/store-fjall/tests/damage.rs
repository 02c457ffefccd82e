//! A damaged journal is tolerated at its end, where a crash may cut a write short, and otherwise
//! reported. It is never an empty database.

mod folder;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use folder::{count, journal, open, write};
use store_fjall::OpenError;

const ROWS: u64 = 10;

/// A folder with some rows, and the bytes of its journal up to the last that was written.
async fn written() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(&open(folder.path()).expect("an empty folder opens"), 0..ROWS).await;
    let mut bytes = fs::read(journal(folder.path())).expect("a journal is read");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("the journal has contents");
    bytes.truncate(end + 1);
    (folder, bytes)
}

async fn check(folder: &Path, damaged: &[u8], rows: u64) {
    fs::write(journal(folder), damaged).expect("a journal is written");
    let store = open(folder).expect("a torn end is tolerated");
    assert_eq!(count(&store).await, rows);
    // And writing goes on where the readable part ends.
    write(&store, rows..ROWS + 2).await;
    drop(store);
    assert_eq!(count(&open(folder).expect("the folder opens")).await, ROWS + 2);
}

#[tokio::test]
async fn a_write_that_was_cut_short_is_dropped_whole() {
    for cut in [1, 5, 30] {
        let (folder, bytes) = written().await;
        check(folder.path(), &bytes[..bytes.len() - cut], ROWS - 1).await;
    }
}

#[tokio::test]
async fn garbage_behind_the_last_write_is_dropped() {
    let (folder, bytes) = written().await;
    check(folder.path(), &[&bytes[..], &[0xee; 100]].concat(), ROWS).await;
    let (folder, bytes) = written().await;
    check(folder.path(), &[&bytes[..], &[0; 5000], &[0xee; 100]].concat(), ROWS).await;
}

#[tokio::test]
async fn damage_before_the_end_is_reported() {
    let (folder, bytes) = written().await;
    let needle = b"row 4";
    let place = bytes.windows(needle.len()).position(|window| window == needle).expect("the row is there");
    let mut damaged = bytes.clone();
    damaged[place] ^= 0x20;
    fs::write(journal(folder.path()), &damaged).expect("a journal is written");
    let error = open(folder.path()).err().expect("the journal is damaged");
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
    // Refusing has not made it worse.
    fs::write(journal(folder.path()), &bytes).expect("a journal is written");
    assert_eq!(count(&open(folder.path()).expect("the folder opens")).await, ROWS);
}

#[tokio::test]
async fn a_missing_journal_or_engine_folder_is_reported() {
    let (folder, _) = written().await;
    let path = journal(folder.path());
    fs::rename(&path, path.with_extension("away")).expect("a file is renamed");
    assert!(matches!(open(folder.path()).err(), Some(OpenError::Corrupt { .. })));
    fs::remove_dir_all(folder.path().join("store/fjall")).expect("a folder is removed");
    assert!(matches!(open(folder.path()).err(), Some(OpenError::Corrupt { .. })));
}

#[tokio::test]
async fn garbage_instead_of_the_engines_marker_is_reported() {
    let (folder, _) = written().await;
    let marker = folder.path().join("store/fjall/version");
    OpenOptions::new()
        .write(true)
        .open(marker)
        .and_then(|mut file| file.write_all(b"????"))
        .expect("written");
    assert!(matches!(open(folder.path()).err(), Some(OpenError::Corrupt { .. })));
}
