//! The ConsumedCapacity of an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Capacity, ConsumedCapacity, ReturnConsumedCapacity, VectorCapacity};
use store::Space;

use crate::base::table::Table;
use crate::base::units::Units;
use crate::commit::{Outcome, PLAIN_FACTOR, Plan};
use crate::tables::catalog::LiveTable;

/// What a write outside of a transaction cost.
pub fn written(plan: &Plan, outcome: &Outcome) -> Units {
    outcome.units(&plan.table, PLAIN_FACTOR)
}

/// ConsumedCapacity as the request asked for it: not at all, the total, or the table and each index apart.
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
    /// Adds the units of one of the request's reads or writes.
    pub fn add(&mut self, table: &Arc<LiveTable>, units: Units) {
        let (_, sum) = self.0.entry(table.space()).or_insert_with(|| (table.clone(), Units::default()));
        sum.add(units);
    }

    /// Whether nothing was read or written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a batch answers.
    pub fn answer(&self, asked: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let parts = self.0.values().map(|(table, units)| consumed(asked, table, units));
        parts.collect::<Option<Vec<_>>>()
    }

    /// As a transaction answers that writes: the units are repeated as write units.
    pub fn answer_for_writes(&self, asked: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let mut answer = self.answer(asked)?;
        for table in &mut answer {
            table.write_capacity_units = table.capacity_units;
            parts_of(table).for_each(|part| part.write_capacity_units = part.capacity_units);
        }
        Some(answer)
    }

    /// As a transaction answers that reads: the units are repeated as read units.
    pub fn answer_for_reads(&self, asked: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let mut answer = self.answer(asked)?;
        for table in &mut answer {
            table.read_capacity_units = table.capacity_units;
            parts_of(table).for_each(|part| part.read_capacity_units = part.capacity_units);
        }
        Some(answer)
    }
}

/// The parts of the table and of its indexes, if they are given apart.
fn parts_of(consumed: &mut ConsumedCapacity) -> impl Iterator<Item = &mut Capacity> {
    let global = consumed.global_secondary_indexes.iter_mut().flat_map(BTreeMap::values_mut);
    let local = consumed.local_secondary_indexes.iter_mut().flat_map(BTreeMap::values_mut);
    consumed.table.iter_mut().chain(global).chain(local)
}

/// The units of the table and of each index apart.
fn by_part(table: &Table, units: &Units) -> ConsumedCapacity {
    let part = |units: f64| Capacity { capacity_units: Some(units), ..Capacity::default() };
    let parts = |global: bool| {
        let of_scope = |name: &str| table.index(name).is_some_and(|index| index.is_global() == global);
        let parts = units.indexes.iter().filter(|(name, _)| of_scope(name));
        let parts: BTreeMap<_, _> = parts.map(|(name, units)| (name.clone(), part(*units))).collect();
        (!parts.is_empty()).then_some(parts)
    };
    let written = |(name, bytes): (&String, &f64)| {
        let capacity =
            VectorCapacity { vector_write_request_bytes: Some(*bytes), ..VectorCapacity::default() };
        (name.clone(), capacity)
    };
    ConsumedCapacity {
        table: Some(part(units.table)),
        vector_indexes: (!units.vectors.is_empty()).then(|| units.vectors.iter().map(written).collect()),
        global_secondary_indexes: parts(true),
        local_secondary_indexes: parts(false),
        ..ConsumedCapacity::default()
    }
}
