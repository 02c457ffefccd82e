//! What has to be created again, because it can't be changed.

use std::collections::{BTreeMap, BTreeSet};

use item::Type;

use super::conflict::Conflict;
use super::{composed, keys_of, table_named};
use crate::model::{Entity, Index, IndexKind, KeySchema, Model, Projection, Table};

/// What is created again, by the names that the old and the new model share.
#[derive(Clone, Debug, Default)]
pub struct Replaced {
    pub tables: BTreeSet<String>,
    pub indexes: BTreeSet<(String, String)>,
    /// Indexes whose key attributes must get other names too.
    pub rekeyed: BTreeSet<(String, String)>,
}

impl Replaced {
    /// What can't stay in any case: another key, other local indexes, another projection, keys that are composed
    /// differently.
    pub fn forced(old: &Model, new: &Model) -> Replaced {
        let mut replaced = Replaced::default();
        for table in &new.tables {
            let name = &table.name.value;
            let Some(earlier) = table_named(old, name) else { continue };
            if shape_of(earlier.key.as_ref()) != shape_of(table.key.as_ref())
                || locals(earlier) != locals(table)
            {
                replaced.tables.insert(name.clone());
                continue;
            }
            let clashing = clashing(old, new, earlier, table);
            for index in table.global_indexes() {
                let Some(id) = earlier.index_named(&index.name) else { continue };
                let differs = index_shape(earlier.index(id)) != index_shape(index);
                if differs || index.key.attributes().any(|key| clashing.contains(&key.name)) {
                    replaced.indexes.insert((name.clone(), index.name.value.clone()));
                }
            }
        }
        replaced
    }

    /// Adds the index that has the conflict, else the table. `false` if there was nothing left to add.
    pub fn resolve(&mut self, old: &Model, new: &Model, conflict: &Conflict) -> bool {
        let shared = |model: &Model, index: &str| {
            table_named(model, &conflict.table).is_some_and(|table| table.index_named(index).is_some())
        };
        if let Some(index) = conflict.index.as_ref().filter(|index| shared(old, index) && shared(new, index))
        {
            let index = (conflict.table.clone(), index.clone());
            self.indexes.insert(index.clone());
            if self.rekeyed.insert(index) {
                return true;
            }
        }
        let is_shared =
            table_named(old, &conflict.table).is_some() && table_named(new, &conflict.table).is_some();
        is_shared && self.tables.insert(conflict.table.clone())
    }
}

type Shape<'s> = Vec<(&'s str, Type, bool)>;

/// Names and types, partition attributes first.
fn shape(key: &KeySchema) -> Shape<'_> {
    let partition = key.partition.iter().map(|key| (key.name.as_str(), key.kind, true));
    partition.chain(key.sort.iter().map(|key| (key.name.as_str(), key.kind, false))).collect()
}

fn shape_of(key: Option<&KeySchema>) -> Option<Shape<'_>> {
    key.map(shape)
}

/// `None` projects everything.
fn index_shape(index: &Index) -> (IndexKind, Shape<'_>, Option<BTreeSet<&str>>) {
    let projected = match &index.projection.value {
        Projection::All => None,
        Projection::Keys => Some(BTreeSet::new()),
        Projection::Include(names) => Some(names.iter().map(|name| name.value.as_str()).collect()),
    };
    (index.kind, shape(&index.key), projected)
}

type IndexShape<'s> = (IndexKind, Shape<'s>, Option<BTreeSet<&'s str>>);

fn locals(table: &Table) -> BTreeMap<&str, IndexShape<'_>> {
    let local = table.indexes.iter().filter(|index| index.kind == IndexKind::Local);
    local.map(|index| (index.name.value.as_str(), index_shape(index))).collect()
}

/// Entities of both models that have the same key in this table.
pub fn stayers<'m>(
    old: &'m Model,
    new: &'m Model,
    table: &'m str,
) -> impl Iterator<Item = (&'m Entity, &'m Entity)> {
    new.entities.iter().filter_map(move |entity| {
        let earlier = old.entity(old.entity_named(&entity.name)?);
        let here = new.table_of(entity).name.value == table && old.table_of(earlier).name.value == table;
        (here && keys_of(earlier) == keys_of(entity)).then_some((earlier, entity))
    })
}

/// Key attributes that one item would have to hold in two forms.
pub fn clashing(old: &Model, new: &Model, earlier: &Table, table: &Table) -> BTreeSet<String> {
    let mut clashing = BTreeSet::new();
    for (was, is) in stayers(old, new, &table.name.value) {
        let had = composed(old, was);
        let has = composed(new, is).into_values();
        clashing.extend(
            has.filter(|one| had.get(&one.attribute).is_some_and(|other| !other.is_like(one)))
                .map(|one| one.attribute),
        );
    }
    let kinds = |table: &Table| -> BTreeMap<String, Type> {
        let keys = table.indexes.iter().flat_map(|index| index.key.attributes());
        keys.map(|key| (key.name.clone(), key.kind)).collect()
    };
    let were = kinds(earlier);
    clashing.extend(
        kinds(table)
            .into_iter()
            .filter(|(name, kind)| were.get(name).is_some_and(|was| was != kind))
            .map(|one| one.0),
    );
    clashing
}
