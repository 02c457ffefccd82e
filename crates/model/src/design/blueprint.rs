//! A design before it is text: the layout of each entity in the table and in each index. It is drawn as a
//! [`Model`], so that plans, predictions and heat judge it like any other model.

use std::collections::{BTreeMap, BTreeSet};

use item::Type;

use super::layout::{KeyLayout, Member};
use crate::model::{
    Attribute, AttributeKind, Entity, EntityId, EntityKey, Index, IndexEntry, IndexId, IndexKind,
    KeyAttribute, KeySchema, Projection, TableId, Throughput,
};
use crate::predicate::{Operand, Operator, Predicate, Term};
use crate::template::{Field, Form, Part, Template};
use crate::{Model, Span, Spanned};

/// Digits of a number whose maximum is not declared.
const DIGITS: usize = 10;

/// The table key of each entity, and all indexes.
#[derive(Clone, Debug, Default)]
pub struct Blueprint {
    pub table: BTreeMap<EntityId, TableKey>,
    pub indexes: Vec<PhysicalIndex>,
}

/// An entity's key in the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableKey {
    pub layout: KeyLayout,
    pub shards: u64,
    /// Whether the entity has partitions of its own although others are keyed by the same attributes.
    pub apart: bool,
}

impl TableKey {
    /// A key in shared partitions, without shards.
    pub fn plain(layout: KeyLayout) -> TableKey {
        TableKey { layout, shards: 1, apart: false }
    }
}

/// An index of the database, with the logical indexes that share it.
#[derive(Clone, Debug, PartialEq)]
pub struct PhysicalIndex {
    pub table: TableId,
    pub name: String,
    pub logical: Vec<LogicalIndex>,
}

/// What the keys of an index consist of, and whether it is local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexForm {
    /// Global, with keys that writers compose as text. Different entities can share one.
    Composed,
    /// Global, keyed by attributes that items have anyway, so the database maintains it. It holds every item that has
    /// all of them.
    Attributes,
    /// Local: the table's own partitions in another order; it allows strong reads.
    Local,
}

/// Entities that share partitions of an index, for some of the reads.
#[derive(Clone, Debug, PartialEq)]
pub struct LogicalIndex {
    pub form: IndexForm,
    pub layouts: Vec<(EntityId, KeyLayout)>,
    pub shards: u64,
    pub projection: Need,
    /// Whether sort keys begin with the entity's name, because other entities share the partitions.
    pub labelled: bool,
}

/// Attributes that reads need of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    All,
    These(BTreeSet<String>),
}

impl Need {
    pub fn nothing() -> Need {
        Need::These(BTreeSet::new())
    }

    /// What both need together.
    pub fn with(&self, other: &Need) -> Need {
        match (self, other) {
            (Need::These(one), Need::These(other)) => Need::These(one.union(other).cloned().collect()),
            _ => Need::All,
        }
    }
}

impl PhysicalIndex {
    /// All members have the same form.
    pub fn form(&self) -> IndexForm {
        self.logical.first().map_or(IndexForm::Composed, |logical| logical.form)
    }
}

impl LogicalIndex {
    pub fn entities(&self) -> impl Iterator<Item = EntityId> {
        self.layouts.iter().map(|(id, _)| *id)
    }

    pub fn partition(&self) -> &[String] {
        self.layouts.first().map_or(&[], |(_, layout)| layout.partition.as_slice())
    }
}

/// The identity of each entity, by its position.
pub type Identities = [Vec<String>];

/// The model with these keys and no others.
pub fn draw(model: &Model, identities: &Identities, blueprint: &Blueprint) -> Model {
    let mut drawn = model.clone();
    let naming = Naming { model, identities };
    let sorted: Vec<bool> = model.table_ids().map(|table| naming.needs_sort_key(blueprint, table)).collect();
    for (table, sorted) in drawn.tables.iter_mut().zip(&sorted) {
        table.key = Some(key_schema(table.key.take(), *sorted));
        table.indexes.clear();
    }
    for physical in &blueprint.indexes {
        let table = &drawn.tables[physical.table.0];
        let id = IndexId(table.indexes.len());
        let index = physical_index(model, blueprint, id, physical, table.key.as_ref());
        drawn.tables[physical.table.0].indexes.push(index);
    }
    for (position, entity) in drawn.entities.iter_mut().enumerate() {
        let id = EntityId(position);
        entity.key = blueprint.table.get(&id).map(|key| naming.table_key(id, key));
        if let Some(key) = entity.key.as_mut().filter(|_| !sorted[entity.table.0]) {
            key.sort = None;
        }
        entity.entries = entries(&naming, blueprint, id, entity.table);
        entity.attributes.values_mut().for_each(|attribute| attribute.declared = true);
    }
    drawn
}

/// The names in the file, if it has names for keys of text.
fn key_schema(given: Option<KeySchema>, sorted: bool) -> KeySchema {
    let text = |schema: &KeySchema| {
        schema.partition.len() == 1
            && schema.sort.len() == usize::from(sorted)
            && schema.attributes().all(|attribute| attribute.kind == Type::S)
    };
    given.filter(text).unwrap_or_else(|| KeySchema {
        partition: vec![key_attribute("PK")],
        sort: sorted.then(|| key_attribute("SK")).into_iter().collect(),
    })
}

fn key_attribute(name: &str) -> KeyAttribute {
    KeyAttribute { name: name.to_owned(), kind: Type::S, span: Span::default() }
}

/// The attributes that reads need and that are in no key.
fn need_beside_keys(model: &Model, blueprint: &Blueprint, logical: &LogicalIndex) -> Need {
    let Need::These(names) = &logical.projection else { return Need::All };
    let lacking = |name: &String| {
        logical.layouts.iter().any(|(id, layout)| {
            let in_table = blueprint.table.get(id).map(|key| key.layout.attributes()).unwrap_or_default();
            let in_keys = in_table.contains(name.as_str()) || layout.attributes().contains(name.as_str());
            model.entity(*id).attribute(name).is_some() && !in_keys
        })
    };
    Need::These(names.iter().filter(|name| lacking(name)).cloned().collect())
}

fn physical_index(
    model: &Model,
    blueprint: &Blueprint,
    index: IndexId,
    physical: &PhysicalIndex,
    table_key: Option<&KeySchema>,
) -> Index {
    let needs = physical.logical.iter().map(|logical| need_beside_keys(model, blueprint, logical));
    let need = needs.fold(Need::nothing(), |all, one| all.with(&one));
    let projection = match need {
        Need::All => Projection::All,
        Need::These(names) if names.is_empty() => Projection::Keys,
        Need::These(names) => {
            Projection::Include(names.into_iter().map(|name| Spanned::new(name, Span::default())).collect())
        }
    };
    Index {
        name: Spanned::new(physical.name.clone(), Span::default()),
        span: place_of_index(physical.table, index),
        kind: if physical.form() == IndexForm::Local { IndexKind::Local } else { IndexKind::Global },
        key: index_key(model, physical, table_key),
        projection: Spanned::new(projection, Span::default()),
        throughput: Throughput::default(),
        size: None,
    }
}

fn index_key(model: &Model, physical: &PhysicalIndex, table_key: Option<&KeySchema>) -> KeySchema {
    let own = |side: &str| vec![key_attribute(&format!("{}{side}", physical.name))];
    match physical.form() {
        IndexForm::Composed => KeySchema { partition: own("PK"), sort: own("SK") },
        IndexForm::Local => KeySchema {
            partition: table_key.map(|key| key.partition.clone()).unwrap_or_default(),
            sort: own("SK"),
        },
        IndexForm::Attributes => {
            let (id, layout) = &physical.logical[0].layouts[0];
            let typed = |name: &String| {
                let stored = model.entity(*id).attribute(name).map(|found| found.kind.stored());
                KeyAttribute { kind: stored.unwrap_or(Type::S), ..key_attribute(name) }
            };
            KeySchema {
                partition: layout.partition.iter().map(typed).collect(),
                sort: layout.sort.iter().map(|element| typed(&element.attribute)).collect(),
            }
        }
    }
}

fn entries(naming: &Naming<'_>, blueprint: &Blueprint, id: EntityId, table: TableId) -> Vec<IndexEntry> {
    let here = blueprint.indexes.iter().filter(|physical| physical.table == table);
    let entry = |(position, physical): (usize, &PhysicalIndex)| {
        if physical.form() == IndexForm::Attributes {
            return implied(naming.model.entity(id), IndexId(position), physical);
        }
        let logical = physical.logical.iter().find(|logical| logical.entities().any(|one| one == id))?;
        let (_, layout) = logical.layouts.iter().find(|(one, _)| *one == id)?;
        let partition = match logical.form {
            IndexForm::Local => naming.table_key(id, blueprint.table.get(&id)?).partition,
            _ => naming.index_partition(id, layout, logical.shards),
        };
        Some(IndexEntry {
            index: IndexId(position),
            when: predicate(&layout.members),
            partition: vec![partition],
            sort: vec![naming.index_sort(id, layout, logical.labelled || logical.layouts.len() > 1)],
            declared: true,
            span: place_of(id, IndexId(position)),
        })
    };
    here.enumerate().filter_map(entry).collect()
}

/// The entry of an entity that has all attributes of the index's key, whether a read asks for it or not.
fn implied(entity: &Entity, index: IndexId, physical: &PhysicalIndex) -> Option<IndexEntry> {
    let layout = &physical.logical[0].layouts[0].1;
    let has_all = layout.attributes().iter().all(|name| entity.attribute(name).is_some());
    let of = |name: &str| Template::of_attribute(name, Span::default());
    let optional = |name: &&str| entity.attribute(name).is_some_and(|attribute| attribute.optional);
    let absent = |name: &str| Member { attribute: name.to_owned(), value: None };
    let sort = || layout.sort.iter().map(|element| element.attribute.as_str());
    let in_order = layout.partition.iter().map(String::as_str).chain(sort());
    let members: Vec<Member> = in_order.filter(optional).map(absent).collect();
    has_all.then(|| IndexEntry {
        index,
        when: predicate(&members),
        partition: layout.partition.iter().map(|name| of(name)).collect(),
        sort: sort().map(of).collect(),
        declared: false,
        span: Span::default(),
    })
}

/// An attribute that differs within a partition, to compute shards from; `None` if a partition holds a single item.
pub fn spreading<'i>(identity: &'i [String], layout: &KeyLayout) -> Option<&'i str> {
    identity.iter().rev().find(|name| !layout.partition.contains(name)).map(String::as_str)
}

/// Spans far beyond any text, so that the file can allow a finding in one element alone.
const BEHIND_ALL_TEXT: usize = 1 << 40;
const BEHIND_ALL_ENTRIES: usize = 1 << 50;

/// The span of an entry.
fn place_of(id: EntityId, index: IndexId) -> Span {
    let start = BEHIND_ALL_TEXT + id.0 * 100 + index.0;
    Span::new(start, start + 1)
}

/// The span of an index.
fn place_of_index(table: TableId, index: IndexId) -> Span {
    let start = BEHIND_ALL_ENTRIES + table.0 * 100 + index.0;
    Span::new(start, start + 1)
}

fn predicate(members: &[Member]) -> Option<Predicate> {
    let term = |member: &Member| Term {
        attribute: Spanned::new(member.attribute.clone(), Span::default()),
        operator: if member.value.is_some() { Operator::Equal } else { Operator::Exists },
        operands: member.value.iter().cloned().map(Operand::Literal).collect(),
        span: Span::default(),
    };
    (!members.is_empty())
        .then(|| Predicate { terms: members.iter().map(term).collect(), span: Span::default() })
}

/// How keys are named and written.
struct Naming<'m> {
    model: &'m Model,
    identities: &'m Identities,
}

impl Naming<'_> {
    /// Whether some partition of the table holds more than one item. Otherwise a partition key alone is enough.
    fn needs_sort_key(&self, blueprint: &Blueprint, table: TableId) -> bool {
        let mut labels: Vec<String> = Vec::new();
        for (id, _) in self.model.entities_of(table) {
            let Some(key) = blueprint.table.get(&id).filter(|key| key.layout.sort.is_empty()) else {
                return true;
            };
            labels.push(self.table_key(id, key).partition.literal_prefix().to_owned());
        }
        let shared = |(at, label): (usize, &String)| labels[..at].iter().any(|other| other == label);
        let mut local = blueprint.indexes.iter().filter(|one| one.form() == IndexForm::Local);
        labels.iter().enumerate().any(shared) || local.any(|one| one.table == table)
    }

    fn table_key(&self, id: EntityId, key: &TableKey) -> EntityKey {
        let entity = self.model.entity(id);
        let own = label(&entity.name.value);
        let mut partition_label = self.partition_label(&key.layout.partition);
        if key.apart {
            partition_label = format!("{own}_{partition_label}");
        }
        let partition = self.partition(id, &partition_label, &key.layout, key.shards);
        let sort = self.sort(entity, Some(own), &key.layout);
        EntityKey { partition, sort: Some(sort), span: Span::default() }
    }

    fn index_partition(&self, id: EntityId, layout: &KeyLayout, shards: u64) -> Template {
        let entity = self.model.entity(id);
        let constants = layout.members.iter().filter_map(|member| member.value.as_deref());
        let label = match layout.partition.is_empty() {
            true => {
                let own = label(&entity.name.value);
                std::iter::once(own.as_str()).chain(constants).collect::<Vec<_>>().join("#")
            }
            false => self.partition_label(&layout.partition),
        };
        self.partition(id, &label, layout, shards)
    }

    fn index_sort(&self, id: EntityId, layout: &KeyLayout, labelled: bool) -> Template {
        let entity = self.model.entity(id);
        let own = (labelled || layout.sort.is_empty()).then(|| label(&entity.name.value));
        self.sort(entity, own, layout)
    }

    /// `CUSTOMER#{customerId}`, followed by a shard if there are several.
    fn partition(&self, id: EntityId, label: &str, layout: &KeyLayout, shards: u64) -> Template {
        let fields = layout.partition.iter().map(|name| Form::Attribute(name.clone()));
        let shard = || match spreading(&self.identities[id.0], layout) {
            Some(attribute) => Form::Shard { attribute: attribute.to_owned(), count: shards },
            None => Form::Random { count: shards },
        };
        let forms = fields.chain((shards > 1).then(shard));
        joined(Some(label.to_owned()), forms.map(|form| (form, None)))
    }

    fn sort(&self, entity: &Entity, label: Option<String>, layout: &KeyLayout) -> Template {
        let fields = layout.sort.iter().map(|element| {
            let digits = entity.attribute(&element.attribute).and_then(digits);
            match element.inverted {
                true => {
                    let attribute = element.attribute.clone();
                    (Form::Descending { attribute, digits: digits.unwrap_or(DIGITS) }, None)
                }
                false => (Form::Attribute(element.attribute.clone()), digits),
            }
        });
        joined(label, fields)
    }

    /// The entity that the attributes identify; else the attributes themselves.
    fn partition_label(&self, names: &[String]) -> String {
        let named = |name: &String| {
            let only = std::slice::from_ref(name);
            let owner = self.identities.iter().position(|identity| identity.as_slice() == only);
            let stem = name.strip_suffix("Id").or(name.strip_suffix("_id")).filter(|stem| !stem.is_empty());
            let own = label(stem.unwrap_or(name));
            let by_name = self.model.entities.iter().find(|one| label(&one.name.value) == own);
            match (by_name, owner) {
                (Some(entity), _) => label(&entity.name.value),
                (None, Some(position)) => label(&self.model.entities[position].name.value),
                (None, None) => own,
            }
        };
        names.iter().map(named).collect::<Vec<_>>().join("_")
    }
}

/// `LINE_ITEM` for `LineItem`.
pub fn label(name: &str) -> String {
    let mut label = String::new();
    let mut lower_before = false;
    for character in name.chars() {
        if character.is_uppercase() && lower_before {
            label.push('_');
        }
        lower_before = character.is_lowercase() || character.is_numeric();
        label.extend(if character.is_alphanumeric() { character } else { '_' }.to_uppercase());
    }
    label
}

/// `LABEL#{one}#{other}`.
fn joined(label: Option<String>, fields: impl Iterator<Item = (Form, Option<usize>)>) -> Template {
    let mut parts: Vec<Part> = label.map(Part::Literal).into_iter().collect();
    for (form, width) in fields {
        match parts.last_mut() {
            Some(Part::Literal(text)) => text.push('#'),
            Some(Part::Field(_)) => parts.push(Part::Literal("#".to_owned())),
            None => {}
        }
        parts.push(Part::Field(Field { form, width, span: Span::default() }));
    }
    Template { parts, span: Span::default() }
}

/// How many digits make the text order the order of numbers.
fn digits(attribute: &Attribute) -> Option<usize> {
    match attribute.kind {
        AttributeKind::Number => {
            let declared = attribute.max.map(|max| format!("{:.0}", max.abs().floor()).len());
            Some(declared.unwrap_or(DIGITS))
        }
        AttributeKind::Epoch => Some(10),
        AttributeKind::EpochMillis => Some(13),
        _ => None,
    }
}
