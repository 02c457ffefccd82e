//! What requests cost in capacity units. A proof compares this prediction with what the database charged; costs and
//! heat are calculated from it.
//!
//! The arithmetic is here, on sizes alone. Where the sizes come from differs: a proof knows the items
//! ([`item`]), a cost estimate knows what the file declares of them ([`typical`]). Rounding is that of the
//! `capacity` crate, which the database charges with.

pub mod found;
pub mod item;
mod leaving;
pub mod typical;

use std::collections::BTreeMap;
use std::ops::AddAssign;

use api::limits;
use capacity::{PARTITIONS_ON_DEMAND, ReadMode, partitions_provisioned, read_units, write_units};
pub use capacity::{RowChange, TRANSACTION_FACTOR};

use crate::Spanned;
use crate::model::{Billing, Capacity, IndexId, Table};

/// Units of one table, by where they are used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    pub table: f64,
    /// Only indexes that consume units are in it.
    pub indexes: BTreeMap<IndexId, f64>,
}

/// What reading a range of rows takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pages {
    /// Requests, if the reader follows `LastEvaluatedKey`.
    pub count: u64,
    /// Rows examined.
    pub rows: u64,
    pub units: f64,
}

impl Units {
    pub fn of_table(table: f64) -> Units {
        Units { table, indexes: BTreeMap::new() }
    }

    /// Units of the index, or of the table itself.
    pub fn of(index: Option<IndexId>, units: f64) -> Units {
        match index {
            Some(index) => Units { table: 0.0, indexes: BTreeMap::from([(index, units)]) },
            None => Units::of_table(units),
        }
    }

    pub fn index(&self, index: IndexId) -> f64 {
        self.indexes.get(&index).copied().unwrap_or(0.0)
    }

    pub fn total(&self) -> f64 {
        self.table + self.indexes.values().sum::<f64>()
    }

    pub fn times(&self, factor: f64) -> Units {
        let indexes = self.indexes.iter().map(|(index, units)| (*index, units * factor)).collect();
        Units { table: self.table * factor, indexes }
    }
}

impl AddAssign for Units {
    fn add_assign(&mut self, other: Units) {
        self.table += other.table;
        for (index, units) in other.indexes {
            *self.indexes.entry(index).or_default() += units;
        }
    }
}

/// One written item: its size before, its size after, and the changes of its index rows. `factor` is 1, or
/// [`TRANSACTION_FACTOR`].
pub fn write(
    old: Option<usize>,
    new: Option<usize>,
    rows: impl IntoIterator<Item = (IndexId, RowChange)>,
    factor: f64,
) -> Units {
    let mut units = Units::of_table(write_units(old, new) * factor);
    for (index, change) in rows.into_iter().filter(|(_, change)| *change != RowChange::None) {
        *units.indexes.entry(index).or_default() += change.units();
    }
    units
}

/// How many partitions a new table has: a Scan of all of it pays for each.
pub fn partitions(table: &Table) -> u64 {
    let units =
        |capacity: &Option<Spanned<Capacity>>| capacity.as_ref().and_then(|one| one.units).unwrap_or(1);
    match table.billing.value {
        Billing::OnDemand => PARTITIONS_ON_DEMAND,
        Billing::Provisioned => {
            partitions_provisioned(units(&table.throughput.read), units(&table.throughput.write))
        }
    }
}

/// A Query over rows of these sizes, page by page: a page ends at `limit` rows, or with the row that
/// crosses 1 MB. With a limit the reader asks for one page only.
pub fn query(rows: impl IntoIterator<Item = usize>, limit: Option<u64>, mode: ReadMode) -> Pages {
    let mut rows = rows.into_iter().peekable();
    let mut pages = Pages::default();
    loop {
        let full = page(&mut rows, limit, mode, &mut pages);
        let has_what_it_asked_for = limit.is_some_and(|limit| pages.rows >= limit);
        if !full || has_what_it_asked_for {
            return pages;
        }
    }
}

/// Whether the page ended before the range did, as far as DynamoDB can tell.
fn page(
    rows: &mut impl Iterator<Item = usize>,
    limit: Option<u64>,
    mode: ReadMode,
    pages: &mut Pages,
) -> bool {
    let (mut bytes, mut full) = (0, false);
    while !full {
        let Some(row) = rows.next() else { break };
        bytes += row;
        pages.rows += 1;
        full = bytes >= limits::PAGE_BYTES_MAX || limit.is_some_and(|limit| pages.rows >= limit);
    }
    pages.count += 1;
    pages.units += read_units(bytes, mode);
    full
}
