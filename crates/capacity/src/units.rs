//! What requests cost in read and write capacity units: the one definition that the database charges with
//! and the workbench predicts with.
//!
//! DynamoDB rounds once for each thing that it rounds (an item, or the sum of a page). The factor for
//! consistency or for a transaction comes after the rounding.
//!
//! | request | units |
//! |---|---|
//! | GetItem, each key of a BatchGetItem | [`read_units`] of the item |
//! | Query page | [`read_units`] of the sum of the items it examined |
//! | Scan page | [`scan_units`] |
//! | each key of a TransactGetItems | [`read_units`], [`ReadMode::Transactional`] |
//! | PutItem, UpdateItem, DeleteItem, each member of a BatchWriteItem | [`write_units`] |
//! | a failed condition | [`write_units`] of the item as it is |
//! | each action of a TransactWriteItems | [`write_units`] × [`TRANSACTION_FACTOR`], its index rows × 1 |
//! | the same transaction sent again with its token | [`read_units`] of the larger image, [`ReadMode::Transactional`] |
//! | each index row of a write | [`RowChange::units`] |
//! | each row that a back-fill writes | [`RowChange::Enter`], charged to the index |
//! | a delete by time to live | nothing |

/// What one read unit covers.
pub const READ_UNIT_BYTES: usize = 4096;
/// What one write unit covers.
pub const WRITE_UNIT_BYTES: usize = 1024;
/// A new on-demand table can take four partitions' worth of traffic.
pub const PARTITIONS_ON_DEMAND: u64 = 4;
/// The reads that one partition sustains each second.
pub const PARTITION_READ_UNITS: u64 = 3000;
/// The writes that one partition sustains each second.
pub const PARTITION_WRITE_UNITS: u64 = 1000;

/// What a transaction pays for each unit of a table, read or written. Index rows cost the same as outside
/// of a transaction.
pub const TRANSACTION_FACTOR: f64 = 2.0;

/// What a read pays for its consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Half a unit for 4 KB.
    Eventual,
    /// One unit for 4 KB.
    Strong,
    /// [`TRANSACTION_FACTOR`] units for 4 KB.
    Transactional,
}

impl ReadMode {
    fn factor(self) -> f64 {
        match self {
            ReadMode::Eventual => 0.5,
            ReadMode::Strong => 1.0,
            ReadMode::Transactional => TRANSACTION_FACTOR,
        }
    }
}

/// Reading one item, or one page of a Query (the sum of all items evaluated). A read that finds
/// nothing costs as much as the smallest item.
pub fn read_units(size_bytes: usize, mode: ReadMode) -> f64 {
    whole_units(size_bytes, READ_UNIT_BYTES) * mode.factor()
}

/// One page of a Scan: at least one unit for each partition it visited.
pub fn scan_units(size_bytes: usize, partitions_visited: u64, mode: ReadMode) -> f64 {
    whole_units(size_bytes, READ_UNIT_BYTES).max(partitions_visited as f64) * mode.factor()
}

/// Writing one item: the larger of what was there and what is there now.
pub fn write_units(old_bytes: Option<usize>, new_bytes: Option<usize>) -> f64 {
    whole_units(old_bytes.unwrap_or(0).max(new_bytes.unwrap_or(0)), WRITE_UNIT_BYTES)
}

/// What a write does to an item's row in one index, with the sizes of the rows in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// There is no row, or it stays as it is.
    None,
    /// The row is new.
    Enter(usize),
    /// The row is deleted.
    Leave(usize),
    /// Only projected attributes change: the row is written in place.
    Replace {
        /// The row as it was.
        old: usize,
        /// The row as it is now.
        new: usize,
    },
    /// The index key changes: the old row is deleted and a new one put.
    Move {
        /// The row as it was.
        old: usize,
        /// The row as it is now.
        new: usize,
    },
}

impl RowChange {
    /// What the index is charged.
    pub fn units(self) -> f64 {
        match self {
            RowChange::None => 0.0,
            RowChange::Enter(bytes) => write_units(None, Some(bytes)),
            RowChange::Leave(bytes) => write_units(Some(bytes), None),
            RowChange::Replace { old, new } => write_units(Some(old), Some(new)),
            RowChange::Move { old, new } => write_units(Some(old), None) + write_units(None, Some(new)),
        }
    }

    /// How many rows of the index are written.
    pub fn writes(self) -> u64 {
        match self {
            RowChange::None => 0,
            RowChange::Enter(_) | RowChange::Leave(_) | RowChange::Replace { .. } => 1,
            RowChange::Move { .. } => 2,
        }
    }
}

/// How many partitions a provisioned throughput is spread over.
pub fn partitions_provisioned(read_units: u64, write_units: u64) -> u64 {
    let share =
        read_units as f64 / PARTITION_READ_UNITS as f64 + write_units as f64 / PARTITION_WRITE_UNITS as f64;
    (share.ceil() as u64).max(1)
}

fn whole_units(size_bytes: usize, unit_bytes: usize) -> f64 {
    size_bytes.div_ceil(unit_bytes).max(1) as f64
}
