//! The checked model: what every other part of the workbench works on.
//!
//! Only [`crate::file::read`] makes it, so these always hold: ids point at something, templates name
//! attributes that exist, an index entry has a template for each key attribute of its index.

mod entity;
mod pattern;
mod place;
mod quantity;
mod settings;
mod table;

pub use entity::{Attribute, AttributeKind, CopyOf, Entity, EntityKey, IndexEntry, SampleRow, SyncOwner};
pub use pattern::{
    Action, ActionKind, AttributeChange, AttributesRead, Consistency, Expectation, FanOut, Grouping, OrderBy,
    Pattern, Read, ReadVerb, Write, WriteVerb,
};
pub use place::Place;
pub use quantity::{Cached, Count, Curve, Growth, Rate, Returns, Size, Skew};
pub use settings::{Allowance, RuleLevel, RuleSetting};
pub use table::{
    Billing, Capacity, Encryption, Index, IndexKind, KeyAttribute, KeySchema, Projection, StreamView, Table,
    TableClass, Throughput,
};

use indexmap::IndexMap;

use crate::{Span, Spanned};

/// Which table of [`Model::tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub usize);

/// Which index of its table's [`Table::indexes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub usize);

/// Which entity of [`Model::entities`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(pub usize);

/// A checked data model.
#[derive(Clone, Debug)]
pub struct Model {
    pub name: Spanned<String>,
    pub description: Option<String>,
    /// The Region whose prices and limits apply.
    pub region: Option<Spanned<String>>,
    /// Whether the data matters: rules on backups ask more of production.
    pub production: bool,
    pub tables: Vec<Table>,
    pub entities: Vec<Entity>,
    pub patterns: Vec<Pattern>,
    pub relations: Vec<Relation>,
    pub rules: Vec<RuleSetting>,
    pub allowances: Vec<Allowance>,
    /// Parts of imported documents that a model can't express, by format. The `model-format` crate puts them back.
    pub kept: IndexMap<String, serde_json::Value>,
}

/// `Customer 1:N Order`, `User M:N Group via Membership`.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    pub from: EntityId,
    pub to: EntityId,
    pub many_to_many: bool,
    pub via: Option<EntityId>,
    pub span: Span,
}

impl Model {
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.0]
    }

    pub fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.0]
    }

    pub fn table_of(&self, entity: &Entity) -> &Table {
        self.table(entity.table)
    }

    pub fn entity_named(&self, name: &str) -> Option<EntityId> {
        self.entities.iter().position(|entity| entity.name.value == name).map(EntityId)
    }

    pub fn pattern_named(&self, id: &str) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.id.value == id)
    }

    pub fn table_ids(&self) -> impl Iterator<Item = TableId> + use<> {
        (0..self.tables.len()).map(TableId)
    }

    pub fn entity_ids(&self) -> impl Iterator<Item = EntityId> + use<> {
        (0..self.entities.len()).map(EntityId)
    }

    pub fn entities_of(&self, table: TableId) -> impl Iterator<Item = (EntityId, &Entity)> {
        self.entities
            .iter()
            .enumerate()
            .filter(move |(_, entity)| entity.table == table)
            .map(|(position, entity)| (EntityId(position), entity))
    }

    /// Whether every entity has a key: if not, `design` can find them.
    pub fn has_keys(&self) -> bool {
        self.entities.iter().all(|entity| entity.key.is_some())
    }

    /// How many items an entity has, with `per` multiplied out; `None` if not declared.
    pub fn items(&self, id: EntityId) -> Option<f64> {
        let mut total = 1.0;
        let mut current = id;
        // A chain of `per` has no more links than there are entities: the file's reader refuses cycles.
        for _ in 0..=self.entities.len() {
            let count = self.entity(current).count.as_ref()?;
            total *= count.typical;
            match count.per {
                Some(parent) => current = parent,
                None => return Some(total),
            }
        }
        None
    }
}
