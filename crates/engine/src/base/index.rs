//! Secondary indexes as functions of items: which row an item has in an index, what a write changes
//! there, and what that costs. Pure.
//!
//! The key of an index row is the index key followed by the table key: items with equal index keys have
//! rows of their own, in the order of the table key. The row's value is the projected item, the table's key
//! included.
//!
//! A row of a vector index has the vector as 32-bit numbers: the value of its attribute is a binary there. Without a
//! partition key in its SearchSchema, its rows have the same order as those of the table.
//!
//! What always holds: an index row is a function of its item ([`entry`]). The item alone gives the row, so a row is
//! never read in order to change it. A row that has all of its item shares the item's bytes: a write to a table with
//! twenty such indexes has them once in memory.

use api::limits;
use capacity::RowChange;
use item::{Item, ItemBuilder, ItemRef, Type, Value, ValueBuf, ValueRef};
use store::{Key, Position};

use crate::base::key::{self, EmptyKind};
use crate::base::size::Size;
use crate::base::table::{Index, KeyAttribute, Projection, Table, VectorSettings};

/// A longer table key is hashed, since stores bound the length of a key. Its rows then are in no meaningful
/// order among rows with equal index keys.
const TABLE_KEY_BYTES_MAX: usize = 256;

/// What a write changes in one index.
#[derive(Debug)]
pub struct IndexDifference {
    pub put: Option<(Key, Item)>,
    pub delete: Option<Key>,
    pub change: RowChange,
    pub units: f64,
    /// What a vector index meters, which has no units.
    pub vector_bytes: usize,
    pub growth: Size,
}

/// The row of an item in an index; none if the item lacks an index key attribute or the vector, or has a value there
/// that can't be indexed. The latter happens only to items that are older than the index.
pub fn entry(table: &Table, index: &Index, item: &Item) -> Option<(Key, Item)> {
    let row = row(table, index, item)?;
    Some((Key { space: index.space(), position: position(table, index, item.as_ref()) }, row))
}

/// What an index holds of an item, if it has the item.
fn row(table: &Table, index: &Index, item: &Item) -> Option<Item> {
    let indexable = |attribute: &KeyAttribute| {
        item.get(&attribute.name).is_some_and(|value| fault_of(index, attribute, value).is_none())
    };
    if !index.keys.attributes().all(indexable) {
        return None;
    }
    match &index.vector {
        Some(settings) => vector_row(table, index, settings, item),
        None => Some(projected(table, index, item)),
    }
}

/// The row of an item that replaces `old`. The two have one table key, so if their index keys are equal, the row stays
/// at the old one's key, which is not computed again.
fn next_entry(table: &Table, index: &Index, old: Option<(&Item, &Key)>, new: &Item) -> Option<(Key, Item)> {
    let has_equal_keys =
        |old: &Item| index.keys.attributes().all(|KeyAttribute { name, .. }| old.get(name) == new.get(name));
    match old {
        Some((item, key)) if has_equal_keys(item) => Some((key.clone(), row(table, index, new)?)),
        _ => entry(table, index, new),
    }
}

/// What a vector index holds of an item; none if the item has no vector that suits the index.
fn vector_row(table: &Table, index: &Index, settings: &VectorSettings, item: &Item) -> Option<Item> {
    let numbers = vector(settings, item.get(&settings.attribute)?).ok()?;
    let bytes = ValueBuf::from(Value::B(vector::encode(&numbers)));
    let mut row = ItemBuilder::default();
    for (name, value) in projected(table, index, item).as_ref().iter() {
        if name != settings.attribute {
            row.put(name, value);
        }
    }
    row.put(&settings.attribute, bytes.as_ref());
    Some(row.build())
}

/// The numbers of a vector, or what is wrong with it.
pub fn vector(settings: &VectorSettings, value: ValueRef<'_>) -> Result<Vec<f32>, VectorFault> {
    let list = value.as_list().ok_or(VectorFault::Type { element: None, actual: value.kind() })?;
    let mut numbers = Vec::with_capacity(settings.dimensions.min(list.len()));
    for (position, element) in list.iter().enumerate() {
        let number = element.as_number();
        let number = number.ok_or(VectorFault::Type { element: Some(position), actual: element.kind() })?;
        numbers.push(number.to_f32());
    }
    if numbers.len() != settings.dimensions {
        return Err(VectorFault::Size { actual: numbers.len() });
    }
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(element) => Err(VectorFault::TooLarge { element }),
        None => Ok(numbers),
    }
}

/// The size of an item as writes to its table are charged: a vector counts as the 32-bit numbers that its index holds.
pub fn metered_bytes(table: &Table, item: ItemRef<'_>) -> usize {
    let mut bytes = item.size_bytes();
    let mut counted: Vec<&str> = Vec::new();
    for settings in table.indexes.iter().filter_map(|index| index.vector.as_ref()) {
        let Some(value) = item.get(&settings.attribute).filter(|_| !counted.contains(&&*settings.attribute))
        else {
            continue;
        };
        counted.push(&settings.attribute);
        if value.as_list().is_some_and(|list| list.len() == settings.dimensions) {
            bytes = bytes - value.size_bytes() + settings.dimensions * size_of::<f32>();
        }
    }
    bytes
}

/// The position of an item's row in an index. `item` may be a page key: it has all key attributes of the
/// index and of the table.
pub fn position(table: &Table, index: &Index, item: ItemRef<'_>) -> Position {
    if index.vector.is_some() && index.keys.partition.is_empty() {
        return table.keys.position(item);
    }
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
fn projected(table: &Table, index: &Index, item: &Item) -> Item {
    let included = match &index.projection {
        Projection::All => return item.clone(),
        Projection::KeysOnly => &[][..],
        Projection::Include(names) => names.as_slice(),
    };
    let keys = index.keys.attributes().chain(table.keys.attributes()).map(|attribute| &attribute.name);
    let mut row = ItemBuilder::default();
    let filters = index.filters().iter().map(|attribute| &attribute.name);
    for name in keys.chain(filters).chain(included) {
        if let Some(value) = item.get(name) {
            row.put(name, value);
        }
    }
    row.build()
}

/// What replacing `old` by `new` changes in an index.
pub fn difference(table: &Table, index: &Index, old: Option<&Item>, new: Option<&Item>) -> IndexDifference {
    let before = old;
    let old = old.and_then(|item| entry(table, index, item));
    let replaced = before.zip(old.as_ref().map(|(key, _)| key));
    let new = new.and_then(|item| next_entry(table, index, replaced, item));
    debug_assert!(new.as_ref().is_none_or(|(key, row)| position(table, index, row.as_ref()) == key.position));
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
    let (units, vector_bytes) = match index.vector {
        Some(_) => (0.0, vector_bytes(change)),
        None => (change.units(), 0),
    };
    IndexDifference { put, delete, change, units, vector_bytes, growth: growth(change) }
}

/// How much more an index holds after a change.
fn growth(change: RowChange) -> Size {
    match change {
        RowChange::None => Size::default(),
        RowChange::Enter(bytes) => Size { items: 1, bytes: bytes as i64 },
        RowChange::Leave(bytes) => Size { items: -1, bytes: -(bytes as i64) },
        RowChange::Replace { old, new } | RowChange::Move { old, new } => {
            Size { items: 0, bytes: new as i64 - old as i64 }
        }
    }
}

/// What a change of a row in a vector index is metered as.
fn vector_bytes(change: RowChange) -> usize {
    let metered = |bytes: usize| bytes.max(limits::VECTOR_REQUEST_BYTES_MIN);
    match change {
        RowChange::None => 0,
        RowChange::Enter(bytes) | RowChange::Leave(bytes) => metered(bytes),
        RowChange::Replace { old, new } => metered(old.max(new)),
        RowChange::Move { old, new } => metered(old) + metered(new),
    }
}

/// An attribute of an item that can't be part of an index key, or be its vector.
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
    Vector { fault: VectorFault, dimensions: usize },
}

/// Why a value is no vector of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorFault {
    /// It is no list, or this element is no number.
    Type {
        element: Option<usize>,
        actual: Type,
    },
    Size {
        actual: usize,
    },
    /// This element is beyond the numbers of 32 bits.
    TooLarge {
        element: usize,
    },
}

/// Refuses an item whose index keys have the wrong type, are empty or too long, or whose vector does not suit its
/// index. Of an update, `before` is the item that it changes, and only attributes that differ are checked: an item from
/// before the index may keep what can't be indexed.
pub fn check(table: &Table, before: Option<ItemRef<'_>>, new: ItemRef<'_>) -> Result<(), IndexKeyError> {
    for index in table.indexes.iter().filter(|index| index.is_written()) {
        let refused = |attribute: &str, fault| {
            let (index, attribute) = (index.name.clone(), attribute.to_owned());
            Err(IndexKeyError { index, attribute, fault, by_update: before.is_some() })
        };
        let changed = |name: &str| {
            let value = new.get(name)?;
            (before.and_then(|before| before.get(name)) != Some(value)).then_some(value)
        };
        for attribute in index.keys.attributes() {
            let fault = changed(&attribute.name).and_then(|value| fault_of(index, attribute, value));
            if let Some(fault) = fault {
                return refused(&attribute.name, fault);
            }
        }
        for KeyAttribute { name, kind: expected } in index.filters() {
            if let Some(actual) = changed(name).map(ValueRef::kind).filter(|actual| actual != expected) {
                return refused(name, IndexKeyFault::Type { expected: *expected, actual });
            }
        }
        let Some(settings) = &index.vector else { continue };
        let value = changed(&settings.attribute);
        if let Some(Err(fault)) = value.map(|value| vector(settings, value)) {
            let dimensions = settings.dimensions;
            return refused(&settings.attribute, IndexKeyFault::Vector { fault, dimensions });
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
