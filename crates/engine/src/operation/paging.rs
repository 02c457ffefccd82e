//! The parameters that Query and Scan share.

use api::Select;
use capacity::ReadMode;

use super::consumed::Units;
use crate::read::Page;
use crate::source::Source;

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

/// What a page cost: `walked` where it walked, and the rest in the table.
pub fn units(source: Source<'_>, page: &Page, walked: f64) -> Units {
    match source.index {
        Some(index) => Units { table: page.table_units, ..Units::of_index(&index.name, walked) },
        None => Units::of_table(walked),
    }
}
