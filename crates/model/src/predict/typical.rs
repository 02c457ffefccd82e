//! Predictions from what the file declares: sizes, counts, shares. What a pattern typically costs.

use std::collections::BTreeMap;

use capacity::{ReadMode, read_units, scan_units};

use super::found::examined;
use super::item::{Values, size_bytes};
use super::leaving::deleted_share;
use super::{RowChange, TRANSACTION_FACTOR, Units, item, partitions};
use crate::Model;
use crate::model::{
    Action, ActionKind, Attribute, AttributesRead, EntityId, Grouping, IndexEntry, IndexId, IndexKind,
    Pattern, Projection, Read, TableId, Write, WriteVerb,
};
use crate::plan::{
    self, ActionPlan, Filter, IndexEffect, Membership, Plan, ReadOperation, ReadPlan, WritePlan,
};
use crate::predicate::{Operand, Operator, Predicate, Term};
use crate::sample::{Scale, sample};

/// How large an item of an entity is, and its row in each index it can be in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Footprint {
    pub item_bytes: usize,
    pub rows: BTreeMap<IndexId, usize>,
}

/// The footprints of all entities of a model.
pub struct Footprints(Vec<Footprint>);

/// What one execution of a pattern takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Calls of the API.
    pub requests: f64,
    pub read: BTreeMap<TableId, Units>,
    pub write: BTreeMap<TableId, Units>,
}

/// What to assume if the model leaves open whether an item is in a sparse index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// Weighted by the share of items that match the index's condition.
    Weighted,
    /// The most expensive case.
    Worst,
}

impl Prediction {
    pub fn read_units(&self) -> f64 {
        self.read.values().map(Units::total).sum()
    }

    pub fn write_units(&self) -> f64 {
        self.write.values().map(Units::total).sum()
    }
}

impl Footprints {
    /// Measured on example items, which have the declared sizes.
    pub fn new(model: &Model) -> Footprints {
        let sample = sample(model, Scale { roots: 1, children: 1 });
        let of = |id| {
            let example = sample.of(id).last().map(|example| &example.values);
            example.map(|example| footprint(model, id, example)).unwrap_or_default()
        };
        Footprints(model.entity_ids().map(of).collect())
    }

    pub fn of(&self, entity: EntityId) -> &Footprint {
        &self.0[entity.0]
    }
}

impl Footprint {
    /// The size of the row in the index, or of the item itself; 0 if the entity is not in the index.
    pub fn bytes(&self, index: Option<IndexId>) -> usize {
        index.map_or(self.item_bytes, |index| self.rows.get(&index).copied().unwrap_or(0))
    }
}

fn footprint(model: &Model, id: EntityId, example: &Values) -> Footprint {
    let entity = model.entity(id);
    let declared = entity.size.as_ref().map(|size| size.typical as usize);
    let rows = entity.entries.iter().map(|entry| (entry.index, row_bytes(model, id, entry, example)));
    Footprint { item_bytes: declared.unwrap_or_else(|| size_bytes(example)), rows: rows.collect() }
}

/// The row the example would have if it were in the index.
fn row_bytes(model: &Model, id: EntityId, entry: &IndexEntry, example: &Values) -> usize {
    let table = model.table_of(model.entity(id));
    let index = table.index(entry.index);
    if let Some(measured) = &index.size {
        return measured.typical as usize;
    }
    let mut member = example.clone();
    for (key, template) in index.key.attributes().zip(entry.templates()) {
        let rendered = template.render(key.kind, |name| example.get(name).cloned(), 0);
        member.extend(rendered.ok().map(|value| (key.name.clone(), value)));
    }
    let row = item::row(table, entry.index, &member).map_or(0, |row| size_bytes(&row));
    let declared = model.entity(id).size.as_ref().map(|size| size.typical as usize);
    match index.projection.value {
        Projection::All => declared.unwrap_or(row),
        _ => row,
    }
}

/// What one execution of the pattern takes.
pub fn pattern(
    model: &Model,
    footprints: &Footprints,
    pattern: &Pattern,
    plan: &Plan,
    assumption: Assumption,
) -> Prediction {
    let forecast = Forecast { model, footprints, pattern, assumption };
    let mut prediction = Prediction::default();
    for (action, step) in pattern.actions.iter().zip(&plan.steps) {
        forecast.action(action, &step.kind, &mut prediction);
    }
    if pattern.grouping != Grouping::Single {
        prediction.requests = 1.0;
    }
    prediction
}

/// What one of its actions takes; heat is calculated from it.
pub fn action(
    model: &Model,
    footprints: &Footprints,
    pattern: &Pattern,
    (action, step): (&Action, &ActionPlan),
    assumption: Assumption,
) -> Prediction {
    let mut prediction = Prediction::default();
    Forecast { model, footprints, pattern, assumption }.action(action, step, &mut prediction);
    prediction
}

struct Forecast<'a> {
    model: &'a Model,
    footprints: &'a Footprints,
    pattern: &'a Pattern,
    assumption: Assumption,
}

impl Forecast<'_> {
    fn action(&self, action: &Action, step: &ActionPlan, prediction: &mut Prediction) {
        let times = action.times as f64;
        match (&action.kind, step) {
            (ActionKind::Read(read), ActionPlan::Read(plan)) => {
                let (requests, units) = self.read(read, plan);
                prediction.requests += requests * times;
                *prediction.read.entry(plan.table).or_default() += units.times(times);
            }
            (ActionKind::Write(write), ActionPlan::Write(plan)) => {
                prediction.requests += times;
                *prediction.write.entry(plan.table).or_default() += self.write(write, plan).times(times);
            }
            _ => unreachable!("a plan has the steps of its pattern"),
        }
    }

    fn mode(&self, plan: &ReadPlan) -> ReadMode {
        match (self.pattern.grouping, plan.consistent) {
            (Grouping::Transaction, _) => ReadMode::Transactional,
            (_, true) => ReadMode::Strong,
            (_, false) => ReadMode::Eventual,
        }
    }

    /// Requests, and units of all of them.
    fn read(&self, read: &Read, plan: &ReadPlan) -> (f64, Units) {
        let fan_out = plan.fan_out as f64;
        let (items, bytes) = self.examined(read, plan);
        let bytes_each = (bytes / fan_out).ceil() as usize;
        let each = match plan.operation {
            ReadOperation::Scan => {
                scan_units(bytes_each, partitions(self.model.table(plan.table)), self.mode(plan))
            }
            _ => read_units(bytes_each, self.mode(plan)),
        };
        let mut units = Units::of(plan.index, each * fan_out);
        if self.completes_from_table(read, plan) {
            let item_bytes = self.footprints.of(plan.entities[0]).item_bytes;
            units += Units::of_table(items * read_units(item_bytes, self.mode(plan)));
        }
        let pages = (bytes / fan_out / api::limits::PAGE_BYTES_MAX as f64).floor() + 1.0;
        (fan_out * pages, units)
    }

    /// How many items are examined, and their bytes in the table or index that is read.
    fn examined(&self, read: &Read, plan: &ReadPlan) -> (f64, f64) {
        let bytes = |id: EntityId| self.footprints.of(id).bytes(plan.index) as f64;
        if plan.operation == ReadOperation::Scan {
            let all = self.model.entities_of(plan.table);
            let all = all.map(|(id, _)| (id, self.model.items(id).unwrap_or(1.0)));
            return all
                .fold((0.0, 0.0), |(items, sum), (id, count)| (items + count, sum + count * bytes(id)));
        }
        let filtered: Vec<&str> = plan.filter.iter().map(Filter::attribute).collect();
        let found = plan.entities.iter().map(|id| {
            let items = examined(self.model, read, *id, &filtered).unwrap_or(1.0);
            (items, items * bytes(*id))
        });
        let (items, sum) = found.fold((0.0, 0.0), |(items, sum), one| (items + one.0, sum + one.1));
        let returned = read.returns.as_ref().map(|returns| returns.value.typical);
        let wanted = returned.filter(|_| plan.filter.is_empty()).unwrap_or(items);
        let limit =
            read.limit.as_ref().map_or(f64::INFINITY, |limit| limit.value as f64 * plan.fan_out as f64);
        // A reader who pages goes on until the filter has let as many through.
        let paged = read.paged.as_ref().is_some_and(|paged| paged.value);
        let limit = if paged { limit / self.passing(plan).max(f64::MIN_POSITIVE) } else { limit };
        let wanted = wanted.min(limit);
        if items > 0.0 { (wanted, sum / items * wanted) } else { (0.0, 0.0) }
    }

    /// The share of what is read that the filter lets through; all of it if nothing is declared.
    fn passing(&self, plan: &ReadPlan) -> f64 {
        let share = |filter: &Filter| match filter {
            Filter::Term(term) => share_of_term(self.model, plan.entities[0], term),
            Filter::Known(name) => {
                let attribute = self.model.entity(plan.entities[0]).attribute(name);
                attribute.and_then(Attribute::cardinality).map_or(1.0, |values| 1.0 / values.max(1.0))
            }
        };
        plan.filter.iter().map(share).product()
    }

    /// Whether a local index has to fetch missing attributes from the table, item by item.
    fn completes_from_table(&self, read: &Read, plan: &ReadPlan) -> bool {
        let Some(index) = plan.index.map(|index| self.model.table(plan.table).index(index)) else {
            return false;
        };
        let held = |name: &str| match &index.projection.value {
            Projection::All => true,
            Projection::Keys => false,
            Projection::Include(names) => names.iter().any(|one| one.value == name),
        };
        let wanted = match read.attributes.as_ref().map(|attributes| &attributes.value) {
            Some(AttributesRead::All) => {
                return index.kind == IndexKind::Local && index.projection.value != Projection::All;
            }
            Some(AttributesRead::These(names)) => names.as_slice(),
            _ => &[],
        };
        let in_key = |name: &str| {
            let entity = self.model.entity(plan.entities[0]);
            entity.key_templates().any(|template| template.uses(name)) || index.key.names(name)
        };
        index.kind == IndexKind::Local && wanted.iter().any(|name| !held(name) && !in_key(name))
    }

    fn write(&self, write: &Write, plan: &WritePlan) -> Units {
        let footprint = self.footprints.of(plan.entity);
        let item = Some(footprint.item_bytes);
        let (old, new) = match write.verb {
            WriteVerb::Create => (None, item),
            WriteVerb::Delete => (item, None),
            WriteVerb::Put | WriteVerb::Update | WriteVerb::Check => (item, item),
        };
        let factor = if self.pattern.grouping == Grouping::Transaction { TRANSACTION_FACTOR } else { 1.0 };
        let mut units = super::write(old, new, [], factor);
        for effect in &plan.effects {
            let cost = self.effect(write, plan, effect, footprint.bytes(Some(effect.index)));
            if cost > 0.0 {
                units.indexes.insert(effect.index, cost);
            }
        }
        units
    }

    fn effect(&self, write: &Write, plan: &WritePlan, effect: &IndexEffect, bytes: usize) -> f64 {
        let entity = self.model.entity(plan.entity);
        let when = entity.entry(effect.index).and_then(|entry| entity.membership(entry));
        let when = when.as_ref();
        let share = when.map_or(1.0, |when| share(self.model, plan.entity, when));
        let depends =
            |name: &str| when.is_some_and(|when| when.terms.iter().any(|term| term.attribute.value == name));
        let moves = write.verb != WriteVerb::Update || plan::changed(write).any(depends);
        // An update that takes items out of the index is sent for items that are in it, however few those are at a time.
        let leaves = write.verb == WriteVerb::Update && moves && effect.after == Membership::Out;
        let in_index = match write.verb {
            _ if leaves => 1.0,
            WriteVerb::Delete => deleted_share(self.model, plan.entity, effect.index, share).unwrap_or(share),
            _ => share,
        };
        let outcomes = outcomes(effect, in_index, moves);
        // A put that replaces an item may change its index key; typically there is no item to replace.
        let replaces = write.verb == WriteVerb::Put && self.assumption == Assumption::Worst;
        let key_changes =
            effect.key_changes || (replaces && has_own_key(self.model, plan.entity, effect.index));
        let effect = IndexEffect { key_changes, ..effect.clone() };
        let cost = |was: bool, is: bool| row_change(&effect, was, is, bytes).units();
        match self.assumption {
            // A write whose condition fails does not change indexes.
            Assumption::Weighted => {
                let fails = self.pattern.fails.as_ref().map_or(0.0, |fails| fails.value);
                let weighed = outcomes.iter().map(|(weight, was, is)| weight * cost(*was, *is));
                weighed.sum::<f64>() * (1.0 - fails)
            }
            Assumption::Worst => outcomes.iter().map(|(_, was, is)| cost(*was, *is)).fold(0.0, f64::max),
        }
    }
}

/// Whether items of one primary key can have different keys in the index.
fn has_own_key(model: &Model, entity: EntityId, index: IndexId) -> bool {
    let entity = model.entity(entity);
    let fixed = |name: &str| entity.key_templates().any(|template| template.uses(name));
    let mut templates = entity.entry(index).into_iter().flat_map(|entry| entry.templates());
    templates.any(|template| template.attributes().any(|name| !fixed(name)))
}

/// The share of an entity's items that are in an index.
pub fn member_share(model: &Model, id: EntityId, entry: &IndexEntry) -> f64 {
    model.entity(id).membership(entry).map_or(1.0, |when| share(model, id, &when))
}

/// The share of items that match a predicate; all of them if nothing is declared.
pub fn share(model: &Model, entity: EntityId, when: &Predicate) -> f64 {
    when.terms.iter().map(|term| share_of_term(model, entity, term)).product()
}

fn share_of_term(model: &Model, entity: EntityId, term: &Term) -> f64 {
    let attribute = model.entity(entity).attribute(&term.attribute);
    let of = |operand: &Operand| {
        let attribute = attribute?;
        let of_value = operand.literal().and_then(|literal| attribute.share_of(literal));
        of_value.or_else(|| attribute.cardinality().map(|values| 1.0 / values.max(1.0)))
    };
    let all: Option<f64> = term.operands.iter().map(of).sum();
    match (term.operator, all) {
        // Without a declared share, every item counts as having it.
        (Operator::Exists, _) => attribute.and_then(|attribute| attribute.present).unwrap_or(1.0),
        (Operator::NotExists, _) => {
            attribute.and_then(|attribute| attribute.present).map_or(1.0, |one| 1.0 - one)
        }
        (Operator::Equal | Operator::In, Some(share)) => share,
        (Operator::NotEqual, Some(share)) => 1.0 - share,
        _ => 1.0,
    }
}

/// The possible outcomes with their probabilities: whether the item was in the index, and whether it is.
fn outcomes(effect: &IndexEffect, share: f64, moves: bool) -> Vec<(f64, bool, bool)> {
    let weight = |membership: Membership, member: bool| match membership {
        Membership::In => f64::from(member),
        Membership::Out => f64::from(!member),
        Membership::Perhaps if member => share,
        Membership::Perhaps => 1.0 - share,
    };
    let mut outcomes = Vec::new();
    for was in [true, false] {
        for is in [true, false] {
            let linked = !moves && effect.before == effect.after;
            let likelihood = match linked {
                true if was != is => 0.0,
                true => weight(effect.before, was),
                false => weight(effect.before, was) * weight(effect.after, is),
            };
            outcomes.extend((likelihood > 0.0).then_some((likelihood, was, is)));
        }
    }
    outcomes
}

fn row_change(effect: &IndexEffect, was: bool, is: bool, bytes: usize) -> RowChange {
    match (was, is) {
        (false, false) => RowChange::None,
        (false, true) => RowChange::Enter(bytes),
        (true, false) => RowChange::Leave(bytes),
        (true, true) if effect.key_changes => RowChange::Move { old: bytes, new: bytes },
        (true, true) if effect.projected_changes => RowChange::Replace { old: bytes, new: bytes },
        (true, true) => RowChange::None,
    }
}
