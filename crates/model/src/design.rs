//! From entities and access patterns without keys to a design: keys of the table, indexes, projections,
//! shards, each with its reason.
//!
//! 1. [`identity`] finds what identifies an item; reads become questions ([`judge`]).
//! 2. Each question suggests layouts ([`layout`]); [`judge`] asks plans, predictions and heat which of them
//!    answer which questions, and what that costs.
//! 3. [`search`] chooses by branch and bound, [`overload`] lets logical indexes share physical ones, and
//!    [`assemble`] puts everything together and judges it as a whole.
//! 4. [`explain`] says why. The result is again the text of a model.
//!
//! The same input gives the same design: nothing here depends on time or chance, and the search is bounded
//! by the number of states.

mod allow;
mod assemble;
mod blueprint;
mod expiry;
mod explain;
mod identity;
mod judge;
mod layout;
mod overload;
mod price;
mod search;

use serde::Serialize;

use crate::facts::Facts;
use crate::file::{self, Element};
use crate::model::{ActionKind, AttributesRead, EntityId, Projection};
use crate::plan::{ActionPlan, Gap};
use crate::{Diagnostic, Model, Source, Span, Spanned};
use assemble::{Assembly, assemble, open_gaps, physical, plans};
use blueprint::PhysicalIndex;
use judge::Judge;
use search::{QUESTIONS_MAX, QuestionGroup, SearchResult, Solution, groups, search};

pub use price::{DesignPrices, Price};

/// How logical indexes become physical ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexes {
    /// Logical indexes share physical ones where they can.
    Overloaded,
    /// One physical index for each, named after what it finds.
    Named,
}

/// The choices that a user has.
#[derive(Clone, Debug)]
pub struct Options {
    pub indexes: Indexes,
    /// How much of a partition's throughput one key should use.
    pub headroom: f64,
    /// How many states the search may visit in each group of entities.
    pub states_max: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { indexes: Indexes::Overloaded, headroom: crate::heat::DEFAULT_HEADROOM, states_max: 50_000 }
    }
}

/// The result of a design.
#[derive(Clone, Debug)]
pub struct Design {
    /// The model file, with the reasons as comments.
    pub text: String,
    /// What the text says.
    pub model: Model,
    pub price: Price,
    pub choices: Vec<Decision>,
    pub next_best: Option<Alternative>,
    /// The cheapest design for each number of indexes, as long as more indexes cost less.
    pub front: Vec<Point>,
    pub notes: Vec<String>,
    /// Keys that get more than one key should, and what would cure it: patterns that no keys serve well.
    pub hot: Vec<String>,
    /// How many states the search visited.
    pub explored: u64,
    /// Whether the search visited every state that could have been better.
    pub complete: bool,
    /// The cost with the keys that the model had before, if it had any.
    pub given: Option<Price>,
    /// Patterns that those keys don't serve, with the reason: their cost leaves that out.
    pub given_unserved: Vec<String>,
}

/// One decision and its reason.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    pub about: String,
    pub choice: String,
    pub reason: String,
}

/// The next best design, and how it differs.
#[derive(Clone, Debug, Serialize)]
pub struct Alternative {
    pub price: Price,
    pub more: f64,
    pub differences: Vec<String>,
}

/// The cheapest design with a certain number of indexes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub indexes: usize,
    pub price: Price,
}

/// Prices that differ by less count as equal.
const CENT: f64 = 0.01;
/// How many designs that differ from the best in one group are compared: those with the lowest cost by itself.
const SECONDS_TRIED: usize = 12;
/// DynamoDB's quota of global indexes.
const INDEXES_MAX: usize = api::limits::GLOBAL_SECONDARY_INDEXES_MAX;
/// What one more index must save, as a share of everything, to be worth having.
const INDEX_WORTH: f64 = 0.001;

/// Designs keys and indexes. Keys that the model already has are ignored, except to compare.
pub fn design(model: &Model, facts: &Facts, options: &Options) -> Result<Design, Vec<Diagnostic>> {
    something_to_design(model)?;
    let given = model.has_keys().then(|| price_of(model, facts).0);
    let given_unserved = if model.has_keys() { unserved(model) } else { Vec::new() };
    let identities = identities(model)?;
    let mut model = without_keys(model);
    let mut filtered = expiry::add_time_to_live(&mut model);
    filtered.extend(expiry::drop_expired(&mut model));
    let judge = Judge::new(&model, &identities, facts, options);
    let groups = groups(&judge);
    let found: Vec<SearchResult> =
        groups.iter().map(|group| search(&judge, group, options.states_max)).collect();
    refuse(&judge, &groups, &found)?;
    let (best, front) = front(&judge, &groups, &found, options);
    let best = best.ok_or_else(|| {
        vec![Diagnostic::error(model.name.span, "no design holds all patterns with 20 indexes a table")]
    })?;
    let next = next_best(&judge, &groups, &found, options, &best);
    let mut designed = finish(&judge, options, best, next, front, &found, given)?;
    designed.given_unserved = given_unserved;
    designed.notes.extend(filtered);
    Ok(designed)
}

/// What `cost` says of a model, and what it lacks. In a Region without prices, what the search weighed designs by.
fn price_of(model: &Model, facts: &Facts) -> (Price, Vec<String>) {
    let plans = plans(model);
    Price::on_demand(model, &plans, facts).unwrap_or_else(|| {
        let region = model.region.as_ref().map_or("this Region", |region| region.value.as_str());
        (
            DesignPrices::new(facts, model).of(model, &plans),
            vec![format!("{region}: those of us-east-1 are used")],
        )
    })
}

/// Each pattern that the model's own keys don't serve, with the first reason.
fn unserved(model: &Model) -> Vec<String> {
    let plans = plans(model);
    let unserved = plans.iter().enumerate().filter_map(|(at, plan)| {
        let gap = open_gaps(model, at, plan).next()?;
        Some(format!("`{}`: {}", model.patterns[at].id.value, gap.describe(model)))
    });
    unserved.collect()
}

fn something_to_design(model: &Model) -> Result<(), Vec<Diagnostic>> {
    let (missing, help) = match (model.entities.is_empty(), model.patterns.is_empty()) {
        (true, _) => (
            "entities",
            "say what there is, as in `entities: { Order: { id: orderId, count: 1M, size: 1 KB } }`",
        ),
        (_, true) => (
            "access patterns",
            "say what is asked, as in `patterns: { A1: { get: Order, by: orderId, rate: 800/s } }`",
        ),
        (false, false) => return Ok(()),
    };
    let problem = Diagnostic::error(model.name.span, format!("there are no {missing} to design keys for"));
    Err(vec![problem.help(help)])
}

fn identities(model: &Model) -> Result<Vec<Vec<String>>, Vec<Diagnostic>> {
    let mut missing = Vec::new();
    let mut identities = Vec::new();
    for id in model.entity_ids() {
        let entity = model.entity(id);
        match identity::identity(model, id) {
            Some(identity) => identities.push(identity),
            None => missing.push(
                Diagnostic::error(
                    entity.name.span,
                    format!("no attribute identifies a `{}`", entity.name.value),
                )
                .why("the key of a table must be unique")
                .help("name the attributes that do, as in `id: orderId` or `id: [orderId, line]`"),
            ),
        }
    }
    if missing.is_empty() { Ok(identities) } else { Err(missing) }
}

/// The model that the design starts from: without keys and indexes. A read that an index served with some of the
/// attributes still needs only those.
fn without_keys(model: &Model) -> Model {
    let mut bare = model.clone();
    let keyed = model.has_keys();
    for (at, plan) in plans(model).iter().enumerate().filter(|_| keyed) {
        for (action, step) in bare.patterns[at].actions.iter_mut().zip(&plan.steps) {
            let (ActionKind::Read(read), ActionPlan::Read(plan)) = (&mut action.kind, &step.kind) else {
                continue;
            };
            let Some(index) = plan.index.filter(|_| read.attributes.is_none()) else { continue };
            let held = match &model.table(plan.table).index(index).projection.value {
                Projection::All => AttributesRead::All,
                Projection::Keys => AttributesRead::Keys,
                Projection::Include(names) => AttributesRead::These(names.clone()),
            };
            read.attributes = Some(Spanned::new(held, Span::default()));
        }
    }
    let gone: Vec<Span> = bare
        .tables
        .iter()
        .flat_map(|table| table.indexes.iter().map(|index| index.span))
        .chain(bare.entities.iter().flat_map(|entity| entity.entries.iter().map(|entry| entry.span)))
        .collect();
    bare.allowances.retain(|allowance| !gone.contains(&allowance.scope));
    for pattern in &mut bare.patterns {
        pattern.index = None;
        pattern.request = None;
    }
    for table in &mut bare.tables {
        table.indexes.clear();
        table.samples.clear();
    }
    for entity in &mut bare.entities {
        entity.key = None;
        entity.entries.clear();
    }
    bare
}

/// Refuses if patterns can't be served, with every reason.
fn refuse(
    judge: &Judge<'_>,
    groups: &[QuestionGroup],
    found: &[SearchResult],
) -> Result<(), Vec<Diagnostic>> {
    let mut problems = Vec::new();
    for (group, found) in groups.iter().zip(found) {
        if group.questions.len() > QUESTIONS_MAX {
            let span = judge.model.entity(group.entities[0]).name.span;
            let message = format!("more than {QUESTIONS_MAX} reads of entities that are read together");
            problems.push(Diagnostic::error(span, message));
        }
        problems.extend(found.unkeyed.iter().map(|id| unkeyed(judge, *id)));
        if found.unkeyed.is_empty() {
            problems.extend(found.unanswered.iter().map(|at| unanswered(judge, *at)));
        }
        if problems.is_empty() && found.solutions.is_empty() {
            let span = judge.model.entity(group.entities[0]).name.span;
            problems.push(Diagnostic::error(span, "no design was found within the bound on states"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn unkeyed(judge: &Judge<'_>, id: EntityId) -> Diagnostic {
    let entity = judge.model.entity(id);
    let identity = explain::listed(&judge.identities[id.0]);
    let message = format!("no key of `{}` is known to all its writers", entity.name.value);
    Diagnostic::error(entity.name.span, message)
        .why(format!("the key must contain {identity}, never change, and be known to each update and delete"))
        .help("say what writers know (`by`, `knows`), or what identifies an item (`id`)")
}

fn unanswered(judge: &Judge<'_>, at: usize) -> Diagnostic {
    let question = &judge.questions[at];
    let pattern = &judge.model.patterns[question.pattern];
    let message = format!("no key serves `{}` with one request", pattern.id.value);
    let diagnostic = Diagnostic::error(pattern.span, message);
    match question.strong || question.grouped {
        true => diagnostic
            .why("a strong read can't use a global index, and one of a transaction or batch none at all")
            .help("if it may lag a moment, say `consistency: eventual`; else let writers know more of the key"),
        false if question.signed => diagnostic
            .why("keys that are composed of text don't put numbers below zero in order, and no plain attributes serve it")
            .help("store the number with an offset that makes it positive"),
        false => diagnostic
            .why("known attributes, then at most one range, which also gives the order: that is what keys serve")
            .help("split it into several patterns, or say which part is a `filter`"),
    }
}

/// The best design, and the front of cost against the number of indexes.
fn front(
    judge: &Judge<'_>,
    groups: &[QuestionGroup],
    found: &[SearchResult],
    options: &Options,
) -> (Option<Assembly>, Vec<Point>) {
    let mut front: Vec<Assembly> = Vec::new();
    for assembly in assemblies(judge, groups, found, options) {
        let cheaper = |one: &Assembly| assembly.price.total() < one.price.total() - CENT;
        if front.last().is_none_or(cheaper) {
            front.retain(|one| one.indexes() < assembly.indexes());
            front.push(assembly);
        }
    }
    let point = |one: &Assembly| Point { indexes: one.indexes(), price: price_of(&one.model, judge.facts).0 };
    let points = front.iter().map(point).collect();
    let cheapest = front.last().map_or(0.0, |one| one.price.total());
    let best = front.into_iter().find(|one| one.price.total() * (1.0 - INDEX_WORTH) <= cheapest);
    (best, points)
}

/// Designs with more and more indexes: those that the solutions of the groups need, and those in which fewer
/// solutions share one.
fn assemblies(
    judge: &Judge<'_>,
    groups: &[QuestionGroup],
    found: &[SearchResult],
    options: &Options,
) -> Vec<Assembly> {
    let most = found.iter().flat_map(|found| &found.solutions).map(|one| one.indexes.len()).max();
    let mut all: Vec<Assembly> = Vec::new();
    for limit in 0..=most.unwrap_or(0) {
        let fitting =
            |found: &SearchResult| found.solutions.iter().position(|one| one.indexes.len() <= limit);
        let chosen: Option<Vec<&Solution>> =
            found.iter().map(|found| Some(&found.solutions[fitting(found)?])).collect();
        let Some(chosen) = chosen else { continue };
        let counts = || chosen.iter().map(|solution| solution.global_indexes());
        let mut tried: Vec<Vec<PhysicalIndex>> = Vec::new();
        for colours in counts().max().unwrap_or(0)..=counts().sum::<usize>().min(INDEXES_MAX) {
            let Some(indexes) = physical(judge, &chosen, options.indexes, colours) else { continue };
            // More indexes than are needed are not used.
            if !tried.contains(&indexes) {
                all.extend(assemble(judge, groups, &chosen, indexes.clone()));
                tried.push(indexes);
            }
            if options.indexes == Indexes::Named {
                break;
            }
        }
    }
    all.sort_by(|one, other| {
        let by_price = one.price.total().total_cmp(&other.price.total());
        one.indexes().cmp(&other.indexes()).then(by_price)
    });
    all
}

/// The cheapest of the designs that differ from the best in one group.
fn next_best(
    judge: &Judge<'_>,
    groups: &[QuestionGroup],
    found: &[SearchResult],
    options: &Options,
    best: &Assembly,
) -> Option<(Assembly, Vec<String>)> {
    let mut others: Vec<(Assembly, Vec<String>)> = Vec::new();
    let seconds = found.iter().enumerate().flat_map(|(at, one)| {
        let seconds = one.solutions.iter().skip(1).take(3);
        seconds.map(move |second| (second.cost - one.solutions[0].cost, at, second))
    });
    let mut seconds: Vec<(f64, usize, &Solution)> = seconds.collect();
    seconds.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    for (_, at, second) in seconds.into_iter().take(SECONDS_TRIED) {
        let mut chosen: Vec<&Solution> = found.iter().map(|found| &found.solutions[0]).collect();
        chosen[at] = second;
        let colours: usize = chosen.iter().map(|solution| solution.indexes.len()).max().unwrap_or(0);
        let indexes = physical(judge, &chosen, options.indexes, colours.max(best.indexes()));
        let Some(assembly) = indexes.and_then(|indexes| assemble(judge, groups, &chosen, indexes)) else {
            continue;
        };
        let differences = explain::difference(best, &assembly);
        if !differences.is_empty() {
            others.push((assembly, differences));
        }
    }
    others.into_iter().min_by(|(one, _), (other, _)| one.price.total().total_cmp(&other.price.total()))
}

fn finish(
    judge: &Judge<'_>,
    options: &Options,
    mut best: Assembly,
    next: Option<(Assembly, Vec<String>)>,
    front: Vec<Point>,
    found: &[SearchResult],
    given: Option<Price>,
) -> Result<Design, Vec<Diagnostic>> {
    let more = next.as_ref().map(|(other, _)| (other.price.total() - best.price.total()).max(0.0));
    let (price, missing) = price_of(&best.model, judge.facts);
    best.notes.extend(missing.iter().map(|what| format!("no price is known of {what}")));
    let comments = explain::comments(judge, &best, options, explain::head(&price, more));
    let choices = decisions(&best.model, &comments);
    if let Ok(written) = read_back(&file::write(&best.model, &comments)) {
        let limits = &judge.facts.limits;
        let allowed = allow::answered(&best.model, &written, limits, options.headroom);
        best.model.allowances.extend(allowed);
    }
    let text = file::write(&best.model, &comments);
    let given_name = judge.model.name.span;
    let model =
        read_back(&text).and_then(|model| check_served(&model).map(|()| model)).map_err(|problems| {
            // Their spans point into a text that the user has never seen.
            problems
                .into_iter()
                .map(|problem| Diagnostic { span: given_name, related: Vec::new(), ..problem })
                .collect::<Vec<_>>()
        })?;
    let next_best = next.zip(more).map(|((other, differences), more)| Alternative {
        price: price_of(&other.model, judge.facts).0,
        more,
        differences,
    });
    Ok(Design {
        price,
        text,
        model,
        choices,
        next_best,
        front,
        notes: best.notes,
        hot: best.hot,
        explored: found.iter().map(|found| found.explored).sum(),
        complete: found.iter().all(|found| !found.cut),
        given,
        given_unserved: Vec::new(),
    })
}

fn read_back(text: &str) -> Result<Model, Vec<Diagnostic>> {
    let reading = file::read(&Source::new("design", text));
    reading.model.ok_or(reading.diagnostics)
}

/// Checks that the file, as it is written, serves each pattern as it should.
fn check_served(model: &Model) -> Result<(), Vec<Diagnostic>> {
    let mut problems = Vec::new();
    for (at, plan) in plans(model).iter().enumerate() {
        let pattern = &model.patterns[at];
        for gap in open_gaps(model, at, plan) {
            let message = format!("`{}` is not served: {}", pattern.id.value, gap.describe(model));
            let problem = Diagnostic::error(pattern.span, message);
            problems.push(match gap {
                Gap::FanOutUndeclared { .. } => problem
                    .why(
                        "no single key sustains what is asked of it, and a read must ask each of its shards, so \
                         that more shards mean more reads",
                    )
                    .help(
                        "let a cache answer most of it (`cached: 90%`), keep copies of what is read most and \
                         read one of them, or say `fan-out: allowed` if that many requests are meant",
                    ),
                _ => problem,
            });
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The decisions on keys and indexes, in words.
fn decisions(model: &Model, comments: &file::Comments) -> Vec<Decision> {
    let mut choices = Vec::new();
    for (subject, reason) in comments {
        let (about, choice) = match subject {
            Element::Key(id) => {
                let entity = model.entity(*id);
                let templates = entity.key_templates().map(|template| template.to_string());
                (entity.name.value.clone(), templates.collect::<Vec<_>>().join(" / "))
            }
            Element::Entry(id, index) => {
                let entity = model.entity(*id);
                let templates = entity.entry(*index).into_iter().flat_map(|entry| entry.templates());
                let templates = templates.map(|template| template.to_string()).collect::<Vec<_>>();
                let name = &model.table_of(entity).index(*index).name.value;
                (format!("{} in {name}", entity.name.value), templates.join(" / "))
            }
            Element::Index(table, index) => {
                let index = model.table(*table).index(*index);
                let held = match &index.projection.value {
                    Projection::All => "all".to_owned(),
                    Projection::Keys => "keys".to_owned(),
                    Projection::Include(names) => {
                        names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(", ")
                    }
                };
                (index.name.value.clone(), format!("projects {held}"))
            }
            _ => continue,
        };
        choices.push(Decision { about, choice, reason: reason.clone() });
    }
    choices
}
