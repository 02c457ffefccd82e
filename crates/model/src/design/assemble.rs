//! From the solutions of all groups to one design: physical indexes, separate partitions where whole partitions are
//! read, shards where keys are hot. The result is judged as a whole.

use super::Indexes;
use super::blueprint::{Blueprint, IndexForm, LogicalIndex, PhysicalIndex, draw, place_of};
use super::judge::{Judge, is_asked_for};
use super::overload::{named, overloaded};
use super::price::{Price, Prices};
use super::search::{Mask, QuestionGroup, Solution};
use crate::Model;
use crate::diagnostic::RuleId;
use crate::heat::{Heat, heat};
use crate::model::{ActionKind, Allowance, EntityId, FanOut, IndexId, TableId};
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
    /// What was impossible, and decisions that the patterns did not ask for.
    pub notes: Vec<String>,
}

impl Assembly {
    pub fn indexes(&self) -> usize {
        self.blueprint.indexes.len()
    }
}

/// With at most this many physical indexes per table, if they are overloaded.
pub fn assemble(
    judge: &Judge<'_>,
    groups: &[QuestionGroup],
    solutions: &[&Solution],
    style: Indexes,
    colours: usize,
) -> Option<Assembly> {
    let logical: Vec<LogicalIndex> =
        solutions.iter().flat_map(|solution| solution.indexes.iter().cloned()).collect();
    let indexes = match style {
        Indexes::Overloaded => overloaded(judge.model, &logical, colours)?,
        Indexes::Named => named(judge.model, &logical)?,
    };
    let mut table = std::collections::BTreeMap::new();
    for solution in solutions {
        table.extend(solution.keys.iter().map(|(id, key)| (*id, key.clone())));
    }
    let mut blueprint = Blueprint { table, indexes };
    separate_partitions(judge, groups, solutions, &mut blueprint);
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
        self.note_hot_attributes(&model, &blueprint);
        self.shard_table(&mut blueprint);
        model = self.draw(&blueprint);
        self.allow_fan_out(&mut model);
        let plans = plans(&model);
        self.allow_constants(&mut model, &plans, &blueprint);
        let price = Prices::new(self.judge.facts, &model).of(&model, &plans);
        Assembly { blueprint, model, plans, price, notes: self.notes }
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

    /// Keys that are plain attributes can't be sharded.
    fn note_hot_attributes(&mut self, model: &Model, blueprint: &Blueprint) {
        let plans = plans(model);
        for heat in heat(model, &plans, &self.judge.facts.limits, self.judge.headroom) {
            let (Some(name), Some(hot)) = (&heat.index, heat.busiest().filter(|key| key.is_too_hot())) else {
                continue;
            };
            let mut named =
                blueprint.indexes.iter().filter(|one| one.table == heat.table_id && one.name == *name);
            if named.any(|one| one.form() == IndexForm::Attributes) {
                self.notes.push(format!(
                    "the busiest key `{}` of {name} needs {} shards, which a key of plain attributes can't have",
                    hot.key, hot.shards_needed
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
                } else if blueprint
                    .table
                    .iter()
                    .all(|(id, key)| table_prefix(&model, *id) != prefix || key.shards < needed)
                {
                    self.notes.push(format!(
                        "the busiest key `{prefix}…` of the table needs {needed} shards, and not every reader \
                         and writer could tell them: allow a fan-out, or make the key finer"
                    ));
                }
            }
        }
    }

    fn is_sound(&self, blueprint: &Blueprint) -> bool {
        let model = self.draw(blueprint);
        plans(&model).iter().enumerate().all(|(at, plan)| open_gaps(&model, at, plan).next().is_none())
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
                     `fan-out: allowed`: no single key can bear what it asks for",
                    pattern.id.value
                ));
                pattern.fan_out = Some(Spanned::new(FanOut::Most(requests), Span::default()));
            }
        }
    }

    /// A queue with little traffic may use one key. The load shows it, and the file gives it as the reason.
    fn allow_constants(&self, model: &mut Model, plans: &[Plan], blueprint: &Blueprint) {
        let limits = &self.judge.facts.limits;
        let heats = heat(model, plans, limits, self.judge.headroom);
        let mut positions: std::collections::BTreeMap<TableId, usize> = Default::default();
        for physical in &blueprint.indexes {
            let position = positions.entry(physical.table).or_default();
            let index = IndexId(*position);
            *position += 1;
            for logical in physical.logical.iter().filter(|one| one.partition().is_empty() && one.shards == 1)
            {
                let id = logical.layouts[0].0;
                let key = model.entity(id).entry(index).map(|entry| entry.partition[0].to_string());
                let here =
                    heats.iter().find(|heat| heat.table_id == physical.table && heat.index_id == Some(index));
                let hottest =
                    here.and_then(|heat| heat.keys.iter().find(|one| Some(&one.key) == key.as_ref()));
                let load = hottest.map_or(0.0, |key| key.load * 100.0);
                model.allowances.push(Allowance {
                    rule: RuleId(7),
                    reason: format!(
                        "one key takes all of it: at most {load:.1}% of what a partition sustains"
                    ),
                    scope: place_of(id, index),
                    span: Span::default(),
                });
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
        let needed = keys.map(|key| key.shards_needed).max().unwrap_or(1);
        if needed > 1 && !hot.iter().any(|(one, _)| *one == prefix) {
            hot.push((prefix, needed));
        }
    }
    hot
}
