//! The job that makes the copies of vector indexes, and keeps them with writes.

use std::sync::Arc;
use std::time::Duration;

use item::Item;
use store::{Consistency, Key, KeyRef, Position, StoreError};
use vector::Sketch;

use super::{Block, Copied, Part, Wanted, distance, read_vector};
use crate::background::Job;
use crate::base::table::{Index, IndexState, VectorSettings};
use crate::base::walk::Walk;
use crate::tables::Tables;
use crate::tables::catalog::LiveTable;

const INTERVAL: Duration = Duration::from_millis(200);
/// Rows in a block.
const BLOCK_ROWS: usize = 1000;
/// From this number of noted rows on, they are copied: until then, searches read them one by one.
const NOTED_MIN: usize = 250;
/// Rows that are read together: ten of the largest items have 4 MB.
const READ_ROWS: usize = 10;

/// Keeps the copies, for as long as the database is open. One is made at a time.
pub struct KeepSketches {
    pub tables: Arc<Tables>,
}

impl Job for KeepSketches {
    fn name(&self) -> &'static str {
        "copies of vector indexes"
    }

    fn subject(&self) -> String {
        "all tables".into()
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn is_short(&self) -> bool {
        true
    }

    /// Each server has its own.
    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        let sketches = &self.tables.sketches;
        for (part, copied) in sketches.all() {
            if copied.is_worn() || self.source(part).is_none() {
                sketches.remove(part);
            } else if copied.noted_rows() >= NOTED_MIN {
                self.renew(part, &copied).await.inspect_err(|_| sketches.remove(part))?;
            }
        }
        while let Some((part, wanted)) = sketches.next_wanted() {
            self.make(part, &wanted).await.inspect_err(|_| sketches.remove(part))?;
        }
        Ok(())
    }
}

impl KeepSketches {
    /// The table whose index is copied; none if there is no such index any more.
    fn source(&self, (space, _): Part) -> Option<Arc<LiveTable>> {
        let is_active = |index: &Index| index.space() == space && index.state == IndexState::Active;
        self.tables.catalog.all().into_iter().find(|table| table.indexes.iter().any(is_active))
    }

    async fn make(&self, part: Part, wanted: &Wanted) -> Result<(), StoreError> {
        let sketches = &self.tables.sketches;
        let Some(table) = self.source(part) else { return Ok(()) };
        let Some(settings) = settings(&table, part) else { return Ok(()) };
        let Some(copied) = sketches.register(part, wanted.rows, settings.dimensions) else { return Ok(()) };
        // Later writes note their rows. Earlier ones must be there to be read.
        self.tables.pass_writes(&table).await?;
        let mut walk = Walk::of_range(wanted.range.clone(), BLOCK_ROWS);
        loop {
            let mut batch = Batch::new(settings);
            let mut visit = |key: KeyRef<'_>, row| batch.add(key.to_position(), Item::trusted(row));
            if !walk.next(&*self.tables.store, &mut visit).await? {
                break;
            }
            copied
                .add(batch.block().map_err(|(position, error)| table.unreadable(part.0, &position, error))?);
            if sketches.is_full() {
                tracing::info!(
                    table = table.full_name(),
                    "a vector index has grown beyond the memory for it"
                );
                sketches.remove(part);
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        copied.complete();
        Ok(())
    }

    /// Copies the noted rows as they now are.
    async fn renew(&self, part: Part, copied: &Copied) -> Result<(), StoreError> {
        let Some(table) = self.source(part) else { return Ok(()) };
        let Some(settings) = settings(&table, part) else { return Ok(()) };
        let noted = copied.noted(BLOCK_ROWS);
        // A row is noted before its write is committed.
        self.tables.pass_writes(&table).await?;
        let key = |(position, _): &(Position, u64)| Key { space: part.0, position: position.clone() };
        let keys: Vec<Key> = noted.iter().map(key).collect();
        let mut batch = Batch::new(settings);
        for keys in keys.chunks(READ_ROWS) {
            let rows = self.tables.store.get(keys, Consistency::Latest).await?;
            for (key, row) in keys.iter().zip(rows) {
                if let Some(row) = row {
                    batch.add(key.position.clone(), Item::trusted(row));
                }
            }
        }
        let block = match batch.positions.is_empty() {
            true => None,
            false => {
                Some(batch.block().map_err(|(position, error)| table.unreadable(part.0, &position, error))?)
            }
        };
        copied.renew(&noted, block);
        Ok(())
    }
}

fn settings(table: &LiveTable, (space, _): Part) -> Option<&VectorSettings> {
    table.indexes.iter().find(|index| index.space() == space)?.vector.as_ref()
}

/// Rows that become a block.
struct Batch<'a> {
    settings: &'a VectorSettings,
    positions: Vec<Position>,
    numbers: Vec<f32>,
    buffer: Vec<f32>,
    unreadable: Option<(Position, super::NoVector)>,
}

impl Batch<'_> {
    fn new(settings: &VectorSettings) -> Batch<'_> {
        Batch { settings, positions: Vec::new(), numbers: Vec::new(), buffer: Vec::new(), unreadable: None }
    }

    fn add(&mut self, position: Position, row: Item) {
        match read_vector(self.settings, row.as_ref(), &mut self.buffer) {
            Ok(()) => {
                self.positions.push(position);
                self.numbers.extend_from_slice(&self.buffer);
            }
            Err(error) => self.unreadable = Some((position, error)),
        }
    }

    fn block(self) -> Result<Block, (Position, super::NoVector)> {
        if let Some(unreadable) = self.unreadable {
            return Err(unreadable);
        }
        let sketch = Sketch::new(distance(self.settings), self.settings.dimensions, self.numbers);
        Ok(Block::new(self.positions, sketch))
    }
}
