//! Keys as arrays for `unnest`, and the contract's numbers as SQL integers.

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

/// Spaces are only compared for equality, so the sign does not matter.
pub(crate) fn space_number(space: Space) -> i64 {
    space.0.cast_signed()
}

/// Logs need one number each and a fixed order, so the sign does not matter.
pub(crate) fn log_number(log: Log) -> i64 {
    log.0.cast_signed()
}

/// Positions count from 1, so a number outside SQL's range lies after every record.
pub(crate) fn position_number(position: LogPosition) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

pub(crate) fn partition(bytes: &[u8]) -> Result<Partition, Failure> {
    let bytes = bytes
        .try_into()
        .map_err(|_| Failure::Unreadable(format!("a partition of {} bytes in lodestone_row", bytes.len())))?;
    Ok(Partition(bytes))
}
