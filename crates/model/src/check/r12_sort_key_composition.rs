//! R12: parts of a sort key in an order that serves no pattern.

use super::r13_order_not_first::{unserved_order, unserved_ranges};
use super::{PatternRead, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Attribute, AttributeKind, Entity, Place};
use crate::template::{Field, Form, Template};

pub const RULE: Rule = Rule {
    id: RuleId(12),
    level: Level::Warning,
    title: "The parts of a sort key do not go from coarse to fine",
    page: include_str!("../../../../docs/rules/R12.md"),
    // A part with so few values is there to be queried.
    parameters: &[("values", 100.0)],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let places = subject.model.places().into_iter();
    let own = places.filter(|place| place.index.is_none_or(|(_, _, entry)| entry.declared));
    own.flat_map(|place| {
        let templates = place.sort().into_iter().map(|(_, template)| template);
        templates.flat_map(|template| in_template(subject, place, template)).collect::<Vec<_>>()
    })
    .collect()
}

fn in_template(subject: &Subject<'_>, place: Place<'_>, template: &Template) -> Vec<Diagnostic> {
    let fields: Vec<&Field> = template.fields().collect();
    let mut found = Vec::new();
    for (position, field) in fields.iter().enumerate() {
        let before = &fields[..position];
        let one = coarse_behind_fine(field, before)
            .or_else(|| time_behind_id(subject, place, field, before))
            .or_else(|| unused_part(subject, place, field, position + 1 == fields.len()));
        found.extend(one);
    }
    found
}

/// The grain of a time field: a lower number is finer.
fn grain(field: &Field) -> Option<(&str, u64)> {
    match &field.form {
        Form::Bucket { attribute, unit } => Some((attribute, unit.seconds())),
        Form::Attribute(attribute) => Some((attribute, 0)),
        _ => None,
    }
}

/// `{createdAt}#{day(createdAt)}`: the time already determines the day.
fn coarse_behind_fine(field: &Field, before: &[&Field]) -> Option<Diagnostic> {
    let (name, coarse) = grain(field)?;
    let finer =
        before.iter().find(|one| grain(one).is_some_and(|(other, fine)| other == name && fine <= coarse))?;
    Some(
        Diagnostic::warning(field.span, format!("`{field}` adds nothing to `{finer}`"))
            .label("coarser than the part before it")
            .why("items are in the order of the first part already; the second only makes the key longer")
            .related(finer.span, "this is finer")
            .help(format!("put `{field}` first, or leave it out")),
    )
}

/// `{orderId}#{createdAt}`: the id already determines the item, so the time sorts nothing.
fn time_behind_id(
    subject: &Subject<'_>,
    place: Place<'_>,
    field: &Field,
    before: &[&Field],
) -> Option<Diagnostic> {
    let name = field.attribute()?;
    let attribute = place.entity.attribute(name)?;
    let id = before.iter().find(|one| one.attribute().is_some_and(|name| is_own_id(place.entity, name)))?;
    // R13 reports it at the pattern that needs it.
    let asked = reads(subject, place).any(|one| {
        unserved_ranges(one).any(|(ranged, _)| ranged == name)
            || unserved_order(one).is_some_and(|order| order.attribute.value == name)
    });
    (attribute.kind.is_time() && attribute.kind != AttributeKind::Ulid && !asked).then(|| {
        let message = format!("`{name}` comes after `{id}`, which is different for each item");
        Diagnostic::warning(field.span, message)
            .label("can neither be ranged over nor sorted by")
            .why("a range or order is over the first part that is not known; after an id there is one item")
            .related(id.span, "unique, so nothing after it counts")
            .help(format!("put `{field}` before `{id}`"))
    })
}

/// `{status}#{createdAt}`, where no reader knows or sorts by the status.
fn unused_part(subject: &Subject<'_>, place: Place<'_>, field: &Field, last: bool) -> Option<Diagnostic> {
    let name = field.attribute()?;
    let attribute = place.entity.attribute(name)?;
    let few =
        attribute.cardinality().is_some_and(|values| values > 1.0 && values <= subject.parameter("values"));
    let mut readers = reads(subject, place).peekable();
    if last || !few || readers.peek().is_none() || readers.any(|one| asks(one, attribute)) {
        return None;
    }
    Some(
        Diagnostic::warning(
            field.span,
            format!("no pattern asks for `{name}`, which comes first in the order"),
        )
        .label("keeps what follows from being in order")
        .why("a part belongs into a sort key if someone ranges over it, sorts by it, or knows it")
        .help(format!("leave `{field}` out of the sort key, or put it after what is sorted by")),
    )
}

fn asks(one: PatternRead<'_>, attribute: &Attribute) -> bool {
    let name = attribute.name.as_str();
    let terms = one.read.conditions.iter().flat_map(|where_| &where_.terms);
    one.known().contains(&name)
        || terms.into_iter().any(|term| term.attribute.value == name)
        || one.read.order.iter().any(|order| order.attribute.value == name)
}

fn reads<'m>(subject: &Subject<'m>, place: Place<'m>) -> impl Iterator<Item = PatternRead<'m>> {
    let here = move |one: &PatternRead<'_>| {
        one.plan.index == place.index_id() && one.plan.entities.contains(&place.entity_id)
    };
    subject.reads().filter(here)
}

/// `orderId` of an `Order`, or the attribute that the file declares as identity.
fn is_own_id(entity: &Entity, name: &str) -> bool {
    let declared = matches!(entity.identity.as_slice(), [only] if only.value == name);
    let plain = name.to_lowercase().replace('_', "");
    declared || plain == format!("{}id", entity.name.value.to_lowercase())
}
