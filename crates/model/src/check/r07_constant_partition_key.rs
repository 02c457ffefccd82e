//! R7: one partition key for everything.

use super::spread::{SHARDS, shard};
use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Entity, Place};
use crate::template::Template;

pub const RULE: Rule = Rule {
    id: RuleId(7),
    level: Level::Error,
    title: "All items have the same partition key",
    page: include_str!("../../../../docs/rules/R7.md"),
    // This many items, such as settings, may well share one key.
    parameters: &[("items", 100.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let places = subject.model.places().into_iter();
    let places = places.filter(|place| is_constant(*place) && is_large(subject, *place));
    places.map(|place| finding(subject, place)).collect()
}

fn is_constant(place: Place<'_>) -> bool {
    let partition = place.partition();
    !partition.is_empty() && partition.iter().all(|(_, template)| one_value(place.entity, template))
}

/// Whether the template gives the same text for all items: literals, and attributes with a single value.
fn one_value(entity: &Entity, template: &Template) -> bool {
    template.fields().all(|field| {
        let attribute = field.attribute().and_then(|name| entity.attribute(name));
        attribute.is_some_and(|attribute| attribute.cardinality() == Some(1.0))
    })
}

/// Unless the file declares that there are few items, there may be many.
fn is_large(subject: &Subject<'_>, place: Place<'_>) -> bool {
    subject.model.items(place.entity_id).is_none_or(|items| items > subject.parameter("items"))
}

fn finding(subject: &Subject<'_>, place: Place<'_>) -> Diagnostic {
    let (_, template) = place.partition()[0];
    let message =
        format!("every `{}` in {} has the partition key `{template}`", place.entity.name.value, place.name());
    Diagnostic::error(template.span, message)
        .label("one partition takes all of them")
        .why("one partition key takes at most 1,000 writes and 3,000 reads a second, however large the table")
        .help(help(subject, place, template))
}

/// Proposes attributes that the entity has, if there are any.
fn help(subject: &Subject<'_>, place: Place<'_>, template: &Template) -> String {
    let example = |field: Option<String>| field.map(|field| format!(", as in `{template}#{{{field}}}`"));
    let known = example(known(subject, place)).unwrap_or_default();
    let spread = example(shard(subject, place, SHARDS).map(|spread| spread.field)).unwrap_or_default();
    format!("put what readers know into the key{known}; or spread it over shards{spread}")
}

/// An attribute whose value a reader of the entity knows.
fn known(subject: &Subject<'_>, place: Place<'_>) -> Option<String> {
    let reads = subject.model.patterns.iter().flat_map(|pattern| pattern.reads());
    let own = reads.filter(|(_, read)| read.entities.iter().any(|id| id.value == place.entity_id));
    own.flat_map(|(_, read)| &read.by).map(|name| name.value.clone()).next()
}
