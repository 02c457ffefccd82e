//! Between DynamoDB JSON and canonical bytes, in one pass each way.

pub use jiter::Jiter;

use crate::{Item, ItemRef, ValueBuf, ValueError, ValueRef};

/// JSON that does not have the shape of an AttributeValue: DynamoDB's SerializationException.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(pub String);

/// Reads one AttributeValue. The outer error ends the request; the inner one waits, because DynamoDB
/// reports it only after checks of the request's other members.
pub fn read_value(_json: &mut Jiter<'_>) -> Result<Result<ValueBuf, ValueError>, ShapeError> {
    todo!()
}

/// Reads a map of AttributeValues, as in `Item` and `Key`.
pub fn read_item(_json: &mut Jiter<'_>) -> Result<Result<Item, ValueError>, ShapeError> {
    todo!()
}

pub fn write_value(_value: ValueRef<'_>, _out: &mut Vec<u8>) {
    todo!()
}

pub fn write_item(_item: ItemRef<'_>, _out: &mut Vec<u8>) {
    todo!()
}
