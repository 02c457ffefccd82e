//! What can be wrong with a value: with one that a client sent, and with one that was stored.

use crate::{NumberError, Type};

/// A value that has DynamoDB's shape but breaks one of its rules. The texts are DynamoDB's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")]
    NoType,
    #[error(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )]
    ManyTypes,
    #[error("{0}")]
    Number(#[from] NumberError),
    #[error("One or more parameter values were invalid: {}", empty_set(.0))]
    EmptySet(Type),
    /// The members as DynamoDB prints them: in the order sent, separated by `, `.
    #[error("{}", duplicates(.kind, .members))]
    Duplicates { kind: Type, members: String },
    #[error(
        "One or more parameter values were invalid: Null attribute value types must have the value of true"
    )]
    NullNotTrue,
    #[error(
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
    )]
    Nesting,
    #[error("Empty attribute name")]
    EmptyName,
    #[error("Attribute name is too large, must be less than 65536 bytes")]
    LongName,
}

impl ValueError {
    /// Whether DynamoDB treats the fault as one of the request's shape. PutItem, UpdateItem and DeleteItem then put
    /// `1 validation error detected: ` before the text; the caller adds it.
    pub fn is_request_shape(&self) -> bool {
        matches!(
            self,
            ValueError::EmptySet(_)
                | ValueError::Duplicates { .. }
                | ValueError::NullNotTrue
                | ValueError::Nesting
        )
    }
}

/// Grammar and spaces are DynamoDB's.
fn empty_set(kind: &Type) -> &'static str {
    match kind {
        Type::Ns => "An number set  may not be empty",
        Type::Bs => "Binary sets should not be empty",
        _ => "An string set  may not be empty",
    }
}

/// Three types, three texts; the missing space is DynamoDB's.
fn duplicates(kind: &Type, members: &str) -> String {
    const INVALID: &str = "One or more parameter values were invalid: ";
    match kind {
        Type::Ns => "Input collection contains duplicates".to_owned(),
        Type::Bs => format!("{INVALID}Input collection [{members}]of type BS contains duplicates."),
        _ => format!("{INVALID}Input collection [{members}] contains duplicates."),
    }
}

/// Stored bytes that are not an item: a fault of the disk or of this program, never of a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored item bytes cannot be read: {0}")]
pub struct Corrupt(pub &'static str);
