//! The contract's numbers as SQL integers, and back.

use store::{Log, LogPosition, Partition, Space};

use crate::failure::Failure;

/// Spaces are only compared for equality, so the sign does not matter.
pub(crate) fn space_number(space: Space) -> i64 {
    space.0.cast_signed()
}

/// Logs need one number each and a fixed order, so the sign does not matter.
pub(crate) fn log_number(log: Log) -> i64 {
    log.0.cast_signed()
}

/// Positions count from 1, so a number outside SQL's range is after every record.
pub(crate) fn position_number(position: LogPosition) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

/// The position that a row holds.
pub(crate) fn position(number: i64) -> Result<LogPosition, Failure> {
    let number =
        u64::try_from(number).map_err(|_| Failure::Unreadable(format!("a log position {number}")))?;
    Ok(LogPosition(number))
}

pub(crate) fn partition(bytes: &[u8]) -> Result<Partition, Failure> {
    let bytes = bytes
        .try_into()
        .map_err(|_| Failure::Unreadable(format!("a partition of {} bytes in lodestone_row", bytes.len())))?;
    Ok(Partition(bytes))
}
