//! Walking all rows of a space in bounded batches, for work that takes long: filling an index, counting,
//! verifying. Between two batches the caller may commit how far it is, wait, or be stopped.

use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use store::{
    Consistency, Direction, Key, KeyRef, Partition, Position, Range, Read, Space, Store, StoreError, WriteSet,
};

/// A batch ends at the row that crosses this many bytes, so that batches of the largest items fit into
/// memory, too.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// How far a walk has come, as a row has it.
pub fn encode_progress(position: &Position) -> Bytes {
    Bytes::from([&position.partition.0, position.sort.as_slice()].concat())
}

/// The position that the row at `key` holds; none if there is no row.
pub async fn read_progress(store: &dyn Store, key: &Key) -> Result<Option<Position>, StoreError> {
    let rows = store.get(std::slice::from_ref(key), Consistency::Latest).await?;
    rows.into_iter().next().flatten().map(|row| decode_progress(&row)).transpose()
}

/// Removes the row with the progress of a walk that has ended.
pub async fn forget_progress(store: &dyn Store, key: &Key) -> Result<(), StoreError> {
    let mut forget = |_: &[Option<Bytes>]| WriteSet { deletes: vec![key.clone()], ..WriteSet::default() };
    store.update(std::slice::from_ref(key), &mut forget).await
}

fn decode_progress(bytes: &[u8]) -> Result<Position, StoreError> {
    let corrupt = || StoreError::Corrupt("the progress of a walk".into());
    let (partition, sort) = bytes.split_first_chunk().ok_or_else(corrupt)?;
    Ok(Position { partition: Partition(*partition), sort: sort.to_vec() })
}

/// A walk through a space or a part of it, from its first row or from the middle.
pub struct Walk {
    range: Range,
    batch_rows_max: usize,
    /// The last row that was visited.
    position: Option<Position>,
    ended: bool,
}

impl Walk {
    /// A walk from the first row.
    pub fn new(space: Space, batch_rows_max: usize) -> Walk {
        Walk::after(None, space, batch_rows_max)
    }

    /// A walk from the row after `position`.
    pub fn after(position: Option<Position>, space: Space, batch_rows_max: usize) -> Walk {
        let range = Range { space, start: Bound::Unbounded, end: Bound::Unbounded };
        Walk { position, ..Walk::of_range(range, batch_rows_max) }
    }

    /// A walk through a range.
    pub fn of_range(range: Range, batch_rows_max: usize) -> Walk {
        assert!(batch_rows_max > 0, "a batch has room for a row");
        Walk { range, batch_rows_max, position: None, ended: false }
    }

    /// The last row that was visited.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// Visits the rows of the next batch. False if there were none left.
    pub async fn next(
        &mut self,
        rows: &dyn Read,
        visit: &mut (dyn FnMut(KeyRef<'_>, Bytes) + Send),
    ) -> Result<bool, StoreError> {
        if self.ended {
            return Ok(false);
        }
        let mut range = self.range.clone();
        if let Some(position) = &self.position {
            range.start = Bound::Excluded(position.clone());
        }
        let (mut count, mut bytes) = (0, 0);
        let mut last = Position { partition: store::Partition::FIRST, sort: Vec::new() };
        let mut visit_row = |key: KeyRef<'_>, row: Bytes| {
            (count, bytes) = (count + 1, bytes + row.len());
            // The buffer is used again: a walk does not allocate for each row.
            last.partition = *key.partition;
            last.sort.clear();
            last.sort.extend_from_slice(key.sort);
            visit(key, row);
            let full = count >= self.batch_rows_max || bytes >= BATCH_BYTES_MAX;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        rows.scan(&range, Direction::Forward, Consistency::Latest, &mut visit_row).await?;
        self.ended = count < self.batch_rows_max && bytes < BATCH_BYTES_MAX;
        if count == 0 {
            return Ok(false);
        }
        let last = Some(last);
        assert!(self.position < last, "a walk moves forward, or it would never end");
        self.position = last;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use store::memory::MemoryStore;
    use store::{Key, Partition, Store, WriteSet};

    use super::*;

    async fn store_with(rows: &[(u8, usize)]) -> MemoryStore {
        let store = MemoryStore::new();
        let put = |(sort, length): &(u8, usize)| {
            let position = Position { partition: Partition::FIRST, sort: vec![*sort] };
            (Key { space: Space(20), position }, Bytes::from(vec![0; *length]))
        };
        let mut decide =
            |_: &[Option<Bytes>]| WriteSet { puts: rows.iter().map(put).collect(), ..WriteSet::default() };
        store.update(&[], &mut decide).await.unwrap();
        store
    }

    /// The sort bytes of each batch.
    async fn batches(store: &dyn Read, mut walk: Walk) -> Vec<Vec<u8>> {
        let mut batches = Vec::new();
        loop {
            let mut batch = Vec::new();
            if !walk.next(store, &mut |key, _| batch.push(key.sort[0])).await.unwrap() {
                return batches;
            }
            assert_eq!(walk.position().unwrap().sort, [*batch.last().unwrap()]);
            batches.push(batch);
        }
    }

    #[tokio::test]
    async fn every_row_is_visited_once_in_batches_of_rows_and_bytes() {
        let store = store_with(&[(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]).await;
        assert_eq!(batches(&store, Walk::new(Space(20), 2)).await, [vec![1, 2], vec![3, 4], vec![5]]);
        assert_eq!(batches(&store, Walk::new(Space(20), 5)).await, [vec![1, 2, 3, 4, 5]]);
        assert_eq!(batches(&store, Walk::new(Space(21), 5)).await, Vec::<Vec<u8>>::new());

        let large = BATCH_BYTES_MAX / 2 + 1;
        let store = store_with(&[(1, large), (2, large), (3, 1)]).await;
        assert_eq!(batches(&store, Walk::new(Space(20), 100)).await, [vec![1, 2], vec![3]]);
    }

    #[tokio::test]
    async fn a_walk_of_a_range_stays_in_it() {
        let store = store_with(&[(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]).await;
        let position = |sort| Position { partition: Partition::FIRST, sort: vec![sort] };
        let (start, end) = (Bound::Included(position(2)), Bound::Excluded(position(5)));
        let walk = Walk::of_range(Range { space: Space(20), start, end }, 2);
        assert_eq!(batches(&store, walk).await, [vec![2, 3], vec![4]]);
    }

    #[tokio::test]
    async fn a_walk_goes_on_after_a_position() {
        let store = store_with(&[(1, 1), (2, 1), (3, 1)]).await;
        let position = Position { partition: Partition::FIRST, sort: vec![1] };
        assert_eq!(batches(&store, Walk::after(Some(position), Space(20), 9)).await, [vec![2, 3]]);
    }
}
