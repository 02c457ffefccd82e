//! Branch and bound: a table key for each entity, then a place for each question, the most expensive first. A branch
//! is cut if it must cost more than designs already found with as few indexes.
//!
//! Entities that no question reads together are independent, so each group of them is searched
//! alone. The two best designs are kept for each number of indexes: one for the front, one as the next best.

use std::collections::BTreeMap;

use super::Indexes;
use super::blueprint::{IndexForm, LogicalIndex, Need, TableKey};
use super::judge::{Judge, Question, Verdict};
use super::layout::{KeyLayout, Member, proposals};
use crate::model::EntityId;

/// Questions of one group, as bits.
pub type Mask = u64;
/// More questions than a [`Mask`] has bits can't be searched.
pub const QUESTIONS_MAX: usize = Mask::BITS as usize;
/// DynamoDB's quota of global indexes.
const INDEXES_MAX: usize = api::limits::GLOBAL_SECONDARY_INDEXES_MAX;
const KEPT: usize = 2;
/// Until a first design is found, the search may take this many times its bound on states.
const FIRST_DESIGN_BUDGET_FACTOR: u64 = 10;
/// A verdict takes about as long as this many states.
const STATES_PER_VERDICT: u64 = 10;
/// The share that a coarser partition key must save to be chosen.
const COARSER_WORTH: f64 = 0.001;

/// Entities that are read together, directly or through others, and all questions about them.
pub struct QuestionGroup {
    pub entities: Vec<EntityId>,
    /// As positions among the judge's questions.
    pub questions: Vec<usize>,
}

/// A table key for each entity of a group, and the indexes that answer what the table does not.
#[derive(Clone, Debug)]
pub struct Solution {
    pub keys: BTreeMap<EntityId, TableKey>,
    /// Questions the table answers.
    pub table: Mask,
    pub indexes: Vec<LogicalIndex>,
    pub cost: f64,
}

impl Solution {
    pub fn global_indexes(&self) -> usize {
        self.indexes.iter().filter(|index| index.form != IndexForm::Local).count()
    }
}

/// What the search of one group found.
pub struct SearchResult {
    /// The cheapest first.
    pub solutions: Vec<Solution>,
    pub explored: u64,
    /// Whether the bound on states ended the search early.
    pub cut: bool,
    /// Questions that nothing answers.
    pub unanswered: Vec<usize>,
    /// Entities that have no key which every writer knows.
    pub unkeyed: Vec<EntityId>,
}

/// The groups of entities that can be searched independently.
pub fn groups(judge: &Judge<'_>) -> Vec<QuestionGroup> {
    let mut leader: Vec<usize> = (0..judge.model.entities.len()).collect();
    fn find(leader: &[usize], mut at: usize) -> usize {
        while leader[at] != at {
            at = leader[at];
        }
        at
    }
    for question in &judge.questions {
        for pair in question.entities.windows(2) {
            let (one, other) = (find(&leader, pair[0].0), find(&leader, pair[1].0));
            leader[one.max(other)] = one.min(other);
        }
    }
    let mut groups: BTreeMap<usize, QuestionGroup> = BTreeMap::new();
    for id in judge.model.entity_ids() {
        let empty = || QuestionGroup { entities: Vec::new(), questions: Vec::new() };
        groups.entry(find(&leader, id.0)).or_insert_with(empty).entities.push(id);
    }
    for (position, question) in judge.questions.iter().enumerate() {
        if let Some(group) = groups.get_mut(&find(&leader, question.entities[0].0)) {
            group.questions.push(position);
        }
    }
    groups.into_values().collect()
}

/// The best designs of one group. `states_max` bounds the work.
pub fn search(judge: &Judge<'_>, group: &QuestionGroup, states_max: u64) -> SearchResult {
    let questions: Vec<&Question> = group.questions.iter().map(|at| &judge.questions[*at]).collect();
    let mut table_keys: Vec<Vec<TableKey>> =
        group.entities.iter().map(|id| table_keys(judge, *id, &questions)).collect();
    if let ([id], [keys]) = (group.entities.as_slice(), table_keys.as_mut_slice()) {
        add_plainest(judge, *id, keys);
    }
    let unkeyed = group.entities.iter().zip(&table_keys).filter(|(_, keys)| keys.is_empty());
    let unkeyed: Vec<EntityId> = unkeyed.map(|(id, _)| *id).collect();
    let mut search = Search {
        judge,
        group,
        candidates: candidates(judge, &questions),
        questions,
        table_keys,
        verdicts: BTreeMap::new(),
        on_table: BTreeMap::new(),
        best: BTreeMap::new(),
        answered: 0,
        explored: 0,
        judged: 0,
        states_max,
    };
    if unkeyed.is_empty() {
        search.keys(&mut BTreeMap::new());
    }
    search.found(unkeyed)
}

/// An index that some question suggests.
struct Candidate {
    logical: LogicalIndex,
    answers: Mask,
}

struct Search<'a, 'm> {
    judge: &'a Judge<'m>,
    group: &'a QuestionGroup,
    questions: Vec<&'a Question>,
    candidates: Vec<Candidate>,
    /// For each entity of the group.
    table_keys: Vec<Vec<TableKey>>,
    verdicts: BTreeMap<(usize, Mask), Option<Verdict>>,
    on_table: BTreeMap<(usize, Vec<TableKey>), Option<f64>>,
    /// By number of indexes, the cheapest first.
    best: BTreeMap<usize, Vec<Solution>>,
    /// Questions that some place answers.
    answered: Mask,
    explored: u64,
    /// How many verdicts were asked for; each takes longer than a state.
    judged: u64,
    states_max: u64,
}

impl Candidate {
    /// Whether the two are interchangeable if they answer the same questions.
    fn is_like(&self, other: &LogicalIndex) -> bool {
        let own = &self.logical;
        let local = own.form == IndexForm::Local || other.form == IndexForm::Local;
        let same_place = own.form == other.form && own.partition() == other.partition();
        own.entities().eq(other.entities()) && (!local || same_place)
    }

    /// Whether the other should replace it. The finest come first: for the same items, a tiny saving of
    /// storage is no reason to take a coarser one.
    fn is_worse(&self, cost: f64, other: &LogicalIndex, other_cost: f64) -> bool {
        let members = |logical: &LogicalIndex| -> Vec<Vec<Member>> {
            logical.layouts.iter().map(|(_, layout)| layout.members.clone()).collect()
        };
        let coarser = members(&self.logical) == members(other);
        other_cost < cost * if coarser { 1.0 - COARSER_WORTH } else { 1.0 }
    }

    /// A local index uses the table's partitions, so these must be the ones that it needs.
    fn fits(&self, keys: &BTreeMap<EntityId, TableKey>) -> bool {
        let in_partition = |(id, layout): &(EntityId, KeyLayout)| {
            let key = &keys[id];
            key.layout.partition == layout.partition && key.shards == 1
        };
        self.logical.form != IndexForm::Local || self.logical.layouts.iter().all(in_partition)
    }
}

/// The decisions so far for one choice of table keys.
struct Partial<'k> {
    keys: &'k BTreeMap<EntityId, TableKey>,
    on_table: Vec<Option<f64>>,
    /// Which of the candidates are compatible with these keys.
    fitting: Vec<bool>,
    /// The order in which questions are decided.
    order: Vec<usize>,
    /// The least that the questions from each position on can cost.
    least: Vec<f64>,
    table: Mask,
    open: Vec<(usize, Mask)>,
    table_cost: f64,
}

/// What can serve a question next.
enum Assignment {
    Table,
    /// An index that is already chosen, by its position.
    Open(usize),
    New(usize),
}

impl Search<'_, '_> {
    /// Every combination of table keys, entity by entity.
    fn keys(&mut self, chosen: &mut BTreeMap<EntityId, TableKey>) {
        let Some(id) = self.group.entities.get(chosen.len()).copied() else {
            return self.with_keys(chosen);
        };
        for key in self.table_keys[chosen.len()].clone() {
            chosen.insert(id, key);
            self.keys(chosen);
            chosen.remove(&id);
        }
    }

    fn with_keys(&mut self, keys: &BTreeMap<EntityId, TableKey>) {
        if self.budget_is_spent() {
            return;
        }
        let count = self.questions.len();
        let on_table: Vec<Option<f64>> = (0..count).map(|at| self.table_price(at, keys)).collect();
        let fitting: Vec<bool> = self.candidates.iter().map(|candidate| candidate.fits(keys)).collect();
        let alone: Vec<Vec<f64>> = (0..count).map(|at| self.read_prices(at, &fitting)).collect();
        for at in (0..count).filter(|at| on_table[*at].is_some() || !alone[*at].is_empty()) {
            self.answered |= 1 << at;
        }
        let assignments = |at: &usize| alone[*at].len() + usize::from(on_table[*at].is_some());
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(assignments);
        let cheapest =
            |at: usize| alone[at].iter().copied().chain(on_table[at]).fold(f64::INFINITY, f64::min);
        let mut least = vec![0.0; count + 1];
        for position in (0..count).rev() {
            least[position] = least[position + 1] + cheapest(order[position]);
        }
        let mut partial =
            Partial { keys, on_table, fitting, order, least, table: 0, open: Vec::new(), table_cost: 0.0 };
        self.decide(&mut partial, 0);
    }

    /// The cost of reading alone, for every candidate that answers.
    fn read_prices(&mut self, at: usize, fitting: &[bool]) -> Vec<f64> {
        let serving: Vec<usize> = self.serving(at).filter(|one| fitting[*one]).collect();
        serving.into_iter().filter_map(|one| Some(self.verdict(one, 1 << at)?.reads[0])).collect()
    }

    fn serving(&self, at: usize) -> impl Iterator<Item = usize> + use<'_> {
        let bit = 1 << at;
        self.candidates.iter().enumerate().filter(move |(_, one)| one.answers & bit != 0).map(|(at, _)| at)
    }

    fn table_price(&mut self, at: usize, keys: &BTreeMap<EntityId, TableKey>) -> Option<f64> {
        let question = self.questions[at];
        let partition = &keys[&question.entities[0]].layout.partition;
        // Entities in the same partition could be read along with it.
        let near = |id: &EntityId| question.entities.contains(id) || keys[id].layout.partition == *partition;
        let alone = question.entities.len() == 1;
        let relevant: BTreeMap<EntityId, TableKey> = keys
            .iter()
            .filter(|(id, _)| if alone { question.entities.contains(id) } else { near(id) })
            .map(|(id, key)| (*id, key.clone()))
            .collect();
        let memo = (at, relevant.values().cloned().collect::<Vec<_>>());
        if let Some(price) = self.on_table.get(&memo) {
            return *price;
        }
        let price = self.judge.on_table(question, &relevant);
        self.on_table.insert(memo, price);
        price
    }

    fn verdict(&mut self, candidate: usize, answers: Mask) -> Option<Verdict> {
        if let Some(verdict) = self.verdicts.get(&(candidate, answers)) {
            return verdict.clone();
        }
        if self.budget_is_spent() {
            return None;
        }
        self.judged += 1;
        let questions: Vec<&Question> = chosen(&self.questions, answers).collect();
        let verdict = self.judge.on_index(&self.candidates[candidate].logical, &questions);
        self.verdicts.insert((candidate, answers), verdict.clone());
        verdict
    }

    fn decide(&mut self, partial: &mut Partial<'_>, position: usize) {
        self.explored += 1;
        let Some(at) = partial.order.get(position).copied() else { return self.record(partial) };
        for (cost, way) in self.assignments(partial, position, at) {
            let bound = cost + partial.least[position + 1];
            let indexes = partial.open.len() + usize::from(matches!(way, Assignment::New(_)));
            if self.budget_is_spent() || indexes > INDEXES_MAX || self.is_beaten(indexes, bound) {
                continue;
            }
            self.go(partial, position, at, &way);
        }
    }

    fn go(&mut self, partial: &mut Partial<'_>, position: usize, at: usize, way: &Assignment) {
        let bit = 1 << at;
        match *way {
            Assignment::Table => {
                let price = partial.on_table[at].unwrap_or_default();
                partial.table |= bit;
                partial.table_cost += price;
                self.decide(partial, position + 1);
                partial.table &= !bit;
                partial.table_cost -= price;
            }
            Assignment::Open(open) => {
                partial.open[open].1 |= bit;
                self.decide(partial, position + 1);
                partial.open[open].1 &= !bit;
            }
            Assignment::New(candidate) => {
                partial.open.push((candidate, bit));
                self.decide(partial, position + 1);
                partial.open.pop();
            }
        }
    }

    /// The most promising first: by added cost per open question that it could answer.
    fn assignments(&mut self, partial: &Partial<'_>, position: usize, at: usize) -> Vec<(f64, Assignment)> {
        let bit = 1 << at;
        let open = partial.order[position..].iter().fold(0, |mask: Mask, at| mask | (1 << at));
        let so_far = self.cost(partial);
        let mut assignments = Vec::new();
        if let Some(price) = partial.on_table[at] {
            assignments.push((so_far + price, Assignment::Table));
        }
        for (position, (candidate, answers)) in partial.open.iter().enumerate() {
            if self.candidates[*candidate].answers & bit == 0 || !self.is_worth(partial, *candidate, at) {
                continue;
            }
            let without = self.verdict(*candidate, *answers).map_or(0.0, |verdict| verdict.total());
            if let Some(with) = self.verdict(*candidate, answers | bit) {
                assignments.push((so_far - without + with.total(), Assignment::Open(position)));
            }
        }
        let serving: Vec<usize> = self.serving(at).collect();
        let new = |one: &usize| partial.fitting[*one] && partial.open.iter().all(|(open, _)| open != one);
        for candidate in serving.into_iter().filter(new) {
            if !self.is_worth(partial, candidate, at) {
                continue;
            }
            if let Some(verdict) = self.verdict(candidate, bit) {
                assignments.push((so_far + verdict.total(), Assignment::New(candidate)));
            }
        }
        let promise = |(cost, way): &(f64, Assignment)| {
            let answers = match way {
                Assignment::New(candidate) => (self.candidates[*candidate].answers & open).count_ones(),
                Assignment::Table | Assignment::Open(_) => 1,
            };
            (cost - so_far) / f64::from(answers.max(1))
        };
        assignments.sort_by(|one, other| promise(one).total_cmp(&promise(other)));
        assignments
    }

    /// Whether reading there is cheaper than reading the table; otherwise no design gains by it.
    fn is_worth(&mut self, partial: &Partial<'_>, candidate: usize, at: usize) -> bool {
        let Some(table) = partial.on_table[at] else { return true };
        self.verdict(candidate, 1 << at).is_some_and(|verdict| verdict.reads[0] < table)
    }

    fn cost(&mut self, partial: &Partial<'_>) -> f64 {
        let open = partial.open.iter();
        let totals = open.map(|(candidate, answers)| {
            self.verdict(*candidate, *answers).map_or(f64::INFINITY, |verdict| verdict.total())
        });
        totals.sum::<f64>() + partial.table_cost
    }

    /// Whether enough designs with no more indexes cost no more.
    fn is_beaten(&self, indexes: usize, bound: f64) -> bool {
        let better = self.best.range(..=indexes).flat_map(|(_, solutions)| solutions);
        better.filter(|solution| solution.cost <= bound).count() >= KEPT
    }

    fn record(&mut self, partial: &Partial<'_>) {
        let cost = self.cost(partial);
        let indexes = partial.open.iter().map(|(candidate, answers)| {
            let questions = chosen(&self.questions, *answers);
            let need = questions.fold(Need::nothing(), |all, question| all.with(&question.need));
            LogicalIndex { projection: need, ..self.candidates[*candidate].logical.clone() }
        });
        let solution =
            Solution { keys: partial.keys.clone(), table: partial.table, indexes: indexes.collect(), cost };
        let kept = self.best.entry(partial.open.len()).or_default();
        kept.push(solution);
        kept.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        kept.truncate(KEPT);
    }

    /// Whether the bound on states is reached. Until a first design is found, the bound is higher.
    fn budget_is_spent(&self) -> bool {
        let work = self.explored + self.judged * STATES_PER_VERDICT;
        let factor = if self.best.is_empty() { FIRST_DESIGN_BUDGET_FACTOR } else { 1 };
        work >= self.states_max * factor
    }

    fn found(self, unkeyed: Vec<EntityId>) -> SearchResult {
        let cut = self.budget_is_spent();
        let mut solutions: Vec<Solution> = self.best.into_values().flatten().collect();
        solutions.sort_by(|one, other| {
            one.cost.total_cmp(&other.cost).then(one.indexes.len().cmp(&other.indexes.len()))
        });
        let open = (0..self.questions.len()).filter(|at| self.answered & (1 << at) == 0);
        let unanswered = open.map(|at| self.group.questions[at]).collect();
        SearchResult { solutions, explored: self.explored, cut, unanswered, unkeyed }
    }
}

fn chosen<'q>(questions: &[&'q Question], mask: Mask) -> impl Iterator<Item = &'q Question> {
    questions.iter().enumerate().filter(move |(at, _)| mask & (1 << at) != 0).map(|(_, question)| *question)
}

/// Table keys for one entity, one for each set of questions it answers. An entity that no question reads
/// is keyed by its identity.
fn table_keys(judge: &Judge<'_>, id: EntityId, questions: &[&Question]) -> Vec<TableKey> {
    let identity = &judge.identities[id.0];
    let about: Vec<&Question> =
        questions.iter().filter(|question| question.entities.contains(&id)).copied().collect();
    let together = about.iter().any(|question| question.entities.len() > 1);
    let suggested = about.iter().flat_map(|question| proposals(judge.model, judge.read(question), id));
    let suggested = suggested.map(|layout| layout.made_unique(identity));
    let under_local_indexes = local_partitions(judge, id, &about);
    let mut kept: Vec<Keyed> = Vec::new();
    let mut seen: Vec<KeyLayout> = Vec::new();
    for layout in identity_splits(judge, id).into_iter().chain(suggested).chain(under_local_indexes) {
        if layout.partition.is_empty() || seen.contains(&layout) {
            continue;
        }
        seen.push(layout.clone());
        let shards = judge.table_shards(id, &layout, &about);
        let key = TableKey { layout, shards, apart: false };
        if !judge.suits_writers(id, &key) {
            continue;
        }
        let keyed = Keyed { answers: table_answers(judge, id, &about, &key), key };
        if !kept.iter().any(|one| one.covers(&keyed, together)) {
            kept.retain(|one| !keyed.covers(one, together));
            kept.push(keyed);
        }
    }
    kept.into_iter().map(|keyed| keyed.key).collect()
}

/// Partitions in which a local index could serve a strong read, whatever the order of the table.
fn local_partitions(judge: &Judge<'_>, id: EntityId, about: &[&Question]) -> Vec<KeyLayout> {
    let identity = &judge.identities[id.0];
    let strong = about.iter().filter(|question| question.wants_local());
    let layouts = strong.flat_map(|question| proposals(judge.model, judge.read(question), id));
    layouts.map(|layout| KeyLayout::of_partition(&layout.partition, identity)).collect()
}

/// The identity alone answers the fewest questions, but other designs are compared with it.
fn add_plainest(judge: &Judge<'_>, id: EntityId, keys: &mut Vec<TableKey>) {
    let plainest = TableKey::plain(KeyLayout::of_identity(&judge.identities[id.0]));
    if !keys.is_empty() && !keys.contains(&plainest) && judge.suits_writers(id, &plainest) {
        keys.push(plainest);
    }
}

/// A key of the table, and which questions about the entity it answers.
struct Keyed {
    key: TableKey,
    answers: Vec<bool>,
}

impl Keyed {
    /// Whether this one makes the other useless.
    fn covers(&self, other: &Keyed, together: bool) -> bool {
        let all = other.answers.iter().zip(&self.answers).all(|(that, this)| !that || *this);
        let same = self.key.layout.partition == other.key.layout.partition;
        all && (!together || same) && self.key.shards <= other.key.shards
    }
}

fn table_answers(judge: &Judge<'_>, id: EntityId, about: &[&Question], key: &TableKey) -> Vec<bool> {
    let keys = BTreeMap::from([(id, key.clone())]);
    let answers = |question: &&Question| match question.entities.len() {
        1 => judge.on_table(question, &keys).is_some(),
        // The answer depends on the keys of the other entities.
        _ => key.layout.partition.iter().all(|name| judge.read(question).knows(name)),
    };
    let by_local_index = |question: &&Question| {
        let partition = &key.layout.partition;
        question.wants_local() && partition.iter().all(|name| judge.read(question).knows(name))
    };
    about.iter().map(answers).chain(about.iter().map(by_local_index)).collect()
}

/// Each way to split the identity in two whose first part is the identity of another entity: children share the
/// partition of their parent. Then the whole identity, and the other splits.
fn identity_splits(judge: &Judge<'_>, id: EntityId) -> Vec<KeyLayout> {
    let identity = &judge.identities[id.0];
    let whole = KeyLayout::of_identity(identity);
    let first = |length: usize| KeyLayout { partition: identity[..length].to_vec(), ..whole.clone() };
    let splits = (1..identity.len()).map(first).map(|layout| layout.made_unique(identity));
    let of_parent = |layout: &KeyLayout| judge.identities.contains(&layout.partition);
    let (with_parent, others): (Vec<KeyLayout>, Vec<KeyLayout>) = splits.partition(of_parent);
    with_parent.into_iter().chain([whole.clone()]).chain(others).collect()
}

/// Every index that a question suggests and writers can maintain, one for each set of questions it answers.
fn candidates(judge: &Judge<'_>, questions: &[&Question]) -> Vec<Candidate> {
    let mut kept: Vec<(Candidate, f64)> = Vec::new();
    let mut seen: Vec<LogicalIndex> = Vec::new();
    for question in questions.iter().filter(|question| !question.grouped) {
        for logical in logical_indexes(judge, question) {
            if seen.contains(&logical) {
                continue;
            }
            seen.push(logical.clone());
            let mut forms = forms(judge, question).iter();
            let Some((logical, verdict)) = forms.find_map(|form| judged(judge, question, &logical, *form))
            else {
                continue;
            };
            let answers = mask(&judge.answers(&logical, questions));
            let at = kept.iter().position(|(one, _)| one.answers == answers && one.is_like(&logical));
            match at {
                Some(at) if !kept[at].0.is_worse(kept[at].1, &logical, verdict.total()) => {}
                Some(at) => kept[at] = (Candidate { logical, answers }, verdict.total()),
                None => kept.push((Candidate { logical, answers }, verdict.total())),
            }
        }
    }
    kept.into_iter().map(|(candidate, _)| candidate).collect()
}

fn mask(answers: &[bool]) -> Mask {
    answers.iter().enumerate().filter(|(_, answers)| **answers).fold(0, |mask, (at, _)| mask | (1 << at))
}

/// What the key of an index for this question could consist of, the best first. Composed keys can share an
/// index; plain attributes need no maintenance by writers, and serve one purpose.
fn forms(judge: &Judge<'_>, question: &Question) -> &'static [IndexForm] {
    match (question.wants_local(), judge.style) {
        (true, _) => &[IndexForm::Local],
        (false, Indexes::Overloaded) => &[IndexForm::Composed, IndexForm::Attributes],
        (false, Indexes::Named) => &[IndexForm::Attributes, IndexForm::Composed],
    }
}

fn judged(
    judge: &Judge<'_>,
    question: &Question,
    logical: &LogicalIndex,
    form: IndexForm,
) -> Option<(LogicalIndex, Verdict)> {
    let logical = LogicalIndex { form, ..logical.clone() };
    let logical = LogicalIndex { shards: judge.shards(&logical, &[question]), ..logical };
    let verdict = judge.is_possible(&logical).then(|| judge.on_index(&logical, &[question])).flatten()?;
    Some((logical, verdict))
}

/// One for each proposal for the first entity, with the others in the same partition.
fn logical_indexes(judge: &Judge<'_>, question: &Question) -> Vec<LogicalIndex> {
    let read = judge.read(question);
    let unique = |id: &EntityId| -> Vec<KeyLayout> {
        let layouts = proposals(judge.model, read, *id).into_iter();
        layouts.map(|layout| layout.made_unique(&judge.identities[id.0])).collect()
    };
    let (first, others) = match question.entities.split_first() {
        Some(split) => split,
        None => return Vec::new(),
    };
    let others: Vec<(EntityId, Vec<KeyLayout>)> = others.iter().map(|id| (*id, unique(id))).collect();
    let mut indexes: Vec<LogicalIndex> = Vec::new();
    for layout in unique(first) {
        let beside = others.iter().map(|(id, layouts)| {
            let same = layouts.iter().find(|one| one.partition == layout.partition)?;
            Some((*id, same.clone()))
        });
        let Some(beside) = beside.collect::<Option<Vec<_>>>() else { continue };
        let layouts: Vec<(EntityId, KeyLayout)> = std::iter::once((*first, layout)).chain(beside).collect();
        let form = IndexForm::Composed;
        let index = LogicalIndex { form, layouts, shards: 1, projection: Need::nothing(), labelled: false };
        if !indexes.contains(&index) {
            indexes.push(index);
        }
    }
    indexes
}
