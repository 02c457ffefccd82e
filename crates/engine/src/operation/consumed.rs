//! The ConsumedCapacity of an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Capacity, ConsumedCapacity, ReturnConsumedCapacity};
use store::Space;

use crate::catalog::LiveTable;
use crate::table::Table;
use crate::write::Outcome;

/// Units by where they were used.
#[derive(Debug, Default)]
pub struct Units {
    pub table: f64,
    /// By index name; an index that was not touched is not there.
    pub indexes: BTreeMap<String, f64>,
}

impl Units {
    pub fn of_table(table: f64) -> Units {
        Units { table, indexes: BTreeMap::new() }
    }

    pub fn of_index(name: &str, units: f64) -> Units {
        Units { table: 0.0, indexes: BTreeMap::from([(name.to_owned(), units)]) }
    }

    pub fn of_write(outcome: &Outcome) -> Units {
        Units { table: outcome.table_units(), indexes: outcome.index_units.iter().cloned().collect() }
    }

    pub fn add(&mut self, other: Units) {
        self.table += other.table;
        for (name, units) in other.indexes {
            *self.indexes.entry(name).or_default() += units;
        }
    }

    pub fn total(&self) -> f64 {
        self.table + self.indexes.values().sum::<f64>()
    }
}

/// `asked` decides whether it is told at all, and whether each part stands by itself.
pub fn consumed(
    asked: Option<ReturnConsumedCapacity>,
    table: &Table,
    units: &Units,
) -> Option<ConsumedCapacity> {
    let mut consumed = match asked? {
        ReturnConsumedCapacity::None => return None,
        ReturnConsumedCapacity::Total => ConsumedCapacity::default(),
        ReturnConsumedCapacity::Indexes => by_part(table, units),
    };
    consumed.table_name = Some(table.name.clone());
    consumed.capacity_units = Some(units.total());
    Some(consumed)
}

/// Units of several tables, for the answers that list them.
#[derive(Default)]
pub struct ConsumedByTable(BTreeMap<Space, (Arc<LiveTable>, Units)>);

impl ConsumedByTable {
    pub fn add(&mut self, table: &Arc<LiveTable>, units: Units) {
        let (_, sum) = self.0.entry(table.space()).or_insert_with(|| (table.clone(), Units::default()));
        sum.add(units);
    }

    /// Whether nothing was done that costs anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn answer(&self, asked: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let parts = self.0.values().map(|(table, units)| consumed(asked, table, units));
        parts.collect::<Option<Vec<_>>>()
    }

    /// As a transaction answers: the units once more as those of writes.
    pub fn answer_for_writes(&self, asked: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let mut answer = self.answer(asked)?;
        for table in &mut answer {
            table.write_capacity_units = table.capacity_units;
            parts_of(table).for_each(|part| part.write_capacity_units = part.capacity_units);
        }
        Some(answer)
    }

    /// As a transaction answers: the units once more as those of reads.
    pub fn answer_for_reads(&self, asked: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let mut answer = self.answer(asked)?;
        for table in &mut answer {
            table.read_capacity_units = table.capacity_units;
            parts_of(table).for_each(|part| part.read_capacity_units = part.capacity_units);
        }
        Some(answer)
    }
}

/// The table's part and those of its indexes, where each stands by itself.
fn parts_of(consumed: &mut ConsumedCapacity) -> impl Iterator<Item = &mut Capacity> {
    let global = consumed.global_secondary_indexes.iter_mut().flat_map(BTreeMap::values_mut);
    let local = consumed.local_secondary_indexes.iter_mut().flat_map(BTreeMap::values_mut);
    consumed.table.iter_mut().chain(global).chain(local)
}

fn by_part(table: &Table, units: &Units) -> ConsumedCapacity {
    let part = |units: f64| Capacity { capacity_units: Some(units), ..Capacity::default() };
    let parts = |global: bool| {
        let of_scope = |name: &str| table.index(name).is_some_and(|index| index.is_global() == global);
        let parts = units.indexes.iter().filter(|(name, _)| of_scope(name));
        let parts: BTreeMap<_, _> = parts.map(|(name, units)| (name.clone(), part(*units))).collect();
        (!parts.is_empty()).then_some(parts)
    };
    ConsumedCapacity {
        table: Some(part(units.table)),
        global_secondary_indexes: parts(true),
        local_secondary_indexes: parts(false),
        ..ConsumedCapacity::default()
    }
}
