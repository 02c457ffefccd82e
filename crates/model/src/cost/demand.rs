//! What the patterns use: units each second, by where they are used.

use std::collections::BTreeMap;

use crate::Model;
use crate::model::{IndexId, IndexKind, TableId};
use crate::plan::Plan;
use crate::predict::Units;
use crate::predict::typical::{self, Doubt, Footprints, Prediction};
use crate::traffic::Day;

/// Where capacity is provisioned and billed: a table, its local indexes included, or a global index.
pub type Place = (TableId, Option<IndexId>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
}

/// What one pattern uses of one place.
pub struct Use {
    /// Which of [`Model::patterns`].
    pub pattern: usize,
    pub place: Place,
    pub kind: Kind,
    /// Units of one execution.
    pub units: f64,
    /// Executions each second.
    pub day: Day,
}

impl Use {
    pub fn day_units(&self) -> Day {
        self.day.times(self.units)
    }
}

/// Every use by patterns that have a rate and that the table serves.
pub fn uses(model: &Model, plans: &[Plan], footprints: &Footprints) -> Vec<Use> {
    let mut uses = Vec::new();
    for (position, (pattern, plan)) in model.patterns.iter().zip(plans).enumerate() {
        let (Some(rate), None) = (&pattern.rate, &pattern.external) else { continue };
        let prediction = typical::pattern(model, footprints, pattern, plan, Doubt::Weighed);
        let uncached = 1.0 - pattern.cached.as_ref().map_or(0.0, |cached| cached.value);
        let day = Day::of(rate);
        for (place, kind, units) in placed(model, &prediction) {
            let day = if kind == Kind::Read { day.times(uncached) } else { day };
            uses.push(Use { pattern: position, place, kind, units, day });
        }
    }
    uses
}

fn placed(model: &Model, prediction: &Prediction) -> Vec<(Place, Kind, f64)> {
    let mut all = Vec::new();
    for (kind, by_table) in [(Kind::Read, &prediction.read), (Kind::Write, &prediction.write)] {
        for (table, units) in by_table {
            let at = by_place(model, *table, units).into_iter();
            all.extend(at.filter(|(_, units)| *units > 0.0).map(|(place, units)| (place, kind, units)));
        }
    }
    all
}

fn by_place(model: &Model, table: TableId, units: &Units) -> BTreeMap<Place, f64> {
    let mut places = BTreeMap::from([((table, None), units.table)]);
    for (index, units) in &units.indexes {
        let global = model.table(table).index(*index).kind == IndexKind::Global;
        *places.entry((table, Some(*index).filter(|_| global))).or_default() += units;
    }
    places
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

/// All units of one kind in one place.
pub fn demand(uses: &[Use], place: Place, kind: Kind) -> Day {
    let mut sum = Day::NOTHING;
    for one in uses.iter().filter(|one| one.place == place && one.kind == kind) {
        sum.add(&one.day_units());
    }
    sum
}
