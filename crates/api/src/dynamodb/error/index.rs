//! What is wrong with an index, with a read from one, or with an index key.

use crate::{Error, ErrorKind};

impl Error {
    /// The index of a table operation does not exist.
    pub fn resource_not_found_index(index: &str, table: &str) -> Error {
        let message = format!("Requested resource not found: Index {index} for table {table}");
        Error::new(ErrorKind::ResourceNotFound, message)
    }

    /// An item operation names an index that its table does not have.
    pub fn index_unknown(index: &str) -> Error {
        Error::validation(format!("The table does not have the specified index: {index}"))
    }

    /// A read from an index that is still being built.
    pub fn index_backfilling(index: &str) -> Error {
        Error::validation(format!("Cannot read from backfilling global secondary index: {index}"))
    }

    /// UpdateTable that creates or deletes an index while another is created or deleted.
    pub fn one_index_change_at_a_time() -> Error {
        Error::new(
            ErrorKind::LimitExceeded,
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )
    }

    /// A global index of a provisioned table without provisioned throughput.
    pub fn index_throughput_missing(index: &str) -> Error {
        Error::invalid_parameter(format_args!("ProvisionedThroughput is not specified for index: {index}"))
    }

    /// A global index of an on-demand table with provisioned throughput.
    pub fn index_throughput_on_demand(index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "ProvisionedThroughput should not be specified for index: {index} when BillingMode is \
             PAY_PER_REQUEST"
        ))
    }

    /// UpdateTable with the throughput that the global index already has.
    pub fn index_throughput_unchanged(index: &str, read_units: i64, write_units: i64) -> Error {
        Error::validation(format!(
            "The provisioned throughput for the index {index} will not change. The requested value equals the \
             current value. Current ReadCapacityUnits provisioned for the index: {read_units}. Requested \
             ReadCapacityUnits: {read_units}. Current WriteCapacityUnits provisioned for the index: \
             {write_units}. Requested WriteCapacityUnits: {write_units}. Refer to the Amazon DynamoDB \
             Developer Guide for current limits and how to request higher limits."
        ))
    }

    /// A consistent read from a global index.
    pub fn consistent_read_on_global_index() -> Error {
        Error::validation("Consistent reads are not supported on global secondary indexes")
    }

    /// Select ALL_ATTRIBUTES on a global index that holds only some attributes.
    pub fn all_attributes_not_projected(index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index {index} because its \
             projection type is not ALL"
        ))
    }

    /// A projection expression that asks a global index for attributes that it does not hold.
    pub fn attributes_not_projected(index: &str, names: &[&str]) -> Error {
        let names = names.join(", ");
        Error::invalid_parameter(format_args!("Global secondary index {index} does not project [{names}]"))
    }

    /// An item whose index key attribute has another type than the table defines.
    pub fn index_key_type_mismatch(name: &str, expected: &str, actual: &str, index: &str) -> Error {
        Error::invalid_parameter(format_args!(
            "Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"
        ))
    }

    /// A put with an empty index key. `kind` is `string` or `binary`.
    pub fn index_key_empty(kind: &str, index: &str, name: &str) -> Error {
        Error::validation(format!(
            "One or more parameter values are not valid. A value specified for a secondary index key is not \
             supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. \
             IndexName: {index}, IndexKey: {name}"
        ))
    }

    /// An update that makes an index key empty. `kind` is `string` or `binary`.
    pub fn index_key_updated_to_empty(kind: &str) -> Error {
        Error::validation(format!(
            "One or more parameter values are not valid. The update expression attempted to update a secondary \
             index key to a value that is not supported. The AttributeValue for a key attribute cannot contain \
             an empty {kind} value."
        ))
    }
}
