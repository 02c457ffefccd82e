//! What can be wrong with a value: with what a client sent, and with what was stored.

use crate::NumberError;

/// A value that has DynamoDB's shape but breaks one of its rules. The texts are DynamoDB's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")]
    NoType,
    #[error("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")]
    ManyTypes,
    #[error("{0}")]
    Number(#[from] NumberError),
}

/// Stored bytes that are not an item: a fault of the disk or of us, never of a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored item bytes cannot be read: {0}")]
pub struct Corrupt(pub &'static str);
