//! Keys as the arrays that `unnest` turns back into rows, and the numbers of the contract as SQL's.

use store::{Key, Log, LogPosition, Partition, Space};

use crate::failure::Failure;

/// The keys of one statement, column by column.
#[derive(Default)]
pub(crate) struct KeyColumns<'a> {
    pub(crate) spaces: Vec<i64>,
    pub(crate) partitions: Vec<&'a [u8]>,
    pub(crate) sorts: Vec<&'a [u8]>,
}

impl<'a> FromIterator<&'a Key> for KeyColumns<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Key>>(keys: I) -> Self {
        let mut columns = KeyColumns::default();
        for key in keys {
            columns.spaces.push(space_number(key.space));
            columns.partitions.push(&key.position.partition.0);
            columns.sorts.push(&key.position.sort);
        }
        columns
    }
}

/// Spaces are only ever compared for equality, so the bits may stay as they are.
pub(crate) fn space_number(space: Space) -> i64 {
    space.0.cast_signed()
}

/// As for spaces: one number for each log, in any order that is always the same.
pub(crate) fn log_number(log: Log) -> i64 {
    log.0.cast_signed()
}

/// Positions are counted up from 1, so what exceeds SQL's range lies beyond every record.
pub(crate) fn position_number(position: LogPosition) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

pub(crate) fn partition(bytes: &[u8]) -> Result<Partition, Failure> {
    let bytes = bytes
        .try_into()
        .map_err(|_| Failure::Unreadable(format!("a partition of {} bytes in lodestone_row", bytes.len())))?;
    Ok(Partition(bytes))
}
