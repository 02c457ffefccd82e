//! The state of a table at a past time: its rows as they are now, with the later changes undone.
//!
//! A key that changed after the time T had, at T, the old image of its first record after T. So a copy of an
//! earlier state needs no snapshot that lives long. It walks the live rows in short reads while writes go on,
//! and keeps the old images of changed keys in a scratch space, the overlay. Before a batch of rows is given
//! out, the overlay is brought up to date with the log: whatever changed the rows before they were read is in
//! the log by then. Each record is read once.
//!
//! Restores, backups and exports all copy from here.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use bytes::Bytes;
use item::Item;
use store::{Consistency, Direction, Key, Log, LogPosition, Position, Range, Space, StoreError, WriteSet};

use crate::copies::Copies;
use crate::log::record::ChangeRecord;
use crate::tables::catalog::LiveTable;

/// Rows that are read at once.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 4 << 20;
/// Records that are read at once: two images of 400 KB each fit 32 times into 25 MB.
const STEP_RECORDS: usize = 32;

/// The items of a table as they were at a time, in the order of their keys.
pub struct Past {
    copies: Arc<Copies>,
    table: Arc<LiveTable>,
    time_us: u64,
    /// Holds the old image of each key that has changed since; an empty row if there was no item.
    overlay: Space,
    /// Up to where the overlay has the records of each log.
    undone: HashMap<Log, LogPosition>,
    /// The last position that was given out.
    position: Option<Position>,
    is_ended: bool,
}

impl Past {
    /// The items after `position` as they were at `time_us`. Every change since then must be in the log, and
    /// `overlay` must be an empty space of this copy alone.
    pub fn new(
        copies: Arc<Copies>,
        table: Arc<LiveTable>,
        time_us: u64,
        overlay: Space,
        position: Option<Position>,
    ) -> Past {
        Past { copies, table, time_us, overlay, undone: HashMap::new(), position, is_ended: false }
    }

    /// The next items with their positions; none at the end. A batch may be empty before the end.
    pub async fn next(&mut self) -> Result<Option<Vec<(Position, Item)>>, StoreError> {
        if self.is_ended {
            return Ok(None);
        }
        let live = self.rows(self.table.space(), Bound::Unbounded).await?;
        self.undo().await?;
        let end = live.end();
        let overlay = self.rows(self.overlay, end.clone()).await?;
        // Of the two, the one that broke off first decides how far this batch goes.
        let end = if overlay.is_full { overlay.end() } else { end };
        let within = |position: &Position| match &end {
            Bound::Included(end) => position <= end,
            _ => true,
        };
        let mut items: BTreeMap<Position, Bytes> =
            live.rows.into_iter().filter(|(position, _)| within(position)).collect();
        for (position, old) in overlay.rows {
            match old.is_empty() {
                true => items.remove(&position),
                false => items.insert(position, old),
            };
        }
        match end {
            Bound::Included(end) => self.position = Some(end),
            _ => self.is_ended = true,
        }
        let item = |(position, row): (Position, Bytes)| {
            let item = Item::from_stored(row);
            let item = item.map_err(|error| self.table.unreadable(self.table.space(), &position, error))?;
            Ok((position, item))
        };
        items.into_iter().map(item).collect::<Result<Vec<_>, StoreError>>().map(Some)
    }

    /// A batch of the rows of a space from the current position on.
    async fn rows(&self, space: Space, end: Bound<Position>) -> Result<Batch, StoreError> {
        let start = self.position.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let range = Range { space, start, end };
        let mut batch = Batch { rows: Vec::new(), is_full: false };
        let mut bytes = 0;
        self.copies
            .store
            .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, row| {
                bytes += row.len();
                batch.rows.push((key.to_position(), row));
                batch.is_full = batch.rows.len() >= BATCH_ROWS || bytes >= BATCH_BYTES;
                if batch.is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .await?;
        Ok(batch)
    }

    /// Brings the overlay up to date.
    async fn undo(&mut self) -> Result<(), StoreError> {
        // The table may have more logs by now.
        let table = self.copies.catalog.successor(&self.table).ok_or_else(|| self.gone())?;
        for log in table.log.logs() {
            loop {
                let after = self.undone.get(&log).copied().unwrap_or(LogPosition::through(self.time_us));
                let records = self.copies.store.read_log(log, after, STEP_RECORDS).await?;
                let Some((last, _)) = records.last() else { break };
                let last = *last;
                self.keep_old_images(records).await?;
                self.undone.insert(log, last);
            }
        }
        Ok(())
    }

    fn gone(&self) -> StoreError {
        StoreError::Unavailable(format!("{} was deleted while it was copied", self.table.full_name()))
    }

    /// Adds the old images of keys that the overlay does not have yet.
    async fn keep_old_images(&self, records: Vec<(LogPosition, Bytes)>) -> Result<(), StoreError> {
        let mut first: BTreeMap<Key, Bytes> = BTreeMap::new();
        for (_, record) in records {
            let change = ChangeRecord::decode(record)?;
            let position = self.table.keys.position(change.image().as_ref());
            let old = change.old.map_or_else(Bytes::new, Item::into_stored);
            first.entry(Key { space: self.overlay, position }).or_insert(old);
        }
        let keys: Vec<Key> = first.keys().cloned().collect();
        let mut decide = |rows: &[Option<Bytes>]| {
            let is_new = |row: &Option<Bytes>| row.is_none();
            let puts = first.iter().zip(rows).filter(|(_, row)| is_new(row));
            WriteSet {
                puts: puts.map(|((key, old), _)| (key.clone(), old.clone())).collect(),
                ..WriteSet::default()
            }
        };
        self.copies.store.update(&keys, &mut decide).await
    }
}

struct Batch {
    rows: Vec<(Position, Bytes)>,
    /// Whether there may be more rows behind it.
    is_full: bool,
}

impl Batch {
    /// Where the batch ends.
    fn end(&self) -> Bound<Position> {
        let last = self.rows.last().filter(|_| self.is_full);
        last.map_or(Bound::Unbounded, |(position, _)| Bound::Included(position.clone()))
    }
}
