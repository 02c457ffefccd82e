//! What the patterns ask of tables and indexes: predicted units, by where they are used and how often.
//! Costs, rules on capacity, heat and designs all take them from here, so they can't disagree.

use std::collections::BTreeMap;

use crate::Model;
use crate::model::{Action, IndexId, IndexKind, Pattern, TableId};
use crate::plan::{Plan, StepKind};
use crate::predict::typical::{self, Doubt, Footprints, Prediction};
use crate::traffic::Day;

/// Where units are used: a table, or one of its indexes.
pub type Place = (TableId, Option<IndexId>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
}

/// What one execution uses of one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portion {
    pub place: Place,
    pub kind: Kind,
    /// If it gets there.
    pub units: f64,
    /// The share of executions that do: the others a cache answers.
    pub reaching: f64,
}

/// What one pattern uses of one place where capacity is provisioned and billed.
pub struct Use {
    /// Which of [`Model::patterns`].
    pub pattern: usize,
    pub place: Place,
    pub kind: Kind,
    /// Units of one execution.
    pub units: f64,
    /// Executions each second, and the most there are.
    pub day: Day,
    pub peak: f64,
}

/// Capacity units each second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    pub average: f64,
    pub peak: f64,
}

impl Portion {
    /// On the average of all executions.
    pub fn average(&self) -> f64 {
        self.units * self.reaching
    }
}

impl Use {
    pub fn day_units(&self) -> Day {
        self.day.times(self.units)
    }
}

/// One execution of one action of a pattern. What the table does not serve asks nothing of it.
pub fn of_action(
    model: &Model,
    footprints: &Footprints,
    pattern: &Pattern,
    doing: (&Action, &StepKind),
) -> Vec<Portion> {
    let prediction = || typical::action(model, footprints, pattern, doing, Doubt::Weighed);
    if pattern.external.is_none() { portions(pattern, &prediction()) } else { Vec::new() }
}

fn portions(pattern: &Pattern, prediction: &Prediction) -> Vec<Portion> {
    let uncached = 1.0 - pattern.cached.as_ref().map_or(0.0, |cached| cached.value);
    let sides = [(Kind::Read, &prediction.read, uncached), (Kind::Write, &prediction.write, 1.0)];
    let mut portions = Vec::new();
    for (kind, by_table, reaching) in sides {
        for (table, units) in by_table {
            let indexes = units.indexes.iter().map(|(index, units)| (Some(*index), *units));
            let used = std::iter::once((None, units.table)).chain(indexes).filter(|(_, units)| *units > 0.0);
            portions.extend(used.map(|(index, units)| Portion {
                place: (*table, index),
                kind,
                units,
                reaching,
            }));
        }
    }
    portions
}

/// Every use by patterns that have a rate and that the table serves.
pub fn uses(model: &Model, plans: &[Plan], footprints: &Footprints) -> Vec<Use> {
    let mut uses = Vec::new();
    for (position, (pattern, plan)) in model.patterns.iter().zip(plans).enumerate() {
        let (Some(rate), None) = (&pattern.rate, &pattern.external) else { continue };
        let prediction = typical::pattern(model, footprints, pattern, plan, Doubt::Weighed);
        let mut units: BTreeMap<(Kind, Place), (f64, f64)> = BTreeMap::new();
        for portion in portions(pattern, &prediction) {
            let sum = units.entry((portion.kind, billed(model, portion.place))).or_default();
            *sum = (sum.0 + portion.units, portion.reaching);
        }
        uses.extend(units.into_iter().map(|((kind, place), (units, reaching))| Use {
            pattern: position,
            place,
            kind,
            units,
            day: Day::of(rate).times(reaching),
            peak: rate.peak() * reaching,
        }));
    }
    uses
}

/// A local index uses the capacity of its table.
fn billed(model: &Model, (table, index): Place) -> Place {
    (table, index.filter(|index| model.table(table).index(*index).kind == IndexKind::Global))
}

/// Tables and global indexes, each table before its indexes.
pub fn places(model: &Model) -> Vec<Place> {
    let of = |table: TableId| {
        let indexes = model.table(table).index_ids();
        let global = indexes.filter(move |id| model.table(table).index(*id).kind == IndexKind::Global);
        std::iter::once((table, None)).chain(global.map(move |id| (table, Some(id))))
    };
    model.table_ids().flat_map(of).collect()
}

/// `app-main` or `app-main/GSI1`.
pub fn name(model: &Model, (table, index): Place) -> String {
    let table = model.table(table);
    match index {
        Some(index) => format!("{}/{}", table.name.value, table.index(index).name.value),
        None => table.name.value.clone(),
    }
}

/// All units of one kind in one place, over a day.
pub fn demand(uses: &[Use], place: Place, kind: Kind) -> Day {
    let mut sum = Day::NOTHING;
    for one in at(uses, place, kind) {
        sum.add(&one.day_units());
    }
    sum
}

/// The same, in figures: the average, and the peaks of all patterns at once.
pub fn load(uses: &[Use], place: Place, kind: Kind) -> Load {
    let mut load = Load::default();
    for one in at(uses, place, kind) {
        load.average += one.day.average() * one.units;
        load.peak += one.peak * one.units;
    }
    load
}

fn at(uses: &[Use], place: Place, kind: Kind) -> impl Iterator<Item = &Use> {
    uses.iter().filter(move |one| one.place == place && one.kind == kind)
}
