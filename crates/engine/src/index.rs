//! Secondary indexes as functions of items: which row an item has in an index, what a write changes
//! there, and what that costs. Pure.
//!
//! The key of an index row is the index key followed by the table key: items with equal index keys have
//! rows of their own, in the order of the table key. The row's value is the projected item, the table's key
//! included.
//!
//! What always holds: an index row is a function of its item ([`entry`]), so whoever knows the item knows
//! the row, and it is never read to be changed.

use api::limits;
use capacity::RowChange;
use item::{Item, ItemBuilder, ItemRef, Type, ValueRef};
use store::{Key, Position};

use crate::key::{self, EmptyKind};
use crate::sizes::Size;
use crate::table::{Index, KeyAttribute, Projection, Table};

/// A longer table key is hashed, since stores bound the length of a key. Its rows then are in no meaningful
/// order among rows with equal index keys.
const TABLE_KEY_BYTES_MAX: usize = 256;

/// What a write changes in one index.
#[derive(Debug, Default)]
pub struct Difference {
    pub put: Option<(Key, Item)>,
    pub delete: Option<Key>,
    pub units: f64,
    pub growth: Size,
}

/// The row of an item in an index; none if the item lacks an index key attribute, or has a value there that
/// can't be indexed. The latter happens only to items that are older than the index.
pub fn entry(table: &Table, index: &Index, item: ItemRef<'_>) -> Option<(Key, Item)> {
    let indexable = |attribute: &KeyAttribute| {
        item.get(&attribute.name).is_some_and(|value| fault_of(index, attribute, value).is_none())
    };
    index.keys.attributes().all(indexable).then(|| {
        let key = Key { space: index.space(), position: position(table, index, item) };
        (key, projected(table, index, item))
    })
}

/// The position of an item's row in an index. `item` may be a page key: it has all key attributes of the
/// index and of the table.
pub fn position(table: &Table, index: &Index, item: ItemRef<'_>) -> Position {
    let mut position = index.keys.position(item);
    let table_key = || table.keys.attributes().filter_map(|attribute| item.get(&attribute.name));
    debug_assert_eq!(table_key().count(), table.keys.attributes().count(), "a row names its item");
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

/// What replacing `old` by `new` changes in an index.
pub fn difference(
    table: &Table,
    index: &Index,
    old: Option<ItemRef<'_>>,
    new: Option<ItemRef<'_>>,
) -> Difference {
    let old = old.and_then(|item| entry(table, index, item));
    let new = new.and_then(|item| entry(table, index, item));
    debug_assert!(new.as_ref().is_none_or(|(key, row)| position(table, index, row.as_ref()) == key.position));
    let growth =
        Size::growth(old.as_ref().map(|(_, row)| row.as_ref()), new.as_ref().map(|(_, row)| row.as_ref()));
    let (change, put, delete) = match (old, new) {
        (None, None) => (RowChange::None, None, None),
        (None, Some((key, new))) => (RowChange::Enter(new.size_bytes()), Some((key, new)), None),
        (Some((key, old)), None) => (RowChange::Leave(old.size_bytes()), None, Some(key)),
        (Some((old_key, old)), Some((key, new))) if old_key == key && old == new => {
            (RowChange::None, None, None)
        }
        (Some((old_key, old)), Some((key, new))) => {
            let (old, bytes) = (old.size_bytes(), new.size_bytes());
            match old_key == key {
                true => (RowChange::Replace { old, new: bytes }, Some((key, new)), None),
                false => (RowChange::Move { old, new: bytes }, Some((key, new)), Some(old_key)),
            }
        }
    };
    Difference { put, delete, units: change.units(), growth }
}

/// An attribute of an item that can't be part of an index key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexKeyError {
    pub index: String,
    pub attribute: String,
    pub fault: IndexKeyFault,
    /// Whether an update gave the attribute its value.
    pub by_update: bool,
}

/// Why a value can't be part of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKeyFault {
    Type { expected: Type, actual: Type },
    Empty(EmptyKind),
    PartitionTooLong,
    SortTooLong,
}

/// Refuses an item whose index keys have the wrong type, are empty or too long. Of an update, `before` is
/// the item that it changes, and only attributes that differ are checked: an item from before the index
/// may keep what can't be indexed.
pub fn check(table: &Table, before: Option<ItemRef<'_>>, new: ItemRef<'_>) -> Result<(), IndexKeyError> {
    for index in table.indexes.iter().filter(|index| index.is_written()) {
        for attribute in index.keys.attributes() {
            let Some(value) = new.get(&attribute.name) else { continue };
            if before.and_then(|before| before.get(&attribute.name)) == Some(value) {
                continue;
            }
            if let Some(fault) = fault_of(index, attribute, value) {
                let (index, attribute) = (index.name.clone(), attribute.name.clone());
                return Err(IndexKeyError { index, attribute, fault, by_update: before.is_some() });
            }
        }
    }
    Ok(())
}

fn fault_of(index: &Index, attribute: &KeyAttribute, value: ValueRef<'_>) -> Option<IndexKeyFault> {
    let (expected, actual) = (attribute.kind, value.kind());
    if actual != expected {
        return Some(IndexKeyFault::Type { expected, actual });
    }
    if let Some(kind) = EmptyKind::of(value) {
        return Some(IndexKeyFault::Empty(kind));
    }
    let size = value.size_bytes();
    if index.keys.sort.contains(attribute) {
        (size > limits::SORT_KEY_BYTES_MAX).then_some(IndexKeyFault::SortTooLong)
    } else {
        (size > limits::PARTITION_KEY_BYTES_MAX).then_some(IndexKeyFault::PartitionTooLong)
    }
}
