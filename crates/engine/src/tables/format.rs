//! The version of everything that the engine stores: the catalog, the reserved spaces, the rows of items
//! and indexes. It is one row of the store, written when the database is first opened. A store checks
//! the format of its own files by itself.

use std::ops::ControlFlow;

use bytes::Bytes;
use store::{Consistency, Direction, Key, Range, Read, Store, StoreError, WriteSet};

use crate::base::space;
use crate::tables::migration;

/// To be raised when an older program must no longer open the data.
pub const FORMAT: u64 = 1;
/// The format of data from before there was a format row.
const FORMAT_WITHOUT_ROW: u64 = 1;

/// Checks that this program knows the format of the store and that the store is not being moved, and marks a store
/// that has no format yet.
pub async fn check(store: &dyn Store) -> Result<(), StoreError> {
    if check_readable(store).await? {
        return Ok(());
    }
    let keys = keys();
    let format = if is_empty(store).await? { FORMAT } else { FORMAT_WITHOUT_ROW };
    let mut moved = Ok(());
    let mut mark = |rows: &[Option<Bytes>]| {
        moved = migration::check_mark(&rows[1]);
        let puts = match (&rows[0], &moved) {
            (None, Ok(())) => vec![(keys[0].clone(), space::encode_number(format))],
            // Another server was faster, or a migration.
            _ => Vec::new(),
        };
        WriteSet { puts, ..WriteSet::default() }
    };
    store.update(&keys, &mut mark).await?;
    moved
}

/// Checks the same and writes nothing. Returns whether the store has a format.
pub async fn check_readable(store: &dyn Read) -> Result<bool, StoreError> {
    let rows = store.get(&keys(), Consistency::Latest).await?;
    migration::check_mark(&rows[1])?;
    let Some(row) = &rows[0] else { return Ok(false) };
    check_known(space::decode_number(row)?).map(|()| true)
}

fn keys() -> [Key; 2] {
    [space::format_key(), space::migration_key()]
}

fn check_known(found: u64) -> Result<(), StoreError> {
    match found {
        0 => Err(StoreError::Corrupt("the data has format 0, which there never was".into())),
        1..=FORMAT => Ok(()),
        _ => Err(StoreError::Format(format!(
            "the data has format {found}, and this program knows formats up to {FORMAT}: a newer Lodestone \
             has written it. Open it with that version, or with a later one"
        ))),
    }
}

/// Whether the catalog has no tables.
async fn is_empty(store: &dyn Store) -> Result<bool, StoreError> {
    let mut empty = true;
    let mut visit = |_: store::KeyRef<'_>, _| {
        empty = false;
        ControlFlow::Break(())
    };
    store.scan(&Range::all(space::TABLES), Direction::Forward, Consistency::Latest, &mut visit).await?;
    Ok(empty)
}
