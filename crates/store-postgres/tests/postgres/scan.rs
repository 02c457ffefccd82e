//! A scan comes in chunks, but what it shows is of one moment.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use store::{Consistency, Direction, Key, KeyRef, Range, Read, Space, Store, WriteSet};
use store_postgres::{Options, PostgresStore};

use crate::support::{fresh_database, key};

/// More than the first chunk holds, several times over.
const ROWS: usize = 500;

async fn write_all(store: &dyn Store, keys: &[Key], value: &'static str) {
    let puts = keys.iter().map(|key| (key.clone(), Bytes::from(value)));
    let mut decide = |_: &[Option<Bytes>]| WriteSet { puts: puts.clone().collect(), ..WriteSet::default() };
    store.update(keys, &mut decide).await.expect("a write succeeds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_set_that_comes_between_two_chunks_is_not_seen_by_half() {
    // The scan has the only connection for reads, and the write does not wait for it.
    let options = Options { connections: 1, ..Options::default() };
    let store = PostgresStore::open(&fresh_database().await, options).await.expect("the store opens");
    let store = Arc::new(store);
    let keys: Vec<Key> = (0..ROWS).map(|number| key(&format!("{number:04}"))).collect();
    for direction in [Direction::Forward, Direction::Backward] {
        write_all(&*store, &keys, "old").await;
        let (mut seen, mut values) = (0, Vec::new());
        let mut visit = |_: KeyRef<'_>, value: Bytes| {
            seen += 1;
            values.push(value);
            if seen == 1 {
                // The visitor waits, as no visitor should, until the write set is committed.
                let (store, keys) = (store.clone(), keys.clone());
                let (done, wait) = std::sync::mpsc::channel();
                tokio::spawn(async move {
                    write_all(&*store, &keys, "new").await;
                    done.send(())
                });
                wait.recv().expect("the write set is committed");
            }
            ControlFlow::Continue(())
        };
        let range = Range::all(Space(1));
        store.scan(&range, direction, Consistency::Latest, &mut visit).await.expect("a scan succeeds");
        assert_eq!(values, vec![Bytes::from("old"); ROWS], "{direction:?}");
    }
}
