//! The longest key that PostgreSQL can index.

use bytes::Bytes;
use store::{Consistency, Key, Read, Store, StoreError, WriteSet};
use store_postgres::SORT_LENGTH_MAX;

use crate::support::{fresh_database, increment, key, open};

/// Bytes that cannot be compressed, as PostgreSQL would do with long keys.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

async fn put(store: &dyn Store, key: &Key) -> Result<(), StoreError> {
    let mut decide =
        |_: &[Option<Bytes>]| WriteSet { puts: vec![(key.clone(), Bytes::from("v"))], ..WriteSet::default() };
    store.update(std::slice::from_ref(key), &mut decide).await
}

#[tokio::test]
async fn sort_bytes_of_the_greatest_length_are_stored_and_longer_ones_refused() {
    let store = open(&fresh_database().await).await;
    let mut longest = key("");
    longest.position.sort = noise(SORT_LENGTH_MAX);
    put(&store, &longest).await.expect("the longest key is stored");
    let mut longer = key("");
    longer.position.sort = noise(SORT_LENGTH_MAX + 1);
    let outcome = put(&store, &longer).await;
    assert!(
        matches!(&outcome, Err(StoreError::Unavailable(reason)) if reason.contains("2655")),
        "{outcome:?}"
    );
    let rows = store.get(&[longest, longer], Consistency::Latest).await.expect("a read succeeds");
    assert_eq!(rows, [Some(Bytes::from("v")), None]);
    increment(&store, "row").await.expect("the store is in order");
}
