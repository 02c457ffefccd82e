//! Example data: a small table full of items, the same for the same model every time. Proofs, rehearsals,
//! `apply` and exports all load this.
//!
//! Counts are small: a few items of each entity without a parent, a few children of each parent, most of them for
//! the first parent. A child takes over its parent's key attributes, so that collections are
//! complete; an attribute that is part of another entity's key (`groupId` of a membership) takes its values
//! from there. Items get the size that the file declares. Literal rows of the file are taken as they are.

pub mod value;
pub mod variant;

use std::collections::BTreeMap;

use item::{Item, Value};

use crate::Model;
use crate::model::{Attribute, Entity, EntityId, SampleRow, TableId};
use crate::predict::item::Values;
use crate::template::Template;
use variant::variant_but;

/// The attribute that fills an item up to its declared size.
pub const FILLER: &str = "_filler";

/// How many combinations of partners are tried for one item.
const PARTNERS_MAX: usize = 64;

/// How much data.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Items of an entity that has no parent.
    pub roots: usize,
    /// Children of the first parent; the others have fewer, but at least one.
    pub children: usize,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale { roots: 4, children: 5 }
    }
}

/// The items of a whole model.
#[derive(Clone, Debug)]
pub struct Sample {
    pub items: Vec<SampleItem>,
}

/// One item, with its table and entity.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleItem {
    pub table: TableId,
    /// `None` for a literal row of a table.
    pub entity: Option<EntityId>,
    /// The name that the file gives it.
    pub name: Option<String>,
    /// Everything that is stored: attributes, keys of the table, keys of the indexes it is in.
    pub values: BTreeMap<String, Value>,
    /// The item of the parent entity it belongs to, by position.
    pub parent: Option<usize>,
}

/// The stored item with these attributes.
pub fn item(values: &Values) -> Item {
    values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
}

/// The values of the primary key.
pub fn key_of(model: &Model, table: TableId, item: &Values) -> Values {
    let is_key = |name: &str| model.table(table).key.as_ref().is_some_and(|key| key.names(name));
    item.iter().filter(|(name, _)| is_key(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl SampleItem {
    pub fn item(&self) -> Item {
        item(&self.values)
    }

    pub fn get(&self, attribute: &str) -> Option<Value> {
        self.values.get(attribute).cloned()
    }
}

impl Sample {
    pub fn of(&self, entity: EntityId) -> impl Iterator<Item = &SampleItem> {
        self.items.iter().filter(move |item| item.entity == Some(entity))
    }

    pub fn named(&self, name: &str) -> Option<&SampleItem> {
        self.items.iter().find(|item| item.name.as_deref() == Some(name))
    }

    /// Pairs of items, by position, with the same primary key: the second overwrites the first.
    pub fn collisions(&self, model: &Model) -> Vec<(usize, usize)> {
        let mut seen: BTreeMap<(usize, String), usize> = BTreeMap::new();
        let mut pairs = Vec::new();
        for (position, item) in self.items.iter().enumerate() {
            let Some(schema) = &model.table(item.table).key else { continue };
            let key: Vec<_> = schema.attributes().map(|key| item.values.get(&key.name)).collect();
            if let Some(earlier) = seen.insert((item.table.0, format!("{key:?}")), position) {
                pairs.push((earlier, position));
            }
        }
        pairs
    }
}

/// The literal rows of the file alone, of entities and of tables.
pub fn rows(model: &Model) -> Sample {
    let mut maker = Maker { model, scale: Scale::default(), items: Vec::new() };
    for id in model.entity_ids() {
        for row in &model.entity(id).samples {
            maker.row_of_entity(id, row);
        }
    }
    for table in model.table_ids() {
        maker.rows(table);
    }
    Sample { items: maker.items }
}

/// Renders the keys again after attributes were changed: those of the table, and of every index that the item
/// is now in. A random suffix is drawn from `random`.
pub fn rekey(model: &Model, id: EntityId, values: &mut BTreeMap<String, Value>, random: usize) {
    let entity = model.entity(id);
    let table = model.table_of(entity);
    let schemas = table.key.iter().chain(table.indexes.iter().map(|index| &index.key));
    for key in schemas.flat_map(|schema| schema.attributes()) {
        if entity.attribute(&key.name).is_none() {
            values.remove(&key.name);
        }
    }
    let made = keys(model, entity, values, random);
    values.extend(made);
}

/// Brings an item back to its declared size after it was changed.
pub fn refill(entity: &Entity, values: &mut BTreeMap<String, Value>) {
    values.remove(FILLER);
    fill(entity, values);
}

/// Generates example data.
pub fn sample(model: &Model, scale: Scale) -> Sample {
    let mut maker = Maker { model, scale, items: Vec::new() };
    for id in parents_first(model) {
        maker.entity(id);
    }
    for table in model.table_ids() {
        maker.rows(table);
    }
    Sample { items: maker.items }
}

/// Entities in the order of the file, except that each comes after the one it is `per`.
fn parents_first(model: &Model) -> Vec<EntityId> {
    let depth = |id: EntityId| {
        let parents = std::iter::successors(Some(id), |id| parent(model, *id));
        parents.take(model.entities.len()).count()
    };
    let mut ids: Vec<EntityId> = model.entity_ids().collect();
    ids.sort_by_key(|id| depth(*id));
    ids
}

/// The entity it is counted by, or the `1` side of a 1:N relation.
fn parent(model: &Model, id: EntityId) -> Option<EntityId> {
    let counted = model.entity(id).count.as_ref().and_then(|count| count.per);
    let related = || model.relations.iter().find(|one| !one.many_to_many && one.to == id && one.from != id);
    counted.or_else(|| related().map(|relation| relation.from))
}

struct Maker<'m> {
    model: &'m Model,
    scale: Scale,
    items: Vec<SampleItem>,
}

impl Maker<'_> {
    fn entity(&mut self, id: EntityId) {
        let entity = self.model.entity(id);
        for row in &entity.samples {
            self.row_of_entity(id, row);
        }
        for (parent, children) in self.families(id) {
            for child in 0..children {
                self.child(id, parent, child);
            }
        }
    }

    /// The next item of a family. Where part of its key names items of other entities, they are chosen so that no
    /// earlier item has the same key; if there are no such partners left, there is no item.
    fn child(&mut self, id: EntityId, parent: Option<usize>, child: usize) {
        for shift in 0..PARTNERS_MAX {
            let (given, chosen) = self.inherited(id, parent, child, shift);
            let item = self.made(id, parent, child, given, None);
            let Some(earlier) = self.with_key_of(&item) else { return self.items.push(item) };
            if chosen == 0 {
                return match self.is_same(id, &item, earlier) {
                    true => self.items.extend(self.other(id, parent, item)),
                    // Two items with one key: a mistake of the model, which proofs report.
                    false => self.items.push(item),
                };
            }
        }
    }

    fn with_key_of(&self, item: &SampleItem) -> Option<&SampleItem> {
        let key = key_of(self.model, item.table, &item.values);
        let same = |one: &&SampleItem| one.entity == item.entity;
        self.items.iter().filter(same).find(|one| key_of(self.model, one.table, &one.values) == key)
    }

    /// Whether what identifies them is equal: then one item was made twice.
    fn is_same(&self, id: EntityId, one: &SampleItem, other: &SampleItem) -> bool {
        let entity = self.model.entity(id);
        let declared: Vec<&str> = entity.identity.iter().map(|name| name.value.as_str()).collect();
        let names = if declared.is_empty() { key_attributes(entity) } else { declared };
        names.iter().all(|name| one.values.get(*name) == other.values.get(*name))
    }

    /// The item with another identity of the same parent. If the key has no room for one, there is no item, unless
    /// the file does not say what identifies it: then two items have one key.
    fn other(&self, id: EntityId, parent: Option<usize>, item: SampleItem) -> Option<SampleItem> {
        let entity = self.model.entity(id);
        let of_parent = parent.and_then(|position| self.items[position].entity);
        let kept = of_parent.map(|parent| key_attributes(self.model.entity(parent))).unwrap_or_default();
        let mut others =
            (1..=PARTNERS_MAX).filter_map(|number| variant_but(self.model, &item, number, &kept));
        let other = others.find(|other| self.with_key_of(other).is_none());
        other.or_else(|| entity.identity.is_empty().then_some(item))
    }

    /// For each parent item, how many children it gets; without parents, the roots.
    fn families(&self, id: EntityId) -> Vec<(Option<usize>, usize)> {
        let count = self.model.entity(id).count.as_ref();
        let typical = count.map_or(usize::MAX, |count| count.typical.ceil().max(1.0) as usize);
        let Some(parent) = parent(self.model, id) else {
            return vec![(None, self.scale.roots.min(typical))];
        };
        let positions = self.items.iter().enumerate().filter(|(_, item)| item.entity == Some(parent));
        let most = self.scale.children.min(typical).min(self.siblings(id, parent));
        positions
            .enumerate()
            .map(|(order, (position, _))| (Some(position), most.saturating_sub(order).max(1)))
            .collect()
    }

    /// How many children of one parent can have different keys. If everything but the parent's part of the key is
    /// borrowed, each child needs a partner of its own: a user can't be in more groups than there are.
    fn siblings(&self, id: EntityId, parent: EntityId) -> usize {
        let of_parent = key_attributes(self.model.entity(parent));
        let own = key_attributes(self.model.entity(id)).into_iter().filter(|name| !of_parent.contains(name));
        let partners = |name: &str| {
            let owner = owner(self.model, name).filter(|owner| *owner != id)?;
            Some(self.items.iter().filter(|item| item.entity == Some(owner)).count())
        };
        let most = own.map(partners).try_fold(1, |most, partners| Some(most.max(partners?)));
        most.unwrap_or(usize::MAX)
    }

    /// Attributes that the parent determines, and those that name items of other entities; and how many of the
    /// latter are in the key, so that other partners give another key.
    fn inherited(
        &self,
        id: EntityId,
        parent: Option<usize>,
        child: usize,
        shift: usize,
    ) -> (BTreeMap<String, Value>, usize) {
        let entity = self.model.entity(id);
        let mut given = BTreeMap::new();
        if let Some(parent) = parent.map(|position| &self.items[position]) {
            let keys = parent.entity.map(|id| key_attributes(self.model.entity(id))).unwrap_or_default();
            for name in keys.iter().filter(|name| entity.attribute(name).is_some()) {
                given.extend(parent.values.get(*name).map(|value| ((*name).to_owned(), value.clone())));
            }
        }
        // `shift` counts through all combinations of partners, as an odometer does.
        let (mut rest, mut in_key) = (shift, 0);
        let key = key_attributes(entity);
        for (name, attribute) in &entity.attributes {
            if given.contains_key(name) {
                continue;
            }
            let of_key = key.contains(&name.as_str());
            let offset = if of_key { rest } else { 0 };
            let Some((value, partners)) = self.borrowed(id, attribute, parent, child, offset) else {
                continue;
            };
            given.insert(name.clone(), value);
            if of_key && partners > 0 {
                in_key += 1;
                rest /= partners;
            }
        }
        (given, in_key)
    }

    /// A copy of the parent's attribute, or the value of an earlier entity's key; and among how many it was chosen,
    /// zero if there was no choice.
    fn borrowed(
        &self,
        id: EntityId,
        attribute: &Attribute,
        parent: Option<usize>,
        child: usize,
        offset: usize,
    ) -> Option<(Value, usize)> {
        if let (Some(copy), Some(parent)) = (&attribute.copy_of, parent) {
            let parent = &self.items[parent];
            if parent.entity == Some(copy.entity) {
                return Some((parent.get(&copy.attribute)?, 0));
            }
        }
        let owner = owner(self.model, &attribute.name).filter(|owner| *owner != id)?;
        let pool: Vec<&SampleItem> = self.items.iter().filter(|item| item.entity == Some(owner)).collect();
        let order = self.items.iter().filter(|item| item.entity == Some(id)).count();
        // Children of one parent get different partners; items without a parent take them in turn.
        let position = offset + if parent.is_some() { child } else { order };
        let chosen = pool.get(position % pool.len().max(1))?;
        Some((chosen.get(&attribute.name)?, pool.len()))
    }

    fn made(
        &self,
        id: EntityId,
        parent: Option<usize>,
        child: usize,
        given: BTreeMap<String, Value>,
        name: Option<String>,
    ) -> SampleItem {
        let entity = self.model.entity(id);
        let order = self.items.iter().filter(|item| item.entity == Some(id)).count();
        let mut values = given;
        let identifying = key_attributes(entity);
        for attribute in entity.attributes.values() {
            let in_key = identifying.contains(&attribute.name.as_str());
            let position = value::ItemPosition { entity: &entity.name, order, child, in_key };
            if !values.contains_key(&attribute.name) {
                let made = value::make(self.model, entity, attribute, position);
                values.extend(made.map(|value| (attribute.name.clone(), value)));
            }
        }
        values.extend(keys(self.model, entity, &values, order));
        fill(entity, &mut values);
        SampleItem { table: entity.table, entity: Some(id), name, values, parent }
    }

    /// A row of an entity gives some attributes; the others are generated.
    fn row_of_entity(&mut self, id: EntityId, row: &SampleRow) {
        let given = row.values.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect();
        let name = row.name.as_ref().map(|name| name.value.clone());
        let item = self.made(id, None, 0, given, name);
        self.items.push(item);
    }

    fn rows(&mut self, table: TableId) {
        for row in &self.model.table(table).samples {
            let values = row.values.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect();
            let name = row.name.as_ref().map(|name| name.value.clone());
            self.items.push(SampleItem { table, entity: None, name, values, parent: None });
        }
    }
}

/// The attributes that the table's key templates need.
fn key_attributes(entity: &Entity) -> Vec<&str> {
    entity.key_templates().flat_map(Template::attributes).collect()
}

/// The entity that an attribute identifies: the first whose key needs it.
fn owner(model: &Model, attribute: &str) -> Option<EntityId> {
    let needs = |id: &EntityId| model.entity(*id).key_templates().any(|template| template.uses(attribute));
    model.entity_ids().find(needs)
}

/// The keys of the table, and of each index whose `when` holds. A key that lacks an attribute is left out, as a
/// writer would do.
fn keys(
    model: &Model,
    entity: &Entity,
    values: &BTreeMap<String, Value>,
    order: usize,
) -> Vec<(String, Value)> {
    let table = model.table_of(entity);
    let of_table = table.key.iter().flat_map(|schema| schema.attributes().zip(entity.key_templates()));
    let of_indexes = entity
        .entries
        .iter()
        .filter(|entry| entry.has(values))
        .flat_map(|entry| table.index(entry.index).key.attributes().zip(entry.templates()));
    of_table
        .chain(of_indexes)
        .filter_map(|(key, template)| {
            let rendered = template.render(key.kind, |name| values.get(name).cloned(), order as u64);
            Some((key.name.clone(), rendered.ok()?))
        })
        .collect()
}

/// Fills up to the declared size exactly, unless the gap is shorter than the filler's name.
fn fill(entity: &Entity, values: &mut BTreeMap<String, Value>) {
    let Some(size) = &entity.size else { return };
    let item: Item = values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let missing = value::at_most_an_item(size.typical).saturating_sub(item.size_bytes() + FILLER.len());
    if missing > 0 {
        values.insert(FILLER.to_owned(), Value::S("x".repeat(missing)));
    }
}
