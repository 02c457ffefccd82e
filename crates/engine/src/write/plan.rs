//! What a write is before it is carried out: one change of one item, and who asks for it.

use std::sync::Arc;

use expression::{Condition, Update};
use item::{Item, ItemRef};
use store::Key;

use crate::catalog::LiveTable;
use crate::index;
use crate::replication::Version;

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

/// What becomes of the item.
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

/// Who asks for a write. What a write of each origin need not do is decided by the methods here and nowhere
/// else. The size limit of items holds for every origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A request of a client.
    Client,
    /// The deletion of an item whose time to live is over.
    Expiry,
    /// The copy of a backup, or of an earlier state, into a new table.
    Restore,
    /// The import of files into a table.
    Import,
    /// A change that was made in another Region.
    Replica,
    /// An item of a bulk put into a table that is in use.
    BulkPut,
}

impl Origin {
    /// Every origin.
    pub const ALL: [Origin; 6] =
        [Origin::Client, Origin::Expiry, Origin::Restore, Origin::Import, Origin::Replica, Origin::BulkPut];

    /// Its number in change records.
    pub fn code(self) -> u8 {
        match self {
            Origin::Client => 0,
            Origin::Expiry => 1,
            Origin::Restore => 2,
            Origin::Import => 3,
            Origin::Replica => 4,
            Origin::BulkPut => 5,
        }
    }

    /// The inverse of [`Origin::code`].
    pub fn from_code(code: u8) -> Option<Origin> {
        Origin::ALL.into_iter().find(|origin| origin.code() == code)
    }

    /// Whether the write uses the table's throughput and is refused if none is left. Expiry, restore and
    /// import are free at DynamoDB, and bulk puts are billed by bytes. A replica's write is paid for in each Region;
    /// one that is refused is tried again.
    pub fn uses_throughput(self) -> bool {
        match self {
            Origin::Client | Origin::Replica => true,
            Origin::Expiry | Origin::Restore | Origin::Import | Origin::BulkPut => false,
        }
    }

    /// Whether an item is refused whose attributes can't be part of an index. A restored table has all items of its
    /// source: those that are older than an index, and that it can't hold, are not in it there either. What another
    /// Region has accepted is kept, also if an index here can't hold it.
    pub fn checks_index_keys(self) -> bool {
        match self {
            Origin::Client | Origin::Expiry | Origin::Import | Origin::BulkPut => true,
            Origin::Restore | Origin::Replica => false,
        }
    }

    /// Whether the plan's condition is evaluated. Expiry has one: the item may have been given more time.
    /// The other origins bring states of items that were decided elsewhere.
    pub fn checks_condition(self) -> bool {
        match self {
            Origin::Client | Origin::Expiry | Origin::BulkPut => true,
            Origin::Restore | Origin::Import | Origin::Replica => false,
        }
    }

    /// Whether the write is refused at once if a transaction is under way on its item. Only clients are told
    /// to try again; other writes wait for the transaction in the store.
    pub fn meets_transactions(self) -> bool {
        match self {
            Origin::Client => true,
            Origin::Expiry | Origin::Restore | Origin::Import | Origin::Replica | Origin::BulkPut => false,
        }
    }
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
