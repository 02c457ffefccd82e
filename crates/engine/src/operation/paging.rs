//! The parameters that Query and Scan share.

use api::Select;
use capacity::ReadMode;

/// The ConsistentRead parameter.
pub fn read_mode(consistent_read: Option<bool>) -> ReadMode {
    match consistent_read {
        Some(true) => ReadMode::Strong,
        _ => ReadMode::Eventual,
    }
}

/// The Limit parameter; it was checked to be positive.
pub fn limit(limit: Option<i32>) -> Option<usize> {
    limit.and_then(|limit| usize::try_from(limit).ok())
}

/// Whether Select asks for the number of items alone.
pub fn count_only(select: Option<Select>) -> bool {
    select == Some(Select::Count)
}
