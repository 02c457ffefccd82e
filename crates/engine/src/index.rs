//! Secondary indexes as functions of items: which row an item has in an index, what a write changes
//! there, and what that costs. Pure.
//!
//! An index row lies at the index key, with the table key behind it: items that share an index key are
//! kept apart and come in the order of the table key. Its value is the projected item, the table's key
//! included.

use api::{Error, limits};
use item::{Item, ItemBuilder, ItemRef, ValueRef, View};
use store::{Key, Position};

use crate::key;
use crate::sizes::Size;
use crate::table::{Index, KeyAttribute, Projection, Table};

/// A longer table key is hashed, since stores bound the length of a key; only the order among equal index
/// keys suffers.
const TABLE_KEY_BYTES_MAX: usize = 256;

/// What a write changes in one index.
#[derive(Debug, Default)]
pub struct Difference {
    pub put: Option<(Key, Item)>,
    pub delete: Option<Key>,
    pub units: f64,
    pub growth: Size,
}

/// The row of an item in an index, or none if the item lacks a key attribute or has it in a form that
/// can't be indexed (which only items from before the index can).
pub fn entry(table: &Table, index: &Index, item: ItemRef<'_>) -> Option<(Key, Item)> {
    let indexable = |attribute: &KeyAttribute| {
        item.get(&attribute.name).is_some_and(|value| fault_of(index, attribute, value).is_none())
    };
    index.keys.attributes().all(indexable).then(|| {
        let key = Key { space: index.space(), position: position(table, index, item) };
        (key, projected(table, index, item))
    })
}

/// Where an item's row lies in an index. The item, or what stands for it, has all key attributes of
/// the index and of the table.
pub fn position(table: &Table, index: &Index, item: ItemRef<'_>) -> Position {
    let mut position = index.keys.position(item);
    let table_key = || table.keys.attributes().filter_map(|attribute| item.get(&attribute.name));
    let bytes = key::encoded(table_key());
    if bytes.len() <= TABLE_KEY_BYTES_MAX {
        position.sort.push(0);
        position.sort.extend_from_slice(&bytes);
    } else {
        position.sort.push(1);
        position.sort.extend_from_slice(&key::partition(table_key()).0);
    }
    position
}

/// The attributes of an item that an index holds.
fn projected(table: &Table, index: &Index, item: ItemRef<'_>) -> Item {
    let included = match &index.projection {
        Projection::All => return item.to_item(),
        Projection::KeysOnly => &[][..],
        Projection::Include(names) => names.as_slice(),
    };
    let keys = index.keys.attributes().chain(table.keys.attributes()).map(|attribute| &attribute.name);
    let mut row = ItemBuilder::default();
    for name in keys.chain(included) {
        if let Some(value) = item.get(name) {
            row.put(name, value);
        }
    }
    row.build()
}

/// What replacing `old` by `new` does to an index. The six cases of its charge: in neither, nothing;
/// entering or leaving, that row; the same row, nothing; the row changed in place, the larger;
/// the row moved, both.
pub fn difference(
    table: &Table,
    index: &Index,
    old: Option<ItemRef<'_>>,
    new: Option<ItemRef<'_>>,
) -> Difference {
    let old = old.and_then(|item| entry(table, index, item));
    let new = new.and_then(|item| entry(table, index, item));
    let size = |row: &Item| Some(row.as_ref().size_bytes());
    let growth =
        Size::growth(old.as_ref().map(|(_, row)| row.as_ref()), new.as_ref().map(|(_, row)| row.as_ref()));
    match (old, new) {
        (None, None) => Difference::default(),
        (None, Some((key, row))) => {
            let units = capacity::write_units(None, size(&row));
            Difference { put: Some((key, row)), delete: None, units, growth }
        }
        (Some((key, row)), None) => {
            let units = capacity::write_units(size(&row), None);
            Difference { put: None, delete: Some(key), units, growth }
        }
        (Some((old_key, old)), Some((key, new))) if old_key == key => {
            let units = if old == new { 0.0 } else { capacity::write_units(size(&old), size(&new)) };
            Difference { put: (old != new).then_some((key, new)), delete: None, units, growth }
        }
        (Some((old_key, old)), Some((key, new))) => {
            let units = capacity::write_units(size(&old), None) + capacity::write_units(None, size(&new));
            Difference { put: Some((key, new)), delete: Some(old_key), units, growth }
        }
    }
}

/// Refuses an item whose index keys have the wrong type, are empty or too long. Of an update, only the
/// attributes that it changes are looked at.
pub fn check(table: &Table, old: Option<ItemRef<'_>>, new: ItemRef<'_>, update: bool) -> Result<(), Error> {
    for index in table.indexes.iter().filter(|index| index.is_written()) {
        for attribute in index.keys.attributes() {
            let Some(value) = new.get(&attribute.name) else { continue };
            if update && old.and_then(|old| old.get(&attribute.name)) == Some(value) {
                continue;
            }
            if let Some(fault) = fault_of(index, attribute, value) {
                return Err(fault.error(index, attribute, value, update));
            }
        }
    }
    Ok(())
}

/// Why a value can't be part of an index key.
enum KeyFault {
    Type,
    Empty(&'static str),
    PartitionTooLong,
    SortTooLong,
}

fn fault_of(index: &Index, attribute: &KeyAttribute, value: ValueRef<'_>) -> Option<KeyFault> {
    if value.kind() != attribute.kind {
        return Some(KeyFault::Type);
    }
    match value.view() {
        View::S("") => return Some(KeyFault::Empty("string")),
        View::B([]) => return Some(KeyFault::Empty("binary")),
        _ => {}
    }
    let size = value.size_bytes();
    if index.keys.sort.contains(attribute) {
        (size > limits::SORT_KEY_BYTES_MAX).then_some(KeyFault::SortTooLong)
    } else {
        (size > limits::PARTITION_KEY_BYTES_MAX).then_some(KeyFault::PartitionTooLong)
    }
}

impl KeyFault {
    fn error(self, index: &Index, attribute: &KeyAttribute, value: ValueRef<'_>, update: bool) -> Error {
        match self {
            KeyFault::Type => Error::index_key_type_mismatch(
                &attribute.name,
                attribute.kind.name(),
                value.kind().name(),
                &index.name,
            ),
            KeyFault::Empty(kind) if update => Error::index_key_updated_to_empty(kind),
            KeyFault::Empty(kind) => Error::index_key_empty(kind, &index.name, &attribute.name),
            KeyFault::PartitionTooLong => Error::partition_key_too_long(),
            KeyFault::SortTooLong => Error::sort_key_too_long(),
        }
    }
}
