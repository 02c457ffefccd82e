//! R16: a range or an order over an attribute that no sort key holds.

use super::r13_order_not_first::{in_sort_key, unserved_order, unserved_ranges};
use super::{PatternRead, Rule, Subject};
use crate::diagnostic::{Level, RuleId};
use crate::plan::ReadOperation;
use crate::{Diagnostic, Span};

pub const RULE: Rule = Rule {
    id: RuleId(16),
    level: Level::Error,
    title: "A range or order is over an attribute that is not in the sort key",
    page: include_str!("../../../../docs/rules/R16.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let reads = subject.reads().filter(|one| one.plan.operation != ReadOperation::Scan);
    reads.flat_map(|one| in_read(subject, one)).collect()
}

fn in_read(subject: &Subject<'_>, one: PatternRead<'_>) -> Vec<Diagnostic> {
    let ranges: Vec<(&str, Span)> = unserved_ranges(one).collect();
    let order = unserved_order(one).map(|order| (order.attribute.value.as_str(), order.attribute.span));
    // If a pattern ranges over an attribute and sorts by it, one report is enough.
    let order = order.filter(|(name, _)| ranges.iter().all(|(ranged, _)| ranged != name));
    let ranged = ranges.iter().map(|(name, span)| (*name, *span, "selects a range of"));
    let sorted = order.into_iter().map(|(name, span)| (name, span, "sorts by"));
    ranged
        .chain(sorted)
        .filter(|(name, _, _)| !in_sort_key(subject, one, name))
        .map(|(name, span, does)| finding(subject, one, name, span, does))
        .collect()
}

fn finding(subject: &Subject<'_>, one: PatternRead<'_>, name: &str, span: Span, does: &str) -> Diagnostic {
    let places = one.places(subject);
    let source = places.first().map_or_else(String::new, |place| place.name());
    let message = format!("`{}` {does} `{name}`, which the sort key of {source} does not hold", one.name());
    let mut found = Diagnostic::error(span, message)
        .label("not in the sort key")
        .why("DynamoDB selects ranges and orders by the sort key alone; the rest is left to the reader");
    let key = places.first().and_then(|place| place.sort().into_iter().next());
    if let Some((_, template)) = key {
        found = found.related(template.span, "the sort key");
    }
    found.help(format!("{}, with `{name}` as the first open part of its sort key", index(subject, one)))
}

fn index(subject: &Subject<'_>, one: PatternRead<'_>) -> String {
    let entity = &subject.model.entity(one.plan.entities[0]).name.value;
    match one.known().first() {
        Some(known) => format!("give `{entity}` an index by `{known}`"),
        None => format!("give `{entity}` an index"),
    }
}
