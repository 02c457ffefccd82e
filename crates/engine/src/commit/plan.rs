//! What a write is before it is carried out: one change of one item, and who asks for it.

use std::sync::Arc;

use expression::{Condition, Update};
use item::{Item, ItemRef};
use store::Key;

use crate::base::index;
use crate::base::origin::Origin;
use crate::base::version::Version;
use crate::tables::catalog::LiveTable;

/// A change of one item, decided but not yet done.
pub struct Plan {
    pub table: Arc<LiveTable>,
    /// The item's key, in the table's space.
    pub key: Key,
    pub change: Change,
    pub origin: Origin,
    /// The version of a change that was made in another Region. It is made here unless a later one was.
    pub version: Option<Version>,
    /// What must be true of the item for the change to happen.
    pub condition: Option<Condition>,
    /// Whether an item that fails the condition is shown to the client.
    pub show_failed_item: bool,
}

/// What a write does with the item.
pub enum Change {
    /// Makes the item, or replaces the one with its key.
    Put(Item),
    /// Makes the item; refused if there is one with its key.
    Insert(Item),
    Delete {
        key_attributes: Item,
    },
    Update {
        update: Box<Update>,
        /// What the update starts from if there is no item yet.
        key_attributes: Item,
    },
    /// Deletes the item if its time to live was over at this time, in seconds since 1970.
    Expire {
        now_s: u64,
    },
    /// Changes nothing: only the condition counts.
    Check {
        key_attributes: Item,
    },
}

impl Plan {
    /// A change that a client asks for, without a condition.
    pub fn of_client(table: Arc<LiveTable>, key: Key, change: Change) -> Plan {
        assert_eq!(key.space, table.space(), "the key of a plan belongs to its table");
        let (origin, version, condition) = (Origin::Client, None, None);
        Plan { table, key, change, origin, version, condition, show_failed_item: false }
    }

    /// The same plan under a condition.
    pub fn on_condition(self, condition: Option<Condition>, show_failed_item: bool) -> Plan {
        Plan { condition, show_failed_item, ..self }
    }

    /// Attributes that include the key, as far as the request named it.
    pub fn attributes(&self) -> Option<ItemRef<'_>> {
        match &self.change {
            Change::Put(item) | Change::Insert(item) => Some(item.as_ref()),
            Change::Delete { key_attributes }
            | Change::Update { key_attributes, .. }
            | Change::Check { key_attributes } => Some(key_attributes.as_ref()).filter(|key| !key.is_empty()),
            Change::Expire { .. } => None,
        }
    }

    /// What the rows of a put take: the item's, those of the indexes, and what is recorded of it, if the item that it
    /// replaces is no larger. Of another change it is not known before the item is read.
    pub fn row_bytes(&self) -> usize {
        match &self.change {
            Change::Put(item) | Change::Insert(item) => {
                let indexes = self.table.indexes.iter().filter(|index| index.is_written()).count();
                let images = if self.table.log.is_open() { 2 } else { 0 };
                item.stored_size_bytes() * (1 + indexes + images)
            }
            Change::Delete { .. } | Change::Update { .. } | Change::Expire { .. } | Change::Check { .. } => 0,
        }
    }

    /// The least that the write can cost in its table, whatever item it finds.
    pub fn table_units_min(&self) -> f64 {
        let new_bytes = match &self.change {
            Change::Put(item) | Change::Insert(item) => {
                Some(index::metered_bytes(&self.table, item.as_ref()))
            }
            Change::Delete { .. } | Change::Update { .. } | Change::Expire { .. } | Change::Check { .. } => {
                None
            }
        };
        capacity::write_units(None, new_bytes)
    }
}
