//! R27: a time to live that never expires, or that readers rely on.

use item::Value;

use super::{PatternRead, Rule, Subject, figures};
use crate::diagnostic::{Level, RuleId};
use crate::model::{Attribute, AttributeKind, Entity, Read, ReadVerb, SampleRow, Table};
use crate::{Diagnostic, Spanned};

pub const RULE: Rule = Rule {
    id: RuleId(27),
    level: Level::Error,
    title: "Time to live is not in epoch seconds, or readers see expired items",
    page: include_str!("../../../../docs/rules/R27.md"),
    parameters: &[],
    check,
};

/// Seconds since 1970 reach this in the year 5138; milliseconds passed it in 1973.
const SECONDS_AT_MOST: f64 = 1e11;

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for id in subject.model.table_ids() {
        let table = subject.model.table(id);
        let entities: Vec<&Entity> = subject.model.entities_of(id).map(|(_, entity)| entity).collect();
        match &table.ttl {
            Some(ttl) => found.extend(in_table(table, ttl, &entities)),
            None => found.extend(entities.iter().filter_map(|entity| never_removed(table, entity))),
        }
    }
    found.extend(subject.reads().filter_map(|read| in_read(subject, read)));
    found
}

fn in_table(table: &Table, ttl: &Spanned<String>, entities: &[&Entity]) -> Vec<Diagnostic> {
    let named = entities.iter().filter_map(|entity| entity.attribute(ttl));
    let mut found: Vec<Diagnostic> = named.filter_map(|attribute| not_seconds(ttl, attribute)).collect();
    found.extend(entities.iter().filter_map(|entity| without_attribute(ttl, entity)));
    let rows = entities.iter().flat_map(|entity| &entity.samples).chain(&table.samples);
    found.extend(rows.filter_map(|row| in_sample(ttl, row)));
    if entities.iter().all(|entity| entity.attribute(ttl).is_none() && entity.expires.is_none()) {
        found.extend(unused(ttl, entities));
    }
    found
}

/// The kind of the attribute that holds the time.
fn not_seconds(ttl: &Spanned<String>, attribute: &Attribute) -> Option<Diagnostic> {
    let name = &attribute.name;
    let (level, message, label) = match attribute.kind {
        AttributeKind::Epoch => return None,
        // Its type was inferred, not declared.
        AttributeKind::String if !attribute.declared => return None,
        AttributeKind::Number => {
            (Level::Warning, format!("`{name}` is a number of what?"), "TTL takes it for seconds since 1970")
        }
        AttributeKind::EpochMillis => (
            Level::Error,
            format!("`{name}` counts milliseconds"),
            "as seconds this is tens of thousands of years in the future",
        ),
        kind => (Level::Error, format!("`{name}` is a {}", kind.name()), "items with it never expire"),
    };
    Some(
        Diagnostic::new(level, attribute.span, message)
            .label(label)
            .related(ttl.span, "the table's time to live")
            .why("TTL removes items whose attribute is a number of seconds since 1970, and passes over all others in silence")
            .help(format!("declare `{name}: epoch`, and write seconds")),
    )
}

/// An entity that expires must have the attribute, if its attributes are listed.
fn without_attribute(ttl: &Spanned<String>, entity: &Entity) -> Option<Diagnostic> {
    let expires = entity.expires.as_ref()?;
    let listed = entity.attributes.values().any(|attribute| attribute.declared);
    (listed && entity.attribute(ttl).is_none()).then(|| {
        let name = &entity.name.value;
        Diagnostic::error(expires.span, format!("`{name}` expires, but has no attribute `{}`", ttl.value))
            .label("never removed")
            .related(ttl.span, "the table's time to live")
            .why("TTL removes only items that have the attribute it is set to")
            .help(format!("add `{}: epoch` to the attributes of `{name}`", ttl.value))
    })
}

fn never_removed(table: &Table, entity: &Entity) -> Option<Diagnostic> {
    let expires = entity.expires.as_ref()?;
    let message = format!("`{}` expires, but table `{}` has no `ttl`", entity.name.value, table.name.value);
    Some(
        Diagnostic::error(expires.span, message)
            .label("never removed")
            .why("TTL is a setting of the table: the attribute whose time has come")
            .help("add `ttl: expiresAt` to the table, and `expiresAt: epoch` to the attributes"),
    )
}

fn in_sample(ttl: &Spanned<String>, row: &SampleRow) -> Option<Diagnostic> {
    let value = row.values.get(ttl.value.as_str())?;
    let (message, label) = match &value.value {
        Value::N(number) => {
            let number: f64 = number.to_string().parse().ok()?;
            let millis = number > SECONDS_AT_MOST;
            millis.then(|| (format!("`{}` counts milliseconds", ttl.value), "three digits too long"))?
        }
        _ => (format!("`{}` is not a number", ttl.value), "never expires"),
    };
    Some(
        Diagnostic::error(value.span, message)
            .label(label)
            .why("TTL takes the number for seconds since 1970, and passes over what is no number")
            .help("write seconds, as in `1767225600` for the first day of 2026"),
    )
}

/// No entity has the attribute: perhaps its name is misspelt.
fn unused(ttl: &Spanned<String>, entities: &[&Entity]) -> Option<Diagnostic> {
    let closed = entities.iter().all(|entity| entity.attributes.values().any(|one| one.declared));
    (closed && !entities.is_empty()).then(|| {
        Diagnostic::warning(ttl.span, format!("no entity has an attribute `{}`", ttl.value))
            .label("nothing ever expires")
            .why("TTL passes over items without the attribute in silence")
            .help(format!("declare `{}: epoch` where items expire, or remove `ttl`", ttl.value))
    })
}

/// Readers must drop items that have expired but are not yet deleted.
fn in_read(subject: &Subject<'_>, one: PatternRead<'_>) -> Option<Diagnostic> {
    let PatternRead { pattern, action, read, plan: planned } = one;
    let ttl = subject.model.table(planned.table).ttl.as_ref()?;
    let expiring = planned
        .entities
        .iter()
        .map(|id| subject.model.entity(*id))
        .find(|entity| entity.expires.is_some())?;
    if drops_expired(read, ttl) {
        return None;
    }
    let name = &expiring.name.value;
    let lifetime = figures::duration(expiring.expires.as_ref()?.value as f64);
    let message = format!("`{}` can return items of `{name}` that have expired", pattern.id.value);
    let (level, help) = match read.verb {
        ReadVerb::Get => (Level::Info, format!("compare `{}` with the time after reading", ttl.value)),
        // R51: a comparison drops every item that has no time.
        _ if planned.entities.iter().any(|id| subject.model.entity(*id).attribute(ttl).is_none()) => (
            Level::Error,
            format!(
                "read `{name}` with a request of its own and `filter: {} > :now`; or compare after reading, and allow this",
                ttl.value
            ),
        ),
        _ => (Level::Error, format!("add `filter: {} > :now`", ttl.value)),
    };
    Some(
        Diagnostic::new(level, action.span, message)
            .label(format!("lives for {lifetime}, is removed up to 48 hours later"))
            .why("TTL removes items within about two days after their time; until then they are read as any other")
            .help(help),
    )
}

/// A condition or filter on the time.
pub(crate) fn drops_expired(read: &Read, ttl: &str) -> bool {
    let terms = read.conditions.iter().chain(&read.filter).flat_map(|predicate| &predicate.terms);
    terms.into_iter().any(|term| term.attribute.value == ttl)
}
