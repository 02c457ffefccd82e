//! The version of everything that the engine stores: the catalog, the reserved spaces, the rows of items
//! and indexes. It is one row of the store, written when the database is first opened. A store checks
//! the format of its own files by itself.

use std::ops::ControlFlow;

use bytes::Bytes;
use store::{Consistency, Direction, Range, Store, StoreError, WriteSet};

use crate::space;

/// To be raised when an older program must no longer open the data.
const FORMAT: u64 = 1;
/// The format of data from before there was a format row.
const FORMAT_WITHOUT_ROW: u64 = 1;

/// Checks that this program knows the format of the store, and marks a store that has no format yet.
pub async fn check(store: &dyn Store) -> Result<(), StoreError> {
    let key = space::format_key();
    let row = store.get(std::slice::from_ref(&key), Consistency::Latest).await?.pop().flatten();
    if let Some(row) = row {
        return check_known(space::decode_number(&row)?);
    }
    let format = if is_empty(store).await? { FORMAT } else { FORMAT_WITHOUT_ROW };
    let mut mark = |rows: &[Option<Bytes>]| {
        let puts = match &rows[0] {
            // Another server was faster.
            Some(_) => Vec::new(),
            None => vec![(key.clone(), space::encode_number(format))],
        };
        WriteSet { puts, ..WriteSet::default() }
    };
    store.update(std::slice::from_ref(&key), &mut mark).await
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
