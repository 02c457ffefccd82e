//! Whether a layout serves a read, and what it costs. Proposals are drawn as small models and judged by
//! the same plans, predictions and heat as finished ones, so the search and the result can't disagree.

use std::collections::{BTreeMap, BTreeSet};

use item::Type;

use super::blueprint::{
    Blueprint, Identities, IndexForm, LogicalIndex, Need, PhysicalIndex, TableKey, draw, spreading,
};
use super::identity::finds;
use super::layout::KeyLayout;
use super::price::DesignPrices;
use super::{Indexes, Options};
use crate::Model;
use crate::demand::{self, Portion};
use crate::facts::Facts;
use crate::heat::{Growing, Heat, forecasts, heat};
use crate::model::{
    ActionKind, AttributesRead, Entity, EntityId, Grouping, IndexId, Pattern, Read, ReadVerb, Write,
    WriteVerb,
};
use crate::plan::{ActionPlan, Gap, Plan, ReadOperation, ReadPlan, plan};
use crate::predict::typical::Footprints;
use crate::{Span, Spanned, uniqueness};

/// The cost assigned to a read with an undeclared fan-out, so that every alternative is preferred.
const UNASKED_FAN_OUT: f64 = 1e9;
const DRAFT: &str = "draft";
/// DynamoDB's limit on each side of a global index's key.
const KEY_ATTRIBUTES_MAX: usize = api::limits::INDEX_KEY_ATTRIBUTES_MAX;

/// A read of a pattern: the question that keys have to answer.
#[derive(Clone, Debug)]
pub struct Question {
    pub pattern: usize,
    pub action: usize,
    pub entities: Vec<EntityId>,
    pub need: Need,
    /// A strong read: no global index serves it.
    pub strong: bool,
    /// Part of a transaction or batch: no index serves it.
    pub grouped: bool,
    /// It ranges over or sorts by negative numbers, which do not sort as text.
    pub signed: bool,
}

impl Question {
    fn may_use(&self, form: IndexForm) -> bool {
        match form {
            IndexForm::Composed => !self.grouped && !self.strong && !self.signed,
            IndexForm::Attributes => !self.grouped && !self.strong,
            IndexForm::Local => !self.grouped && !self.signed,
        }
    }

    /// Whether a local index can serve what no global one can.
    pub fn wants_local(&self) -> bool {
        self.strong && self.may_use(IndexForm::Local)
    }
}

/// An index with a set of questions it answers.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The monthly cost of its writes and its storage.
    pub upkeep: f64,
    /// The monthly cost of each question, in the order given.
    pub reads: Vec<f64>,
}

impl Verdict {
    pub fn total(&self) -> f64 {
        self.upkeep + self.reads.iter().sum::<f64>()
    }
}

/// Judges proposals for one model.
pub struct Judge<'m> {
    /// Without keys.
    pub model: &'m Model,
    /// Without patterns too: the part that is copied for every proposal.
    bare: Model,
    pub identities: &'m Identities,
    pub facts: &'m Facts,
    pub headroom: f64,
    pub style: Indexes,
    pub questions: Vec<Question>,
    prices: DesignPrices<'m>,
    /// The sizes of items keyed by nothing but their identity.
    footprints: Footprints,
}

impl<'m> Judge<'m> {
    pub fn new(
        model: &'m Model,
        identities: &'m Identities,
        facts: &'m Facts,
        options: &Options,
    ) -> Judge<'m> {
        let plain = draw(model, identities, &plainest(model, identities));
        Judge {
            model,
            bare: Model { patterns: Vec::new(), ..model.clone() },
            identities,
            facts,
            headroom: options.headroom,
            style: options.indexes,
            questions: questions(model),
            prices: DesignPrices::new(facts, model),
            footprints: Footprints::new(&plain),
        }
    }

    fn pattern(&self, question: &Question) -> &Pattern {
        &self.model.patterns[question.pattern]
    }

    pub fn read(&self, question: &Question) -> &Read {
        match &self.pattern(question).actions[question.action].kind {
            ActionKind::Read(read) => read,
            ActionKind::Write(_) => unreachable!("a question is a read"),
        }
    }

    /// Whether every writer knows this key and none changes it.
    pub fn suits_writers(&self, id: EntityId, key: &TableKey) -> bool {
        let layout = &key.layout;
        let optional =
            |name: &&str| self.model.entity(id).attribute(name).is_some_and(|attribute| attribute.optional);
        if !layout.members.is_empty() || layout.attributes().iter().any(optional) {
            return false;
        }
        if !self.stays_unique(id, layout) {
            return false;
        }
        let drawn = self.draw(&of_table(&BTreeMap::from([(id, key.clone())])));
        self.writing(id).all(|(position, action)| {
            let plan = plan(&drawn, &self.model.patterns[position]);
            match &plan.steps[action].kind {
                ActionPlan::Write(write) => write.gaps.is_empty(),
                ActionPlan::Read(_) => true,
            }
        })
    }

    /// Whether the key keeps out a second item with the same `id`, if writers rely on that.
    fn stays_unique(&self, id: EntityId, layout: &KeyLayout) -> bool {
        let determined = || uniqueness::determined(self.model, id);
        !uniqueness::relies_on_key(self.model, id) || layout.attributes().is_subset(&determined())
    }

    /// Writes of an entity: which pattern, which of its actions.
    fn writing(&self, id: EntityId) -> impl Iterator<Item = (usize, usize)> {
        self.model.patterns.iter().enumerate().flat_map(move |(position, pattern)| {
            let actions = pattern.actions.iter().enumerate();
            actions.filter_map(move |(action, one)| match &one.kind {
                ActionKind::Write(write) => (write.entity.value == id).then_some((position, action)),
                ActionKind::Read(_) => None,
            })
        })
    }

    /// What the question costs per month if the table answers it; `None` if it can't.
    pub fn on_table(&self, question: &Question, keys: &BTreeMap<EntityId, TableKey>) -> Option<f64> {
        let drawn = self.draw(&of_table(keys));
        let pattern = self.pattern(question);
        let plan = plan(&drawn, pattern);
        let step = &plan.steps[question.action].kind;
        let ActionPlan::Read(read) = step else { return None };
        let grouped = pattern.grouping != Grouping::Single;
        let served = read.operation != ReadOperation::Scan
            && !question.signed
            && (!grouped || read.operation == ReadOperation::GetItem)
            && self.is_right(question, read);
        let action = &pattern.actions[question.action];
        let price = || self.prices.action(&drawn, &self.footprints, pattern, action, step).reads;
        served.then(|| price() + penalty(read))
    }

    /// Whether shards would spread anything: the partition holds several items, or one counter that can be split into
    /// several.
    pub fn can_spread(&self, id: EntityId, layout: &KeyLayout) -> bool {
        spreading(&self.identities[id.0], layout).is_some() || is_counter(self.model, id)
    }

    /// How many shards the busiest partition of an entity needs in the table, for its writes
    /// and the questions that the table answers.
    pub fn table_shards(&self, id: EntityId, layout: &KeyLayout, questions: &[&Question]) -> u64 {
        if !self.can_spread(id, layout) {
            return 1;
        }
        let keys = BTreeMap::from([(id, TableKey::plain(layout.clone()))]);
        let drawn = self.draw(&of_table(&keys));
        let on_table = questions.iter().filter(|question| self.on_table(question, &keys).is_some());
        let reading = on_table.map(|question| question.pattern);
        let asked: BTreeSet<usize> = self.writing(id).map(|(position, _)| position).chain(reading).collect();
        let plans = asked.into_iter().map(|at| (at, plan(&drawn, &self.model.patterns[at]))).collect();
        let heats = self.heat(drawn, plans);
        heats.iter().flat_map(|heat| &heat.keys).map(|key| key.shards_needed).max().unwrap_or(1)
    }

    /// Whether the only gaps are a filter that the pattern itself asks for, or a fan-out that it did not declare.
    fn is_right(&self, question: &Question, plan: &ReadPlan) -> bool {
        plan.gaps.iter().all(|gap| match gap {
            Gap::FanOutUndeclared { .. } => true,
            gap => is_asked_for(self.read(question), gap),
        })
    }

    /// Whether DynamoDB allows such an index: attributes that can be keys, collections that are not too large.
    pub fn is_possible(&self, logical: &LogicalIndex) -> bool {
        match logical.form {
            IndexForm::Composed => true,
            IndexForm::Attributes => self.can_be_keys(logical),
            IndexForm::Local => !logical.partition().is_empty() && self.collections_fit(&self.draft(logical)),
        }
    }

    /// One entity, up to four attributes on each side, read in one direction, and the same type in every item of the
    /// table that has them.
    fn can_be_keys(&self, logical: &LogicalIndex) -> bool {
        let [(id, layout)] = logical.layouts.as_slice() else { return false };
        let few = (1..=KEY_ATTRIBUTES_MAX).contains(&layout.partition.len())
            && layout.sort.len() <= KEY_ATTRIBUTES_MAX;
        let plain = layout.sort.iter().all(|element| !element.inverted)
            && layout.members.iter().all(|member| member.value.is_none());
        let kind = |entity: &Entity, name: &str| entity.attribute(name).map(|found| found.kind.stored());
        let fits = |name: &&str| {
            let own = kind(self.model.entity(*id), name);
            let mut others = self.model.entities_of(self.model.entity(*id).table);
            matches!(own, Some(Type::S | Type::N | Type::B))
                && others.all(|(_, other)| kind(other, name).is_none_or(|one| Some(one) == own))
        };
        few && plain && logical.shards == 1 && layout.attributes().iter().all(fits)
    }

    /// Whether no collection under a local index exceeds the limit.
    pub fn collections_fit(&self, drawn: &Model) -> bool {
        let collections = forecasts(drawn, &self.facts.limits);
        collections
            .iter()
            .all(|one| !one.enforced || one.growing == Growing::Item || one.days_left != Some(0.0))
    }

    /// The monthly cost of an index that answers these questions; `None` if it can't, or if a writer can't
    /// maintain it.
    pub fn on_index(&self, logical: &LogicalIndex, questions: &[&Question]) -> Option<Verdict> {
        let need = questions.iter().fold(Need::nothing(), |all, question| all.with(&question.need));
        let logical = LogicalIndex { projection: need, ..logical.clone() };
        let drawn = self.draft(&logical);
        let footprints = Footprints::new(&drawn);
        let upkeep = self.upkeep(&drawn, &footprints, &logical)?;
        let read = |question: &&Question| self.read_on_draft(&drawn, &footprints, logical.form, question);
        let reads = questions.iter().map(read).collect::<Option<Vec<f64>>>()?;
        Some(Verdict { upkeep, reads })
    }

    /// One index, and a table keyed by identities.
    fn draft(&self, logical: &LogicalIndex) -> Model {
        let mut blueprint = plainest(self.model, self.identities);
        let table = self.model.entity(logical.layouts[0].0).table;
        if logical.form == IndexForm::Local {
            let key = |id: EntityId, layout: &KeyLayout| {
                (id, TableKey::plain(KeyLayout::of_partition(&layout.partition, &self.identities[id.0])))
            };
            blueprint.table.extend(logical.layouts.iter().map(|(id, layout)| key(*id, layout)));
        }
        let logical = vec![logical.clone()];
        blueprint.indexes.push(PhysicalIndex { table, name: DRAFT.to_owned(), logical });
        self.draw(&blueprint)
    }

    fn draw(&self, blueprint: &Blueprint) -> Model {
        draw(&self.bare, self.identities, blueprint)
    }

    /// The heat that these patterns alone cause.
    fn heat(&self, mut drawn: Model, plans: BTreeMap<usize, Plan>) -> Vec<Heat> {
        drawn.patterns = plans.keys().map(|at| self.model.patterns[*at].clone()).collect();
        let plans: Vec<Plan> = plans.into_values().collect();
        heat(&drawn, &plans, &self.facts.limits, self.headroom)
    }

    fn upkeep(&self, drawn: &Model, footprints: &Footprints, logical: &LogicalIndex) -> Option<f64> {
        let mut upkeep = 0.0;
        let table = drawn.entity(logical.layouts[0].0).table;
        for (id, entity) in drawn.entities_of(table) {
            let Some(entry) = entity.entry(IndexId(0)) else { continue };
            upkeep += self.prices.entry(drawn, footprints, id, entry);
            for (position, action) in self.writing(id) {
                let pattern = &self.model.patterns[position];
                let plan = plan(drawn, pattern);
                let step = &plan.steps[action].kind;
                let ActionPlan::Write(write) = step else { continue };
                if write.gaps.iter().any(|gap| matches!(gap, Gap::IndexKeyUnknown { .. })) {
                    return None;
                }
                let doing = (&pattern.actions[action], step);
                let portions = demand::of_action(drawn, footprints, pattern, doing);
                let here = portions.iter().filter(|one| one.resource.1 == Some(IndexId(0)));
                upkeep += self.prices.writes(pattern, here.map(Portion::average).sum());
            }
        }
        Some(upkeep)
    }

    fn read_on_draft(
        &self,
        drawn: &Model,
        footprints: &Footprints,
        form: IndexForm,
        question: &Question,
    ) -> Option<f64> {
        let (pattern, plan) = self.forced(drawn, question);
        let step = &plan.steps[question.action].kind;
        let ActionPlan::Read(read) = step else { return None };
        if !question.may_use(form) || read.operation != ReadOperation::Query || !self.is_right(question, read)
        {
            return None;
        }
        let action = &pattern.actions[question.action];
        Some(self.prices.action(drawn, footprints, &pattern, action, step).reads + penalty(read))
    }

    /// The pattern, with its plan forced to use the draft.
    fn forced(&self, drawn: &Model, question: &Question) -> (Pattern, Plan) {
        let mut pattern = self.pattern(question).clone();
        pattern.index = Some(Spanned::new(DRAFT.to_owned(), Span::default()));
        let plan = plan(drawn, &pattern);
        (pattern, plan)
    }

    /// Whether the index answers each of the questions, given that it holds the attributes they need.
    pub fn answers(&self, logical: &LogicalIndex, questions: &[&Question]) -> Vec<bool> {
        let drawn = self.draft(&LogicalIndex { projection: Need::All, ..logical.clone() });
        let answers = |question: &Question| {
            let all_here = question.entities.iter().all(|id| logical.entities().any(|one| one == *id));
            if !question.may_use(logical.form) || !all_here || !self.may_know(question, logical.partition()) {
                return false;
            }
            match &self.forced(&drawn, question).1.steps[question.action].kind {
                ActionPlan::Read(read) => {
                    read.operation == ReadOperation::Query && self.is_right(question, read)
                }
                ActionPlan::Write(_) => false,
            }
        };
        questions.iter().map(|question| answers(question)).collect()
    }

    /// Whether the read fixes these attributes to one value or to a few.
    fn may_know(&self, question: &Question, names: &[String]) -> bool {
        let read = self.read(question);
        let terms = || read.conditions.iter().flat_map(|conditions| &conditions.terms);
        names.iter().all(|name| read.knows(name) || terms().any(|term| term.attribute.value == *name))
    }

    /// Whether partitions of the index hold more than single items.
    pub fn spreads(&self, logical: &LogicalIndex) -> bool {
        logical.layouts.iter().all(|(id, layout)| spreading(&self.identities[id.0], layout).is_some())
    }

    /// How many keys the busiest partition of the index must be spread over, for these questions.
    pub fn shards(&self, logical: &LogicalIndex, questions: &[&Question]) -> u64 {
        if logical.form == IndexForm::Local || !self.spreads(logical) {
            return 1;
        }
        let drawn = self.draft(&LogicalIndex { shards: 1, ..logical.clone() });
        let writing = logical.entities().flat_map(|id| self.writing(id).collect::<Vec<_>>());
        let mut plans: BTreeMap<usize, Plan> =
            writing.map(|(at, _)| (at, plan(&drawn, &self.model.patterns[at]))).collect();
        for question in questions.iter().filter(|question| question.may_use(logical.form)) {
            plans.insert(question.pattern, self.forced(&drawn, question).1);
        }
        let heats = self.heat(drawn, plans);
        let on_index = heats.iter().filter(|heat| heat.index_id.is_some()).flat_map(|heat| &heat.keys);
        on_index.map(|key| key.shards_needed).max().unwrap_or(1)
    }
}

fn penalty(read: &ReadPlan) -> f64 {
    let unasked = read.gaps.iter().any(|gap| matches!(gap, Gap::FanOutUndeclared { .. }));
    if unasked { UNASKED_FAN_OUT } else { 0.0 }
}

/// Every entity keyed by its identity alone.
fn plainest(model: &Model, identities: &Identities) -> Blueprint {
    let key = |id: EntityId| (id, TableKey::plain(KeyLayout::of_identity(&identities[id.0])));
    of_table(&model.entity_ids().map(key).collect())
}

fn of_table(keys: &BTreeMap<EntityId, TableKey>) -> Blueprint {
    Blueprint { table: keys.clone(), indexes: Vec::new() }
}

/// Whether the gap is a filter that the pattern says it wants.
pub fn is_asked_for(read: &Read, gap: &Gap) -> bool {
    let Gap::SelectsByFilter { attributes } = gap else { return false };
    let filters = |name: &String| {
        read.filter.iter().flat_map(|one| &one.terms).any(|term| term.attribute.value == *name)
    };
    attributes.iter().all(filters)
}

fn questions(model: &Model) -> Vec<Question> {
    let mut questions = Vec::new();
    for (pattern, one) in model.patterns.iter().enumerate().filter(|(_, one)| one.external.is_none()) {
        for (action, read) in one.actions.iter().enumerate().filter_map(|(at, action)| match &action.kind {
            ActionKind::Read(read) if read.verb != ReadVerb::Scan => Some((at, read)),
            _ => None,
        }) {
            questions.push(Question {
                pattern,
                action,
                entities: read.entities.iter().map(|id| id.value).collect(),
                need: need(model, read),
                strong: is_strong(one),
                grouped: one.grouping != Grouping::Single,
                signed: is_signed(model, read),
            });
        }
    }
    questions
}

fn is_strong(pattern: &Pattern) -> bool {
    pattern.consistency.as_ref().is_some_and(|one| one.value == crate::model::Consistency::Strong)
}

fn is_signed(model: &Model, read: &Read) -> bool {
    let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    let ranged = terms.filter(|term| term.operator.is_range()).map(|term| &term.attribute.value);
    let mut sorted = ranged.chain(read.order.iter().map(|order| &order.attribute.value));
    let least = |name: &String| {
        let attributes = read.entities.iter().filter_map(|id| model.entity(id.value).attribute(name));
        attributes.filter_map(|attribute| attribute.min).fold(0.0, f64::min)
    };
    sorted.any(|name| least(name) < 0.0)
}

/// What a read needs of an index. A read that does not say which attributes it reads gets the whole item.
fn need(model: &Model, read: &Read) -> Need {
    let names = match read.attributes.as_ref().map(|attributes| &attributes.value) {
        None | Some(AttributesRead::All) => return Need::All,
        Some(AttributesRead::Keys | AttributesRead::Count) => Vec::new(),
        Some(AttributesRead::These(names)) => names.iter().map(|name| name.value.clone()).collect(),
    };
    let filtered = read.filter.iter().flat_map(|one| &one.terms).map(|term| term.attribute.value.clone());
    let has = |name: &String| read.entities.iter().any(|id| model.entity(id.value).attribute(name).is_some());
    Need::These(names.into_iter().chain(filtered).filter(has).collect())
}

/// Whether items of the entity are written in no other way than by adding to them.
fn is_counter(model: &Model, id: EntityId) -> bool {
    let mut writes = model
        .patterns
        .iter()
        .flat_map(|pattern| pattern.writes())
        .filter(|(_, write)| write.entity.value == id)
        .peekable();
    let adds = |write: &Write| {
        let alone = write.set.is_empty() && write.remove.is_empty() && write.version.is_none();
        write.verb == WriteVerb::Update && !write.add.is_empty() && alone && write.condition.is_none()
    };
    writes.peek().is_some() && writes.all(|(_, write)| adds(write))
}

/// Whether any write has to find an item of the entity.
pub fn is_found_by_writers(model: &Model, id: EntityId) -> bool {
    model
        .patterns
        .iter()
        .flat_map(|pattern| pattern.writes())
        .any(|(_, write)| write.entity.value == id && finds(write))
}
