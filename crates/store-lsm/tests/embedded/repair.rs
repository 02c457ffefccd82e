//! A damaged folder is repaired into a new store, and the damaged one stays.

use std::fs;
use std::path::Path;

use store::{Consistency, LogPosition, Read, Store};
use store_lsm::{LsmStore, Options, repair, survey, verify};

use crate::moments::{replace, two_moments, with_one_table};
use crate::support::{LOG, open, row, write};

async fn written(folder: &Path) -> LsmStore {
    let store = open(folder).expect("an empty folder opens");
    write(&store, 0..20).await;
    store
}

/// Flips a bit in the middle of the one log segment that holds something.
fn damage_log(folder: &Path) -> Vec<u8> {
    let path = folder.join("store/log/00000001.wal");
    let mut bytes = fs::read(&path).expect("a segment is read");
    let original = bytes.clone();
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("the segment has contents");
    bytes[end / 2] ^= 4;
    fs::write(path, bytes).expect("a segment is written");
    original
}

#[tokio::test]
async fn rows_around_the_damage_are_saved_and_the_original_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    written(folder.path()).await.close().await.expect("a store closes");
    let original = damage_log(folder.path());
    open(folder.path()).err().expect("the folder is damaged");
    let findings = verify(folder.path()).expect("verify runs").findings;
    assert!(findings[0].file.contains("00000001.wal"), "{findings:?}");

    let before = survey(folder.path()).expect("a survey");
    assert_eq!(before.rows.values().sum::<u64>(), 19, "one record holds one commit: {before:?}");
    assert!(before.lost.iter().any(|lost| lost.what.contains("UTC")), "{before:?}");
    let repaired = repair(folder.path(), &Options::default()).expect("a repair");
    assert_eq!(repaired.survey.rows, before.rows);

    let kept = fs::read(repaired.original.join("log/00000001.wal")).expect("the original is kept");
    assert_eq!(kept.len(), original.len());
    let store = open(folder.path()).expect("the repaired folder opens");
    let keys: Vec<_> = (0..20).map(row).collect();
    let rows = store.get(&keys, Consistency::Latest).await.expect("a read succeeds");
    assert_eq!(rows.iter().flatten().count(), 19);
    write(&store, 20..25).await;
    drop(store);
    assert!(verify(folder.path()).expect("verify runs").findings.is_empty());
    let store = open(folder.path()).expect("the folder opens");
    let records = store.read_log(LOG, LogPosition(0), 100).await.expect("a log is read");
    assert_eq!(records.len(), 24);
}

#[tokio::test]
async fn a_lost_manifest_costs_nothing_that_was_stored() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    written(folder.path()).await.close().await.expect("a store closes");
    fs::remove_file(folder.path().join("store/manifest")).expect("a file is removed");
    open(folder.path()).err().expect("the manifest is missing");
    repair(folder.path(), &Options::default()).expect("a repair");
    assert_eq!(crate::support::count(&open(folder.path()).expect("the folder opens")).await, 20);
}

#[tokio::test]
async fn only_what_can_be_lost_is_called_lost() {
    let lost = |damage: fn(&Path)| async move {
        let folder = tempfile::tempdir().expect("a temporary folder");
        written(folder.path()).await.close().await.expect("a store closes");
        damage(&folder.path().join("store"));
        let survey = survey(folder.path()).expect("a survey");
        assert!(!survey.findings.is_empty());
        survey.lost.into_iter().map(|lost| lost.what).collect::<Vec<_>>()
    };
    let nothing: [String; 0] = [];
    assert_eq!(
        lost(|store| fs::remove_file(store.join("manifest")).expect("a file is removed")).await,
        nothing
    );
    let unknown = lost(|store| fs::remove_file(store.join("log/durable")).expect("a file is removed")).await;
    assert!(unknown.len() == 1 && unknown[0].contains("all writes after record 20"), "{unknown:?}");
    let cut = lost(|store| {
        let path = store.join("log/00000001.wal");
        let mut bytes = fs::read(&path).expect("a segment is read");
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("the segment has contents");
        bytes[end - 10] ^= 1;
        fs::write(path, bytes).expect("a segment is written");
    });
    let cut = cut.await;
    assert!(cut.len() == 1 && cut[0].contains("records 20 to 20 are lost"), "{cut:?}");
}

#[tokio::test]
async fn a_repair_that_was_cut_short_is_begun_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    written(folder.path()).await.close().await.expect("a store closes");
    fs::remove_file(folder.path().join("store/manifest")).expect("a file is removed");
    // As a crash between the two changes of names leaves it.
    fs::rename(folder.path().join("store"), folder.path().join("store.damaged-1"))
        .expect("a folder is moved");
    fs::create_dir(folder.path().join("store.new")).expect("a folder is made");
    let refused = open(folder.path()).err().expect("there is no store").to_string();
    assert!(refused.contains("a repair was cut short"), "{refused}");
    assert_eq!(verify(folder.path()).expect("verify runs").findings.len(), 2);
    assert_eq!(survey(folder.path()).expect("a survey").rows.values().sum::<u64>(), 20);
    let repaired = repair(folder.path(), &Options::default()).expect("a repair");
    assert_eq!(repaired.original, folder.path().join("store.damaged-1"));
    assert_eq!(crate::support::count(&open(folder.path()).expect("the folder opens")).await, 20);
}

#[tokio::test]
async fn verify_and_survey_change_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(written(folder.path()).await);
    damage_log(folder.path());
    let contents = || {
        let mut files = Vec::new();
        let mut folders = vec![folder.path().to_owned()];
        while let Some(path) = folders.pop() {
            for entry in fs::read_dir(path).expect("a folder is listed") {
                let path = entry.expect("a folder is listed").path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((path.clone(), fs::read(path).expect("a file is read"))),
                }
            }
        }
        files.sort();
        files
    };
    let before = contents();
    verify(folder.path()).expect("verify runs");
    survey(folder.path()).expect("a survey");
    LsmStore::open_scratch(folder.path(), &Options::default()).err().expect("the folder is damaged");
    assert!(contents() == before, "nothing was changed");
}

#[tokio::test]
async fn a_scratch_copy_can_be_written_to_and_the_folder_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(written(folder.path()).await);
    let store = LsmStore::open_scratch(folder.path(), &Options::default()).expect("the folder opens");
    assert_eq!(crate::support::count(&store).await, 20);
    open(folder.path()).err().expect("the folder is in use");
    write(&store, 20..25).await;
    store.close().await.expect("a store closes");
    assert_eq!(crate::support::count(&open(folder.path()).expect("the folder opens")).await, 20);
}

#[tokio::test]
async fn a_checkpoint_is_a_store_of_its_own() {
    let (folder, copies) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let store = written(folder.path()).await;
    let copy = copies.path().join("copy");
    store.checkpoint(&copy).await.expect("a checkpoint");
    write(&store, 20..30).await;
    store.checkpoint(&copy).await.expect_err("there is a store already");
    store.checkpoint(&folder.path().join("copy")).await.expect_err("that is inside of the data folder");
    assert_eq!(crate::support::count(&open(&copy).expect("the copy opens")).await, 20);
    assert_eq!(crate::support::count(&store).await, 30);
    assert!(verify(&copy).expect("verify runs").findings.is_empty());
}

/// What a survey calls lost, as one text.
fn lost(folder: &Path) -> String {
    let lost = survey(folder).expect("a survey").lost;
    lost.into_iter().map(|lost| format!("{}: {}\n", lost.file, lost.what)).collect()
}

#[tokio::test]
async fn a_log_that_is_older_than_the_tables_is_said_to_have_lost_writes() {
    let [early, late] = two_moments().await;
    replace("tree", late.path(), early.path());
    let lost = lost(early.path());
    assert!(lost.contains("log: ends before the tables do: writes after "), "{lost}");
    repair(early.path(), &Options::default()).expect("a repair");
    let saved = crate::support::count(&open(early.path()).expect("the repaired folder opens")).await;
    assert!((200..=500).contains(&saved), "{saved} rows");
}

#[tokio::test]
async fn tables_that_are_older_than_the_log_are_said_to_have_lost_writes() {
    let [early, late] = two_moments().await;
    replace("tree", early.path(), late.path());
    let lost = lost(late.path());
    assert!(lost.contains("tree/current: is older than the manifest: writes before "), "{lost}");
}

#[tokio::test]
async fn rows_of_a_table_of_another_store_are_not_saved() {
    let [ours, other] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let table = with_one_table(ours.path());
    assert_eq!(with_one_table(other.path()), table, "both tables have the same number");
    replace(&table, other.path(), ours.path());
    let lost = lost(ours.path());
    assert!(lost.contains(&format!("{table}: is a table of another moment or store")), "{lost}");
}

#[tokio::test]
async fn a_repair_takes_no_name_that_an_earlier_one_has_taken() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    written(folder.path()).await.close().await.expect("a store closes");
    for number in [0, 3] {
        let earlier = folder.path().join(format!("store.damaged-{number}"));
        fs::create_dir(&earlier).expect("a folder is made");
        fs::write(earlier.join("kept"), "as it is").expect("a file is written");
    }
    damage_log(folder.path());
    let repaired = repair(folder.path(), &Options::default()).expect("a repair");
    assert!(repaired.original.ends_with("store.damaged-4"), "{:?}", repaired.original);

    fs::create_dir(folder.path().join(format!("store.damaged-{}", u32::MAX))).expect("a folder is made");
    let refused = repair(folder.path(), &Options::default()).expect_err("no number is left").to_string();
    assert!(refused.contains("store.damaged-4294967295"), "{refused}");
    for number in [0, 3] {
        let kept = folder.path().join(format!("store.damaged-{number}/kept"));
        assert_eq!(fs::read_to_string(kept).expect("a file is read"), "as it is");
    }
    open(folder.path()).expect("the repaired folder opens").close().await.expect("a store closes");
}
