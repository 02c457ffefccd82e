//! A folder that cannot be opened says why, and stays as it was.

use std::fs;

use store::Store;
use store_lsm::{LsmStore, OpenError, Options};

use crate::support::{count, open, write};

#[tokio::test]
async fn a_second_opening_names_the_holder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options { address: Some("http://127.0.0.1:8000".to_owned()), ..Options::default() };
    let store = LsmStore::open(folder.path(), options).expect("an empty folder opens");
    let error = open(folder.path()).err().expect("the folder is taken");
    assert!(matches!(error, OpenError::Taken { .. }), "{error:?}");
    let text = error.to_string();
    let process = format!("process {}", std::process::id());
    for part in [&*process, "http://127.0.0.1:8000", "UTC", &*folder.path().to_string_lossy()] {
        assert!(text.contains(part), "{part:?} is missing in {text:?}");
    }

    store.announce("http://127.0.0.1:9").expect("the holder is named again");
    let text = open(folder.path()).err().expect("the folder is taken").to_string();
    assert!(text.contains("serving http://127.0.0.1:9 ("), "{text}");
    drop(store);
    open(folder.path()).expect("the folder is free");
}

#[tokio::test]
async fn another_format_version_is_refused_by_both_numbers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(&open(folder.path()).expect("an empty folder opens"), 0..3).await;
    let format = folder.path().join("store/format");
    let ours = fs::read_to_string(&format).expect("there is a format");

    fs::write(&format, "lodestone data format 7\n").expect("a file is written");
    let error = open(folder.path()).err().expect("another version");
    assert!(matches!(error, OpenError::OtherVersion { found: 7, .. }), "{error:?}");
    assert!(
        error.to_string().contains("version 7") && error.to_string().contains("versions 2 to 3"),
        "{error}"
    );

    for broken in ["", "lodestone data format one\n", "\u{1f980}"] {
        fs::write(&format, broken).expect("a file is written");
        let error = open(folder.path()).err().expect("no version");
        assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    }
    fs::remove_file(&format).expect("a file is removed");
    assert!(matches!(open(folder.path()).err(), Some(OpenError::Damaged { .. })));

    fs::write(&format, ours).expect("a file is written");
    assert_eq!(count(&open(folder.path()).expect("our version opens")).await, 3);
}

#[tokio::test]
async fn a_foreign_folder_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("thesis.txt"), "precious").expect("a file is written");
    let error = open(folder.path()).err().expect("a foreign folder");
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    assert!(error.to_string().contains("thesis.txt"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder is listed").count(), 1, "nothing was added");

    let error = open(&folder.path().join("thesis.txt")).err().expect("no folder at all");
    assert!(matches!(error, OpenError::Io { .. }), "{error:?}");
}

#[tokio::test]
async fn a_folder_whose_making_was_cut_short_is_made_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let half_made = folder.path().join("store.new/log");
    fs::create_dir_all(&half_made).expect("a folder is made");
    fs::write(half_made.join("00000001.wal"), "").expect("a file is written");
    let store = open(folder.path()).expect("the folder opens");
    assert!(!folder.path().join("store.new").exists());
    write(&store, 0..3).await;
    store.close().await.expect("a store closes");
    assert_eq!(count(&open(folder.path()).expect("the folder opens")).await, 3);
}
