//! Rows that services beside the engine keep in its store, by name: triggers and their positions.

use futures_util::future::BoxFuture;
use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use store::{Consistency, Direction, Range, StoreError, WriteSet};

use crate::Engine;
use crate::base::space;

impl Engine {
    /// The row with this name.
    pub fn service_row<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        Box::pin(async move {
            let rows = self.store.get(&[space::service_key(name)], Consistency::Latest).await?;
            Ok(rows.into_iter().next().flatten())
        })
    }

    /// Stores a row. It is durable when this returns.
    pub fn put_service_row<'a>(
        &'a self,
        name: &'a str,
        value: Bytes,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let key = space::service_key(name);
            let mut decide = |_: &[Option<Bytes>]| WriteSet {
                puts: vec![(key.clone(), value.clone())],
                ..WriteSet::default()
            };
            self.store.update(std::slice::from_ref(&key), &mut decide).await
        })
    }

    /// Removes a row; that there is none is no error.
    pub fn delete_service_row<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let key = space::service_key(name);
            let mut decide =
                |_: &[Option<Bytes>]| WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
            self.store.update(std::slice::from_ref(&key), &mut decide).await
        })
    }

    /// Stores a row, or removes it, if it is as expected; `None` is no row. Returns whether it was.
    pub fn replace_service_row<'a>(
        &'a self,
        name: &'a str,
        expected: Option<&'a [u8]>,
        value: Option<Bytes>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let key = space::service_key(name);
            let mut is_expected = false;
            let mut decide = |rows: &[Option<Bytes>]| {
                is_expected = rows[0].as_deref() == expected;
                match (is_expected, value.clone()) {
                    (false, _) => WriteSet::default(),
                    (true, Some(value)) => {
                        WriteSet { puts: vec![(key.clone(), value)], ..WriteSet::default() }
                    }
                    (true, None) => WriteSet { deletes: vec![key.clone()], ..WriteSet::default() },
                }
            };
            self.store.update(std::slice::from_ref(&key), &mut decide).await?;
            Ok(is_expected)
        })
    }

    /// The rows whose names begin with the prefix, in the order of their names.
    pub fn service_rows<'a>(
        &'a self,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(String, Bytes)>, StoreError>> {
        Box::pin(async move {
            let start = Bound::Included(space::service_key(prefix).position);
            let range = Range { space: space::SERVICES, start, end: Bound::Unbounded };
            let mut rows = Vec::new();
            self.store
                .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, value| {
                    if !key.sort.starts_with(prefix.as_bytes()) {
                        return ControlFlow::Break(());
                    }
                    rows.push((String::from_utf8_lossy(key.sort).into_owned(), value));
                    ControlFlow::Continue(())
                })
                .await?;
            Ok(rows)
        })
    }
}
