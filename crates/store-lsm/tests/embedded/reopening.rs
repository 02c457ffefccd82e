//! Whatever was acknowledged is there when the folder is opened again.

use store::{LogPosition, Read, Store, StoreError};

use crate::support::{LOG, copy_all, count, open, row, write};

#[tokio::test]
async fn reopening_after_close_keeps_everything() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path()).expect("an empty folder opens");
    write(&store, 0..20).await;
    store.close().await.expect("a store closes");

    // Closing frees the folder, also while the closed store is still around.
    let again = open(folder.path()).expect("the folder opens again");
    assert_eq!(count(&again).await, 20);
    assert!(matches!(store.snapshot().await.err(), Some(StoreError::Unavailable(_))));
    store.close().await.expect("closing twice is no error");
}

#[tokio::test]
async fn reopening_after_dropping_without_close_keeps_everything() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for round in 0..5 {
        let store = open(folder.path()).expect("the folder opens");
        assert_eq!(count(&store).await, round * 10);
        write(&store, round * 10..round * 10 + 10).await;
    }
}

/// A copy of the folder while the store is open is what a killed process leaves behind.
#[tokio::test]
async fn a_folder_as_a_killed_process_leaves_it_opens_with_every_acknowledged_write() {
    for durability in [store_lsm::Durability::Fsync, store_lsm::Durability::Os] {
        let (folder, copy) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let options = store_lsm::Options { durability, ..Default::default() };
        let store = store_lsm::LsmStore::open(folder.path(), options).expect("an empty folder opens");
        write(&store, 0..30).await;
        copy_all(folder.path(), copy.path());
        write(&store, 30..31).await;

        let survivor = open(copy.path()).expect("the copy opens, it is not locked");
        assert_eq!(count(&survivor).await, 30);
        write(&survivor, 30..40).await;
        assert_eq!(count(&survivor).await, 40);
    }
}

#[tokio::test]
async fn torn_tails_are_kept_aside_but_not_without_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let segment = folder.path().join("store/log/00000001.wal");
    for round in 0..12_u8 {
        write(&open(folder.path()).expect("the folder opens"), u64::from(round)..u64::from(round) + 1).await;
        let mut bytes = std::fs::read(&segment).expect("a segment is read");
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("the segment has contents");
        bytes[end + 40..end + 60].fill(100 + round);
        std::fs::write(&segment, bytes).expect("a segment is written");
    }
    assert_eq!(count(&open(folder.path()).expect("the folder opens")).await, 12);
    let aside = std::fs::read_dir(folder.path().join("store/aside")).expect("a folder is listed");
    let kept = aside.map(|entry| std::fs::read(entry.expect("a folder is listed").path()).expect("a file"));
    let mut rounds: Vec<u8> = kept.filter_map(|bytes| bytes.last().copied()).collect();
    rounds.sort_unstable();
    assert_eq!(rounds, (104..112).collect::<Vec<u8>>(), "the newest are kept");
}

#[tokio::test]
async fn positions_of_a_trimmed_log_are_not_used_again_after_reopening() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = open(folder.path()).expect("an empty folder opens");
    write(&store, 0..5).await;
    store.trim_log(LOG, LogPosition::through(1000)).await.expect("a log is trimmed");
    drop(store);

    let store = open(folder.path()).expect("the folder opens");
    assert_eq!(store.read_log(LOG, LogPosition(0), 10).await.expect("a log is read"), []);
    write(&store, 5..6).await;
    let records = store.read_log(LOG, LogPosition(0), 10).await.expect("a log is read");
    assert_eq!(records, [(LogPosition::new(6, 0), bytes::Bytes::from("record 5"))]);
}

/// Enough to fill several write buffers, so that tables, flushes and new journals take part too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_the_write_buffers_hold_comes_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = || store_lsm::Options { durability: store_lsm::Durability::Os, ..Default::default() };
    let value = |number: u64| bytes::Bytes::from(vec![number as u8; 300_000 + number as usize]);
    let store = store_lsm::LsmStore::open(folder.path(), options()).expect("an empty folder opens");
    for number in 0..300 {
        let mut decide = |_: &[Option<bytes::Bytes>]| store::WriteSet {
            puts: vec![(row(number), value(number))],
            ..Default::default()
        };
        store.update(&[row(number)], &mut decide).await.expect("a write succeeds");
    }
    drop(store);
    let store = store_lsm::LsmStore::open(folder.path(), options()).expect("the folder opens");
    for number in 0..300 {
        let found = store::Read::get(&store, &[row(number)], store::Consistency::Latest).await;
        assert_eq!(found.expect("a read succeeds"), [Some(value(number))], "row {number}");
    }
}
