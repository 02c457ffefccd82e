//! R37: a Query that can be longer than a page, and a reader who takes one page.

use api::limits::PAGE_BYTES_MAX;

use super::collection::{identity, items_per_key};
use super::{PlannedRead, Rule, Subject, figures};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Action, EntityId, Model, Pattern, Place, ReadVerb};
use crate::plan::{ReadOperation, ReadPlan};

pub const RULE: Rule = Rule {
    id: RuleId(37),
    level: Level::Warning,
    title: "An unbounded Query without paging",
    page: include_str!("../../../../docs/rules/R37.md"),
    parameters: &[],
    check,
};

const PAGE: f64 = PAGE_BYTES_MAX as f64;

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.reads().filter_map(|read| in_read(subject, read)).collect()
}

fn in_read(subject: &Subject<'_>, one: PlannedRead<'_>) -> Option<Diagnostic> {
    let PlannedRead { pattern, action, read, plan: planned } = one;
    let model = subject.model;
    let pages = read.paged.as_ref().is_some_and(|paged| paged.value);
    if planned.operation != ReadOperation::Query || read.verb != ReadVerb::Query || pages {
        return None;
    }
    let items = most_items(subject, one);
    if let Some(limit) = &read.limit {
        let bytes =
            size(model, planned)? * items.map_or(limit.value as f64, |items| items.min(limit.value as f64));
        return (bytes > PAGE).then(|| cut_short(pattern, limit.span, bytes));
    }
    let Some(items) = items else { return Some(unbounded(model, pattern, action, planned)) };
    let bytes = size(model, planned)? * items;
    (bytes > PAGE).then(|| over_a_page(pattern, action, items, bytes))
}

/// How many items there can be for one key, if the file bounds them.
fn most_items(subject: &Subject<'_>, one: PlannedRead<'_>) -> Option<f64> {
    let returns = one.read.returns.as_ref();
    let places = one.places(subject).into_iter();
    let counted = places.map(|place| under_one_key(subject.model, place, one)).sum::<Option<f64>>();
    returns.and_then(|returns| returns.max).or(counted).or_else(|| returns.map(|returns| returns.typical))
}

/// One, if the whole key is known; `20 per Customer`, if the customer is, or if the key is the customer's.
fn under_one_key(model: &Model, place: Place<'_>, one: PlannedRead<'_>) -> Option<f64> {
    of_known_parent(model, place.entity_id, one).or_else(|| items_per_key(model, place))
}

/// Up the chain of `per` to what the reader knows.
fn of_known_parent(model: &Model, id: EntityId, one: PlannedRead<'_>) -> Option<f64> {
    let (mut items, mut current) = (1.0, id);
    // A chain of `per` is no longer than there are entities.
    for _ in 0..=model.entities.len() {
        let identity = identity(model.entity(current));
        if !identity.is_empty() && identity.iter().all(|name| one.read.knows(name)) {
            return Some(items);
        }
        let count = model.entity(current).count.as_ref()?;
        items *= count.most();
        current = count.per?;
    }
    None
}

/// Bytes of an item, if declared for all entities.
fn size(model: &Model, planned: &ReadPlan) -> Option<f64> {
    let sizes = planned.entities.iter().map(|id| Some(model.entity(*id).size.as_ref()?.typical as f64));
    sizes.collect::<Option<Vec<f64>>>().map(|sizes| sizes.into_iter().fold(0.0, f64::max))
}

fn unbounded(model: &Model, pattern: &Pattern, action: &Action, planned: &ReadPlan) -> Diagnostic {
    let entity = &model.entity(planned.entities[0]).name.value;
    paging(
        Diagnostic::warning(
            action.span,
            format!("nothing bounds how many items `{}` finds", pattern.id.value),
        )
        .label("no `limit`, no `returns`, not `paged`"),
        &format!("`count: {{ typical: 20, max: 500, per: … }}` for `{entity}` if it is bounded"),
    )
}

fn over_a_page(pattern: &Pattern, action: &Action, items: f64, bytes: f64) -> Diagnostic {
    let (items, bytes) = (figures::count(items), figures::bytes(bytes));
    paging(
        Diagnostic::warning(
            action.span,
            format!("`{}` can find {bytes}, and reads one page", pattern.id.value),
        )
        .label(format!("up to {items} items")),
        "narrower keys",
    )
}

fn cut_short(pattern: &Pattern, span: crate::Span, bytes: f64) -> Diagnostic {
    let message =
        format!("the limit of `{}` is {}, and a page ends at 1 MB", pattern.id.value, figures::bytes(bytes));
    paging(Diagnostic::warning(span, message).label("never reached in one page"), "a smaller limit")
}

fn paging(diagnostic: Diagnostic, otherwise: &str) -> Diagnostic {
    diagnostic
        .why("a Query returns at most 1 MB and a LastEvaluatedKey; who does not follow it misses the rest in silence")
        .help(format!("write `limit: 20` for the first ones, `paged: true` if the reader follows it; or {otherwise}"))
}
