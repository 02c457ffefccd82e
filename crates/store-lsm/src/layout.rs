//! The keys of rows and change logs in the one tree.
//!
//! ```text
//! row          1 | space 8 | partition 24 | sort …      -> value
//! log record   2 | log 8   | position 8                 -> record
//! log trimmed  3 | log 8                                -> position 8
//! log end      4 | log 8                                -> position 8, if the log came from another store
//! ```
//!
//! Numbers are big-endian, so the order of the bytes is the order of (space, partition, sort) and of
//! (log, position). One tree holds them all, so one memtable and one write-ahead log serve every row.

use std::ops::Bound;

use store::{Key, Log, LogPosition, Partition, Position, Range, Space, StoreError};

const ROW: u8 = 1;
const RECORD: u8 = 2;
const TRIMMED: u8 = 3;
const END: u8 = 4;

const NUMBER: usize = size_of::<u64>();
const SORT_START: usize = 1 + NUMBER + Partition::LENGTH;

pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

pub(crate) fn row_key(key: &Key) -> Vec<u8> {
    place(key.space, &key.position)
}

fn place(space: Space, position: &Position) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SORT_START + position.sort.len());
    bytes.push(ROW);
    bytes.extend_from_slice(&space.0.to_be_bytes());
    bytes.extend_from_slice(&position.partition.0);
    bytes.extend_from_slice(&position.sort);
    bytes
}

/// The place of a row inside its space, from its stored key.
pub(crate) fn row_place(stored: &[u8]) -> Result<(Partition, &[u8]), StoreError> {
    let place = stored.get(1 + NUMBER..).and_then(|rest| rest.split_first_chunk());
    let (partition, sort) =
        place.ok_or_else(|| StoreError::Corrupt(format!("a row has a key of {} bytes", stored.len())))?;
    Ok((Partition(*partition), sort))
}

/// The space of a row, or nothing for what belongs to a change log.
pub(crate) fn space_of(stored: &[u8]) -> Option<u64> {
    let (kind, rest) = stored.split_first()?;
    let number = rest.first_chunk()?;
    (*kind == ROW).then(|| u64::from_be_bytes(*number))
}

/// The stored keys of a range of rows. The range must not be empty.
pub(crate) fn row_bounds(range: &Range) -> Bounds {
    debug_assert!(!range.is_empty(), "the caller has checked that the range is not empty");
    let start = match &range.start {
        Bound::Included(position) => Bound::Included(place(range.space, position)),
        Bound::Excluded(position) => Bound::Excluded(place(range.space, position)),
        Bound::Unbounded => Bound::Included(numbered(ROW, range.space.0)),
    };
    let end = match &range.end {
        Bound::Included(position) => Bound::Included(place(range.space, position)),
        Bound::Excluded(position) => Bound::Excluded(place(range.space, position)),
        // The next kind of key follows the last space.
        Bound::Unbounded => Bound::Excluded(match range.space.0.checked_add(1) {
            Some(next) => numbered(ROW, next),
            None => vec![ROW + 1],
        }),
    };
    (start, end)
}

pub(crate) fn record_key(log: Log, position: u64) -> Vec<u8> {
    let mut bytes = numbered(RECORD, log.0);
    bytes.extend_from_slice(&position.to_be_bytes());
    bytes
}

/// The stored keys of the records behind `after`, up to and including `through`.
pub(crate) fn record_bounds(log: Log, after: LogPosition, through: LogPosition) -> Bounds {
    (Bound::Excluded(record_key(log, after.0)), Bound::Included(record_key(log, through.0)))
}

pub(crate) fn record_position(stored: &[u8]) -> Result<LogPosition, StoreError> {
    number(stored.get(1 + NUMBER..).unwrap_or_default()).map(LogPosition)
}

pub(crate) fn trimmed_key(log: Log) -> Vec<u8> {
    numbered(TRIMMED, log.0)
}

pub(crate) fn end_key(log: Log) -> Vec<u8> {
    numbered(END, log.0)
}

/// A stored number: the position up to which a log is trimmed, or the one at the end of a key.
pub(crate) fn number(stored: &[u8]) -> Result<u64, StoreError> {
    let bytes = stored
        .try_into()
        .map_err(|_| StoreError::Corrupt(format!("a log position has {} bytes", stored.len())))?;
    Ok(u64::from_be_bytes(bytes))
}

fn numbered(kind: u8, number: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + 2 * NUMBER);
    bytes.push(kind);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes
}
