//! The steps, in order. What is new is created and filled before any reader is switched over; what is old is
//! removed last, first what can be restored, then what can't.

use super::access::accesses;
use super::change::{ElementChange, Section, changes};
use super::layout::{Derived, Fate, Layout, table_named};
use super::step::{BackFill, Copy, DualWrites, EntityAttributes, Estimate, Setting, Step, StepKind};
use super::wording;
use crate::model::{Entity, EntityId, Model, Pattern, Table};

/// The steps of a migration, in order.
pub fn steps(layout: &Layout) -> Vec<Step> {
    let settings = settings(layout);
    let (late, early): (Vec<Setting>, Vec<Setting>) = settings.into_iter().partition(weakens);
    let mut kinds: Vec<StepKind> = early.into_iter().map(StepKind::ChangeSetting).collect();
    kinds.extend(new_tables(layout));
    kinds.extend(new_indexes(layout));
    kinds.extend(dual_writes(layout));
    kinds.extend(layout.fates.iter().filter_map(|fate| fill(layout, *fate)));
    let purge_first = layout.removed_are_in_the_way();
    let (retired, changed): (Vec<StepKind>, Vec<StepKind>) = cut_overs(layout).into_iter().partition(is_end);
    kinds.extend(retired);
    kinds.extend(deletions(layout).filter(|_| purge_first));
    kinds.extend(changed);
    kinds.extend(old_indexes(layout));
    kinds.extend(end_of_dual_writes(layout));
    kinds.extend(leftovers(layout));
    kinds.extend(copied_from(layout));
    kinds.extend(deletions(layout).filter(|_| !purge_first));
    kinds.extend(old_tables(layout));
    kinds.extend(late.into_iter().map(StepKind::ChangeSetting));
    kinds.into_iter().map(|kind| step(layout, kind)).collect()
}

fn step(layout: &Layout, kind: StepKind) -> Step {
    let optional = match &kind {
        StepKind::RemoveAttributes { .. } => true,
        StepKind::DeleteItems { entity, .. } => {
            layout.target.entity_named(entity).is_some() || !layout.removed_are_in_the_way()
        }
        _ => false,
    };
    Step {
        title: wording::title(layout, &kind),
        details: wording::details(layout, &kind),
        rollback: wording::rollback(layout, &kind),
        estimate: Estimate::default(),
        optional,
        kind,
    }
}

/// Settings that can be changed on a table in use. Other differences have steps of their own.
const SETTINGS: [&str; 10] = [
    "pitr",
    "deletion-protection",
    "billing",
    "read",
    "write",
    "stream",
    "replicas",
    "encryption",
    "class",
    "ttl",
];

fn settings(layout: &Layout) -> Vec<Setting> {
    let all = changes(&layout.old, &layout.target);
    let mut found: Vec<Setting> = all.into_iter().filter_map(setting).collect();
    let rank = |setting: &Setting| SETTINGS.iter().position(|name| *name == setting.setting);
    found.sort_by_key(rank);
    found
}

fn setting(change: ElementChange) -> Option<Setting> {
    let setting = change.member.filter(|name| SETTINGS.contains(&name.as_str()))?;
    let table = match change.section {
        Section::Table | Section::Index => change.element,
        Section::Entity | Section::Pattern => return None,
    };
    Some(Setting { table, setting, was: change.was, is: change.is })
}

/// Whether the setting removes a protection, which is done when nothing depends on it any more.
fn weakens(setting: &Setting) -> bool {
    match setting.setting.as_str() {
        "pitr" | "deletion-protection" => setting.is.as_deref() != Some("true"),
        "stream" | "replicas" => setting.is.is_none(),
        "class" | "ttl" => true,
        _ => false,
    }
}

fn new_tables(layout: &Layout) -> impl Iterator<Item = StepKind> {
    let new = layout.target.tables.iter().filter(|table| table_named(&layout.old, &table.name).is_none());
    new.map(|table| StepKind::CreateTable { table: table.name.value.clone() })
}

/// Tables of both models, old and new.
fn surviving(layout: &Layout) -> impl Iterator<Item = (&Table, &Table)> {
    layout.target.tables.iter().filter_map(|table| Some((table_named(&layout.old, &table.name)?, table)))
}

/// Global indexes of `of` that `other` does not have.
fn missing<'t>(of: &'t Table, other: &'t Table) -> impl Iterator<Item = (String, String)> + 't {
    let missing = of.global_indexes().filter(|index| other.index_named(&index.name).is_none());
    missing.map(|index| (of.name.value.clone(), index.name.value.clone()))
}

fn new_indexes(layout: &Layout) -> impl Iterator<Item = StepKind> {
    let new = surviving(layout).flat_map(|(old, new)| missing(new, old));
    new.map(|(table, index)| StepKind::CreateIndex { table, index })
}

fn old_indexes(layout: &Layout) -> impl Iterator<Item = StepKind> {
    let old = surviving(layout).flat_map(|(old, new)| missing(old, new));
    old.map(|(table, index)| StepKind::DeleteIndex { table, index })
}

fn old_tables(layout: &Layout) -> impl Iterator<Item = StepKind> {
    let old = layout.old.tables.iter().filter(|table| !layout.survives(&table.name));
    old.map(|table| StepKind::DeleteTable { table: table.name.value.clone() })
}

fn name(layout: &Layout, id: EntityId) -> String {
    layout.target.entity(id).name.value.clone()
}

fn attributes_of(layout: &Layout, of: impl Fn(Fate) -> Vec<Derived>) -> Vec<EntityAttributes> {
    let listed = layout.fates.iter().filter_map(|fate| {
        let attributes: Vec<String> = of(*fate).into_iter().map(|one| one.attribute).collect();
        let Fate::Stays { new, .. } = fate else { return None };
        (!attributes.is_empty()).then(|| EntityAttributes { entity: name(layout, *new), attributes })
    });
    listed.collect()
}

fn copies(layout: &Layout) -> Vec<String> {
    let movers = layout.moves().filter_map(|fate| match fate {
        Fate::Moves { new, .. } => Some(name(layout, new)),
        _ => None,
    });
    movers.collect()
}

fn writing(layout: &Layout, attributes: Vec<EntityAttributes>) -> Option<DualWrites> {
    let copies = copies(layout);
    if attributes.is_empty() && copies.is_empty() {
        return None;
    }
    let concerned = |entity: &str| {
        copies.iter().any(|one| one == entity) || attributes.iter().any(|one| one.entity == entity)
    };
    let writes = |pattern: &&Pattern| {
        pattern.writes().any(|(_, write)| concerned(&layout.target.entity(write.entity.value).name))
    };
    let patterns = layout.target.patterns.iter().filter(writes).map(|one| one.id.value.clone()).collect();
    Some(DualWrites { attributes, copies, patterns })
}

fn dual_writes(layout: &Layout) -> Option<StepKind> {
    let gained = attributes_of(layout, |fate| layout.gained(fate));
    writing(layout, gained).map(StepKind::StartDualWrites)
}

/// Dual writes end only if something old is given up.
fn end_of_dual_writes(layout: &Layout) -> Option<StepKind> {
    let lost = attributes_of(layout, |fate| layout.lost(fate));
    writing(layout, lost).map(StepKind::EndDualWrites)
}

/// The step that brings the items of an entity into the form of the new model.
fn fill(layout: &Layout, fate: Fate) -> Option<StepKind> {
    match fate {
        Fate::Stays { old, new } => {
            // Keys of attributes that no item has yet are filled by the writers alone.
            let had = |name: &str| layout.old.entity(old).attribute(name).is_some();
            let mut gained = layout.gained(fate);
            gained.retain(|one| one.sources().all(had));
            back_fill(layout, new, gained).map(StepKind::BackFill)
        }
        Fate::Moves { old, new, .. } => {
            let (was, is) = (layout.old.entity(old), layout.target.entity(new));
            Some(StepKind::Copy(Copy {
                entity: is.name.value.clone(),
                from: layout.old.table_of(was).name.value.clone(),
                to: layout.target.table_of(is).name.value.clone(),
                key: table_key(&layout.target, is),
            }))
        }
        Fate::Added { .. } | Fate::Removed { .. } => None,
    }
}

fn back_fill(layout: &Layout, id: EntityId, attributes: Vec<Derived>) -> Option<BackFill> {
    let entity = layout.target.entity(id);
    let table = layout.target.table_of(entity);
    let partition = table.key.as_ref()?.partition.first()?.name.clone();
    let in_key = |name: &str| entity.key_templates().any(|template| template.uses(name));
    let mut unchanged: Vec<String> = Vec::new();
    for source in attributes.iter().flat_map(Derived::sources).filter(|name| !in_key(name)) {
        if !unchanged.iter().any(|one| one == source) {
            unchanged.push(source.to_owned());
        }
    }
    (!attributes.is_empty()).then(|| BackFill {
        table: table.name.value.clone(),
        entity: entity.name.value.clone(),
        attributes,
        partition,
        unchanged,
    })
}

fn table_key(model: &Model, entity: &Entity) -> Vec<Derived> {
    let schema = model.table_of(entity).key.iter().flat_map(|key| key.attributes());
    let derived = schema.zip(entity.key_templates()).map(|(key, template)| Derived {
        attribute: key.name.clone(),
        template: template.clone(),
        when: None,
        kind: key.kind,
    });
    derived.collect()
}

/// Each read pattern that is new, removed, or served in another way.
fn cut_overs(layout: &Layout) -> Vec<StepKind> {
    let new = layout.target.patterns.iter().filter_map(|pattern| {
        let earlier = layout.old.pattern_named(&pattern.id);
        let from = earlier.map(|earlier| accesses(&layout.old, earlier)).unwrap_or_default();
        let to = accesses(&layout.target, pattern);
        let pattern = pattern.id.value.clone();
        (from != to).then_some(StepKind::CutOver { pattern, from, to })
    });
    let gone = layout.old.patterns.iter().filter(|one| layout.target.pattern_named(&one.id).is_none());
    let gone = gone.filter_map(|pattern| {
        let from = accesses(&layout.old, pattern);
        let pattern = pattern.id.value.clone();
        (!from.is_empty()).then_some(StepKind::CutOver { pattern, from, to: Vec::new() })
    });
    new.chain(gone).collect()
}

fn is_end(kind: &StepKind) -> bool {
    matches!(kind, StepKind::CutOver { to, .. } if to.is_empty())
}

/// Index keys that no index needs any more.
fn leftovers(layout: &Layout) -> impl Iterator<Item = StepKind> {
    let lost = attributes_of(layout, |fate| layout.lost(fate)).into_iter();
    lost.map(|EntityAttributes { entity, attributes }| {
        let id = layout.target.entity_named(&entity).expect("it was found there");
        let table = layout.target.table_of(layout.target.entity(id)).name.value.clone();
        StepKind::RemoveAttributes { table, entity, attributes }
    })
}

/// Originals of copied items, if their table stays.
fn copied_from(layout: &Layout) -> impl Iterator<Item = StepKind> {
    layout.moves().filter_map(|fate| match fate {
        Fate::Moves { old, .. } => delete_items(layout, old),
        _ => None,
    })
}

/// Items of removed entities, if their table stays.
fn deletions(layout: &Layout) -> impl Iterator<Item = StepKind> {
    layout.fates.iter().filter_map(|fate| match fate {
        Fate::Removed { old, .. } => delete_items(layout, *old),
        _ => None,
    })
}

fn delete_items(layout: &Layout, old: EntityId) -> Option<StepKind> {
    let entity = layout.old.entity(old);
    let table = layout.old.table_of(entity).name.value.clone();
    let entity = entity.name.value.clone();
    layout.survives(&table).then_some(StepKind::DeleteItems { table, entity })
}
