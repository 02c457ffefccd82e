//! R13: an order or range over an attribute of the sort key that is not in the right position there.

use super::r02_filter_selects::is_unserved_range;
use super::{PatternRead, Rule, Subject};
use crate::diagnostic::{Level, RuleId, listed};
use crate::model::OrderBy;
use crate::plan::{Filter, Gap, ReadOperation};
use crate::template::Field;
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(13),
    level: Level::Error,
    title: "The sort key does not give the order",
    page: include_str!("../../../../docs/rules/R13.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let reads = subject.reads().filter(|one| one.plan.operation != ReadOperation::Scan);
    let found = |one: PatternRead<'_>| {
        let ranges = unserved_ranges(one).filter_map(|(name, span)| behind(subject, one, name, span));
        ranges.chain(order(subject, one)).chain(backwards(one)).collect::<Vec<_>>()
    };
    reads.flat_map(found).collect()
}

/// Ranges of `where` that have become filters.
pub fn unserved_ranges<'m>(one: PatternRead<'m>) -> impl Iterator<Item = (&'m str, Span)> {
    one.plan.filter.iter().filter(move |filter| is_unserved_range(one, filter)).filter_map(|filter| {
        match filter {
            Filter::Term(term) => Some((term.attribute.value.as_str(), term.span)),
            Filter::Known(_) => None,
        }
    })
}

/// The order that no sort key serves, where the pattern declares it.
pub fn unserved_order<'m>(one: PatternRead<'m>) -> Option<&'m OrderBy> {
    let name = one.plan.gaps.iter().find_map(|gap| match gap {
        Gap::OrderUnserved { attribute } => Some(attribute),
        _ => None,
    })?;
    one.read.order.iter().find(|order| order.attribute.value == *name)
}

/// Whether a sort key of the source is made of the attribute.
pub fn in_sort_key(subject: &Subject<'_>, one: PatternRead<'_>, name: &str) -> bool {
    fields(subject, one).iter().any(|field| field.attribute() == Some(name))
}

fn fields<'m>(subject: &Subject<'m>, one: PatternRead<'m>) -> Vec<&'m Field> {
    let places = one.places(subject).into_iter();
    places.flat_map(|place| place.sort()).flat_map(|(_, template)| template.fields()).collect()
}

/// A range over a part that comes after parts whose values the reader does not know.
fn behind(subject: &Subject<'_>, one: PatternRead<'_>, name: &str, span: Span) -> Option<Diagnostic> {
    let fields = fields(subject, one);
    let position = fields.iter().position(|field| field.attribute() == Some(name))?;
    let known = one.known();
    let before: Vec<&str> = fields[..position]
        .iter()
        .filter_map(|field| field.attribute())
        .filter(|name| !known.contains(name))
        .collect();
    let message = format!("no range over `{name}`: it is not the first open part of the sort key");
    Some(explained(Diagnostic::error(span, message), name, &before, fields[position]))
}

fn order(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    let order = unserved_order(one)?;
    let name = order.attribute.value.as_str();
    let fields = fields(subject, one);
    let position = fields.iter().position(|field| field.attribute() == Some(name))?;
    let known = one.known();
    let sorted_before = one.read.order.iter().map(|order| order.attribute.value.as_str());
    let sorted_before: Vec<&str> = sorted_before.take_while(|before| *before != name).collect();
    let before: Vec<&str> = fields[..position]
        .iter()
        .filter_map(|field| field.attribute())
        .filter(|name| !known.contains(name) && !sorted_before.contains(name))
        .collect();
    let message = format!("`{}` does not come in the order of `{name}`", one.name());
    Some(explained(Diagnostic::error(order.attribute.span, message), name, &before, fields[position]))
}

fn explained(found: Diagnostic, name: &str, before: &[&str], field: &Field) -> Diagnostic {
    let found = found.why("items come in the order of the whole sort key, from its first part on");
    if before.is_empty() {
        return found
            .label("the key holds it in another form or direction")
            .related(field.span, format!("`{name}` in the key"))
            .help("keep the plain value in the key, and all orders in one direction");
    }
    found
        .label(format!("comes after {}", listed(before)))
        .related(field.span, format!("`{name}` comes after {}", listed(before)))
        .help(format!("put `{name}` before {}, or let the reader know it", listed(before)))
}

/// The application's own request asks for the wrong direction.
fn backwards(one: PatternRead<'_>) -> Option<Diagnostic> {
    let request = one.pattern.request.as_ref()?;
    let order = one.read.order.first()?;
    let forward = request.value.get("ScanIndexForward").and_then(serde_json::Value::as_bool).unwrap_or(true);
    let served = unserved_order(one).is_none();
    (served && forward != one.plan.forward).then(|| {
        let message = format!("the request of `{}` runs the wrong way", one.name());
        Diagnostic::error(request.span, message)
            .label(format!("`ScanIndexForward` is {forward}"))
            .why("a Query runs up the sort key unless `ScanIndexForward` is false")
            .related(order.attribute.span, "the order asked for")
            .help(format!("`ScanIndexForward: {}`", one.plan.forward))
    })
}
