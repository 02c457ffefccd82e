//! Searching a vector index: the items whose vectors are nearest to a given one.
//!
//! 1. The rows of the index are walked, or those of one partition if the index has a partition key. The positions of
//!    the nearest are kept: bounded memory, however many rows there are. If there is a compressed copy of the rows
//!    (`tables/sketches.rs`), it says which of them may be the nearest, and only those are read.
//! 2. The rows at these positions are read, scored again and shown. What was changed in between has its new score, and
//!    what was deleted is left out.

use std::ops::Bound;
use std::sync::Arc;

use api::{Operation, limits};
use expression::Projection;
use expression::key_condition::KeyRange;
use item::{Item, ItemBuilder, ItemRef, ListBuilder, Number, ValueBuf};
use store::turns::{SLICE_WORK, Slices};
use store::{Consistency, Key, KeyRef, Position, Range, Read, StoreError};
use vector::Nearest;

use super::Reads;
use crate::base::key::{self, query_range};
use crate::base::table::{Index, VectorSettings};
use crate::base::walk::Walk;
use crate::tables::catalog::LiveTable;
use crate::tables::sketches::{Copied, NoVector, Part, distance, read_vector};
use crate::throughput::usage::Ending;

/// Rows that are read together to be compared.
const BATCH_ROWS: usize = 1000;
/// Blocks of a copy that are compared before other requests have their turn: some half a millisecond.
const BATCH_BLOCKS: usize = 10;
/// Rows that are read together to be shown: ten of the largest items have 4 MB.
const SHOWN_ROWS: usize = 10;
/// How many rows are read of those that a copy ranks first: estimates are rarely wrong by more than a few ranks.
const CANDIDATES_PER_RESULT: usize = 2;
const CANDIDATES_MIN: usize = 30;
/// How many times as many if there are filters, of which a copy knows nothing.
const FILTERED_FACTOR: usize = 8;

/// What is searched for.
pub struct SearchRequest<'a> {
    pub table: &'a LiveTable,
    pub index: &'a Index,
    pub settings: &'a VectorSettings,
    pub vector: Vec<f32>,
    /// The partition key, in an index that has one.
    pub partition: Option<ValueBuf>,
    /// The attributes that must have these values.
    pub filters: Vec<(&'a str, &'a ValueBuf)>,
    pub top_k: usize,
    pub projection: Option<&'a Projection>,
}

/// The nearest items, and what finding them is metered as.
#[derive(Default)]
pub struct NearestItems {
    /// The nearest first, each with its score.
    pub items: Vec<(Item, f64)>,
    pub metered_bytes: usize,
}

/// Why nothing was found.
#[derive(Debug)]
pub enum SearchError {
    /// The items are more than an answer may hold.
    TooLarge,
    Store(StoreError),
}

impl From<StoreError> for SearchError {
    fn from(error: StoreError) -> SearchError {
        SearchError::Store(error)
    }
}

/// Searches the index.
pub async fn nearest(reads: &Reads, request: &SearchRequest<'_>) -> Result<NearestItems, SearchError> {
    let began = reads.usage.moment();
    let result = search(reads, request).await;
    let (ending, returned) = match &result {
        Ok(found) => (Ending::Served, Some(found.items.len())),
        Err(SearchError::TooLarge) => (Ending::Refused, None),
        Err(SearchError::Store(_)) => (Ending::Failed, None),
    };
    let times = (began, reads.usage.moment());
    reads.usage.request(request.table, Operation::SearchVectors, ending, returned, times);
    result
}

async fn search(reads: &Reads, request: &SearchRequest<'_>) -> Result<NearestItems, SearchError> {
    let past = reads.index_delay.as_ref().and_then(|delay| delay.rows(reads.environment.now_ms()));
    let rows: Arc<dyn Read> = past.unwrap_or_else(|| reads.store.clone());
    let (positions, examined) = match reads.sketches.complete(request.part()) {
        Some(copied) => match request.estimate(&*rows, &copied).await? {
            Some(estimated) => estimated,
            None => request.walk(&*rows, reads).await?,
        },
        None => request.walk(&*rows, reads).await?,
    };
    let mut found = request.show(&*rows, positions).await?;
    let vector_bytes = request.settings.dimensions * size_of::<f32>();
    found.metered_bytes =
        (found.metered_bytes + examined * vector_bytes).max(limits::VECTOR_REQUEST_BYTES_MIN);
    Ok(found)
}

impl SearchRequest<'_> {
    /// What a copy would be of.
    fn part(&self) -> Part {
        (self.index.space(), self.partition.as_ref().map(|value| key::partition([value.as_ref()])))
    }

    /// The rows that are searched.
    fn range(&self) -> Range {
        let space = self.index.space();
        match &self.partition {
            Some(value) => {
                let partition = vec![value.clone()];
                query_range(space, &KeyRange { partition, sort_prefix: Vec::new(), sort: None })
            }
            None => Range { space, start: Bound::Unbounded, end: Bound::Unbounded },
        }
    }

    /// The positions of the nearest rows, and how many rows were compared. If the rows are many, a copy of them is asked
    /// for.
    async fn walk(&self, rows: &dyn Read, reads: &Reads) -> Result<(Vec<Position>, usize), StoreError> {
        let mut nearest = Nearest::new(self.top_k);
        let mut walk = Walk::of_range(self.range(), BATCH_ROWS);
        let (mut buffer, mut walked, mut examined, mut unreadable) = (Vec::new(), 0, 0, None);
        loop {
            let mut visit = |key: KeyRef<'_>, row| {
                let row = Item::trusted(row);
                walked += 1;
                match self.rank(row.as_ref(), &mut buffer) {
                    Ok(Some((rank, _))) => {
                        examined += 1;
                        if nearest.admits(rank) {
                            nearest.offer(rank, key.to_position());
                        }
                    }
                    Ok(None) => {}
                    Err(error) => unreadable = Some(self.unreadable(&key.to_position(), error)),
                }
            };
            if !walk.next(rows, &mut visit).await? {
                break;
            }
            if let Some(error) = unreadable {
                return Err(error);
            }
        }
        reads.sketches.want(self.part(), self.range(), walked);
        Ok((positions(nearest), examined))
    }

    /// The same by a copy of the rows, and by the rows themselves that are newer. None if the copy can't tell.
    async fn estimate(
        &self,
        rows: &dyn Read,
        copied: &Copied,
    ) -> Result<Option<(Vec<Position>, usize)>, StoreError> {
        let Some(noted) = copied.noted_for_search() else { return Ok(None) };
        let blocks = copied.blocks();
        let factor = if self.filters.is_empty() { 1 } else { FILTERED_FACTOR };
        let limit = factor * (self.top_k * CANDIDATES_PER_RESULT + CANDIDATES_MIN);
        let (mut candidates, mut compared) = (Nearest::new(limit), noted.len());
        let mut slices = Slices::begin();
        for blocks in blocks.chunks(BATCH_BLOCKS) {
            for block in blocks {
                compared += block.sketch().len();
                block.sketch().rank(&self.vector, |row, rank| {
                    if candidates.admits(rank)
                        && let Some(position) = block.current(row)
                        && !noted.contains(position)
                    {
                        candidates.offer(rank, position);
                    }
                });
            }
            slices.spend(SLICE_WORK).await;
        }
        drop(slices);
        let candidates: Vec<Position> = positions(candidates).into_iter().cloned().collect();
        let mut nearest = Nearest::new(self.top_k);
        self.compare(rows, noted, &mut nearest).await?;
        let are_all = candidates.len() < limit;
        let passed = self.compare(rows, candidates, &mut nearest).await?;
        // If most candidates are excluded by filters, others that pass may be as near as those that are left.
        Ok((are_all || passed >= self.top_k).then(|| (positions(nearest), compared)))
    }

    /// Offers the rows at these positions, and says how many of them the filters let pass.
    async fn compare(
        &self,
        rows: &dyn Read,
        positions: impl IntoIterator<Item = Position>,
        nearest: &mut Nearest<Position>,
    ) -> Result<usize, StoreError> {
        let (mut passed, mut buffer, space) = (0, Vec::new(), self.index.space());
        let keys: Vec<Key> = positions.into_iter().map(|position| Key { space, position }).collect();
        for keys in keys.chunks(SHOWN_ROWS) {
            for (key, row) in keys.iter().zip(rows.get(keys, Consistency::Latest).await?) {
                let Some(row) = row.map(Item::trusted) else { continue };
                let ranked = self.rank(row.as_ref(), &mut buffer);
                if let Some((rank, _)) = ranked.map_err(|error| self.unreadable(&key.position, error))? {
                    passed += 1;
                    nearest.offer(rank, key.position.clone());
                }
            }
        }
        Ok(passed)
    }

    /// The rank and the score of a row, unless the filters exclude it.
    fn rank(&self, row: ItemRef<'_>, buffer: &mut Vec<f32>) -> Result<Option<(f64, f64)>, NoVector> {
        if !self.filters.iter().all(|(name, value)| row.get(name) == Some(value.as_ref())) {
            return Ok(None);
        }
        read_vector(self.settings, row, buffer)?;
        let distance = distance(self.settings);
        let score = distance.score(&self.vector, buffer);
        Ok(Some((distance.rank(score), score)))
    }

    fn unreadable(&self, position: &Position, error: NoVector) -> StoreError {
        self.table.unreadable(self.index.space(), position, error)
    }

    /// Reads and shows the rows at these positions.
    async fn show(&self, rows: &dyn Read, positions: Vec<Position>) -> Result<NearestItems, SearchError> {
        let (mut found, mut buffer, mut bytes) = (Vec::new(), Vec::new(), 0);
        let space = self.index.space();
        let keys: Vec<Key> = positions.into_iter().map(|position| Key { space, position }).collect();
        for keys in keys.chunks(SHOWN_ROWS) {
            for (key, row) in keys.iter().zip(rows.get(keys, Consistency::Latest).await?) {
                let Some(row) = row.map(Item::trusted) else { continue };
                let ranked = self.rank(row.as_ref(), &mut buffer);
                let ranked = ranked.map_err(|error| self.unreadable(&key.position, error))?;
                let Some((rank, score)) = ranked else { continue };
                let item = self.shown(row.as_ref(), &buffer);
                bytes += item.size_bytes();
                if bytes > limits::SEARCH_BYTES_MAX {
                    return Err(SearchError::TooLarge);
                }
                found.push((rank, item, score));
            }
        }
        found.sort_by(|left, right| left.0.total_cmp(&right.0));
        let items = found.into_iter().map(|(_, item, score)| (item, score)).collect();
        Ok(NearestItems { items, metered_bytes: bytes })
    }

    /// What the client sees of a row. The vector is left out unless it is asked for; what the index does not hold is
    /// not missed.
    fn shown(&self, row: ItemRef<'_>, vector: &[f32]) -> Item {
        let attribute = &self.settings.attribute;
        let shows_vector =
            self.projection.is_some_and(|it| it.top_level_names().any(|name| name == attribute));
        let mut item = ItemBuilder::default();
        for (name, value) in row.iter().filter(|(name, _)| name != attribute) {
            item.put(name, value);
        }
        if shows_vector {
            item.put(attribute, list(vector).as_ref());
        }
        let item = item.build();
        self.projection.map(|projection| projection.apply(item.as_ref())).unwrap_or(item)
    }
}

fn positions<T: Ord>(nearest: Nearest<T>) -> Vec<T> {
    nearest.into_sorted().into_iter().map(|(_, position)| position).collect()
}

/// A vector as clients see it.
fn list(vector: &[f32]) -> ValueBuf {
    let mut list = ListBuilder::default();
    for number in vector {
        // The shortest text that means this number; with an exponent, because all digits of a text count.
        let number = Number::parse(&format!("{number:e}")).expect("a number of 32 bits is one of DynamoDB's");
        list.push(ValueBuf::from(number).as_ref());
    }
    list.build()
}
