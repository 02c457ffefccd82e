//! R3: a pattern that takes more than one request.

use super::{PatternRead, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Fix, Level, RuleId, listed};
use crate::model::{AttributesRead, IndexKind, Projection};
use crate::plan::Gap;
use crate::predicate::Operator;
use crate::template::Template;

pub const RULE: Rule = Rule {
    id: RuleId(3),
    level: Level::Error,
    title: "The pattern takes more than one request",
    page: include_str!("../../../../docs/rules/R3.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let found = |one: PatternRead<'_>| {
        one.plan.gaps.iter().filter_map(|gap| finding(subject, one, gap)).collect::<Vec<_>>()
    };
    subject.reads().flat_map(found).collect()
}

fn finding(subject: &Subject<'_>, one: PatternRead<'_>, gap: &Gap) -> Option<Diagnostic> {
    match gap {
        Gap::FanOutUndeclared { requests } if !is_sharded(subject, one) => Some(several(one, *requests)),
        Gap::NotProjected { attributes } => not_projected(subject, one, attributes),
        _ => None,
    }
}

/// R31 reports shards that are read one by one.
fn is_sharded(subject: &Subject<'_>, one: PatternRead<'_>) -> bool {
    let places = one.places(subject);
    let templates = places.iter().flat_map(|place| place.partition().into_iter().chain(place.sort()));
    templates.map(|(_, template)| Template::shards(template)).any(|shards| shards > 1)
}

fn several(one: PatternRead<'_>, requests: u64) -> Diagnostic {
    let terms = one.read.conditions.iter().flat_map(|where_| &where_.terms);
    let span = terms.filter(|term| term.operator == Operator::In).map(|term| term.span).next();
    Diagnostic::error(span.unwrap_or(one.action.span), format!("`{}` takes {requests} requests", one.name()))
        .label("one Query for each value")
        .why("a key condition takes one value of each part of a key; there is no `in`")
        .help(format!(
            "`fan-out: {requests}` if that is meant; or a sparse index of just these, or one key for all of \
             them"
        ))
        .fix(Fix::put(one.action.span, "fan-out", requests.to_string()))
}

fn not_projected(subject: &Subject<'_>, one: PatternRead<'_>, attributes: &[String]) -> Option<Diagnostic> {
    let table = subject.model.table(one.plan.table);
    let index = table.index(one.plan.index?);
    // A local index fetches the missing attributes by itself, at a price.
    if index.kind == IndexKind::Local {
        return None;
    }
    let wanted = one.read.attributes.as_ref();
    let first = wanted.and_then(|wanted| match &wanted.value {
        AttributesRead::These(names) => {
            names.iter().find(|name| attributes.contains(&name.value)).map(|name| name.span)
        }
        _ => Some(wanted.span),
    });
    let message = format!(
        "`{}` reads {}, which index `{}` does not hold",
        one.name(),
        listed(attributes),
        index.name.value
    );
    let projected = match &index.projection.value {
        Projection::Include(names) => names.iter().map(|name| name.value.as_str()).collect(),
        _ => Vec::new(),
    };
    let all: Vec<&str> = projected.into_iter().chain(attributes.iter().map(String::as_str)).collect();
    Some(
        Diagnostic::error(first.unwrap_or(one.action.span), message)
            .label("takes a second request, to the table")
            .why("a global index answers with what is projected into it and nothing else")
            .related(index.projection.span, "the projection")
            .help(format!("`project: [{}]`, or read less", all.join(", ")))
            .fix(Fix::put(index.span, "project", format!("[{}]", all.join(", ")))),
    )
}
