//! The rows of backups, exports, imports and bulk puts: what was asked for and how far it is. They outlive their tables and
//! are read from the store each time, so there is nothing to keep in step.

use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{Consistency, Direction, Key, Position, Range, Store, StoreError, WriteSet};

use crate::Namespace;
use crate::base::space;

/// A backup, an export, an import, …
pub trait Record: Serialize + DeserializeOwned + Send {
    /// What it is, as the beginning of its key.
    const KIND: &'static str;

    fn namespace(&self) -> &Namespace;

    fn arn(&self) -> &str;
}

/// Where a record is stored.
pub fn key<R: Record>(record: &R) -> Key {
    space::record_key(record.namespace(), R::KIND, record.arn())
}

/// Stores a record, new or changed.
pub async fn put<R: Record + Sync>(store: &dyn Store, record: &R) -> Result<(), StoreError> {
    let (key, row) = (key(record), encode(record));
    let mut decide =
        |_: &[Option<Bytes>]| WriteSet { puts: vec![(key.clone(), row.clone())], ..WriteSet::default() };
    store.update(std::slice::from_ref(&key), &mut decide).await
}

/// Changes a record, unless it is gone.
pub async fn change<R: Record>(
    store: &dyn Store,
    namespace: &Namespace,
    arn: &str,
    change: impl Fn(&mut R) + Send + Sync,
) -> Result<(), StoreError> {
    let key = space::record_key(namespace, R::KIND, arn);
    let mut fault = None;
    let mut decide = |rows: &[Option<Bytes>]| {
        fault = None;
        let Some(row) = &rows[0] else { return WriteSet::default() };
        match decode::<R>(row) {
            Ok(mut record) => {
                change(&mut record);
                WriteSet { puts: vec![(key.clone(), encode(&record))], ..WriteSet::default() }
            }
            Err(error) => {
                fault = Some(error);
                WriteSet::default()
            }
        }
    };
    store.update(std::slice::from_ref(&key), &mut decide).await?;
    fault.map_or(Ok(()), Err)
}

/// The record with this ARN.
pub async fn get<R: Record>(
    store: &dyn Store,
    namespace: &Namespace,
    arn: &str,
) -> Result<Option<R>, StoreError> {
    let key = space::record_key(namespace, R::KIND, arn);
    let rows = store.get(&[key], Consistency::Latest).await?;
    rows.into_iter().flatten().next().map(|row| decode(&row)).transpose()
}

/// Forgets a record.
pub async fn remove<R: Record>(
    store: &dyn Store,
    namespace: &Namespace,
    arn: &str,
) -> Result<(), StoreError> {
    let key = space::record_key(namespace, R::KIND, arn);
    let mut decide = |_: &[Option<Bytes>]| WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
    store.update(std::slice::from_ref(&key), &mut decide).await
}

/// All records of one kind in a namespace.
pub async fn list<R: Record>(store: &dyn Store, namespace: &Namespace) -> Result<Vec<R>, StoreError> {
    let at = |sort: String| Position { partition: space::of_namespace(namespace), sort: sort.into_bytes() };
    let (start, end) = (at(format!("{}/", R::KIND)), at(format!("{}0", R::KIND)));
    scan(store, &Range { space: space::RECORDS, start: Bound::Included(start), end: Bound::Excluded(end) })
        .await
}

/// All records of one kind.
pub async fn all<R: Record>(store: &dyn Store) -> Result<Vec<R>, StoreError> {
    scan(store, &Range::all(space::RECORDS)).await
}

async fn scan<R: Record>(store: &dyn Store, range: &Range) -> Result<Vec<R>, StoreError> {
    let prefix = format!("{}/", R::KIND).into_bytes();
    let mut found = Vec::new();
    store
        .scan(range, Direction::Forward, Consistency::Latest, &mut |key, row| {
            if key.sort.starts_with(&prefix) {
                found.push(decode(&row));
            }
            ControlFlow::Continue(())
        })
        .await?;
    found.into_iter().collect()
}

/// The row of a record.
pub fn encode(record: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(record).expect("records have only text and numbers"))
}

fn decode<R: Record>(row: &[u8]) -> Result<R, StoreError> {
    serde_json::from_slice(row)
        .map_err(|error| StoreError::Corrupt(format!("the row of a {}: {error}", R::KIND)))
}
