//! R4: an index, or an entity's key in it, that no pattern reads.

use super::{Rule, Subject};
use crate::Diagnostic;
use crate::diagnostic::{Level, RuleId};
use crate::model::{Entity, EntityId, Index, IndexEntry, IndexId, TableId};

pub const RULE: Rule = Rule {
    id: RuleId(4),
    level: Level::Warning,
    title: "No pattern uses the index",
    page: include_str!("../../../../docs/rules/R4.md"),
    parameters: &[],
    check,
};

fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    // Without any read every index is unused, and R5 asks for patterns.
    if subject.reads().next().is_none() {
        return Vec::new();
    }
    subject.model.table_ids().flat_map(|table| in_table(subject, table)).collect()
}

fn in_table(subject: &Subject<'_>, table: TableId) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for id in subject.model.table(table).index_ids() {
        let index = subject.model.table(table).index(id);
        if !is_read(subject, table, id, None) {
            found.push(unused_index(subject, table, id, index));
            continue;
        }
        let entries = subject.model.entities_of(table).filter_map(|(entity_id, entity)| {
            let entry = entity.entry(id).filter(|entry| entry.declared)?;
            (!is_read(subject, table, id, Some(entity_id))).then(|| unused_entry(index, entity, entry))
        });
        found.extend(entries);
    }
    found
}

/// Whether a pattern reads the index, or items of an entity in it.
fn is_read(subject: &Subject<'_>, table: TableId, index: IndexId, entity: Option<EntityId>) -> bool {
    subject.reads().any(|one| {
        let here = one.plan.table == table && one.plan.index == Some(index);
        here && entity.is_none_or(|entity| one.plan.entities.contains(&entity))
    })
}

fn unused_index(subject: &Subject<'_>, table: TableId, id: IndexId, index: &Index) -> Diagnostic {
    let name = &index.name.value;
    let entities = subject.model.entities_of(table).filter(|(_, entity)| entity.entry(id).is_some());
    let writers: Vec<&str> = entities.map(|(_, entity)| entity.name.value.as_str()).collect();
    let label = match writers.as_slice() {
        [] => "and no item is in it".to_owned(),
        [one] => format!("each write of `{one}` pays for it"),
        _ => format!("each write of {} pays for it", crate::diagnostic::listed(&writers)),
    };
    Diagnostic::warning(index.name.span, format!("no pattern uses index `{name}`"))
        .label(label)
        .why("an index costs a write and storage for every item in it; it can be added the day it is needed")
        .help("remove it, or add the pattern that it is for")
}

fn unused_entry(index: &Index, entity: &Entity, entry: &IndexEntry) -> Diagnostic {
    let (name, entity) = (&index.name.value, &entity.name.value);
    Diagnostic::warning(entry.span, format!("no pattern reads `{entity}` in index `{name}`"))
        .label(format!("each write of `{entity}` pays for it"))
        .why("an item is in an index only if it has the index's key attributes: these can be left away")
        .help("remove it, or add the pattern that it is for")
}
