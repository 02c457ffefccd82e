//! What each pattern does to each key: predicted units, distributed over keys.

use super::key::{Known, follows_table, is_of_one_item, key_shares};
use crate::Model;
use crate::cache;
use crate::copies;
use crate::demand::{self, Portion, UnitKind};
use crate::model::{
    Action, ActionKind, EntityId, Index, IndexId, IndexKind, Pattern, Place, Read, Skew, Table, TableId,
    Write, WriteVerb,
};
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
    /// The entity whose copies are updated after the pattern; `None` for the pattern itself.
    pub copies: Option<EntityId>,
    pub write: Day,
    pub read: Day,
    /// The part of `read` that each of any number of shards would get as much of.
    pub read_each: Day,
}

/// A load on a key: all of it, and the part that shards don't divide.
#[derive(Clone, Copy)]
struct Units {
    all: f64,
    each: f64,
}

/// Enough shards to show what a read still asks of each.
const VERY_MANY_SHARDS: u64 = 64;

/// What every pattern does to every key.
pub fn key_loads(model: &Model, plans: &[Plan]) -> Vec<KeyLoad> {
    let footprints = Footprints::new(model);
    let mut key_loads = Vec::new();
    for (pattern, plan) in model.patterns.iter().zip(plans).filter(|(pattern, _)| pattern.external.is_none())
    {
        let Some(rate) = &pattern.rate else { continue };
        let day = Day::busiest(rate);
        let mut touching = Touching {
            model,
            footprints: &footprints,
            pattern,
            copies: None,
            day,
            key_loads: &mut key_loads,
        };
        for (action, step) in pattern.actions.iter().zip(&plan.steps) {
            let portions = demand::of_action(model, &footprints, pattern, (action, &step.kind));
            match (&action.kind, &step.kind) {
                (ActionKind::Read(read), ActionPlan::Read(plan)) => {
                    touching.read(action, read, plan, &portions);
                }
                (ActionKind::Write(write), ActionPlan::Write(plan)) => touching.write(write, plan, &portions),
                _ => {}
            }
        }
        for follows in pattern.actions.iter().flat_map(|action| copies::updates(model, pattern, action)) {
            let doing = (follows.action(), &follows.plan);
            let portions = demand::of_action(model, &footprints, &follows.pattern, doing);
            let mut touching = Touching {
                model,
                footprints: &footprints,
                pattern: &follows.pattern,
                copies: Some(follows.entity),
                day: day.times(follows.items),
                key_loads: &mut key_loads,
            };
            if let (ActionKind::Write(write), ActionPlan::Write(plan)) =
                (&follows.action().kind, &follows.plan)
            {
                touching.write(write, plan, &portions);
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
    footprints: &'a Footprints,
    pattern: &'a Pattern,
    copies: Option<EntityId>,
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
    fn read(&mut self, action: &Action, read: &Read, plan: &ReadPlan, portions: &[Portion]) {
        if plan.operation == ReadOperation::Scan {
            return;
        }
        let of_each = asked_of_each_shard(self.model, self.footprints, self.pattern, (action, plan));
        let known = |name: &str| named(read.conditions.as_ref(), name);
        let places = self.model.places_of(plan.entities[0]);
        for place in places {
            let all = units_at(portions, place);
            let shards = shards_of(place) as f64;
            // `all` is for all shards; each of them gets its part of it.
            let each =
                if holds_one_item(place) { all } else { (units_at(&of_each, place) * shards).min(all) };
            self.key_share(place, &known, Units { all, each }, UnitKind::Read, false);
        }
    }

    fn write(&mut self, write: &Write, plan: &WritePlan, portions: &[Portion]) {
        let is_new = write.verb == WriteVerb::Create;
        for place in self.model.places_of(plan.entity) {
            let Some((index, _, entry)) = place.index else {
                // The key does not change, so a value set at creation determines it too.
                let value = |name: &str| {
                    literal(before_value(write, name)).or_else(|| literal(after_value(write, name)))
                };
                self.key_share(place, &value, written(units_at(portions, place)), UnitKind::Write, is_new);
                continue;
            };
            let when = |name: &str| named(entry.when.as_ref(), name);
            let (before, after) = parts(plan.effects.iter().find(|effect| effect.index == index));
            let used = units_at(portions, place);
            let was = |name: &str| when(name).or_else(|| literal(before_value(write, name)));
            let is = |name: &str| when(name).or_else(|| literal(after_value(write, name)));
            self.key_share(place, &was, written(used * before), UnitKind::Write, is_new);
            self.key_share(place, &is, written(used * after), UnitKind::Write, is_new);
        }
    }

    /// Items that are new have partition keys of their own, if no other item has the same: then no skew applies.
    fn key_share(&mut self, place: Place<'_>, known: &Known<'_>, units: Units, kind: UnitKind, is_new: bool) {
        if units.all <= 0.0 {
            return;
        }
        let speaks = matches!(kind, UnitKind::Read) || follows_table(place);
        let skew = match is_new && is_of_one_item(place) {
            true => Some(Skew::Uniform),
            false => self.pattern.skew.as_ref().map(|skew| skew.value).filter(|_| speaks),
        };
        let shards = shards_of(place);
        for key_share in
            key_shares(self.model, place, known, skew).into_iter().filter(|key_share| key_share.share > 0.0)
        {
            let reaching = match kind {
                UnitKind::Read => cache::miss_share_of_key(self.model, self.pattern, place, key_share.share),
                UnitKind::Write => 1.0,
            };
            let load = self.day.times(units.all * key_share.share * reaching);
            let (write, read) = match kind {
                UnitKind::Write => (load, Day::NOTHING),
                UnitKind::Read => (Day::NOTHING, load),
            };
            let read_each = read.times(units.each / units.all);
            self.key_loads.push(KeyLoad {
                table: place.table_id,
                index: place.index.filter(|(_, index, _)| is_global(index)).map(|(id, _, _)| id),
                key: key_share.key,
                shards,
                pattern: self.pattern.id.value.clone(),
                copies: self.copies,
                write,
                read,
                read_each,
            });
        }
    }
}

/// Shards divide all writes.
fn written(all: f64) -> Units {
    Units { all, each: 0.0 }
}

fn shards_of(place: Place<'_>) -> u64 {
    place.partition().iter().map(|(_, template)| template.shards()).fold(1, u64::saturating_mul)
}

/// Whether a partition of the table holds nothing of the entity but one item: there is nothing to spread.
fn holds_one_item(place: Place<'_>) -> bool {
    let sort = place.sort();
    place.index.is_none() && sort.iter().all(|(_, template)| template.fields().next().is_none())
}

/// What one execution asks of each shard, however many there are: as many items as its limit, and never less than
/// the smallest read. Who knows the whole key asks one shard alone.
pub fn asked_of_each_shard(
    model: &Model,
    footprints: &Footprints,
    pattern: &Pattern,
    (action, plan): (&Action, &ReadPlan),
) -> Vec<Portion> {
    if plan.operation != ReadOperation::Query {
        return Vec::new();
    }
    let spread = ActionPlan::Read(ReadPlan { fan_out: VERY_MANY_SHARDS, ..plan.clone() });
    let mut portions = demand::of_action(model, footprints, pattern, (action, &spread));
    portions.iter_mut().for_each(|one| one.units /= VERY_MANY_SHARDS as f64);
    portions
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
