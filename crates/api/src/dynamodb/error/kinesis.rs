//! What is wrong with a Kinesis streaming destination of a table.

use crate::{ApproximateCreationDateTimePrecision, Error};

impl Error {
    /// Enabling a destination that is on. The first words are the same for every operation.
    pub fn kinesis_destination_not_off() -> Error {
        Error::validation(
            "Table is not in a valid state to enable Kinesis Streaming Destination: \
             EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation.",
        )
    }

    /// Disabling or updating a destination that is not on.
    pub fn kinesis_destination_not_active(operation: &str) -> Error {
        Error::validation(format!(
            "Table is not in a valid state to enable Kinesis Streaming Destination: \
             KinesisStreamingDestination must be ACTIVE to perform {operation} operation."
        ))
    }

    /// An update that names nothing to update.
    pub fn kinesis_update_without_change() -> Error {
        Error::validation(
            "Streaming destination cannot be updated with given parameters: UpdateKinesisStreamingConfiguration \
             cannot be null or contain only null values",
        )
    }

    /// An update to what is there already.
    pub fn kinesis_precision_unchanged(
        precision: ApproximateCreationDateTimePrecision,
        table_id: &str,
        stream_arn: &str,
    ) -> Error {
        Error::validation(format!(
            "Invalid Request: Precision is already set to the desired value of {} for tableId: {table_id}, \
             kdsArn: {stream_arn}",
            precision.as_str()
        ))
    }
}
