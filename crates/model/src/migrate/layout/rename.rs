//! The new model with other names, where the old model still has them.

use std::collections::BTreeSet;

use serde::Serialize;

use super::replaced::{Replaced, clashing, stayers};
use super::{composed, table_named};
use crate::model::{Index, Model, Table, TableId};

/// Something that can't have its name yet, because the old one has it while both exist.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rename {
    /// `table`, `index` or `attribute`.
    pub what: &'static str,
    pub table: String,
    pub from: String,
    pub to: String,
}

/// The new model as the database will have it, and what is named differently there.
pub fn target(old: &Model, new: &Model, replaced: &Replaced) -> (Model, Vec<Rename>) {
    let mut target = new.clone();
    let mut renames = Vec::new();
    for id in new.table_ids() {
        let table = new.table(id);
        if replaced.tables.contains(&table.name.value) {
            rename_table(old, new, &mut target.tables[id.0], &mut renames);
        } else if let Some(earlier) = table_named(old, &table.name) {
            let attributes = attributes(old, new, replaced, earlier, table);
            rename_attributes(old, new, &attributes, &mut target.tables[id.0], &mut renames);
            let is_created_again = |index: &&Index| {
                let asked = replaced.indexes.contains(&(table.name.value.clone(), index.name.value.clone()));
                let rekeyed = index.key.attributes().any(|key| attributes.contains(&key.name));
                earlier.index_named(&index.name).is_some() && (asked || rekeyed)
            };
            let created_again: Vec<&Index> = table.indexes.iter().filter(is_created_again).collect();
            rename_indexes(&created_again, earlier, &mut target, id, &mut renames);
        }
    }
    (target, renames)
}

fn rename_table(old: &Model, new: &Model, table: &mut Table, renames: &mut Vec<Rename>) {
    let from = table.name.value.clone();
    let to = fresh(&from, |name| table_named(old, name).or(table_named(new, name)).is_some());
    renames.push(Rename { what: "table", table: to.clone(), from, to: to.clone() });
    table.name.value = to;
}

/// Index keys that must get other names: those with two forms, the keys of indexes in which a conflict was found,
/// and those that copied items would carry into old indexes.
fn attributes(
    old: &Model,
    new: &Model,
    replaced: &Replaced,
    earlier: &Table,
    table: &Table,
) -> BTreeSet<String> {
    let mut attributes = clashing(old, new, earlier, table);
    let is_rekeyed =
        |index: &&Index| replaced.rekeyed.contains(&(table.name.value.clone(), index.name.value.clone()));
    let rekeyed = table.indexes.iter().filter(is_rekeyed).flat_map(|index| index.key.attributes());
    attributes.extend(rekeyed.map(|key| key.name.clone()));
    attributes.extend(borrowed(old, new, replaced, earlier, table));
    attributes.retain(|attribute| !is_data(old, new, table, attribute));
    attributes
}

/// Whether it is more than an index key: then only the application can rename it.
fn is_data(old: &Model, new: &Model, table: &Table, attribute: &str) -> bool {
    let mut entities = old.entities.iter().chain(&new.entities);
    entities.any(|entity| entity.attribute(attribute).is_some())
        || table.key.as_ref().is_some_and(|key| key.names(attribute))
}

fn rename_attributes(
    old: &Model,
    new: &Model,
    attributes: &BTreeSet<String>,
    table: &mut Table,
    renames: &mut Vec<Rename>,
) {
    for from in attributes {
        let taken = |name: &str| {
            let tables = old.tables.iter().chain(&new.tables);
            let mut keys =
                tables.flat_map(|table| table.key.iter().chain(table.indexes.iter().map(|one| &one.key)));
            is_data(old, new, table, name) || keys.any(|key| key.names(name))
        };
        let to = fresh(from, taken);
        for index in &mut table.indexes {
            let keys = index.key.partition.iter_mut().chain(&mut index.key.sort);
            keys.filter(|key| key.name == *from).for_each(|key| key.name.clone_from(&to));
        }
        let table = table.name.value.clone();
        renames.push(Rename { what: "attribute", table, from: from.clone(), to });
    }
}

/// Key attributes of old indexes that copied items would have too, and so appear in those indexes.
fn borrowed(
    old: &Model,
    new: &Model,
    replaced: &Replaced,
    earlier: &Table,
    table: &Table,
) -> BTreeSet<String> {
    let name = &table.name.value;
    let lasts = |index: &&Index| {
        let gone = table.index_named(&index.name).is_none();
        gone || replaced.rekeyed.contains(&(name.clone(), index.name.value.clone()))
    };
    let keys: BTreeSet<&str> = earlier
        .indexes
        .iter()
        .filter(lasts)
        .flat_map(|index| index.key.attributes())
        .map(|key| key.name.as_str())
        .collect();
    let stay: Vec<&str> = stayers(old, new, name).map(|(_, entity)| entity.name.value.as_str()).collect();
    let movers = new.entities.iter().filter(|entity| {
        new.table_of(entity).name.value == *name && !stay.contains(&entity.name.value.as_str())
    });
    let composed = movers.flat_map(|entity| composed(new, entity).into_keys());
    composed.filter(|attribute| keys.contains(attribute.as_str())).collect()
}

fn rename_indexes(
    created_again: &[&Index],
    earlier: &Table,
    target: &mut Model,
    id: TableId,
    renames: &mut Vec<Rename>,
) {
    for index in created_again {
        let (from, table) = (&index.name.value, target.table(id));
        let Some(position) = table.index_named(from) else { continue };
        let to = fresh(from, |name| earlier.index_named(name).or(table.index_named(name)).is_some());
        renames.push(Rename {
            what: "index",
            table: table.name.value.clone(),
            from: from.clone(),
            to: to.clone(),
        });
        target.tables[id.0].indexes[position.0].name.value.clone_from(&to);
        let readers: Vec<usize> =
            (0..target.patterns.len()).filter(|one| reads_table(target, *one, id)).collect();
        for reader in readers {
            if let Some(named) = target.patterns[reader].index.as_mut().filter(|named| named.value == *from) {
                named.value.clone_from(&to);
            }
        }
    }
}

fn reads_table(model: &Model, pattern: usize, table: TableId) -> bool {
    let reads = model.patterns[pattern].reads();
    reads.into_iter().any(|(_, read)| read.entities.iter().any(|id| model.entity(id.value).table == table))
}

/// `GSI1v2` for `GSI1`, `GSI1v3` for `GSI1v2`.
fn fresh(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (stem, number) = name.split_at(name.len() - digits);
    let (stem, first) = match (stem.strip_suffix('v'), number.parse::<u32>()) {
        (Some(stem), Ok(number)) if !stem.is_empty() => (stem, u64::from(number) + 1),
        _ => (name, 2),
    };
    let names = (first..).map(|number| format!("{stem}v{number}"));
    names.into_iter().find(|name| !taken(name)).expect("names don't end")
}
