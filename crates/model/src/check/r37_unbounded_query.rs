//! R37: a Query whose result can exceed a page, and a reader that reads only one page.

use api::limits::PAGE_BYTES_MAX;

use super::{PatternRead, Rule, Subject, figures};
use crate::diagnostic::{Fix, Level, RuleId};
use crate::model::{EntityId, Model, Place, ReadVerb};
use crate::plan::ReadOperation;
use crate::predict::found::{identity, items_per_key};
use crate::predict::typical::Footprints;
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(37),
    level: Level::Warning,
    title: "An unbounded Query without paging",
    page: include_str!("../../../../docs/rules/R37.md"),
    parameters: &[],
    check,
};

const PAGE: f64 = PAGE_BYTES_MAX as f64;

/// What a read can find.
struct ResultSize {
    items: f64,
    bytes: f64,
}

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let footprints = Footprints::new(subject.model);
    subject.reads().filter_map(|one| in_read(subject, &footprints, one)).collect()
}

fn in_read(subject: &Subject<'_>, footprints: &Footprints, one: PatternRead<'_>) -> Option<Diagnostic> {
    let pages = one.read.paged.as_ref().is_some_and(|paged| paged.value);
    if one.plan.operation != ReadOperation::Query || one.read.verb != ReadVerb::Query || pages {
        return None;
    }
    let found = most(subject, footprints, one);
    if let Some(limit) = &one.read.limit {
        let items = limit.value as f64;
        let found = found.unwrap_or_else(|| of_mean_size(footprints, one, items));
        let bytes = found.bytes * (items / found.items.max(1.0)).min(1.0);
        return (bytes > PAGE).then(|| cut_short(one, limit.span, bytes));
    }
    match found {
        None => Some(unbounded(subject.model, one)),
        Some(found) => (found.bytes > PAGE).then(|| over_a_page(one, &found)),
    }
}

/// The most that one key can hold, if the file bounds it.
fn most(subject: &Subject<'_>, footprints: &Footprints, one: PatternRead<'_>) -> Option<ResultSize> {
    let returns = one.read.returns.as_ref();
    let declared = returns.and_then(|returns| returns.max);
    let counted = || counted(subject, footprints, one);
    let typical = || returns.map(|returns| of_mean_size(footprints, one, returns.typical));
    declared.map(|items| of_mean_size(footprints, one, items)).or_else(counted).or_else(typical)
}

/// This many items of the entities' mean size: how many there are of each is not declared.
fn of_mean_size(footprints: &Footprints, one: PatternRead<'_>, items: f64) -> ResultSize {
    let sizes = one.plan.entities.iter().map(|id| footprints.of(*id).bytes(one.plan.index) as f64);
    ResultSize { items, bytes: items * sizes.sum::<f64>() / one.plan.entities.len().max(1) as f64 }
}

/// The sum of each entity's own count.
fn counted(subject: &Subject<'_>, footprints: &Footprints, one: PatternRead<'_>) -> Option<ResultSize> {
    let mut found = ResultSize { items: 0.0, bytes: 0.0 };
    for place in one.places(subject) {
        let items = under_one_key(subject.model, place, one)?;
        found.items += items;
        found.bytes += items * footprints.of(place.entity_id).bytes(one.plan.index) as f64;
    }
    Some(found)
}

/// 1 if the whole key is known; `20 per Customer` if the customer is known, or if the key is the customer's.
fn under_one_key(model: &Model, place: Place<'_>, one: PatternRead<'_>) -> Option<f64> {
    of_known_parent(model, place.entity_id, one).or_else(|| items_per_key(model, place))
}

/// Follows `per` up to an entity that the reader knows.
fn of_known_parent(model: &Model, id: EntityId, one: PatternRead<'_>) -> Option<f64> {
    let (mut items, mut current) = (1.0, id);
    // A chain of `per` has no more links than there are entities.
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

fn unbounded(model: &Model, one: PatternRead<'_>) -> Diagnostic {
    let entity = &model.entity(one.plan.entities[0]).name.value;
    let message = format!("nothing bounds how many items `{}` finds", one.name());
    paging(
        Diagnostic::warning(one.action.span, message).label("no `limit`, no `returns`, not `paged`"),
        one.action.span,
        &format!("`count: {{ typical: 20, max: 500, per: … }}` for `{entity}` if it is bounded"),
    )
}

fn over_a_page(one: PatternRead<'_>, found: &ResultSize) -> Diagnostic {
    let message = format!("`{}` can find {}, and reads one page", one.name(), figures::bytes(found.bytes));
    let label = format!("up to {} items", figures::count(found.items));
    paging(Diagnostic::warning(one.action.span, message).label(label), one.action.span, "narrower keys")
}

fn cut_short(one: PatternRead<'_>, span: Span, bytes: f64) -> Diagnostic {
    let message =
        format!("the limit of `{}` is {}, and a page ends at 1 MB", one.name(), figures::bytes(bytes));
    paging(
        Diagnostic::warning(span, message).label("never reached in one page"),
        one.action.span,
        "a smaller limit",
    )
}

fn paging(diagnostic: Diagnostic, action: Span, otherwise: &str) -> Diagnostic {
    diagnostic
        .why("a Query returns at most 1 MB and a LastEvaluatedKey; who does not follow it misses the rest in silence")
        .help(format!("write `limit: 20` for the first ones, `paged: true` if the reader follows it; or {otherwise}"))
        .fix(Fix::put(action, "paged", "true"))
}
