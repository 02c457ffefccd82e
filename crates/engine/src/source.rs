//! What a Query or Scan reads: a table, or one of its indexes.

use api::{Error, Select};
use expression::Projection as Paths;
use item::{Item, ItemBuilder, ItemRef, ValueRef};
use store::{Key, Position, Space};

use crate::index;
use crate::table::{Index, IndexState, KeyAttribute, KeySchema, Projection, Table};

#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub table: &'a Table,
    pub index: Option<&'a Index>,
}

impl<'a> Source<'a> {
    /// The table, or its index of that name if it may be read so.
    pub fn find(
        table: &'a Table,
        index: Option<&str>,
        consistent: Option<bool>,
    ) -> Result<Source<'a>, Error> {
        let Some(name) = index else { return Ok(Source { table, index: None }) };
        let index = table.index(name).ok_or_else(|| Error::index_unknown(name))?;
        if index.is_global() && consistent == Some(true) {
            return Err(Error::consistent_read_on_global_index());
        }
        if index.state != IndexState::Active {
            return Err(Error::index_backfilling(name));
        }
        Ok(Source { table, index: Some(index) })
    }

    pub fn space(&self) -> Space {
        self.index.map_or_else(|| self.table.space(), Index::space)
    }

    /// The key that orders it.
    pub fn keys(&self) -> &'a KeySchema {
        self.index.map_or(&self.table.keys, |index| &index.keys)
    }

    /// Where an item lies in it.
    pub fn position(&self, item: ItemRef<'_>) -> Position {
        match self.index {
            Some(index) => index::position(self.table, index, item),
            None => self.table.keys.position(item),
        }
    }

    /// Where the table holds the item of a row.
    pub fn table_key(&self, row: ItemRef<'_>) -> Key {
        Key { space: self.table.space(), position: self.table.keys.position(row) }
    }

    /// The attributes that say where a page stopped: its own key and, in an index, the table's.
    pub fn page_key(&self, item: ItemRef<'_>) -> Item {
        let mut key = ItemBuilder::default();
        for attribute in self.page_key_attributes() {
            if let Some(value) = item.get(&attribute.name) {
                key.put(&attribute.name, value);
            }
        }
        key.build()
    }

    /// Refuses an ExclusiveStartKey with other attributes than those, or of other types.
    pub fn check_start_key(&self, start: ItemRef<'_>) -> Result<(), Error> {
        let mut names: Vec<&str> =
            self.page_key_attributes().map(|attribute| attribute.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if !start.iter().map(|(name, _)| name).eq(names) {
            return Err(Error::start_key_invalid());
        }
        let kind = |attribute: &KeyAttribute| start.get(&attribute.name).map(ValueRef::kind);
        if self.page_key_attributes().any(|attribute| kind(attribute) != Some(attribute.kind)) {
            return Err(Error::key_schema_mismatch());
        }
        self.table.keys.check_values(start)?;
        self.keys().check_values(start)
    }

    fn page_key_attributes(&self) -> impl Iterator<Item = &'a KeyAttribute> {
        let table = self.table.keys.attributes();
        self.index.into_iter().flat_map(|index| index.keys.attributes()).chain(table)
    }

    /// Refuses to read from a global index what it does not hold.
    pub fn check_select(&self, select: Option<Select>, projection: Option<&Paths>) -> Result<(), Error> {
        let Some(index) = self.index.filter(|index| index.is_global()) else { return Ok(()) };
        if select == Some(Select::AllAttributes) && index.projection != Projection::All {
            return Err(Error::all_attributes_not_projected(&index.name));
        }
        self.check_attributes(projection.into_iter().flat_map(Paths::top_level_names))
    }

    /// Refuses to read from a global index attributes that it does not hold.
    pub fn check_attributes<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<(), Error> {
        let Some(index) = self.index.filter(|index| index.is_global()) else { return Ok(()) };
        let mut missing: Vec<&str> = names.filter(|name| !self.holds(name)).collect();
        missing.dedup();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Error::attributes_not_projected(&index.name, &missing)),
        }
    }

    /// Whether a local index must look up the table for what the request wants to see.
    pub fn needs_table(&self, select: Option<Select>, projection: Option<&Paths>) -> bool {
        let Some(index) = self.index.filter(|index| !index.is_global()) else { return false };
        let everything = select == Some(Select::AllAttributes) && index.projection != Projection::All;
        everything || self.lacks_any(projection.into_iter().flat_map(Paths::top_level_names))
    }

    /// Whether a local index must look up the table for one of these attributes.
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
