//! R48: a condition that is to make a value unique, on an item that is not found by this value.

use super::{PatternWrite, Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::plan::Gap;

pub const RULE: Rule = Rule {
    id: RuleId(48),
    level: Level::Error,
    title: "`not exists` on another key does not make a value unique",
    page: include_str!("../../../../docs/rules/R48.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    subject.writes().filter_map(|one| elsewhere(subject, one)).collect()
}

fn elsewhere(subject: &Subject<'_>, one: PatternWrite<'_>) -> Option<Diagnostic> {
    let attribute = one.plan.gaps.iter().find_map(|gap| match gap {
        Gap::NotUnique { attribute } => Some(attribute),
        _ => None,
    })?;
    let entity = subject.model.entity(one.plan.entity);
    let name = &entity.name.value;
    let terms = one.write.condition.iter().flat_map(|condition| &condition.terms);
    let term = terms.into_iter().find(|term| term.attribute.value == *attribute)?;
    let message = format!("`not exists {attribute}` says nothing about other items with this `{attribute}`");
    let mut found = Diagnostic::error(term.span, message)
        .label(format!("looks only at the `{name}` that is written"))
        .why("a condition sees one item, the one with the key of the request: a new item has no attributes before")
        .help(format!(
            "write a second item whose key is the value (`PK: \"{}#{{{attribute}}}\"`) in one transaction with `{name}`, both with `create`",
            attribute.to_uppercase()
        ));
    if let Some(key) = &entity.key {
        found = found.related(key.span, format!("`{attribute}` is not part of it"));
    }
    Some(found)
}
