//! What the patterns ask of tables and indexes: predicted units, where they are consumed, and how often.
//! Costs, rules on capacity, heat and designs all take them from here, so they can't disagree.

use std::collections::BTreeMap;

use crate::Model;
use crate::cache;
use crate::copies;
use crate::model::{Action, EntityId, IndexId, IndexKind, Pattern, Rate, TableId, WriteVerb};
use crate::plan::{ActionPlan, Plan};
use crate::predict::typical::{self, Assumption, Footprints, Prediction};
use crate::traffic::Day;

/// What consumes units: a table, or one of its indexes.
pub type Resource = (TableId, Option<IndexId>);

/// Read units or write units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitKind {
    Read,
    Write,
}

/// What one execution consumes in one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portion {
    pub resource: Resource,
    pub kind: UnitKind,
    /// Units, if the execution gets there.
    pub units: f64,
    /// The share of executions that get there; a cache answers the others.
    pub reaching: f64,
}

/// What one pattern consumes in one table or index whose capacity is provisioned and billed.
pub struct Usage {
    /// Which of [`Model::patterns`].
    pub pattern: usize,
    pub resource: Resource,
    pub kind: UnitKind,
    /// The entity whose copies a function updates after the pattern; `None` for the pattern itself.
    pub copies: Option<EntityId>,
    /// Units of one execution, or of one update of a copy.
    pub units: f64,
    /// How many such requests one execution of the pattern causes: 1, or as many as there are copies.
    pub times: f64,
    /// These requests per second over the day, and at the busiest moment.
    pub day: Day,
    pub peak: f64,
}

/// Capacity units per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    pub average: f64,
    pub peak: f64,
}

/// How many items of an entity are added each second: as the file declares, else by what `create` patterns add and
/// `delete` patterns take away.
pub fn new_items_per_second(model: &Model, entity: EntityId) -> f64 {
    if let Some(growth) = &model.entity(entity).growth {
        return growth.per_second();
    }
    let served = model.patterns.iter().filter(|pattern| pattern.external.is_none());
    let added = served.map(|pattern| {
        let rate = pattern.rate.as_ref().map_or(0.0, |rate| rate.average);
        let succeeding = 1.0 - pattern.fails.as_ref().map_or(0.0, |fails| fails.value);
        let writes = pattern.writes().filter(|(_, write)| write.entity.value == entity);
        let items: f64 = writes
            .map(|(action, write)| match write.verb {
                WriteVerb::Create => action.times as f64,
                WriteVerb::Delete => -(action.times as f64),
                WriteVerb::Put | WriteVerb::Update | WriteVerb::Check => 0.0,
            })
            .sum();
        rate * succeeding * items
    });
    added.sum::<f64>().max(0.0)
}

/// The bytes of items that patterns write to a table each second, and functions that update copies after them. What is
/// deleted, checked or refused has none.
pub fn written_bytes_per_second(model: &Model, footprints: &Footprints, table: TableId) -> f64 {
    let bytes = |entity: EntityId| match model.entity(entity).table == table {
        true => footprints.of(entity).item_bytes as f64,
        false => 0.0,
    };
    let mut sum = 0.0;
    for pattern in model.patterns.iter().filter(|pattern| pattern.external.is_none()) {
        let rate = pattern.rate.as_ref().map_or(0.0, |rate| rate.average);
        let succeeding = 1.0 - pattern.fails.as_ref().map_or(0.0, |fails| fails.value);
        for (action, write) in pattern.writes() {
            if !matches!(write.verb, WriteVerb::Delete | WriteVerb::Check) {
                sum += rate * succeeding * action.times as f64 * bytes(write.entity.value);
            }
            let copies = copies::updates(model, pattern, action).into_iter();
            sum += copies.map(|one| rate * one.items * bytes(one.entity)).sum::<f64>();
        }
    }
    sum
}

impl Portion {
    /// The average over all executions.
    pub fn average(&self) -> f64 {
        self.units * self.reaching
    }
}

impl Usage {
    /// Units per second over the day.
    pub fn day_units(&self) -> Day {
        self.day.times(self.units)
    }

    /// Units for each execution of the pattern.
    pub fn units_per_execution(&self) -> f64 {
        self.units * self.times
    }
}

/// The consumption of one execution of one action. A pattern that another system serves consumes nothing.
pub fn of_action(
    model: &Model,
    footprints: &Footprints,
    pattern: &Pattern,
    doing: (&Action, &ActionPlan),
) -> Vec<Portion> {
    let prediction = || typical::action(model, footprints, pattern, doing, Assumption::Weighted);
    if pattern.external.is_none() { portions(model, pattern, &prediction()) } else { Vec::new() }
}

fn portions(model: &Model, pattern: &Pattern, prediction: &Prediction) -> Vec<Portion> {
    let missed = cache::miss_share(model, pattern);
    let sides = [(UnitKind::Read, &prediction.read, missed), (UnitKind::Write, &prediction.write, 1.0)];
    let mut portions = Vec::new();
    for (kind, by_table, reaching) in sides {
        for (table, units) in by_table {
            let indexes = units.indexes.iter().map(|(index, units)| (Some(*index), *units));
            let used = std::iter::once((None, units.table)).chain(indexes).filter(|(_, units)| *units > 0.0);
            portions.extend(used.map(|(index, units)| Portion {
                resource: (*table, index),
                kind,
                units,
                reaching,
            }));
        }
    }
    portions
}

/// Every use by patterns that have a rate and that the table serves, and by functions that update copies after them.
pub fn uses(model: &Model, plans: &[Plan], footprints: &Footprints) -> Vec<Usage> {
    let mut uses = Vec::new();
    for (position, (pattern, plan)) in model.patterns.iter().zip(plans).enumerate() {
        let (Some(rate), None) = (&pattern.rate, &pattern.external) else { continue };
        let prediction = typical::pattern(model, footprints, pattern, plan, Assumption::Weighted);
        let own = Usages { model, pattern: position, rate, copies: None, times: 1.0 };
        uses.extend(own.of(portions(model, pattern, &prediction)));
        for follows in pattern.actions.iter().flat_map(|action| copies::updates(model, pattern, action)) {
            let doing = (follows.action(), &follows.plan);
            let portions = of_action(model, footprints, &follows.pattern, doing);
            let copies = Usages { copies: Some(follows.entity), times: follows.items, ..own };
            uses.extend(copies.of(portions));
        }
    }
    uses
}

/// Makes the uses of one pattern, or of the updates of copies after it.
#[derive(Clone, Copy)]
struct Usages<'m> {
    model: &'m Model,
    pattern: usize,
    rate: &'m Rate,
    copies: Option<EntityId>,
    times: f64,
}

impl Usages<'_> {
    fn of(self, portions: Vec<Portion>) -> impl Iterator<Item = Usage> {
        let mut units: BTreeMap<(UnitKind, Resource), (f64, f64)> = BTreeMap::new();
        for portion in portions {
            let sum = units.entry((portion.kind, billed(self.model, portion.resource))).or_default();
            *sum = (sum.0 + portion.units, portion.reaching);
        }
        let Usages { pattern, rate, copies, times, .. } = self;
        let (day, peak) = (Day::of(rate), rate.peak());
        units.into_iter().map(move |((kind, resource), (units, reaching))| Usage {
            pattern,
            resource,
            kind,
            copies,
            units,
            times,
            day: day.times(reaching * times),
            peak: peak * reaching * times,
        })
    }
}

/// A local index uses the capacity of its table.
fn billed(model: &Model, (table, index): Resource) -> Resource {
    (table, index.filter(|index| model.table(table).index(*index).kind == IndexKind::Global))
}

/// All tables and global indexes, each table before its indexes.
pub fn resources(model: &Model) -> Vec<Resource> {
    let of = |table: TableId| {
        let indexes = model.table(table).index_ids();
        let global = indexes.filter(move |id| model.table(table).index(*id).kind == IndexKind::Global);
        std::iter::once((table, None)).chain(global.map(move |id| (table, Some(id))))
    };
    model.table_ids().flat_map(of).collect()
}

/// `app-main` or `app-main/GSI1`.
pub fn name(model: &Model, (table, index): Resource) -> String {
    let table = model.table(table);
    match index {
        Some(index) => format!("{}/{}", table.name.value, table.index(index).name.value),
        None => table.name.value.clone(),
    }
}

/// All units of one kind in one resource, over a day.
pub fn demand(uses: &[Usage], resource: Resource, kind: UnitKind) -> Day {
    let mut sum = Day::NOTHING;
    for one in at(uses, resource, kind) {
        sum.add(&one.day_units());
    }
    sum
}

/// The same as figures: the average, and the sum of all patterns' peaks.
pub fn load(uses: &[Usage], resource: Resource, kind: UnitKind) -> Load {
    let mut load = Load::default();
    for one in at(uses, resource, kind) {
        load.average += one.day.average() * one.units;
        load.peak += one.peak * one.units;
    }
    load
}

fn at(uses: &[Usage], resource: Resource, kind: UnitKind) -> impl Iterator<Item = &Usage> {
    uses.iter().filter(move |one| one.resource == resource && one.kind == kind)
}
