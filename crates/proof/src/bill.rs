//! Capacity units of a request, table by table: as predicted, and as DynamoDB reports them.

use std::collections::BTreeMap;

use api::{Capacity, ConsumedCapacity};
use model::Model;
use model::model::TableId;
use model::predict::Units;

use crate::fault::Fault;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bill(pub BTreeMap<TableId, Units>);

impl Bill {
    pub fn add(&mut self, table: TableId, units: Units) {
        *self.0.entry(table).or_default() += units;
    }

    pub fn add_consumed(&mut self, model: &Model, consumed: &ConsumedCapacity) {
        let name = consumed.table_name.as_deref().unwrap_or_default();
        let Some(id) = model.table_ids().find(|id| model.table(*id).name.value == name) else { return };
        let units = |capacity: &Capacity| capacity.capacity_units.unwrap_or(0.0);
        let table = model.table(id);
        let mut sum = Units::of_table(consumed.table.as_ref().map_or(0.0, units));
        let global = consumed.global_secondary_indexes.iter().flatten();
        let local = consumed.local_secondary_indexes.iter().flatten();
        for (name, capacity) in global.chain(local) {
            sum.indexes.extend(table.index_named(name).map(|index| (index, units(capacity))));
        }
        self.add(id, sum);
    }

    pub fn total(&self) -> f64 {
        self.0.values().map(Units::total).sum()
    }

    /// Each table and index with its units: by the name of the index, after the name of its table if the model
    /// has several.
    pub fn parts(&self, model: &Model) -> Vec<(String, f64)> {
        let mut parts = Vec::new();
        for (id, units) in &self.0 {
            let table = model.table(*id);
            parts.push((table.name.value.clone(), units.table));
            for (index, units) in &units.indexes {
                let index = &table.index(*index).name.value;
                let several = model.tables.len() > 1;
                let name = if several { format!("{}/{index}", table.name.value) } else { index.clone() };
                parts.push((name, *units));
            }
        }
        parts.retain(|(_, units)| *units > 0.0);
        parts
    }

    /// Where the two differ. Units are multiples of a half, so they are compared exactly.
    pub fn faults(model: &Model, predicted: &Bill, consumed: &Bill) -> Vec<Fault> {
        let predicted: BTreeMap<String, f64> = predicted.parts(model).into_iter().collect();
        let consumed: BTreeMap<String, f64> = consumed.parts(model).into_iter().collect();
        let mut names: Vec<&String> = predicted.keys().chain(consumed.keys()).collect();
        names.sort();
        names.dedup();
        let of = |bill: &BTreeMap<String, f64>, name: &str| bill.get(name).copied().unwrap_or(0.0);
        names
            .into_iter()
            .map(|name| (name, of(&predicted, name), of(&consumed, name)))
            .filter(|(_, predicted, consumed)| predicted != consumed)
            .map(|(name, predicted, consumed)| Fault::Capacity { part: name.clone(), predicted, consumed })
            .collect()
    }
}
