//! A store at rest gives back the space of what was deleted.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use store::{Consistency, Key, Partition, Position, Read, Space, Store, WriteSet};
use store_lsm::{LsmStore, Options, Tuning, verify};

use crate::support::until;

const KEPT: Space = Space(1);
const DROPPED: Space = Space(2);
const ROW_BYTES: usize = 1000;

fn open(folder: &Path) -> LsmStore {
    let quiet_time = Duration::from_millis(20);
    let tuning = Tuning { memtable_bytes: 64 << 10, table_bytes: 64 << 10, quiet_time, ..Tuning::default() };
    LsmStore::open(folder, Options { tuning, ..Options::default() }).unwrap()
}

fn keys(space: Space, rows: u64) -> Vec<Key> {
    let key = |number: u64| {
        let position = Position { partition: Partition::FIRST, sort: number.to_be_bytes().to_vec() };
        Key { space, position }
    };
    (0..rows).map(key).collect()
}

/// Rows that do not compress.
async fn fill(store: &LsmStore, space: Space, rows: u64) {
    for batch in keys(space, rows).chunks(50) {
        let put = |key: &Key| {
            let seed = u64::from_be_bytes(*key.position.sort.first_chunk().unwrap());
            let bytes = (0..ROW_BYTES as u64).map(|byte| (((seed * 1000 + byte) * 0x9e37_79b9) >> 13) as u8);
            (key.clone(), bytes.collect::<Bytes>())
        };
        let mut decide =
            |_: &[Option<Bytes>]| WriteSet { puts: batch.iter().map(put).collect(), ..WriteSet::default() };
        store.update(&[], &mut decide).await.unwrap();
    }
}

#[tokio::test]
async fn a_cleared_space_is_given_back_without_later_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fill(&store, KEPT, 50).await;
    fill(&store, DROPPED, 1000).await;
    let dropped_bytes = 1000 * ROW_BYTES as u64;
    until("the rows are in tables", async || store.table_bytes().unwrap() > dropped_bytes * 3 / 4).await;

    store.clear(DROPPED).await.unwrap();
    until("the space comes back", async || store.table_bytes().unwrap() < dropped_bytes / 5).await;
    let rows = store.get(&keys(KEPT, 50), Consistency::Latest).await.unwrap();
    assert_eq!(rows.iter().flatten().count(), 50);
    store.close().await.unwrap();
    drop(store);
    assert!(verify(folder.path()).unwrap().findings.is_empty());

    let store = open(folder.path());
    let rows = store.get(&keys(KEPT, 50), Consistency::Latest).await.unwrap();
    assert_eq!(rows.iter().flatten().count(), 50);
    let rows = store.get(&keys(DROPPED, 1000), Consistency::Latest).await.unwrap();
    assert_eq!(rows.iter().flatten().count(), 0);
    store.close().await.unwrap();
}
