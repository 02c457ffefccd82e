//! R49: one attribute of an item that two templates give different values.

use super::{Rule, Subject};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Entity, Place};
use crate::predicate::{Operator, Predicate, Term};
use crate::template::Template;
use crate::{Diagnostic, Model};

pub const RULE: Rule = Rule {
    id: RuleId(49),
    level: Level::Error,
    title: "One attribute has two templates",
    page: include_str!("../../../../docs/rules/R49.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.model.entity_ids().flat_map(|id| in_entity(subject.model, &subject.model.places_of(id))).collect()
}

/// A key attribute, its template, and the place that it is the key of.
#[derive(Clone, Copy)]
struct Keyed<'m> {
    name: &'m str,
    template: &'m Template,
    place: Place<'m>,
}

fn in_entity(model: &Model, places: &[Place<'_>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut seen: Vec<Keyed<'_>> = Vec::new();
    for place in places {
        let keys = place.partition().into_iter().chain(place.sort());
        for keyed in keys.map(|(key, template)| Keyed { name: &key.name, template, place: *place }) {
            let other = seen.iter().find(|other| other.name == keyed.name && disagree(**other, keyed));
            found.extend(other.map(|other| finding(model, *other, keyed)));
            seen.push(keyed);
        }
    }
    found
}

fn disagree(one: Keyed<'_>, other: Keyed<'_>) -> bool {
    let same = one.template.to_string() == other.template.to_string();
    !same && !are_disjoint(membership(one.place).as_ref(), membership(other.place).as_ref())
}

fn membership(place: Place<'_>) -> Option<Predicate> {
    place.index.and_then(|(_, _, entry)| place.entity.membership(entry))
}

/// Whether no item is in both.
fn are_disjoint(one: Option<&Predicate>, other: Option<&Predicate>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    one.terms.iter().any(|one| other.terms.iter().any(|other| exclude(one, other)))
}

fn exclude(one: &Term, other: &Term) -> bool {
    if one.attribute.value != other.attribute.value {
        return false;
    }
    let absent = |term: &Term| term.operator == Operator::NotExists;
    let values = one.operator == Operator::Equal && other.operator == Operator::Equal;
    let differ = values && one.operands != other.operands;
    differ || (absent(one) && other.implies_existence()) || (absent(other) && one.implies_existence())
}

fn finding(model: &Model, first: Keyed<'_>, second: Keyed<'_>) -> Diagnostic {
    let entity: &Entity = second.place.entity;
    let message = format!("`{}` of `{}` has two templates", second.name, entity.name.value);
    let names = |keyed: Keyed<'_>| keyed.place.name();
    let free = free_name(model, second);
    Diagnostic::error(second.template.span, message)
        .label(format!("`{}` in {}", second.template, names(second)))
        .related(first.template.span, format!("`{}` in {}", first.template, names(first)))
        .why("an item has one value of an attribute: the last template that is written counts, and the other place can't find the item")
        .help(format!(
            "give {} key attributes of its own, as in `{free}: \"{}\"`; or let {} use the same value",
            names(second),
            second.template,
            names(second)
        ))
}

/// A name for the attribute that no key of the table has.
fn free_name(model: &Model, keyed: Keyed<'_>) -> String {
    let table = model.table(keyed.place.table_id);
    let taken = |name: &str| {
        let schemas = table.key.iter().chain(table.indexes.iter().map(|index| &index.key));
        schemas.into_iter().any(|schema| schema.names(name)) || keyed.place.entity.attribute(name).is_some()
    };
    let mut names = (2..).map(|number| format!("{}{number}", keyed.name));
    names.find(|name| !taken(name)).unwrap_or_default()
}
