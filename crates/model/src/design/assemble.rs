//! From the solutions of all groups to one design: physical indexes, separate partitions where whole partitions are
//! read, shards where keys are hot. The result is judged as a whole.

use super::Indexes;
use super::blueprint::{Blueprint, IndexForm, LogicalIndex, PhysicalIndex, draw};
use super::judge::{Judge, is_asked_for};
use super::overload::{named, overloaded};
use super::price::{DesignPrices, Price};
use super::search::{Mask, QuestionGroup, Solution};
use crate::Model;
use crate::check::r17_read_together::better_apart;
use crate::heat::{Cure, CureWay, Cures, Heat, heat};
use crate::model::{ActionKind, EntityId, FanOut, IndexId, TableId};
use crate::plan::{ActionPlan, Gap, Plan, plan};
use crate::{Span, Spanned};

/// Shards change plans and plans change heat; this is more rounds than it takes to converge.
const ROUNDS_MAX: usize = 4;

/// A design as a whole.
pub struct Assembly {
    pub blueprint: Blueprint,
    pub model: Model,
    pub plans: Vec<Plan>,
    pub price: Price,
    /// Decisions that the patterns did not ask for, and what would be cheaper.
    pub notes: Vec<String>,
    /// Keys that get more than one key should, and what cures them: no keys do.
    pub hot: Vec<String>,
}

impl Assembly {
    pub fn indexes(&self) -> usize {
        self.blueprint.indexes.len()
    }
}

/// The physical indexes that the logical ones of these solutions share: at most this many per table, if they are
/// overloaded.
pub fn physical(
    judge: &Judge<'_>,
    solutions: &[&Solution],
    style: Indexes,
    colours: usize,
) -> Option<Vec<PhysicalIndex>> {
    let logical: Vec<LogicalIndex> =
        solutions.iter().flat_map(|solution| solution.indexes.iter().cloned()).collect();
    match style {
        Indexes::Overloaded => overloaded(judge.model, &logical, colours),
        Indexes::Named => named(judge.model, &logical),
    }
}

/// The solutions with these indexes, as one design.
pub fn assemble(
    judge: &Judge<'_>,
    groups: &[QuestionGroup],
    solutions: &[&Solution],
    indexes: Vec<PhysicalIndex>,
) -> Option<Assembly> {
    let mut table = std::collections::BTreeMap::new();
    for solution in solutions {
        table.extend(solution.keys.iter().map(|(id, key)| (*id, key.clone())));
    }
    let mut blueprint = Blueprint { table, indexes };
    separate_partitions(judge, groups, solutions, &mut blueprint);
    separate_strangers(judge, &mut blueprint);
    let assembly = Finishing { judge, notes: Vec::new() }.finish(blueprint);
    judge.collections_fit(&assembly.model).then_some(assembly)
}

/// An entity that is keyed by the same attributes as a collection which is read whole, but is not read with it, gets
/// partitions of its own.
fn separate_partitions(
    judge: &Judge<'_>,
    groups: &[QuestionGroup],
    solutions: &[&Solution],
    blueprint: &mut Blueprint,
) {
    for (group, solution) in groups.iter().zip(solutions) {
        for (at, position) in group.questions.iter().enumerate() {
            let question = &judge.questions[*position];
            if question.entities.len() < 2 || solution.table & ((1 as Mask) << at) == 0 {
                continue;
            }
            let partition = blueprint.table[&question.entities[0]].layout.partition.clone();
            let table = judge.model.entity(question.entities[0]).table;
            for (id, key) in &mut blueprint.table {
                let same = key.layout.partition == partition && judge.model.entity(*id).table == table;
                key.apart |= same && !question.entities.contains(id);
            }
        }
    }
}

/// Large collections under the same key that no pattern uses together get partitions of their own.
fn separate_strangers(judge: &Judge<'_>, blueprint: &mut Blueprint) {
    let model = draw(judge.model, judge.identities, blueprint);
    for id in better_apart(&model, &plans(&model)) {
        if let Some(key) = blueprint.table.get_mut(&id) {
            key.apart = true;
        }
    }
}

/// How many requests a pattern may take that did not ask for a fan-out.
pub const UNASKED_REQUESTS_MAX: u64 = 10;

struct Finishing<'a, 'm> {
    judge: &'a Judge<'m>,
    notes: Vec<String>,
}

impl Finishing<'_, '_> {
    fn finish(mut self, mut blueprint: Blueprint) -> Assembly {
        let mut model = self.draw(&blueprint);
        for _ in 0..ROUNDS_MAX {
            let plans = plans(&model);
            let heats = heat(&model, &plans, &self.judge.facts.limits, self.judge.headroom);
            let with_shards = self.with_shards(&model, &blueprint, &heats);
            if with_shards.indexes_equal(&blueprint) {
                break;
            }
            blueprint = with_shards;
            model = self.draw(&blueprint);
        }
        self.shard_table(&mut blueprint);
        model = self.draw(&blueprint);
        self.allow_fan_out(&mut model);
        let plans = plans(&model);
        self.note_cheaper_cures(&blueprint);
        let hot = self.hot_keys(&model, &plans);
        let price = DesignPrices::new(self.judge.facts, &model).of(&model, &plans);
        Assembly { blueprint, model, plans, price, notes: self.notes, hot }
    }

    fn draw(&self, blueprint: &Blueprint) -> Model {
        draw(self.judge.model, self.judge.identities, blueprint)
    }

    /// The same design with as many shards in each index as its busiest key needs.
    fn with_shards(&self, model: &Model, blueprint: &Blueprint, heats: &[Heat]) -> Blueprint {
        let mut with_shards = blueprint.clone();
        let mut positions: std::collections::BTreeMap<TableId, usize> = Default::default();
        for physical in &mut with_shards.indexes {
            let position = positions.entry(physical.table).or_default();
            let index = IndexId(*position);
            *position += 1;
            let here =
                heats.iter().find(|heat| heat.table_id == physical.table && heat.index_id == Some(index));
            for logical in &mut physical.logical {
                let entity = model.entity(logical.layouts[0].0);
                let prefix = entity.entry(index).map_or("", |entry| entry.partition[0].literal_prefix());
                let keys = here.iter().flat_map(|heat| &heat.keys).filter(|key| key.key.starts_with(prefix));
                let needed = keys.map(|key| key.shards_needed).max().unwrap_or(1);
                let may = logical.form == IndexForm::Composed && self.judge.spreads(logical);
                logical.shards = if may { needed } else { 1 };
            }
        }
        with_shards
    }

    /// Keys that have more than they should, with the ways to cool them: those that cure, the cheapest first.
    fn hot_keys(&self, model: &Model, plans: &[Plan]) -> Vec<String> {
        let Judge { facts, headroom, .. } = *self.judge;
        let heats = heat(model, plans, &facts.limits, headroom);
        let cures = Cures::new(model, plans, facts, headroom);
        let hot = heats.iter().flat_map(|heat| heat.keys.iter().map(move |key| (heat, key)));
        let hot = hot.filter(|(_, key)| key.load > headroom);
        hot.map(|(heat, key)| {
            let all = cures.of(heat, key);
            let ways: Vec<String> = all.iter().filter(|cure| cure.cures).map(Cure::describe).collect();
            let ways = match ways.is_empty() {
                true => "no one way cures it".to_owned(),
                false => ways.join("; or "),
            };
            format!(
                "`{}` of {} gets {:.0}% of what one key sustains, and no key serves better: {ways}",
                key.key,
                heat.name(),
                key.load * 100.0
            )
        })
        .collect()
    }

    /// Shards are what keys can do about reads; what is outside of them may cost less.
    fn note_cheaper_cures(&mut self, blueprint: &Blueprint) {
        let Judge { facts, headroom, .. } = *self.judge;
        let mut whole = blueprint.clone();
        whole.table.values_mut().for_each(|key| key.shards = 1);
        let logical = whole.indexes.iter_mut().flat_map(|physical| &mut physical.logical);
        logical.for_each(|one| one.shards = 1);
        let model = self.draw(&whole);
        let plans = plans(&model);
        let heats = heat(&model, &plans, &facts.limits, headroom);
        let cures = Cures::new(&model, &plans, facts, headroom);
        for (heat, key) in heats.iter().flat_map(|heat| heat.keys.iter().map(move |key| (heat, key))) {
            let ways = cures.of(heat, key);
            let cheapest = ways.iter().find(|cure| cure.cures);
            let shards = ways.iter().find(|cure| cure.cures && matches!(cure.way, CureWay::Shards { .. }));
            if let (Some(shards), Some(cheapest)) = (shards, cheapest)
                && cheapest != shards
            {
                self.notes.push(format!(
                    "`{}` of {} is spread over shards{}; cheaper than that: {}",
                    key.key,
                    heat.name(),
                    shards.price(),
                    cheapest.describe()
                ));
            }
        }
    }

    /// Shards for hot keys of the table, if every reader and writer still knows the key.
    fn shard_table(&mut self, blueprint: &mut Blueprint) {
        let model = self.draw(blueprint);
        let heats = heat(&model, &plans(&model), &self.judge.facts.limits, self.judge.headroom);
        for hot in heats.iter().filter(|heat| heat.index_id.is_none()) {
            for (prefix, needed) in hot_prefixes(&model, hot) {
                let mut tried = blueprint.clone();
                for (id, key) in &mut tried.table {
                    if table_prefix(&model, *id) == prefix && self.judge.can_spread(*id, &key.layout) {
                        key.shards = needed;
                    }
                }
                if tried.table != blueprint.table && self.is_sound(&tried) {
                    *blueprint = tried;
                }
            }
        }
    }

    fn is_sound(&self, blueprint: &Blueprint) -> bool {
        let model = self.draw(blueprint);
        let is_few = |gap: &Gap| match gap {
            Gap::FanOutUndeclared { requests } => *requests <= UNASKED_REQUESTS_MAX,
            _ => false,
        };
        plans(&model).iter().enumerate().all(|(at, plan)| open_gaps(&model, at, plan).all(is_few))
    }

    /// Where a hot key leaves no choice, the pattern gets a declaration of how many requests it takes.
    fn allow_fan_out(&mut self, model: &mut Model) {
        for at in 0..model.patterns.len() {
            let plan = plan(model, &model.patterns[at]);
            let requests = plan.gaps().find_map(|gap| match gap {
                Gap::FanOutUndeclared { requests } => Some(*requests),
                _ => None,
            });
            // With more it would not be served, whatever is declared: the pattern stays open, and is refused.
            if let Some(requests) = requests.filter(|requests| *requests <= UNASKED_REQUESTS_MAX) {
                let pattern = &mut model.patterns[at];
                self.notes.push(format!(
                    "`{}` takes {requests} requests, one for each shard, though it does not say \
                     `fan-out: allowed`: no single key can sustain what it asks for",
                    pattern.id.value
                ));
                pattern.fan_out = Some(Spanned::new(FanOut::Most(requests), Span::default()));
            }
        }
    }
}

/// The plan of every pattern, in order.
pub fn plans(model: &Model) -> Vec<Plan> {
    model.patterns.iter().map(|pattern| plan(model, pattern)).collect()
}

/// The gaps of a plan, except those that its pattern declares.
pub fn open_gaps<'p>(model: &'p Model, at: usize, plan: &'p Plan) -> impl Iterator<Item = &'p Gap> {
    let pattern = &model.patterns[at];
    let steps = pattern.actions.iter().zip(&plan.steps).filter(|_| pattern.external.is_none());
    steps.flat_map(|(action, step)| {
        let gaps = match &step.kind {
            ActionPlan::Read(read) => &read.gaps,
            ActionPlan::Write(write) => &write.gaps,
        };
        gaps.iter().filter(|gap| match &action.kind {
            ActionKind::Read(read) => !is_asked_for(read, gap) && !matches!(gap, Gap::Scans),
            ActionKind::Write(_) => true,
        })
    })
}

impl Blueprint {
    fn indexes_equal(&self, other: &Blueprint) -> bool {
        let shards = |indexes: &[PhysicalIndex]| -> Vec<u64> {
            indexes.iter().flat_map(|physical| &physical.logical).map(|logical| logical.shards).collect()
        };
        shards(&self.indexes) == shards(&other.indexes)
    }
}

fn table_prefix(model: &Model, id: EntityId) -> &str {
    model.entity(id).key.as_ref().map_or("", |key| key.partition.literal_prefix())
}

/// Literal prefixes of partition keys that need more than one shard, and how many they need.
fn hot_prefixes(model: &Model, heat: &Heat) -> Vec<(String, u64)> {
    let mut hot: Vec<(String, u64)> = Vec::new();
    for id in model.entity_ids() {
        let prefix = table_prefix(model, id).to_owned();
        let keys = heat.keys.iter().filter(|key| !prefix.is_empty() && key.key.starts_with(&prefix));
        let needed =
            keys.filter(|key| key.shards < key.shards_needed).map(|key| key.shards_needed).max().unwrap_or(1);
        if needed > 1 && !hot.iter().any(|(one, _)| *one == prefix) {
            hot.push((prefix, needed));
        }
    }
    hot
}
