//! R6: a partition key with few values.

use super::spread::{SHARDS, shard};
use super::{PatternRead, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{AttributeKind, Place};
use crate::predicate::{Operand, Operator, Predicate, Term};
use crate::template::{Field, Form, Template};

pub const RULE: Rule = Rule {
    id: RuleId(6),
    level: Level::Warning,
    title: "The partition key has few values",
    page: include_str!("../../../../docs/rules/R6.md"),
    parameters: &[("values", 100.0), ("items-per-key", 1000.0)],
    check,
};

/// Attributes that have few values in nearly every model, used if the file declares nothing.
const FEW: [&str; 9] = ["status", "state", "type", "kind", "country", "currency", "gender", "role", "tier"];
/// How many values such an attribute is assumed to have.
const FEW_VALUES: f64 = 10.0;

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.places().into_iter().filter_map(|place| finding(subject, place)).collect()
}

fn finding(subject: &Subject<'_>, place: Place<'_>) -> Option<Diagnostic> {
    let fields: Vec<&Field> =
        place.partition().into_iter().flat_map(|(_, template)| template.fields()).collect();
    let values = values(place, &fields)?;
    // R7 reports a key without fields.
    if fields.is_empty() || values > subject.parameter("values") || is_small(subject, place, values) {
        return None;
    }
    let (_, template) =
        place.partition().into_iter().find(|(_, template)| template.fields().next().is_some())?;
    let entity = &place.entity.name.value;
    let message = format!("the partition key of `{entity}` in {} has few values", place.name());
    let label = if values < 1.5 { "one value".to_owned() } else { format!("about {values:.0} values") };
    Some(
        Diagnostic::warning(template.span, message)
            .label(label)
            .why(
                "each value takes at most 1,000 writes and 3,000 reads a second, and all items with it are \
                 one collection that grows for ever",
            )
            .help(help(subject, place, template)),
    )
}

/// Only what the entity has, and a shard that differs between the items of one key.
fn help(subject: &Subject<'_>, place: Place<'_>, template: &Template) -> String {
    let known = known_to_readers(subject, place)
        .map(|name| format!("add what readers know in addition, as in `{template}#{{{name}}}`"));
    let spread = shard(subject, place, SHARDS).map(|spread| {
        format!(
            "spread it over shards that readers ask one by one (`fan-out: allowed`): `{template}#{{{}}}`",
            spread.field
        )
    });
    let ways: Vec<String> = known.into_iter().chain(spread).collect();
    match ways.is_empty() {
        true => "let the key hold more of what tells its items apart".to_owned(),
        false => ways.join("; or "),
    }
}

/// An attribute of the entity that every reader of this place knows, and that is not in the key yet.
fn known_to_readers<'m>(subject: &Subject<'m>, place: Place<'m>) -> Option<&'m str> {
    let is_here = |one: &PatternRead<'m>| {
        one.plan.table == place.table_id
            && one.plan.index == place.index_id()
            && one.plan.entities.contains(&place.entity_id)
    };
    let readers: Vec<PatternRead<'m>> = subject.reads().filter(is_here).collect();
    let in_key = |name: &str| place.partition().iter().any(|(_, template)| template.uses(name));
    let first = readers.first()?;
    let mut known = first.known().into_iter().filter(|name| !in_key(name));
    known.find(|name| {
        place.entity.attribute(name).is_some() && readers.iter().all(|one| one.known().contains(name))
    })
}

/// How many keys there are, if every part of the key is known to have few values. A sharded key was designed
/// on purpose; R11 judges its heat.
fn values(place: Place<'_>, fields: &[&Field]) -> Option<f64> {
    fields.iter().map(|field| values_of(place, field)).product()
}

/// How many values a field of a key can have, if known.
pub fn values_of(place: Place<'_>, field: &Field) -> Option<f64> {
    let (Form::Attribute(name) | Form::Lower(name)) = &field.form else { return None };
    let fixed = place.index.and_then(|(_, _, entry)| entry.when.as_ref()).and_then(|when| fixed(when, name));
    if fixed.is_some() {
        return fixed;
    }
    let attribute = place.entity.attribute(name)?;
    let guessed = !attribute.declared
        && attribute.kind == AttributeKind::String
        && FEW.iter().any(|few| name.eq_ignore_ascii_case(few));
    attribute.cardinality().or(guessed.then_some(FEW_VALUES))
}

/// How many values of an attribute a sparse index admits.
fn fixed(when: &Predicate, name: &str) -> Option<f64> {
    let literal = |term: &Term| term.operands.iter().all(|operand| matches!(operand, Operand::Literal(_)));
    let fixing = |term: &&Term| {
        term.attribute.value == name
            && matches!(term.operator, Operator::Equal | Operator::In)
            && literal(term)
    };
    when.terms.iter().find(fixing).map(|term| term.operands.len() as f64)
}

/// Whether the file declares that few items have the same key.
fn is_small(subject: &Subject<'_>, place: Place<'_>, values: f64) -> bool {
    let items = subject.model.items(place.entity_id);
    items.is_some_and(|items| items / values.max(1.0) <= subject.parameter("items-per-key"))
}
