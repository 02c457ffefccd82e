//! Steps in words: what is done, how, and how to undo it.

use super::layout::{Derived, Layout, table_named};
use super::step::{Copy, DualWrites, Rollback, StepKind};
use crate::model::{Index, KeySchema, Projection};

/// The conditions leave an item alone that changed between reading and writing; the next run finds it.
const AGAIN: &str = "run it again until a run writes nothing";

pub fn title(layout: &Layout, kind: &StepKind) -> String {
    match kind {
        StepKind::ChangeSetting(setting) => {
            let (table, name) = (&setting.table, &setting.setting);
            match &setting.is {
                Some(is) => format!("Set {name} of {table} to {is}"),
                None => format!("Switch {name} of {table} off"),
            }
        }
        StepKind::CreateTable { table } => format!("Create table {table}, and wait until it is ACTIVE"),
        StepKind::CreateIndex { table, index } => {
            format!("Create index {index} of {table}, and wait until it is ACTIVE")
        }
        StepKind::StartDualWrites(writes) => {
            format!("Deploy writers that also write {}", written(writes, "new"))
        }
        StepKind::BackFill(job) => format!("Back-fill {} of {}", names(&job.attributes), job.entity),
        StepKind::Copy(Copy { entity, from, to, .. }) if from == to => {
            format!("Copy every {entity} to its new key")
        }
        StepKind::Copy(Copy { entity, to, .. }) => format!("Copy every {entity} to {to}"),
        StepKind::CutOver { pattern, from, to } => match (from.is_empty(), to.is_empty()) {
            (true, _) => format!("Start {pattern}: {}", list(to)),
            (_, true) => format!("Stop {pattern}"),
            _ => format!("Switch {pattern} over: {}", list(to)),
        },
        StepKind::DeleteIndex { table, index } => {
            format!("Delete index {index} of {table}, and wait until it is gone")
        }
        StepKind::EndDualWrites(writes) => {
            format!("Deploy writers that no longer write {}", written(writes, "old"))
        }
        StepKind::RemoveAttributes { entity, attributes, .. } => {
            format!("Remove {} from items of {entity}", attributes.join(", "))
        }
        StepKind::DeleteItems { table, entity } => match layout.target.entity_named(entity) {
            Some(_) => format!("Delete every {entity} under its old key in {table}"),
            None => format!("Delete every {entity} in {table}"),
        },
        StepKind::DeleteTable { table } => format!("Back up table {table}, and delete it"),
    }
}

impl StepKind {
    /// In a few words: `create GSI2`, `back-fill Order`, `change A4`.
    pub fn name(&self) -> String {
        match self {
            StepKind::ChangeSetting(setting) => format!("set {} of {}", setting.setting, setting.table),
            StepKind::CreateTable { table } => format!("create table {table}"),
            StepKind::CreateIndex { index, .. } => format!("create {index}"),
            StepKind::StartDualWrites(_) => "write both".to_owned(),
            StepKind::BackFill(job) => format!("back-fill {}", job.entity),
            StepKind::Copy(copy) => format!("copy {} to {}", copy.entity, copy.to),
            StepKind::CutOver { pattern, from, to } => match (from.is_empty(), to.is_empty()) {
                (true, _) => format!("start {pattern}"),
                (_, true) => format!("stop {pattern}"),
                _ => format!("change {pattern}"),
            },
            StepKind::DeleteIndex { index, .. } => format!("delete {index}"),
            StepKind::EndDualWrites(_) => "write new".to_owned(),
            StepKind::RemoveAttributes { attributes, .. } => format!("remove {}", attributes.join(", ")),
            StepKind::DeleteItems { entity, .. } => format!("delete items of {entity}"),
            StepKind::DeleteTable { table } => format!("delete table {table}"),
        }
    }
}

fn list<T: ToString>(parts: &[T]) -> String {
    parts.iter().map(T::to_string).collect::<Vec<_>>().join("; ")
}

fn names(derived: &[Derived]) -> String {
    derived.iter().map(|one| one.attribute.as_str()).collect::<Vec<_>>().join(", ")
}

/// `GSI2PK, GSI2SK of Order; Customer, Note under their new keys`.
fn written(writes: &DualWrites, which: &str) -> String {
    let attributes =
        writes.attributes.iter().map(|one| format!("{} of {}", one.attributes.join(", "), one.entity));
    let copies =
        (!writes.copies.is_empty()).then(|| format!("{} under their {which} keys", writes.copies.join(", ")));
    attributes.chain(copies).collect::<Vec<_>>().join("; ")
}

pub fn details(layout: &Layout, kind: &StepKind) -> Vec<String> {
    match kind {
        StepKind::ChangeSetting(setting) => setting.was.iter().map(|was| format!("it was {was}")).collect(),
        StepKind::CreateTable { table } => {
            let Some(table) = table_named(&layout.target, table) else { return Vec::new() };
            let key = table.key.iter().map(|key| format!("key {}", schema(key)));
            key.chain(table.indexes.iter().map(index_line)).collect()
        }
        StepKind::CreateIndex { table, index } => {
            let table = table_named(&layout.target, table);
            let index = table.and_then(|table| Some(table.index(table.index_named(index)?)));
            let mut details: Vec<String> = index.map(index_line).into_iter().collect();
            details.push(
                "no other index of the table may be changing; don't query it before it is ACTIVE".to_owned(),
            );
            details
        }
        StepKind::StartDualWrites(writes) => dual_details(writes, true),
        StepKind::EndDualWrites(writes) => dual_details(writes, false),
        StepKind::BackFill(job) => {
            let mut details: Vec<String> = job.attributes.iter().map(assignment).collect();
            details.push(format!("UpdateItem of items that lack them, if {}", job.condition()));
            details.push(AGAIN.to_owned());
            details
        }
        StepKind::Copy(copy) => {
            let mut details: Vec<String> = copy.key.iter().map(assignment).collect();
            let partition = copy.key.first().map_or("", |key| key.attribute.as_str());
            details.push(format!(
                "TransactWriteItems: Put if attribute_not_exists({partition}), and a ConditionCheck that the original is as it was read"
            ));
            details.push(AGAIN.to_owned());
            details
        }
        StepKind::CutOver { from, to, .. } if !from.is_empty() && !to.is_empty() => {
            vec![format!("until now {}", list(from))]
        }
        StepKind::CutOver { .. } | StepKind::DeleteIndex { .. } => Vec::new(),
        StepKind::DeleteTable { table } => {
            let protection =
                table_named(&layout.old, table).and_then(|table| table.deletion_protection.as_ref());
            let protected = protection.is_some_and(|protection| protection.value);
            protected.then(|| "switch its deletion protection off first".to_owned()).into_iter().collect()
        }
        StepKind::RemoveAttributes { .. } => vec!["nothing reads them: it saves storage".to_owned()],
        StepKind::DeleteItems { .. } => vec!["take a backup first".to_owned()],
    }
}

fn assignment(one: &Derived) -> String {
    format!("{} = {}", one.attribute, one.formula())
}

fn schema(key: &KeySchema) -> String {
    key.attributes().map(|key| format!("{} ({})", key.name, key.kind.name())).collect::<Vec<_>>().join(", ")
}

fn index_line(index: &Index) -> String {
    let projection = match &index.projection.value {
        Projection::All => "all attributes".to_owned(),
        Projection::Keys => "keys only".to_owned(),
        Projection::Include(names) => {
            format!(
                "keys and {}",
                names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(", ")
            )
        }
    };
    format!("index {}: {}; {projection}", index.name.value, schema(&index.key))
}

fn dual_details(writes: &DualWrites, starting: bool) -> Vec<String> {
    let mut details = Vec::new();
    if !writes.patterns.is_empty() {
        details.push(format!("patterns {}", writes.patterns.join(", ")));
    }
    if starting && !writes.copies.is_empty() {
        details.push(
            "both in one transaction; an update of an item that is not copied yet changes the old one alone"
                .to_owned(),
        );
    }
    if starting && !writes.attributes.is_empty() {
        details.push(
            "in the same request as the item itself: SET them, and REMOVE them where they no longer hold"
                .to_owned(),
        );
    }
    details
}

pub fn rollback(layout: &Layout, kind: &StepKind) -> Rollback {
    match kind {
        StepKind::ChangeSetting(setting) => Rollback::by(match &setting.was {
            Some(was) => format!("set it back to {was}"),
            None => "switch it off".to_owned(),
        }),
        StepKind::CreateTable { .. } => Rollback::by("delete the table"),
        StepKind::CreateIndex { .. } => Rollback::by("delete the index"),
        StepKind::StartDualWrites(writes) if writes.copies.is_empty() => Rollback::by(
            "deploy the previous writers, then remove what was written: a later attempt must not find old values",
        ),
        StepKind::StartDualWrites(_) => Rollback::by(
            "deploy the previous writers, then remove the copies and attributes that were written",
        ),
        StepKind::BackFill(_) | StepKind::Copy(_) if layout.conflict().is_some() => {
            Rollback::by("stop the job; undoing the dual writes removes what it wrote")
        }
        StepKind::BackFill(_) | StepKind::Copy(_) => Rollback::by(
            "stop the job; no old pattern sees what it wrote, and undoing the dual writes removes it",
        ),
        StepKind::CutOver { from, .. } if from.is_empty() => {
            Rollback::by("stop it: nothing depends on it yet")
        }
        StepKind::CutOver { .. } => Rollback::by("deploy the previous reader: its data is still maintained"),
        StepKind::DeleteIndex { .. } => Rollback::by("create it again: its keys are still written"),
        StepKind::EndDualWrites(_) => Rollback::by(
            "deploy the writers of both again, then a job that writes the old form of every item where it differs",
        ),
        StepKind::RemoveAttributes { .. } => {
            Rollback::by("a job writes them again: they follow from the item")
        }
        StepKind::DeleteItems { .. } | StepKind::DeleteTable { .. } => Rollback::from_backup(),
    }
}
