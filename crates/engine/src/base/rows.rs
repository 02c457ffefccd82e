//! Many rows at once: each function does its work in commits of a bounded size.

use std::ops::ControlFlow;

use bytes::Bytes;
use store::{Consistency, Direction, Key, Range, Store, StoreError, WriteSet};

/// Rows of one commit.
pub const ROWS_PER_COMMIT: usize = 500;

/// Stores rows, whatever was there before.
pub async fn put_rows(store: &dyn Store, rows: &[(Key, Bytes)]) -> Result<(), StoreError> {
    for rows in rows.chunks(ROWS_PER_COMMIT) {
        let keys: Vec<Key> = rows.iter().map(|(key, _)| key.clone()).collect();
        store.update(&keys, &mut |_| WriteSet { puts: rows.to_vec(), ..WriteSet::default() }).await?;
    }
    Ok(())
}

/// Deletes all rows of a range.
pub async fn delete_rows(store: &dyn Store, range: &Range) -> Result<(), StoreError> {
    loop {
        let mut keys: Vec<Key> = Vec::new();
        let mut visit = |key: store::KeyRef<'_>, _| {
            keys.push(Key { space: range.space, position: key.to_position() });
            if keys.len() < ROWS_PER_COMMIT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        store.scan(range, Direction::Forward, Consistency::Latest, &mut visit).await?;
        if keys.is_empty() {
            return Ok(());
        }
        let delete = || WriteSet { deletes: keys.clone(), ..WriteSet::default() };
        store.update(&keys, &mut |_| delete()).await?;
    }
}

/// Visits all rows of a range, up to the first that the visitor can't read.
pub async fn visit_rows(
    store: &dyn Store,
    range: &Range,
    mut visit: impl FnMut(Key, Bytes) -> Result<(), StoreError> + Send,
) -> Result<(), StoreError> {
    let mut visited = Ok(());
    let mut each = |key: store::KeyRef<'_>, row| {
        visited = visit(Key { space: range.space, position: key.to_position() }, row);
        if visited.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    store.scan(range, Direction::Forward, Consistency::Latest, &mut each).await?;
    visited
}
