//! Where items of an entity are stored: in the table, and in each index they can be in.

use super::{Entity, EntityId, Index, IndexEntry, IndexId, KeyAttribute, KeySchema, Model, Table, TableId};
use crate::Span;
use crate::template::Template;

/// One entity in the table or in one index.
#[derive(Clone, Copy)]
pub struct Place<'m> {
    pub table_id: TableId,
    pub table: &'m Table,
    pub entity_id: EntityId,
    pub entity: &'m Entity,
    /// The index; `None` for the table itself.
    pub index: Option<(IndexId, &'m Index, &'m IndexEntry)>,
    pub schema: &'m KeySchema,
}

impl<'m> Place<'m> {
    /// Each partition attribute with its template.
    pub fn partition(self) -> Vec<(&'m KeyAttribute, &'m Template)> {
        let templates: Vec<&Template> = match self.index {
            Some((_, _, entry)) => entry.partition.iter().collect(),
            None => self.entity.key.iter().map(|key| &key.partition).collect(),
        };
        self.schema.partition.iter().zip(templates).collect()
    }

    /// Each sort attribute with its template.
    pub fn sort(self) -> Vec<(&'m KeyAttribute, &'m Template)> {
        let templates: Vec<&Template> = match self.index {
            Some((_, _, entry)) => entry.sort.iter().collect(),
            None => self.entity.key.iter().filter_map(|key| key.sort.as_ref()).collect(),
        };
        self.schema.sort.iter().zip(templates).collect()
    }

    /// `the table` or `index GSI1`, for messages.
    pub fn name(self) -> String {
        match self.index {
            Some((_, index, _)) => format!("index `{}`", index.name.value),
            None => format!("table `{}`", self.table.name.value),
        }
    }

    /// The span of the keys in the file.
    pub fn span(self) -> Span {
        match (self.index, &self.entity.key) {
            (Some((_, _, entry)), _) => entry.span,
            (None, Some(key)) => key.span,
            (None, None) => self.entity.name.span,
        }
    }

    pub fn index_id(self) -> Option<IndexId> {
        self.index.map(|(id, _, _)| id)
    }
}

impl Model {
    /// Every entity that has keys, in the table and in each of its indexes.
    pub fn places(&self) -> Vec<Place<'_>> {
        self.entity_ids().flat_map(|id| self.places_of(id)).collect()
    }

    /// The table, and each index, that items of the entity can be in.
    pub fn places_of(&self, entity_id: EntityId) -> Vec<Place<'_>> {
        let entity = self.entity(entity_id);
        let table_id = entity.table;
        let table = self.table(table_id);
        let (Some(schema), Some(_)) = (&table.key, &entity.key) else { return Vec::new() };
        let base = Place { table_id, table, entity_id, entity, index: None, schema };
        let in_indexes = entity.entries.iter().map(|entry| {
            let index = table.index(entry.index);
            Place { index: Some((entry.index, index, entry)), schema: &index.key, ..base }
        });
        std::iter::once(base).chain(in_indexes).collect()
    }
}
