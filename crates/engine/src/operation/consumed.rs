//! The ConsumedCapacity of an answer.

use api::{Capacity, ConsumedCapacity, ReturnConsumedCapacity};

/// `asked` decides whether it is told at all, and whether the table's part stands by itself.
pub fn consumed(
    asked: Option<ReturnConsumedCapacity>,
    table_name: &str,
    units: f64,
) -> Option<ConsumedCapacity> {
    let table = match asked? {
        ReturnConsumedCapacity::None => return None,
        ReturnConsumedCapacity::Total => None,
        ReturnConsumedCapacity::Indexes => {
            Some(Capacity { capacity_units: Some(units), ..Capacity::default() })
        }
    };
    Some(ConsumedCapacity {
        table_name: Some(table_name.to_owned()),
        capacity_units: Some(units),
        table,
        ..ConsumedCapacity::default()
    })
}
