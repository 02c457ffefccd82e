//! R41: keys that can be longer than DynamoDB allows.

use api::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

use super::{Rule, Subject, figures};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{AttributeKind, Entity, Place};
use crate::template::{Field, Form, Part, Template};

pub const RULE: Rule = Rule {
    id: RuleId(41),
    level: Level::Error,
    title: "A key can be too long",
    page: include_str!("../../../../docs/rules/R41.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let places = subject.model.places();
    let written = places.into_iter().filter(|place| place.index.is_none_or(|(_, _, entry)| entry.declared));
    written.flat_map(in_place).collect()
}

fn in_place(place: Place<'_>) -> Vec<Diagnostic> {
    let partition = place.partition().into_iter().map(|(_, one)| (one, "partition", PARTITION_KEY_BYTES_MAX));
    let sort = place.sort().into_iter().map(|(_, one)| (one, "sort", SORT_KEY_BYTES_MAX));
    partition.chain(sort).filter_map(|(one, side, most)| too_long(place, one, side, most)).collect()
}

fn too_long(place: Place<'_>, template: &Template, side: &str, most: usize) -> Option<Diagnostic> {
    let bytes = longest(place.entity, template);
    let part = template.fields().max_by_key(|field| field_bytes(place.entity, field))?;
    (bytes > most as u64).then(|| {
        let message =
            format!("the {side} key of {} can have {} bytes", place.name(), figures::count(bytes as f64));
        Diagnostic::error(part.span, message)
            .label(format!("up to {} of them", figures::count(field_bytes(place.entity, part) as f64)))
            .why(format!(
                "a {side} key has at most {} bytes; a write with a longer one fails",
                figures::count(most as f64)
            ))
            .help("put an id or a hash into the key, and the long text into an attribute")
    })
}

/// Bytes of the longest rendering, as far as sizes are declared.
fn longest(entity: &Entity, template: &Template) -> u64 {
    let parts = template.parts.iter().map(|part| match part {
        Part::Literal(text) => text.len() as u64,
        Part::Field(field) => field_bytes(entity, field),
    });
    parts.sum()
}

fn field_bytes(entity: &Entity, field: &Field) -> u64 {
    let padded = field.width.unwrap_or(0) as u64;
    let attribute = field.attribute().and_then(|name| entity.attribute(name));
    let whole = matches!(field.form, Form::Attribute(_) | Form::Lower(_));
    let Some(attribute) = attribute.filter(|_| whole) else { return padded.max(1) };
    let typical = match attribute.kind {
        AttributeKind::Timestamp => 20,
        AttributeKind::Uuid => 36,
        AttributeKind::Ulid => 26,
        AttributeKind::Date => 10,
        _ => 1,
    };
    attribute.size.map_or(typical, |size| size.most()).max(padded)
}
