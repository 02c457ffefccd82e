//! Writers that have nothing in common do not make each other's commits fail.

use std::sync::Arc;

use bytes::Bytes;
use store::{Key, Log, Partition, Position, Space, Store, WriteSet};
use store_fdb::FdbStore;
use store_fdb::model::Model;

use crate::options;

const WRITERS: u8 = 16;
const WRITES: u8 = 40;

async fn writers_of_their_own_rows(length: usize, log: Option<Log>) {
    let model = Model::default();
    let store = Arc::new(FdbStore::on_model(&model, options()).await.expect("a store"));
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let position = Position { partition: Partition::FIRST, sort: vec![writer] };
            let key = Key { space: Space(1), position };
            for number in 0..WRITES {
                // Some begin while others commit.
                for _ in 0..(usize::from(writer) * 7 + usize::from(number) * 3) % 11 {
                    tokio::task::yield_now().await;
                }
                let record = Bytes::from(vec![number; length]);
                let mut decide = |_: &[Option<Bytes>]| WriteSet {
                    puts: vec![(key.clone(), record.clone())],
                    appends: log.iter().map(|log| (*log, record.clone())).collect(),
                    now_us: 1_790_000_000_000_000,
                    ..WriteSet::default()
                };
                store.update(std::slice::from_ref(&key), &mut decide).await.expect("a write succeeds");
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("a writer finishes");
    }
    assert_eq!(model.counts().conflicts, 0);
}

#[tokio::test]
async fn writers_of_their_own_rows_do_not_conflict() {
    writers_of_their_own_rows(8, None).await;
    // Pieces are read after the row: other writers commit between two reads.
    writers_of_their_own_rows(100_000, None).await;
}

#[tokio::test]
async fn writers_of_their_own_rows_and_of_one_log_without_readers_do_not_conflict() {
    writers_of_their_own_rows(8, Some(Log(1))).await;
}
