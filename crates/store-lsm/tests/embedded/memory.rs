//! What writes may take of memory.

use std::sync::Arc;

use bytes::Bytes;
use store::{Store, WriteSet};
use store_lsm::{LsmStore, Options, Tuning};

use crate::support::row;

const MEMTABLE_BYTES: u64 = 64 << 10;
const COMMIT_BYTES: usize = 32 << 10;
/// Each makes its commit in one step, and no step is in the middle of another.
const WRITERS: u64 = 500;

#[tokio::test]
async fn the_memtable_stays_bounded_however_many_write_while_maintenance_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let tuning = Tuning { memtable_bytes: MEMTABLE_BYTES, ..Tuning::default() };
    let store = Arc::new(LsmStore::open(folder.path(), Options { tuning, ..Options::default() }).unwrap());
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            let mut most_bytes = 0;
            let mut decide = |_: &[Option<Bytes>]| {
                most_bytes = store.memtable_bytes().unwrap();
                let value = Bytes::from(vec![0; COMMIT_BYTES]);
                WriteSet { puts: vec![(row(number), value)], ..WriteSet::default() }
            };
            store.update(&[row(number)], &mut decide).await.unwrap();
            most_bytes
        });
    }
    let most_bytes = writers.join_all().await.into_iter().max().unwrap();
    assert!(most_bytes < 2 * MEMTABLE_BYTES, "{most_bytes} bytes before a write");
    store.close().await.unwrap();
}
