//! R19: an index that holds more than is read from it.

use super::{PatternRead, Rule, Subject};
use crate::diagnostic::{Fix, Level, RuleId, listed};
use crate::model::{AttributesRead, Entity, EntityId, Index, IndexId, Projection, TableId};
use crate::{Diagnostic, Spanned};

pub const RULE: Rule = Rule {
    id: RuleId(19),
    level: Level::Warning,
    title: "The projection is wider than what is read",
    page: include_str!("../../../../docs/rules/R19.md"),
    // The item size in bytes, and the writes per second, from which copying whole items is expensive.
    parameters: &[("bytes", 4096.0), ("writes", 100.0)],
    check,
};

const WHY: &str = "every write of a projected attribute writes the index too, and its storage is paid twice; a \
                   projection can't shrink in place, only by creating the index again";

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let indexes = subject.model.table_ids().flat_map(|table| {
        let ids = subject.model.table(table).index_ids();
        ids.map(move |index| (table, index))
    });
    indexes.filter_map(|(table, index)| finding(subject, table, index)).collect()
}

fn finding(subject: &Subject<'_>, table: TableId, id: IndexId) -> Option<Diagnostic> {
    let index = subject.model.table(table).index(id);
    let reads: Vec<PatternRead<'_>> =
        subject.reads().filter(|one| one.plan.table == table && one.plan.index == Some(id)).collect();
    // R4 reports an index that no pattern reads.
    if reads.is_empty() {
        return None;
    }
    match (&index.projection.value, read_attributes(&reads)) {
        (Projection::All, Some(read)) => wider_than_read(subject, table, id, index, &read),
        (Projection::All, None) => wide_and_hot(subject, table, id, index),
        (Projection::Include(names), Some(read)) => unread(index, names, &read),
        _ => None,
    }
}

/// Every attribute that is read from the index; `None` if a pattern does not declare which it reads.
fn read_attributes<'m>(reads: &[PatternRead<'m>]) -> Option<Vec<&'m str>> {
    let mut names: Vec<&str> = Vec::new();
    for one in reads {
        match &one.read.attributes.as_ref()?.value {
            AttributesRead::All => return None,
            AttributesRead::Keys | AttributesRead::Count => {}
            AttributesRead::These(these) => names.extend(these.iter().map(|name| name.value.as_str())),
        }
        names.extend(one.plan.filter.iter().map(|filter| filter.attribute()));
    }
    Some(names)
}

/// Whether the index holds the attribute anyway. A key attribute has the attribute's own name only if the key
/// consists of it alone.
fn in_keys(subject: &Subject<'_>, table: TableId, id: IndexId, name: &str) -> bool {
    let table = subject.model.table(table);
    table.index(id).key.names(name) || table.key.as_ref().is_some_and(|key| key.names(name))
}

fn wider_than_read(
    subject: &Subject<'_>,
    table: TableId,
    id: IndexId,
    index: &Index,
    read: &[&str],
) -> Option<Diagnostic> {
    let mut wanted: Vec<&str> = Vec::new();
    for name in read.iter().filter(|name| !in_keys(subject, table, id, name)) {
        if !wanted.contains(name) {
            wanted.push(name);
        }
    }
    let held = members(subject, table, id).flat_map(|(_, entity)| entity.attributes.keys());
    let mut unread: Vec<&str> = Vec::new();
    for name in held.map(String::as_str).filter(|name| !in_keys(subject, table, id, name)) {
        if !wanted.contains(&name) && !unread.contains(&name) {
            unread.push(name);
        }
    }
    (!unread.is_empty()).then(|| {
        let message = format!("index `{}` holds all attributes, and {}", index.name.value, only(&wanted));
        let project = if wanted.is_empty() { "keys".to_owned() } else { format!("[{}]", wanted.join(", ")) };
        Diagnostic::warning(index.projection.span, message)
            .label(format!("no pattern reads {}", listed(&unread)))
            .why(WHY)
            .help(format!("`project: {project}`"))
            .fix(Fix::put(index.span, "project", project))
    })
}

fn only(wanted: &[&str]) -> String {
    if wanted.is_empty() {
        "only keys are read from it".to_owned()
    } else {
        format!("only {} of them are read", listed(wanted))
    }
}

fn unread(index: &Index, names: &[Spanned<String>], read: &[&str]) -> Option<Diagnostic> {
    let unread: Vec<&Spanned<String>> =
        names.iter().filter(|name| !read.contains(&name.value.as_str())).collect();
    let first = unread.first()?;
    let listing: Vec<&str> = unread.iter().map(|name| name.value.as_str()).collect();
    let message = format!("no pattern reads {} from index `{}`", listed(&listing), index.name.value);
    let kept: Vec<&str> =
        names.iter().map(|name| name.value.as_str()).filter(|name| read.contains(name)).collect();
    let project = if kept.is_empty() { "keys".to_owned() } else { format!("[{}]", kept.join(", ")) };
    Some(
        Diagnostic::warning(first.span, message)
            .label("projected, never read")
            .why(WHY)
            .help(format!("`project: {project}`"))
            .fix(Fix::put(index.span, "project", project)),
    )
}

/// Whole items that are large and often written.
fn wide_and_hot(subject: &Subject<'_>, table: TableId, id: IndexId, index: &Index) -> Option<Diagnostic> {
    let (_, entity) = members(subject, table, id).find(|(entity_id, entity)| {
        let size = entity.size.as_ref().map_or(0.0, |size| size.typical as f64);
        size >= subject.parameter("bytes") && writes(subject, *entity_id) >= subject.parameter("writes")
    })?;
    let size = entity.size.as_ref()?;
    let message = format!("index `{}` holds whole items of `{}`", index.name.value, entity.name.value);
    Some(
        Diagnostic::warning(index.projection.span, message)
            .label(format!(
                "{} units more for each write",
                size.typical.div_ceil(capacity::WRITE_UNIT_BYTES as u64)
            ))
            .why(WHY)
            .related(size.span, "large")
            .help("say what the patterns read (`read: [total, status]`), and project that"),
    )
}

fn members<'m>(
    subject: &Subject<'m>,
    table: TableId,
    index: IndexId,
) -> impl Iterator<Item = (EntityId, &'m Entity)> {
    subject.model.entities_of(table).filter(move |(_, entity)| entity.entry(index).is_some())
}

/// Writes of an entity per second, as far as the patterns declare them.
fn writes(subject: &Subject<'_>, entity: EntityId) -> f64 {
    let writes = subject.writes().filter(|one| one.plan.entity == entity);
    writes.filter_map(|one| Some(one.pattern.rate.as_ref()?.peak() * one.action.times as f64)).sum()
}
