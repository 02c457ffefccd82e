//! Who asks for a write.

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

    /// Whether the write is refused at once if a transaction is under way on its item. Only clients get
    /// the error and try again; other writes wait for the transaction in the store.
    pub fn meets_transactions(self) -> bool {
        match self {
            Origin::Client => true,
            Origin::Expiry | Origin::Restore | Origin::Import | Origin::Replica | Origin::BulkPut => false,
        }
    }
}
