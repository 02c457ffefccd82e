//! What a Query or Scan reads: a table, or one of its indexes.

use api::{Operation, Select};
use expression::Projection as Paths;
use item::{Item, ItemBuilder, ItemRef, ValueRef};
use store::{Key, Position, Space};

use crate::base::index;
use crate::base::key::KeyError;
use crate::base::table::{Index, IndexState, KeyAttribute, KeySchema, Projection};
use crate::tables::catalog::LiveTable;

/// A table, or one of its indexes.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub table: &'a LiveTable,
    /// None if the table itself is read.
    pub index: Option<&'a Index>,
}

/// Why a table or index can't be read as a request asks. Indexes are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// The table has no such index.
    IndexUnknown(String),
    /// The operation can't read a vector index.
    IndexType(&'static str),
    /// A global index can't be read consistently.
    ConsistentRead,
    /// The index is not complete yet, or is being deleted.
    Backfilling(String),
    /// The request wants all attributes of a global index that does not project all.
    NotAllProjected(String),
    /// The request wants these attributes, which the global index does not project.
    NotProjected { index: String, attributes: Vec<String> },
    /// The start key has other attributes than the source's page key.
    StartKey,
    /// The start key has attributes of other types, or values that can't be keys.
    StartKeyValue(KeyError),
}

impl<'a> Source<'a> {
    /// The table, or its index of that name.
    pub fn find(
        table: &'a LiveTable,
        index: Option<&str>,
        consistent: Option<bool>,
        operation: Operation,
    ) -> Result<Source<'a>, SourceError> {
        let Some(name) = index else { return Ok(Source { table, index: None }) };
        let index = table.index(name).ok_or_else(|| SourceError::IndexUnknown(name.to_owned()))?;
        if index.vector.is_some() {
            return Err(SourceError::IndexType(operation.name()));
        }
        if index.is_global() && consistent == Some(true) {
            return Err(SourceError::ConsistentRead);
        }
        if index.state != IndexState::Active {
            return Err(SourceError::Backfilling(name.to_owned()));
        }
        Ok(Source { table, index: Some(index) })
    }

    /// The space of its rows.
    pub fn space(&self) -> Space {
        self.index.map_or_else(|| self.table.space(), Index::space)
    }

    /// The key that orders its rows.
    pub fn keys(&self) -> &'a KeySchema {
        self.index.map_or(&self.table.keys, |index| &index.keys)
    }

    /// The position of an item's row in it.
    pub fn position(&self, item: ItemRef<'_>) -> Position {
        match self.index {
            Some(index) => index::position(self.table, index, item),
            None => self.table.keys.position(item),
        }
    }

    /// The table's key for the item of a row.
    pub fn table_key(&self, row: ItemRef<'_>) -> Key {
        Key { space: self.table.space(), position: self.table.keys.position(row) }
    }

    /// The page key of an item, by which a page says where it stopped: the source's own key and, in an index,
    /// the table's.
    pub fn page_key(&self, item: ItemRef<'_>) -> Item {
        let mut key = ItemBuilder::default();
        for attribute in self.page_key_attributes() {
            if let Some(value) = item.get(&attribute.name) {
                key.put(&attribute.name, value);
            }
        }
        key.build()
    }

    /// Refuses an ExclusiveStartKey that is no page key.
    pub fn check_start_key(&self, start: ItemRef<'_>) -> Result<(), SourceError> {
        let mut names: Vec<&str> =
            self.page_key_attributes().map(|attribute| attribute.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if !start.iter().map(|(name, _)| name).eq(names) {
            return Err(SourceError::StartKey);
        }
        let kind = |attribute: &KeyAttribute| start.get(&attribute.name).map(ValueRef::kind);
        if self.page_key_attributes().any(|attribute| kind(attribute) != Some(attribute.kind)) {
            return Err(SourceError::StartKeyValue(KeyError::Schema));
        }
        self.table.keys.check_values(start).map_err(SourceError::StartKeyValue)?;
        self.keys().check_values(start).map_err(SourceError::StartKeyValue)
    }

    fn page_key_attributes(&self) -> impl Iterator<Item = &'a KeyAttribute> {
        let table = self.table.keys.attributes();
        self.index.into_iter().flat_map(|index| index.keys.attributes()).chain(table)
    }

    /// Refuses a Select or projection that wants more of a global index than it holds.
    pub fn check_select(
        &self,
        select: Option<Select>,
        projection: Option<&Paths>,
    ) -> Result<(), SourceError> {
        let Some(index) = self.index.filter(|index| index.is_global()) else { return Ok(()) };
        if select == Some(Select::AllAttributes) && index.projection != Projection::All {
            return Err(SourceError::NotAllProjected(index.name.clone()));
        }
        self.check_attributes(projection.into_iter().flat_map(Paths::top_level_names))
    }

    /// Refuses to read from a global index attributes that it does not hold.
    pub fn check_attributes<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<(), SourceError> {
        let Some(index) = self.index.filter(|index| index.is_global()) else { return Ok(()) };
        let mut attributes: Vec<String> = names.filter(|name| !self.holds(name)).map(str::to_owned).collect();
        attributes.dedup();
        match attributes.is_empty() {
            true => Ok(()),
            false => Err(SourceError::NotProjected { index: index.name.clone(), attributes }),
        }
    }

    /// Whether a local index must read the table's items for what the request wants to see.
    pub fn needs_table(&self, select: Option<Select>, projection: Option<&Paths>) -> bool {
        let Some(index) = self.index.filter(|index| !index.is_global()) else { return false };
        let everything = select == Some(Select::AllAttributes) && index.projection != Projection::All;
        everything || self.lacks_any(projection.into_iter().flat_map(Paths::top_level_names))
    }

    /// Whether a local index must read the table's items for one of these attributes.
    pub fn lacks_any<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        self.index.is_some_and(|index| !index.is_global()) && names.any(|name| !self.holds(name))
    }

    /// Whether its rows hold this attribute, if the item has it.
    fn holds(&self, name: &str) -> bool {
        let Some(index) = self.index else { return true };
        let included = match &index.projection {
            Projection::All => return true,
            Projection::KeysOnly => &[][..],
            Projection::Include(names) => names.as_slice(),
        };
        self.page_key_attributes().any(|attribute| attribute.name == name)
            || included.iter().any(|included| included == name)
    }
}
