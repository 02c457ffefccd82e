//! Compressed copies of large vector indexes, in memory: with one, a search reads tens of rows instead of all.
//!
//! 1. A search that walked many rows asks for a copy of them: of the index, or of one of its partitions.
//! 2. A job (`keeping.rs`) registers the copy and fills it from the rows.
//! 3. From the registration on, a write notes which rows of the index it changes, before it commits. A search reads
//!    the noted rows themselves, and compares the others by the copy.
//! 4. When many rows are noted, the job copies them as they now are, and they are no longer noted.
//!
//! What always holds:
//! - A row that can be read is in a complete copy as it is, or it is noted.
//! - A copy never changes under a search: what the job adds and removes is a new list of blocks.
//! - Copies are made from rows and hold nothing of their own. They are gone when the process ends.

pub mod keeping;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use item::ItemRef;
use parking_lot::{Mutex, RwLock};
use store::{Partition, Position, Range, Space, WriteSet};
use vector::{Distance, Sketch};

use crate::base::table::{DistanceFunction, VectorSettings};

/// Copies that are waited for. Beyond it, later searches ask again.
const WANTED_MAX: usize = 100;
/// With more noted rows, a search walks all rows: it reads them in their order, which is faster for each.
const NOTED_SEARCHED_MAX: usize = 5_000;
/// With more noted rows, a copy is given up.
const NOTED_MAX: usize = 200_000;
/// What a row takes beside its numbers, roughly: its position.
const ROW_BYTES: usize = 128;
/// What a row of a sketch takes beside its bytes, at most: its square, and its share of what a block knows of each dimension.
const fn sketch_overhead_bytes(dimensions: usize) -> usize {
    size_of::<Option<f64>>() + dimensions / 2
}

/// What is copied: the rows of an index, or of one of its partitions.
pub type Part = (Space, Option<Partition>);

/// The copies that there are, and those that are waited for.
pub struct Sketches {
    bytes_max: usize,
    rows_min: usize,
    copies: RwLock<BTreeMap<Part, Arc<Copied>>>,
    /// So that writes cost nothing while there are none.
    is_any: AtomicBool,
    wanted: Mutex<BTreeMap<Part, Wanted>>,
    /// Counts searches, to know which copy was not used for longest.
    searches: AtomicU64,
}

/// A copy that a search asked for.
pub struct Wanted {
    pub range: Range,
    /// How many rows there were.
    pub rows: usize,
}

/// What sketches hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SketchTotals {
    /// Vectors in copies that searches use.
    pub vectors: usize,
    pub bytes: usize,
}

impl Sketches {
    /// None are kept with zero bytes. Copies need all writes to the store to be noted here.
    pub fn new(bytes_max: usize, rows_min: usize) -> Sketches {
        Sketches {
            bytes_max,
            rows_min,
            copies: RwLock::default(),
            is_any: AtomicBool::new(false),
            wanted: Mutex::default(),
            searches: AtomicU64::new(0),
        }
    }

    /// Whether there may be any.
    pub fn is_on(&self) -> bool {
        self.bytes_max > 0
    }

    /// Notes the rows that a commit is about to change.
    pub fn note(&self, writes: &WriteSet) {
        if !self.is_any.load(Ordering::Acquire) {
            return;
        }
        let copies = self.copies.read();
        for key in writes.puts.iter().map(|(key, _)| key).chain(&writes.deletes) {
            for partition in [None, Some(key.position.partition)] {
                if let Some(copied) = copies.get(&(key.space, partition)) {
                    copied.note(&key.position);
                }
            }
        }
    }

    /// The copy that a search can use.
    pub fn complete(&self, part: Part) -> Option<Arc<Copied>> {
        let copied = self.copies.read().get(&part).filter(|copied| copied.is_complete()).cloned()?;
        copied.used.store(self.searches.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Some(copied)
    }

    /// Asks for a copy of what a search walked, if it is large enough.
    pub fn want(&self, part: Part, range: Range, rows: usize) {
        if !self.is_on() || rows < self.rows_min || self.copies.read().contains_key(&part) {
            return;
        }
        let mut wanted = self.wanted.lock();
        if wanted.len() < WANTED_MAX {
            wanted.insert(part, Wanted { range, rows });
        }
    }

    /// What is to be copied next.
    pub fn next_wanted(&self) -> Option<(Part, Wanted)> {
        self.wanted.lock().pop_first()
    }

    /// An empty copy to be filled with `rows` rows, if there is room for it. The copies that were not used for longest are
    /// dropped to make room.
    pub fn register(&self, part: Part, rows: usize, dimensions: usize) -> Option<Arc<Copied>> {
        // Rather too much: a copy that is begun and finds no room would be begun again by the next search.
        let bytes = rows.saturating_mul(dimensions + sketch_overhead_bytes(dimensions) + ROW_BYTES);
        if bytes > self.bytes_max {
            return None;
        }
        let mut copies = self.copies.write();
        while used_bytes(&copies) + bytes > self.bytes_max {
            let oldest = copies.iter().min_by_key(|(_, copied)| copied.used.load(Ordering::Relaxed));
            let Some(oldest) = oldest.map(|(part, _)| *part) else { break };
            copies.remove(&oldest);
        }
        let copied = Arc::new(Copied::default());
        copies.insert(part, copied.clone());
        self.is_any.store(true, Ordering::Release);
        Some(copied)
    }

    /// Gives up a copy.
    pub fn remove(&self, part: Part) {
        let mut copies = self.copies.write();
        copies.remove(&part);
        self.is_any.store(!copies.is_empty(), Ordering::Release);
    }

    /// Every copy that there is.
    pub fn all(&self) -> Vec<(Part, Arc<Copied>)> {
        self.copies.read().iter().map(|(part, copied)| (*part, copied.clone())).collect()
    }

    /// Whether the copies take more than they may.
    pub fn is_full(&self) -> bool {
        used_bytes(&self.copies.read()) > self.bytes_max
    }

    /// What there is of it.
    pub fn totals(&self) -> SketchTotals {
        let copies = self.copies.read();
        let complete = copies.values().filter(|copied| copied.is_complete());
        SketchTotals {
            vectors: complete.map(|copied| copied.current_rows()).sum(),
            bytes: used_bytes(&copies),
        }
    }
}

fn used_bytes(copies: &BTreeMap<Part, Arc<Copied>>) -> usize {
    copies.values().map(|copied| copied.size_bytes()).sum()
}

/// A compressed copy of rows.
#[derive(Default)]
pub struct Copied {
    blocks: RwLock<Arc<Vec<Block>>>,
    noted: Mutex<Noted>,
    is_complete: AtomicBool,
    is_given_up: AtomicBool,
    bytes: AtomicUsize,
    /// The number of the last search that used it.
    used: AtomicU64,
}

/// Rows that may have changed since they were copied, each with the number of its last note.
#[derive(Default)]
struct Noted {
    rows: BTreeMap<Position, u64>,
    last: u64,
}

/// Some rows of a copy.
#[derive(Clone)]
pub struct Block {
    rows: Arc<Rows>,
    /// Which of them were copied again later, or deleted.
    outdated: BTreeSet<usize>,
}

struct Rows {
    sketch: Sketch,
    /// In their order.
    positions: Vec<Position>,
}

impl Block {
    /// Positions in their order, and a sketch of their vectors.
    pub fn new(positions: Vec<Position>, sketch: Sketch) -> Block {
        debug_assert!(positions.is_sorted() && positions.len() == sketch.len(), "a vector for each row");
        Block { rows: Arc::new(Rows { sketch, positions }), outdated: BTreeSet::new() }
    }

    /// What says how far its vectors are.
    pub fn sketch(&self) -> &Sketch {
        &self.rows.sketch
    }

    /// The position of a row, unless it is outdated.
    pub fn current(&self, row: usize) -> Option<&Position> {
        (!self.outdated.contains(&row)).then(|| &self.rows.positions[row])
    }

    fn outdate(&mut self, position: &Position) {
        let positions = &self.rows.positions;
        let is_between = positions.first() <= Some(position) && Some(position) <= positions.last();
        if is_between && let Ok(row) = positions.binary_search(position) {
            self.outdated.insert(row);
        }
    }

    fn size_bytes(&self) -> usize {
        self.rows.sketch.size_bytes() + self.rows.positions.len() * ROW_BYTES
    }
}

impl Copied {
    fn note(&self, position: &Position) {
        let mut noted = self.noted.lock();
        noted.last += 1;
        let number = noted.last;
        if let Some(row) = noted.rows.get_mut(position) {
            *row = number;
        } else if noted.rows.len() < NOTED_MAX {
            noted.rows.insert(position.clone(), number);
        } else {
            self.give_up();
        }
    }

    /// The rows that a search has to read; none if they are too many for that. To be asked before [`Copied::blocks`].
    pub fn noted_for_search(&self) -> Option<BTreeSet<Position>> {
        let noted = self.noted.lock();
        (noted.rows.len() <= NOTED_SEARCHED_MAX).then(|| noted.rows.keys().cloned().collect())
    }

    /// Up to `limit` noted rows, each with the number of its note.
    pub fn noted(&self, limit: usize) -> Vec<(Position, u64)> {
        let noted = self.noted.lock();
        noted.rows.iter().take(limit).map(|(position, number)| (position.clone(), *number)).collect()
    }

    /// How many rows are noted.
    pub fn noted_rows(&self) -> usize {
        self.noted.lock().rows.len()
    }

    /// All that was copied so far.
    pub fn blocks(&self) -> Arc<Vec<Block>> {
        self.blocks.read().clone()
    }

    /// Adds a block of rows.
    pub fn add(&self, block: Block) {
        let mut blocks = self.blocks.write();
        self.bytes.fetch_add(block.size_bytes(), Ordering::Relaxed);
        Arc::make_mut(&mut blocks).push(block);
    }

    /// Replaces what was copied of noted rows by a block of these rows as they now are. They are no longer noted, except
    /// those that were noted again in the meantime.
    pub fn renew(&self, noted: &[(Position, u64)], block: Option<Block>) {
        let mut renewed = Vec::clone(&self.blocks());
        for block in &mut renewed {
            noted.iter().for_each(|(position, _)| block.outdate(position));
        }
        self.bytes.fetch_add(block.as_ref().map_or(0, Block::size_bytes), Ordering::Relaxed);
        renewed.extend(block);
        *self.blocks.write() = Arc::new(renewed);
        let mut current = self.noted.lock();
        for (position, number) in noted {
            if current.rows.get(position) == Some(number) {
                current.rows.remove(position);
            }
        }
    }

    /// From here on, searches may use it.
    pub fn complete(&self) {
        self.is_complete.store(true, Ordering::Release);
    }

    fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire) && !self.is_given_up.load(Ordering::Acquire)
    }

    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
    }

    /// Whether it is no longer worth its memory: too many rows changed at once, or most of it is outdated.
    pub fn is_worn(&self) -> bool {
        let blocks = self.blocks();
        let outdated: usize = blocks.iter().map(|block| block.outdated.len()).sum();
        let rows: usize = blocks.iter().map(|block| block.sketch().len()).sum();
        self.is_given_up.load(Ordering::Acquire) || outdated * 2 > rows
    }

    fn current_rows(&self) -> usize {
        self.blocks().iter().map(|block| block.sketch().len() - block.outdated.len()).sum()
    }

    fn size_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.noted_rows() * ROW_BYTES
    }
}

/// A row of a vector index without its vector.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it has no vector of the length that its index has")]
pub struct NoVector;

/// How far apart two vectors of an index are.
pub fn distance(settings: &VectorSettings) -> Distance {
    match settings.distance {
        DistanceFunction::Cosine => Distance::Cosine,
        DistanceFunction::DotProduct => Distance::DotProduct,
        DistanceFunction::Euclidean => Distance::Euclidean,
    }
}

/// The vector of an index row, in `buffer`.
pub fn read_vector(
    settings: &VectorSettings,
    row: ItemRef<'_>,
    buffer: &mut Vec<f32>,
) -> Result<(), NoVector> {
    let bytes = row.get(&settings.attribute).and_then(|value| value.as_binary());
    let is_vector = bytes.is_some_and(|bytes| vector::decode(bytes, settings.dimensions, buffer));
    if is_vector { Ok(()) } else { Err(NoVector) }
}

#[cfg(test)]
mod tests {
    use vector::Distance;

    use super::*;

    fn sketches(bytes_max: usize) -> Sketches {
        Sketches::new(bytes_max, 10)
    }

    fn position(number: u8) -> Position {
        Position { partition: Partition::FIRST, sort: vec![number] }
    }

    fn block(numbers: &[u8]) -> Block {
        let vectors = numbers.iter().map(|number| f32::from(*number)).collect();
        let positions = numbers.iter().map(|number| position(*number)).collect();
        Block::new(positions, Sketch::new(Distance::Euclidean, 1, vectors))
    }

    fn current(copied: &Copied) -> Vec<Vec<u8>> {
        let rows = |block: &Block| {
            (0..block.sketch().len()).filter_map(|row| Some(block.current(row)?.sort[0])).collect()
        };
        copied.blocks().iter().map(rows).collect()
    }

    #[test]
    fn a_row_that_is_noted_again_while_it_is_copied_stays_noted() {
        let copied = Copied::default();
        copied.add(block(&[1, 2, 3]));
        copied.note(&position(2));
        copied.note(&position(4));
        let noted = copied.noted(10);
        copied.note(&position(2));
        let before = copied.blocks();
        copied.renew(&noted, Some(block(&[2, 4])));
        assert_eq!(current(&copied), [vec![1, 3], vec![2, 4]]);
        assert_eq!(copied.noted_for_search().unwrap(), [position(2)].into());
        assert!(before[0].current(1).is_some(), "a search goes on with what it began with");

        copied.renew(&copied.noted(10), None);
        assert_eq!(current(&copied), [vec![1, 3], vec![4]]);
        assert_eq!((copied.noted_rows(), copied.is_worn()), (0, false));
        copied.note(&position(1));
        copied.renew(&copied.noted(10), None);
        assert!(copied.is_worn(), "three of five are outdated");
    }

    #[test]
    fn the_copy_that_was_not_used_for_longest_makes_room() {
        let row_bytes = 1 + ROW_BYTES;
        let sketches = sketches(250 * row_bytes);
        let part = |number| (Space(number), None);
        for number in 1..=2 {
            let copied = sketches.register(part(number), 100, 1).unwrap();
            copied.add(block(&(0..100).collect::<Vec<u8>>()));
            copied.complete();
        }
        assert!(sketches.complete(part(1)).is_some());
        assert!(sketches.register(part(3), 100, 1).is_some());
        assert!(sketches.complete(part(1)).is_some() && sketches.complete(part(2)).is_none());
        assert!(sketches.register(part(4), 251, 1).is_none(), "it has no room at all");
        assert!(sketches.complete(part(1)).is_some());
    }

    #[test]
    fn small_sets_are_not_copied_and_no_set_twice() {
        let sketches = sketches(10_000);
        sketches.want((Space(1), None), Range::all(Space(1)), 9);
        assert!(sketches.next_wanted().is_none());
        sketches.want((Space(1), None), Range::all(Space(1)), 10);
        assert_eq!(sketches.next_wanted().unwrap().1.rows, 10);
        sketches.register((Space(1), None), 10, 1).unwrap();
        sketches.want((Space(1), None), Range::all(Space(1)), 10);
        assert!(sketches.next_wanted().is_none());
    }
}
