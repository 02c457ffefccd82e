//! What is wrong with an item, its key, or a batch of items.

use item::Item;

use crate::{Error, ErrorKind};

impl Error {
    /// The condition is false. `item` is the item that failed it, if the request asked for it.
    pub fn conditional_check_failed(item: Option<Item>) -> Error {
        Error { item, ..Error::new(ErrorKind::ConditionalCheckFailed, "The conditional request failed") }
    }

    /// An item without a key attribute.
    pub fn key_missing(name: &str) -> Error {
        Error::invalid_parameter(format_args!("Missing the key {name} in the item"))
    }

    /// An item whose key attribute has another type than the table defines.
    pub fn key_type_mismatch(name: &str, expected: &str, actual: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Type mismatch for key {name} expected: {expected} actual: {actual}"
        ))
    }

    /// A `Key` with other attributes than the table's key, or with other types.
    pub fn key_schema_mismatch() -> Error {
        Error::validation("The provided key element does not match the schema")
    }

    /// An empty key value. `kind` is `string` or `binary`.
    pub fn key_empty(name: &str, kind: &str) -> Error {
        Error::validation(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
             contain an empty {kind} value. Key: {name}"
        ))
    }

    /// A partition key over its limit. The missing blank is DynamoDB's.
    pub fn partition_key_too_long() -> Error {
        Error::invalid_parameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
    }

    /// A sort key over its limit.
    pub fn sort_key_too_long() -> Error {
        Error::invalid_parameter(
            "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        )
    }

    /// An update of a key attribute.
    pub fn key_not_updatable(name: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Cannot update attribute {name}. This attribute is part of the key"
        ))
    }

    /// An item to put over its limit.
    pub fn item_too_large() -> Error {
        Error::validation("Item size has exceeded the maximum allowed size")
    }

    /// An update that would take the item over its limit.
    pub fn item_to_update_too_large() -> Error {
        Error::validation("Item size to update has exceeded the maximum allowed size")
    }

    /// A write that would take an item collection over its limit.
    pub fn collection_too_large() -> Error {
        Error::new(ErrorKind::ItemCollectionSizeLimitExceeded, "Collection size exceeded.")
    }

    /// More items than a batch can have. `operation` is `BatchGetItem` or `BatchWriteItem`.
    pub fn batch_too_large(operation: &str) -> Error {
        Error::validation(format!("Too many items requested for the {operation} call"))
    }

    /// A batch that names an item twice.
    pub fn batch_duplicates() -> Error {
        Error::validation("Provided list of item keys contains duplicates")
    }
}
