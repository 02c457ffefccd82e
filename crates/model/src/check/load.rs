//! What the patterns ask of tables and indexes each second, by the same predictions that costs are made of.

use super::Subject;
use crate::model::{IndexId, Pattern, TableId};
use crate::predict::Units;
use crate::predict::typical::{Doubt, Footprints, Prediction, pattern as predict};

/// Capacity units each second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    pub average: f64,
    pub peak: f64,
}

/// What one execution of each pattern takes.
pub struct Predictions<'m>(Vec<(&'m Pattern, Prediction)>);

impl<'m> Predictions<'m> {
    pub fn new(subject: &Subject<'m>) -> Predictions<'m> {
        let footprints = Footprints::new(subject.model);
        let of =
            |(pattern, plan)| (pattern, predict(subject.model, &footprints, pattern, plan, Doubt::Weighed));
        Predictions(subject.patterns().map(of).collect())
    }

    /// Of a table, without its indexes.
    pub fn table_writes(&self, table: TableId) -> Load {
        self.sum(|prediction| prediction.write.get(&table).map_or(0.0, |units| units.table))
    }

    pub fn index_writes(&self, table: TableId, index: IndexId) -> Load {
        self.sum(|prediction| prediction.write.get(&table).map_or(0.0, |units| units.index(index)))
    }

    pub fn table_reads(&self, table: TableId) -> Load {
        self.sum(|prediction| prediction.read.get(&table).map_or(0.0, |units| units.table))
    }

    pub fn index_reads(&self, table: TableId, index: IndexId) -> Load {
        self.sum(|prediction| prediction.read.get(&table).map_or(0.0, |units| units.index(index)))
    }

    /// Of a table and its indexes.
    pub fn reads(&self, table: TableId) -> Load {
        self.sum(|prediction| prediction.read.get(&table).map_or(0.0, Units::total))
    }

    fn sum(&self, units: impl Fn(&Prediction) -> f64) -> Load {
        let mut load = Load::default();
        for (pattern, prediction) in &self.0 {
            let (rate, units) = (pattern.rate.as_ref(), units(prediction));
            load.average += rate.map_or(0.0, |rate| rate.average) * units;
            load.peak += rate.map_or(0.0, |rate| rate.peak()) * units;
        }
        load
    }
}
