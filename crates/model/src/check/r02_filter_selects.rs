//! R2: a filter that drops most of what has been read and paid for.

use super::r15_ambiguous_key::may_be_same_key;
use super::{PatternRead, Rule, Subject};
use crate::diagnostic::{Level, RuleId, counted, listed};
use crate::model::{Attribute, EntityId};
use crate::plan::{Filter, Gap, ReadOperation};
use crate::predicate::{Operand, Operator, Term};
use crate::predict::found::items_per_key;
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(2),
    level: Level::Error,
    title: "A filter drops items after they were read and paid for",
    page: include_str!("../../../../docs/rules/R2.md"),
    // A filter that keeps this share is harmless; in collections this small it is only a warning.
    parameters: &[("kept", 0.5), ("items", 100.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let queries = subject.reads().filter(|one| one.plan.operation != ReadOperation::Scan);
    queries.flat_map(|one| selects(subject, one).into_iter().chain(strays(subject, one))).collect()
}

/// Items dropped by an equality, or by an explicit filter. R13 and R16 report ranges that no sort key serves.
fn selects(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    let ttl = subject.model.table(one.plan.table).ttl.as_ref().map(|ttl| ttl.value.as_str());
    let is_selecting = |filter: &&Filter| Some(filter.attribute()) != ttl && !is_unserved_range(one, filter);
    let filters: Vec<&Filter> = one.plan.filter.iter().filter(is_selecting).collect();
    let first = filters.first()?;
    let kept: Option<f64> = filters.iter().map(|filter| share(subject, one, filter)).product();
    if kept.is_some_and(|kept| kept >= subject.parameter("kept")) {
        return None;
    }
    let collection = collection(subject, one);
    let small = collection.is_some_and(|items| items <= subject.parameter("items"));
    let level = if small { Level::Warning } else { Level::Error };
    let names: Vec<&str> = filters.iter().map(|filter| filter.attribute()).collect();
    let message = format!("`{}` reads items and then drops some by {}", one.name(), listed(&names));
    let place = one.places(subject);
    let mut found = Diagnostic::new(level, filter_span(one, first), message)
        .label(label(kept, collection))
        .why("capacity is charged for what is read, and a page is 1 MB of it, before a filter drops anything")
        .help(format!(
            "put {} into the key of an index, so that only what is wanted is read",
            listed(&names)
        ));
    if let Some((_, template)) = place.first().and_then(|place| place.partition().into_iter().next()) {
        found = found.related(template.span, "everything under this key is read");
    }
    Some(found)
}

fn label(kept: Option<f64>, collection: Option<f64>) -> String {
    let read = collection.filter(|items| *items > 1.0);
    let read = read.map(|items| format!("reads about {}", counted(items.round() as u64, "item")));
    let kept = kept.map(|kept| format!("keeps about {:.0}% of what is read", kept * 100.0));
    match (kept, read) {
        (Some(kept), Some(read)) => format!("{read}, {kept}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "filters after reading".to_owned(),
    }
}

/// Whether the filter is a range that no sort key serves, which R13 or R16 reports.
pub fn is_unserved_range(one: PatternRead<'_>, filter: &Filter) -> bool {
    let Filter::Term(term) = filter else { return false };
    let asked = one.read.conditions.iter().flat_map(|where_| &where_.terms).any(|one| one == term);
    asked && term.operator.is_range()
}

/// The share of items that pass.
fn share(subject: &Subject<'_>, one: PatternRead<'_>, filter: &Filter) -> Option<f64> {
    let entities = one.plan.entities.iter().map(|id| subject.model.entity(*id));
    let attribute = entities.filter_map(|entity| entity.attribute(filter.attribute())).next()?;
    match filter {
        Filter::Known(_) => attribute.cardinality().map(|values| 1.0 / values),
        Filter::Term(term) => share_of_term(attribute, term),
    }
}

fn share_of_term(attribute: &Attribute, term: &Term) -> Option<f64> {
    let of = |operand: &Operand| match operand {
        Operand::Literal(text) if !attribute.values.is_empty() => attribute.share_of(text),
        _ => attribute.cardinality().map(|values| 1.0 / values),
    };
    let all: Option<f64> = term.operands.iter().map(of).sum();
    match term.operator {
        Operator::Equal | Operator::In => all,
        Operator::NotEqual => all.map(|share| 1.0 - share),
        Operator::Exists => attribute.present,
        Operator::NotExists => attribute.present.map(|share| 1.0 - share),
        _ => None,
    }
}

fn collection(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<f64> {
    one.places(subject).into_iter().map(|place| items_per_key(subject.model, place)).sum()
}

fn filter_span(one: PatternRead<'_>, filter: &Filter) -> Span {
    match filter {
        Filter::Term(term) => term.span,
        Filter::Known(name) => {
            let known = one.read.by.iter().find(|known| known.value == *name);
            known.map_or(one.action.span, |known| known.span)
        }
    }
}

/// Items of other entities that the same key condition finds. R15 reports keys that can't be told apart.
fn strays(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    let mixed = one.plan.gaps.iter().find_map(|gap| match gap {
        Gap::Mixed { entities } => Some(entities),
        _ => None,
    })?;
    let told_apart = |stray: &&EntityId| {
        one.plan.entities.iter().all(|own| !may_be_same_key(subject, *own, **stray, one.plan.index))
    };
    let strays: Vec<EntityId> = mixed.iter().filter(told_apart).copied().collect();
    let stray = subject.place(*strays.first()?, one.plan.index)?;
    let names: Vec<&str> = strays.iter().map(|id| subject.model.entity(*id).name.value.as_str()).collect();
    let (_, key) = stray.sort().into_iter().chain(stray.partition()).next()?;
    Some(
        Diagnostic::warning(one.action.span, format!("`{}` also finds {}", one.name(), listed(&names)))
            .label("the key condition can't leave them out")
            .why("they are read and paid for, take room on the page, and the reader must drop them")
            .related(key.span, format!("`{}` is in the same range", names[0]))
            .help(format!(
                "ask for them too (`query: [{}, {}]`) if they are welcome, or begin their sort keys differently",
                subject.model.entity(one.plan.entities[0]).name.value,
                names.join(", ")
            )),
    )
}
