//! What the change means for what is stored.
//!
//! Neither a table's key nor an index can be changed, only made anew; and an attribute can't hold the old and
//! the new key at once. So whatever would have to change in place gets another name, and the database goes
//! through three models: the old one, [`Layout::both`], in which everything old and everything new exists,
//! and [`Layout::target`], the new one with the names it really gets.
//!
//! Whether old and new can lie side by side is not guessed: the patterns of both models are planned against
//! the model of both. A pattern that would find strangers there shows that an index, or the table, must be
//! made anew.

mod both;
mod conflict;

use std::collections::{BTreeMap, BTreeSet};

use item::Type;
use serde::Serialize;

use crate::model::{Entity, EntityId, Index, IndexKind, KeySchema, Model, Projection, Table, TableId};
use crate::predicate::Predicate;
use crate::template::Template;
use conflict::Conflict;

#[derive(Clone, Debug)]
pub struct Layout {
    pub old: Model,
    /// The new model under the names that the database gives it.
    pub target: Model,
    /// Old and new side by side. Its entities and patterns are those of `target`, then what only the old
    /// model has; so ids of `target` hold here.
    pub both: Model,
    /// In the order of the target's entities, then those that go.
    pub fates: Vec<Fate>,
    pub renames: Vec<Rename>,
}

/// What becomes of the items of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Same table, same key: at most, further attributes are written.
    Stays {
        old: EntityId,
        new: EntityId,
    },
    /// Another table or key: each item is copied. `both` is the old form in the model of both.
    Moves {
        old: EntityId,
        new: EntityId,
        both: EntityId,
    },
    Added {
        new: EntityId,
    },
    Removed {
        old: EntityId,
        both: EntityId,
    },
}

/// What can't have its name, because the old one has it as long as both are there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rename {
    /// `table`, `index` or `attribute`.
    pub what: &'static str,
    pub table: String,
    pub from: String,
    pub to: String,
}

/// A key attribute that a writer composes: what is put into it, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    pub attribute: String,
    pub template: Template,
    pub when: Option<Predicate>,
    pub kind: Type,
}

/// What is made anew, by the names that the old and the new model share.
#[derive(Clone, Debug, Default)]
struct Replaced {
    tables: BTreeSet<String>,
    indexes: BTreeSet<(String, String)>,
    /// Indexes whose keys must be written under other names too.
    rekeyed: BTreeSet<(String, String)>,
}

/// The index keys that writers compose for items of an entity. What items have anyway is not among them.
pub fn composed(model: &Model, entity: &Entity) -> BTreeMap<String, Derived> {
    let table = model.table_of(entity);
    let mut composed = BTreeMap::new();
    for entry in &entity.entries {
        for (key, template) in table.index(entry.index).key.attributes().zip(entry.templates()) {
            if is_own(table, entity, &key.name) {
                continue;
            }
            composed.entry(key.name.clone()).or_insert_with(|| Derived {
                attribute: key.name.clone(),
                template: template.clone(),
                when: entry.when.clone(),
                kind: key.kind,
            });
        }
    }
    composed
}

/// Whether items have the attribute in any case: as data, or as the table's key.
fn is_own(table: &Table, entity: &Entity, attribute: &str) -> bool {
    entity.attribute(attribute).is_some() || table.key.as_ref().is_some_and(|key| key.names(attribute))
}

impl Derived {
    /// `CUST#{customerId}#{status} when status = OPEN`.
    pub fn formula(&self) -> String {
        match &self.when {
            Some(when) => format!("{} when {when}", self.template),
            None => self.template.to_string(),
        }
    }

    /// Whether the same is written in the same cases.
    pub fn is_like(&self, other: &Derived) -> bool {
        self.kind == other.kind && self.formula() == other.formula()
    }

    /// The attributes it is made of.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        let terms = self.when.iter().flat_map(|when| &when.terms);
        let named = terms.map(|term| term.attribute.value.as_str()).filter(|name| !name.is_empty());
        self.template.attributes().chain(named)
    }
}

impl Layout {
    pub fn between(old: &Model, new: &Model) -> Layout {
        let mut replaced = Replaced::forced(old, new);
        // Each round makes something more anew, of which there are only so many.
        loop {
            let layout = Layout::with(old, new, &replaced);
            match layout.conflict() {
                Some(conflict) if replaced.resolve(old, new, &conflict) => {}
                _ => return layout,
            }
        }
    }

    fn with(old: &Model, new: &Model, replaced: &Replaced) -> Layout {
        let mut target = new.clone();
        let mut renames = Vec::new();
        for (position, table) in new.tables.iter().enumerate() {
            let name = &table.name.value;
            if replaced.tables.contains(name) {
                rename_table(old, &mut target.tables[position], &mut renames);
            } else if let Some(earlier) = table_named(old, name) {
                rename_attributes(old, new, replaced, earlier, &mut target.tables[position], &mut renames);
                rename_indexes(replaced, earlier, &mut target, TableId(position), &mut renames);
            }
        }
        let (both, fates) = both::both(old, new, &target);
        Layout { old: old.clone(), target, both, fates, renames }
    }

    /// The name that an old table has in the target, if it is there.
    pub fn survives(&self, old_table: &str) -> bool {
        table_named(&self.target, old_table).is_some()
    }

    pub fn moves(&self) -> impl Iterator<Item = Fate> {
        self.fates.iter().copied().filter(|fate| matches!(fate, Fate::Moves { .. }))
    }

    /// Key attributes that are written in the new form of an entity, and not in the old one; nothing for
    /// items that are copied, which have all their keys from the start.
    pub fn gained(&self, fate: Fate) -> Vec<Derived> {
        let Fate::Stays { old, new } = fate else { return Vec::new() };
        let (had, has) = (self.composed_old(old), self.composed_target(new));
        has.into_values().filter(|one| !had.contains_key(&one.attribute)).collect()
    }

    /// And the other way round.
    pub fn lost(&self, fate: Fate) -> Vec<Derived> {
        let Fate::Stays { old, new } = fate else { return Vec::new() };
        let (had, has) = (self.composed_old(old), self.composed_target(new));
        had.into_values().filter(|one| !has.contains_key(&one.attribute)).collect()
    }

    fn composed_old(&self, id: EntityId) -> BTreeMap<String, Derived> {
        composed(&self.old, self.old.entity(id))
    }

    fn composed_target(&self, id: EntityId) -> BTreeMap<String, Derived> {
        composed(&self.target, self.target.entity(id))
    }
}

impl Replaced {
    /// What can't stay, whatever else is found: another key, other local indexes, another projection, keys
    /// that are composed otherwise.
    fn forced(old: &Model, new: &Model) -> Replaced {
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

    /// Whether there was something left to make anew: the index in which strangers are found, else the table.
    fn resolve(&mut self, old: &Model, new: &Model, conflict: &Conflict) -> bool {
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

pub fn table_named<'m>(model: &'m Model, name: &str) -> Option<&'m Table> {
    model.tables.iter().find(|table| table.name.value == name)
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

/// Entities of both models that lie in this table under the same key.
fn stayers<'m>(
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

pub fn keys_of(entity: &Entity) -> Vec<String> {
    entity.key_templates().map(Template::to_string).collect()
}

/// Key attributes that one item would have to hold in two forms.
fn clashing(old: &Model, new: &Model, earlier: &Table, table: &Table) -> BTreeSet<String> {
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

fn rename_table(old: &Model, table: &mut Table, renames: &mut Vec<Rename>) {
    let from = table.name.value.clone();
    let to = fresh(&from, |name| table_named(old, name).is_some());
    renames.push(Rename { what: "table", table: to.clone(), from, to: to.clone() });
    table.name.value = to;
}

fn rename_attributes(
    old: &Model,
    new: &Model,
    replaced: &Replaced,
    earlier: &Table,
    table: &mut Table,
    renames: &mut Vec<Rename>,
) {
    let name = table.name.value.clone();
    let mut attributes = clashing(old, new, earlier, table);
    let is_data = |attribute: &str| {
        let entities = old.entities.iter().chain(&new.entities);
        entities.into_iter().any(|entity| entity.attribute(attribute).is_some())
            || table.key.as_ref().is_some_and(|key| key.names(attribute))
    };
    for index in &table.indexes {
        if replaced.rekeyed.contains(&(name.clone(), index.name.value.clone())) {
            attributes.extend(index.key.attributes().map(|key| key.name.clone()));
        }
    }
    attributes.extend(borrowed(old, new, replaced, earlier, table));
    attributes.retain(|attribute| !is_data(attribute));
    for from in attributes {
        let taken = |name: &str| {
            let tables = old.tables.iter().chain(&new.tables);
            let mut keys =
                tables.flat_map(|table| table.key.iter().chain(table.indexes.iter().map(|one| &one.key)));
            is_data(name) || keys.any(|key| key.names(name))
        };
        let to = fresh(&from, taken);
        for index in &mut table.indexes {
            let keys = index.key.partition.iter_mut().chain(&mut index.key.sort);
            keys.filter(|key| key.name == from).for_each(|key| key.name.clone_from(&to));
        }
        renames.push(Rename { what: "attribute", table: name.clone(), from, to });
    }
}

/// Key attributes of old indexes that copied items would carry too, and so stand in those indexes.
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
    replaced: &Replaced,
    earlier: &Table,
    target: &mut Model,
    id: TableId,
    renames: &mut Vec<Rename>,
) {
    let table_name = target.table(id).name.value.clone();
    for position in 0..target.table(id).indexes.len() {
        let from = target.table(id).indexes[position].name.value.clone();
        if !replaced.indexes.contains(&(table_name.clone(), from.clone())) {
            continue;
        }
        let table = target.table(id);
        let to =
            fresh(&from, |name| earlier.index_named(name).is_some() || table.index_named(name).is_some());
        target.tables[id.0].indexes[position].name.value.clone_from(&to);
        let readers: Vec<usize> =
            (0..target.patterns.len()).filter(|one| reads_table(target, *one, id)).collect();
        for reader in readers {
            if let Some(index) = target.patterns[reader].index.as_mut().filter(|index| index.value == from) {
                index.value.clone_from(&to);
            }
        }
        renames.push(Rename { what: "index", table: table_name.clone(), from, to });
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
