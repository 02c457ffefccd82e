//! Errors of the older parameters, with DynamoDB's messages.

use api::{ComparisonOperator, Error};
use item::Type;

/// What is wrong with an older parameter.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    // ---- an operator and its values
    #[error("{INVALID}Invalid number of argument(s) for the {} ComparisonOperator", .0.as_str())]
    ArgumentCount(ComparisonOperator),
    #[error("{INVALID}ComparisonOperator {} is not valid for {} AttributeValue type", .0.as_str(), .1.name())]
    ArgumentType(ComparisonOperator, Type),
    #[error("{INVALID}AttributeValues inside AttributeValueList must be of same type")]
    ArgumentTypesDiffer,
    #[error(
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    )]
    BoundOrder,

    // ---- Expected
    #[error("{INVALID}Value and AttributeValueList cannot be used together for Attribute: {0}")]
    ValueAndList(String),
    #[error("{INVALID}Exists and ComparisonOperator cannot be used together for Attribute: {0}")]
    ExistsAndOperator(String),
    #[error(
        "{INVALID}Value or AttributeValueList must be used with ComparisonOperator: {} for Attribute: {attribute}",
        .operator.as_str()
    )]
    OperatorAlone { operator: ComparisonOperator, attribute: String },
    #[error("{INVALID}AttributeValueList can only be used with a ComparisonOperator for Attribute: {0}")]
    ListAlone(String),
    /// `exists` is `true`, or `null` if it was not given.
    #[error("{INVALID}Value must be provided when Exists is {exists} for Attribute: {attribute}")]
    ValueMissing { exists: &'static str, attribute: String },
    #[error("{INVALID}Value cannot be used when Exists is false for Attribute: {0}")]
    ValueOfNothing(String),

    // ---- KeyConditions
    #[error("Conditions can be of length 1 or 2 only")]
    KeyConditionCount,
    #[error("Attempted conditional constraint is not an indexable operation")]
    NotIndexable,

    // ---- AttributeUpdates
    #[error("{INVALID}Only DELETE action is allowed when no attribute value is specified")]
    ActionAlone,
    #[error("{INVALID}ADD action is not supported for the type {}", .0.name())]
    AddType(Type),
    #[error("{INVALID}DELETE action with value is not supported for the type {}", .0.name())]
    DeleteType(Type),
}

const INVALID: &str = "One or more parameter values were invalid: ";

impl Fault {
    /// The error of a Query or Scan.
    pub fn in_read(self) -> Error {
        Error::validation(self.to_string())
    }

    /// The error of a PutItem, UpdateItem or DeleteItem.
    pub fn in_write(self) -> Error {
        Error::request_shape(self)
    }
}
