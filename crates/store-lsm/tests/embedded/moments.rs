//! A folder whose files are of different moments or stores is refused, by the name of a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use store::{Store, WriteSet};
use store_lsm::simulation::stepped::Stepped;
use store_lsm::vfs::Disk;
use store_lsm::{Durability, LsmStore, OpenError, simulation, verify};

use crate::support::{LOG, copy_all, count, row, write};

/// Opens with sizes so small that a few commits make tables and segments.
fn open(folder: &Path) -> Result<LsmStore, OpenError> {
    LsmStore::open(folder, simulation::small(Durability::Fsync))
}

/// A folder with these rows, closed. It has tables.
async fn written(folder: &Path, rows: std::ops::Range<u64>) {
    let store = open(folder).expect("the folder opens");
    write(&store, rows).await;
    store.close().await.expect("a store closes");
    let tables = fs::read_dir(folder.join("store/tree/tables")).expect("a folder is listed");
    assert!(tables.count() > 0, "there are tables");
}

/// Puts a file or a folder of one data folder in place of that of another one.
pub fn replace(part: &str, from: &Path, to: &Path) {
    let (from, to) = (from.join("store").join(part), to.join("store").join(part));
    if from.is_dir() {
        fs::remove_dir_all(&to).expect("a folder is removed");
        copy_all(&from, &to);
    } else {
        fs::remove_file(&to).expect("a file is removed");
        fs::copy(from, to).expect("a file is copied");
    }
}

/// Both verify and an opening name the file, and say what to do.
fn assert_refused(folder: &Path, file: &str) {
    let findings = verify(folder).expect("verify runs").findings;
    assert!(findings.iter().any(|finding| finding.file.starts_with(file)), "{file}: {findings:?}");
    let error = open(folder).err().expect("the folder is refused").to_string();
    for part in [file, "different moments", "`lodestone checkpoint`"] {
        assert!(error.contains(part), "{part:?} is missing in {error:?}");
    }
}

/// The same store at two moments.
pub async fn two_moments() -> [tempfile::TempDir; 2] {
    let [early, late] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    written(early.path(), 0..200).await;
    copy_all(early.path(), late.path());
    written(late.path(), 200..500).await;
    [early, late]
}

#[tokio::test]
async fn a_tree_that_is_ahead_of_manifest_and_log_is_refused() {
    let [early, late] = two_moments().await;
    replace("tree", late.path(), early.path());
    assert_refused(early.path(), "tree/");
}

#[tokio::test]
async fn a_tree_that_is_behind_manifest_and_log_is_refused() {
    let [early, late] = two_moments().await;
    replace("tree", early.path(), late.path());
    assert_refused(late.path(), "tree/current");
}

#[tokio::test]
async fn a_log_that_is_behind_the_manifest_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = tempfile::tempdir().expect("a temporary folder");
    // A large segment, so that the manifest names the same one at both moments.
    let mut options = simulation::small(Durability::Fsync);
    options.tuning.segment_bytes = 1 << 20;
    for rows in [0..100, 100..300] {
        let store = LsmStore::open(folder.path(), options.clone()).expect("the folder opens");
        write(&store, rows.clone()).await;
        // A checkpoint brings the manifest up to date.
        let checkpoint = tempfile::tempdir().expect("a temporary folder");
        store.checkpoint(checkpoint.path()).await.expect("a checkpoint");
        store.close().await.expect("a store closes");
        if rows.start == 0 {
            copy_all(folder.path(), copy.path());
        }
    }
    replace("log", copy.path(), folder.path());
    assert_refused(folder.path(), "log");
}

/// A folder with one table, made step by step: its number depends on no thread.
pub fn with_one_table(folder: &Path) -> String {
    let options = simulation::small(Durability::Fsync);
    let mut store = Stepped::open(Arc::new(Disk), folder, &options).expect("the folder opens");
    for number in 0..20 {
        let mut decide = |_: &[Option<Bytes>]| WriteSet {
            puts: vec![(row(number), Bytes::from(format!("row {number}")))],
            appends: vec![(LOG, Bytes::from(format!("record {number}")))],
            ..WriteSet::default()
        };
        assert!(store.update(&[], &mut decide).expect("a commit").is_some(), "there is room");
        while store.step_log() {}
    }
    store.rotate();
    store.maintain();
    let mut tables = fs::read_dir(folder.join("store/tree/tables")).expect("a folder is listed");
    let table = tables.next().expect("a table").expect("an entry").file_name();
    assert!(tables.next().is_none(), "there is one table");
    format!("tree/tables/{}", table.to_string_lossy())
}

#[tokio::test]
async fn a_table_of_another_store_is_refused() {
    let [ours, other] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let table = with_one_table(ours.path());
    assert_eq!(with_one_table(other.path()), table, "both tables have the same number");
    let original = fs::read(ours.path().join("store").join(&table)).expect("a table is read");
    replace(&table, other.path(), ours.path());
    let error = open(ours.path()).err().expect("the folder is refused").to_string();
    assert!(error.contains(&table) && error.contains("another one"), "{error}");

    fs::write(ours.path().join("store").join(&table), original).expect("a table is written");
    assert_eq!(count(&open(ours.path()).expect("the folder opens")).await, 20);
}

/// The order in which a program copies the parts decides what goes wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_a_folder_in_use_is_refused_or_right() {
    let orders = [
        ["format", "manifest", "log", "tree", "aside"],
        ["format", "log", "tree", "manifest", "aside"],
        ["format", "log", "manifest", "tree", "aside"],
        ["format", "tree", "log", "manifest", "aside"],
        ["format", "tree", "manifest", "log", "aside"],
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Arc::new(open(folder.path()).expect("an empty folder opens"));
    let writing = tokio::spawn({
        let store = Arc::clone(&store);
        async move { write(&store, 0..900).await }
    });
    let mut copies = Vec::new();
    while !writing.is_finished() {
        let copy = tempfile::tempdir().expect("a temporary folder");
        for part in orders[copies.len() % orders.len()] {
            copy_what_is_there(
                &folder.path().join("store").join(part),
                &copy.path().join("store").join(part),
            );
        }
        copies.push(copy);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    writing.await.expect("all rows are written");
    for copy in copies {
        let verified = verify(copy.path()).expect("verify runs").findings.is_empty();
        match open(copy.path()) {
            Ok(opened) => {
                assert!(verified, "verify and an opening agree");
                // Fails if a row or a record is wrong.
                count(&opened).await;
            }
            Err(error) => assert!(!verified && matches!(error, OpenError::Damaged { .. }), "{error}"),
        }
    }
}

/// As `cp -r`: files that are gone by then are skipped.
fn copy_what_is_there(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder is made");
    if !from.is_dir() {
        let _ = fs::copy(from, to);
        return;
    }
    fs::create_dir_all(to).expect("a folder is made");
    for entry in fs::read_dir(from).expect("a folder is listed").flatten() {
        copy_what_is_there(&entry.path(), &to.join(entry.file_name()));
    }
}

#[tokio::test]
async fn a_folder_of_format_2_is_opened_and_then_has_ours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    written(folder.path(), 0..300).await;
    let manifest = || fs::read_to_string(folder.path().join("store/manifest")).expect("a manifest");
    simulation::make_format_2(folder.path()).expect("format 2");
    assert!(!manifest().contains("\ntable "), "{}", manifest());
    assert!(verify(folder.path()).expect("verify runs").findings.is_empty());

    let store = open(folder.path()).expect("format 2 opens");
    assert_eq!(count(&store).await, 300);
    write(&store, 300..310).await;
    drop(store);
    assert!(manifest().contains("\nlog ") && manifest().contains("\ntable "), "{}", manifest());
    let format = fs::read_to_string(folder.path().join("store/format")).expect("a format");
    assert_eq!(format, "lodestone data format 3\n");
    assert_eq!(count(&open(folder.path()).expect("the folder opens")).await, 310);

    // The upgrade was cut short before the format was written.
    fs::write(folder.path().join("store/format"), "lodestone data format 2\n").expect("a file is written");
    assert_eq!(count(&open(folder.path()).expect("the folder opens")).await, 310);

    // A manifest of format 2 in a folder of format 3 is from another time.
    simulation::make_format_2(folder.path()).expect("format 2");
    fs::write(folder.path().join("store/format"), &format).expect("a file is written");
    assert_refused(folder.path(), "manifest");
}

#[tokio::test]
async fn in_format_2_a_tree_with_commits_that_the_log_lacks_is_refused() {
    let [early, late] = two_moments().await;
    replace("tree", late.path(), early.path());
    simulation::make_format_2(early.path()).expect("format 2");
    assert_refused(early.path(), "tree/");
}
