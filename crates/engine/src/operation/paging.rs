//! What Query and Scan have in common besides the page itself.

use api::{Error, Select};
use capacity::ReadMode;
use item::{Item, ItemRef};
use store::Consistency;

use crate::read::Page;
use crate::table::Table;

pub fn consistency(consistent_read: Option<bool>) -> Consistency {
    match consistent_read {
        Some(true) => Consistency::Latest,
        _ => Consistency::Eventual,
    }
}

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

pub fn count_only(select: Option<Select>) -> bool {
    select == Some(Select::Count)
}

/// Refuses an ExclusiveStartKey that is not a key of the table.
pub fn check_start_key(table: &Table, start: ItemRef<'_>) -> Result<(), Error> {
    match table.keys.matches(start) {
        true => table.keys.check_values(start),
        false => Err(Error::start_key_invalid()),
    }
}

/// The LastEvaluatedKey of a page that stopped before the end.
pub fn last_evaluated_key(table: &Table, page: &Page) -> Option<Item> {
    page.stopped_at.as_ref().map(|item| table.keys.pick(item.as_ref()))
}
