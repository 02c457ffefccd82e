//! Predictions for known items: their rows in indexes, and what writing them costs.
//!
//! Uses the model alone and not the database: the proof compares the two.

use std::collections::BTreeMap;

use item::{Item, Value};

use super::{RowChange, Units};
use crate::model::{IndexId, Projection, Table};

/// An item by its attributes.
pub type Values = BTreeMap<String, Value>;

pub fn size_bytes(values: &Values) -> usize {
    values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect::<Item>().size_bytes()
}

/// The item's row in an index; `None` unless it has every key attribute.
pub fn row(table: &Table, index: IndexId, item: &Values) -> Option<Values> {
    let index = table.index(index);
    let has = |name: &str, kind| item.get(name).is_some_and(|value| value.kind() == kind);
    if !index.key.attributes().all(|key| has(&key.name, key.kind)) {
        return None;
    }
    let is_key = |name: &str| {
        index.key.names(name) || table.key.as_ref().is_some_and(|table_key| table_key.names(name))
    };
    let holds = |name: &str| match &index.projection.value {
        Projection::All => true,
        Projection::Keys => is_key(name),
        Projection::Include(names) => is_key(name) || names.iter().any(|one| one.value == name),
    };
    Some(
        item.iter()
            .filter(|(name, _)| holds(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// What replacing `old` by `new` does to an index. Both have the same primary key.
pub fn change(table: &Table, index: IndexId, old: Option<&Values>, new: Option<&Values>) -> RowChange {
    let old = old.and_then(|item| row(table, index, item));
    let new = new.and_then(|item| row(table, index, item));
    match (old, new) {
        (None, None) => RowChange::None,
        (None, Some(new)) => RowChange::Enter(size_bytes(&new)),
        (Some(old), None) => RowChange::Leave(size_bytes(&old)),
        (Some(old), Some(new)) if old == new => RowChange::None,
        (Some(old), Some(new)) => {
            let key = &table.index(index).key;
            let stays = key.attributes().all(|key| old.get(&key.name) == new.get(&key.name));
            let (old, new) = (size_bytes(&old), size_bytes(&new));
            if stays { RowChange::Replace { old, new } } else { RowChange::Move { old, new } }
        }
    }
}

/// What a write costs in the table and in each index.
pub fn write(table: &Table, old: Option<&Values>, new: Option<&Values>, factor: f64) -> Units {
    let changes = table.index_ids().map(|index| (index, change(table, index, old, new)));
    super::write(old.map(size_bytes), new.map(size_bytes), changes, factor)
}
