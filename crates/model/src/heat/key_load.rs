//! What each pattern does to each key: predicted units, distributed over keys.

use super::key::{Known, follows_table, key_shares};
use crate::Model;
use crate::cache;
use crate::demand::{self, Kind, Portion};
use crate::model::{ActionKind, Index, IndexId, IndexKind, Pattern, Place, Read, Table, TableId, Write};
use crate::plan::{
    ActionPlan, IndexEffect, Membership, Plan, ReadOperation, ReadPlan, WritePlan, after_value, before_value,
};
use crate::predicate::{Operand, Operator, Predicate};
use crate::predict::typical::Footprints;
use crate::traffic::Day;

/// Units per second, in each hour, on the busiest key of one form.
pub struct KeyLoad {
    pub table: TableId,
    /// The global index; `None` for the table.
    pub index: Option<IndexId>,
    pub key: String,
    pub shards: u64,
    pub pattern: String,
    pub write: Day,
    pub read: Day,
}

/// What every pattern does to every key.
pub fn key_loads(model: &Model, plans: &[Plan]) -> Vec<KeyLoad> {
    let footprints = Footprints::new(model);
    let mut key_loads = Vec::new();
    for (pattern, plan) in model.patterns.iter().zip(plans).filter(|(pattern, _)| pattern.external.is_none())
    {
        let Some(rate) = &pattern.rate else { continue };
        let mut touching = Touching { model, pattern, day: Day::busiest(rate), key_loads: &mut key_loads };
        for (action, step) in pattern.actions.iter().zip(&plan.steps) {
            let portions = demand::of_action(model, &footprints, pattern, (action, &step.kind));
            match (&action.kind, &step.kind) {
                (ActionKind::Read(read), ActionPlan::Read(plan)) => touching.read(read, plan, &portions),
                (ActionKind::Write(write), ActionPlan::Write(plan)) => touching.write(write, plan, &portions),
                _ => {}
            }
        }
    }
    key_loads
}

pub fn global_indexes(table: &Table) -> impl Iterator<Item = IndexId> {
    table.index_ids().filter(|id| table.index(*id).kind == IndexKind::Global)
}

struct Touching<'a> {
    model: &'a Model,
    pattern: &'a Pattern,
    /// Requests per second.
    day: Day,
    key_loads: &'a mut Vec<KeyLoad>,
}

/// What one execution uses in one place, if no cache answers it.
fn units_at(portions: &[Portion], place: Place<'_>) -> f64 {
    let here = portions.iter().filter(|one| one.resource == (place.table_id, place.index_id()));
    here.map(|one| one.units).sum()
}

impl Touching<'_> {
    /// A Scan reads all partitions equally and heats none.
    fn read(&mut self, read: &Read, plan: &ReadPlan, portions: &[Portion]) {
        if plan.operation == ReadOperation::Scan {
            return;
        }
        let known = |name: &str| named(read.conditions.as_ref(), name);
        let places = self.model.places_of(plan.entities[0]);
        for place in places {
            self.key_share(place, &known, units_at(portions, place), Kind::Read);
        }
    }

    fn write(&mut self, write: &Write, plan: &WritePlan, portions: &[Portion]) {
        for place in self.model.places_of(plan.entity) {
            let Some((index, _, entry)) = place.index else {
                // The key does not change, so a value set at creation determines it too.
                let value = |name: &str| {
                    literal(before_value(write, name)).or_else(|| literal(after_value(write, name)))
                };
                self.key_share(place, &value, units_at(portions, place), Kind::Write);
                continue;
            };
            let when = |name: &str| named(entry.when.as_ref(), name);
            let (before, after) = parts(plan.effects.iter().find(|effect| effect.index == index));
            let used = units_at(portions, place);
            let was = |name: &str| when(name).or_else(|| literal(before_value(write, name)));
            let is = |name: &str| when(name).or_else(|| literal(after_value(write, name)));
            self.key_share(place, &was, used * before, Kind::Write);
            self.key_share(place, &is, used * after, Kind::Write);
        }
    }

    fn key_share(&mut self, place: Place<'_>, known: &Known<'_>, units: f64, kind: Kind) {
        if units <= 0.0 {
            return;
        }
        let speaks = matches!(kind, Kind::Read) || follows_table(place);
        let skew = self.pattern.skew.as_ref().map(|skew| skew.value).filter(|_| speaks);
        let shards =
            place.partition().iter().map(|(_, template)| template.shards()).fold(1, u64::saturating_mul);
        for key_share in
            key_shares(self.model, place, known, skew).into_iter().filter(|key_share| key_share.share > 0.0)
        {
            let reaching = match kind {
                Kind::Read => cache::miss_share_of_key(self.model, self.pattern, place, key_share.share),
                Kind::Write => 1.0,
            };
            let load = self.day.times(units * key_share.share * reaching);
            let (write, read) = match kind {
                Kind::Write => (load, Day::NOTHING),
                Kind::Read => (Day::NOTHING, load),
            };
            self.key_loads.push(KeyLoad {
                table: place.table_id,
                index: place.index.filter(|(_, index, _)| is_global(index)).map(|(id, _, _)| id),
                key: key_share.key,
                shards,
                pattern: self.pattern.id.value.clone(),
                write,
                read,
            });
        }
    }
}

pub fn is_global(index: &Index) -> bool {
    index.kind == IndexKind::Global
}

/// Which share of an index's writes goes to the old key, and which to the new one.
fn parts(effect: Option<&IndexEffect>) -> (f64, f64) {
    match effect {
        Some(IndexEffect { before: Membership::Out, .. }) => (0.0, 1.0),
        Some(IndexEffect { after: Membership::Out, .. }) => (1.0, 0.0),
        Some(effect) if effect.key_changes => (0.5, 0.5),
        _ => (0.0, 1.0),
    }
}

/// The values that a predicate allows for an attribute, if it lists them.
fn named(predicate: Option<&Predicate>, name: &str) -> Option<Vec<String>> {
    let term = predicate?.terms.iter().find(|term| {
        term.attribute.value == name && matches!(term.operator, Operator::Equal | Operator::In)
    })?;
    term.operands.iter().map(|operand| operand.literal().map(str::to_owned)).collect()
}

fn literal(operand: Option<&Operand>) -> Option<Vec<String>> {
    Some(vec![operand?.literal()?.to_owned()])
}
