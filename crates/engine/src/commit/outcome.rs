//! What a write did, or would have done: the images of its item, and what it cost.

use capacity::RowChange;
use item::Item;
use store::{Partition, Space};

use super::plan::Plan;
use crate::base::index;
use crate::base::size::Size;
use crate::base::table::{Index, Table};
use crate::base::units::Units;
use crate::base::version::Version;
use crate::throughput::admission::Target;

/// What a plan did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The item as it was.
    pub old: Option<Item>,
    /// The item as it is now.
    pub new: Option<Item>,
    /// Their sizes, counted once.
    old_bytes: Option<usize>,
    new_bytes: Option<usize>,
    /// The sizes that the write is charged for.
    metered_bytes: [Option<usize>; 2],
    /// One for each index that changed.
    pub indexes: Vec<IndexOutcome>,
    /// The size of the item's collection afterwards, in a table that has collections.
    pub collection_bytes: Option<u64>,
    /// The version of the item now, in a table of a global table.
    pub version: Option<Version>,
}

/// What a plan did in one index.
#[derive(Debug)]
pub struct IndexOutcome {
    pub space: Space,
    /// The partition key that is charged: that of the new row or, without one, of the old.
    pub partition: Partition,
    pub change: RowChange,
    pub units: f64,
    /// What a vector index meters instead of units.
    pub vector_bytes: usize,
    pub growth: Size,
}

impl Outcome {
    /// Of an item of a table that was `old` and is `new`.
    pub fn of(table: &Table, old: Option<Item>, new: Option<Item>) -> Outcome {
        let bytes = |item: &Option<Item>| item.as_ref().map(Item::size_bytes);
        let (old_bytes, new_bytes) = (bytes(&old), bytes(&new));
        let metered =
            |item: &Option<Item>| item.as_ref().map(|item| index::metered_bytes(table, item.as_ref()));
        let has_vectors = table.indexes.iter().any(|index| index.vector.is_some());
        let metered_bytes = if has_vectors { [metered(&old), metered(&new)] } else { [old_bytes, new_bytes] };
        Outcome { old_bytes, new_bytes, metered_bytes, old, new, ..Outcome::default() }
    }

    /// The size of the item as it is now; 0 if there is none.
    pub fn new_bytes(&self) -> usize {
        self.new_bytes.unwrap_or(0)
    }

    /// The size of the larger of old and new.
    pub fn larger_bytes(&self) -> usize {
        self.old_bytes.max(self.new_bytes).unwrap_or(0)
    }

    /// What it cost in the table itself, outside of a transaction.
    pub fn table_units(&self) -> f64 {
        let [old, new] = self.metered_bytes;
        capacity::write_units(old, new)
    }

    /// What it cost in the table and in each index. Each unit of the table counts `factor` times.
    pub fn units(&self, table: &Table, factor: f64) -> Units {
        let mut units = Units::of_table(self.table_units() * factor);
        for (index, done) in self.changed_indexes(table) {
            match done.vector_bytes {
                0 => units.indexes.insert(index.name.clone(), done.units),
                bytes => units.vectors.insert(index.name.clone(), bytes as f64),
            };
        }
        units
    }

    /// The indexes of its table that changed, each with what was done there.
    pub fn changed_indexes<'a>(
        &'a self,
        table: &'a Table,
    ) -> impl Iterator<Item = (&'a Index, &'a IndexOutcome)> {
        let of = |done: &IndexOutcome| table.indexes.iter().find(move |index| index.space() == done.space);
        self.indexes.iter().filter_map(move |done| Some((of(done)?, done)))
    }

    /// What it cost by the throughput that it used: the table's first, then its indexes'.
    pub fn charges(&self, plan: &Plan, factor: f64) -> impl Iterator<Item = (Target, f64)> + Clone {
        let own = (Target::of_key(&plan.key), self.table_units() * factor);
        let of_index =
            |index: &IndexOutcome| (Target::of_partition(index.space, index.partition), index.units);
        // A vector index has no throughput.
        let indexes = self.indexes.iter().filter(|index| index.vector_bytes == 0);
        std::iter::once(own).chain(indexes.map(of_index))
    }

    /// By how much the table itself grew.
    pub fn table_growth(&self) -> Size {
        let size = |bytes: Option<usize>| {
            bytes.map_or_else(Size::default, |bytes| Size { items: 1, bytes: bytes as i64 })
        };
        size(self.new_bytes) - size(self.old_bytes)
    }

    /// By how much each index grew that changed.
    pub fn index_growth(&self) -> impl Iterator<Item = (Space, Size)> {
        self.indexes.iter().map(|index| (index.space, index.growth))
    }
}
