//! The messages of DynamoDB Streams.

use crate::{Error, ErrorKind};

impl Error {
    /// A StreamArn that is not the ARN of a stream. The service refuses it with this name; the words follow
    /// its message for a table's ARN.
    pub fn stream_arn_invalid(arn: &str) -> Error {
        Error::validation(format!("Invalid StreamArn: Invalid ResourceArn provided as input {arn}"))
    }

    /// The stream does not exist, or was removed a day after it was disabled.
    pub fn stream_not_found(arn: &str) -> Error {
        Error::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: Stream: {arn} not found"),
        )
    }

    /// The stream has no such shard, or no longer.
    pub fn shard_not_found() -> Error {
        Error::new(ErrorKind::ResourceNotFound, "Requested resource not found: Shard does not exist")
    }

    /// A ShardIterator that no GetShardIterator or GetRecords returned.
    pub fn iterator_invalid() -> Error {
        Error::validation("Invalid ShardIterator")
    }

    /// A ShardIterator past its lifetime.
    pub fn iterator_expired() -> Error {
        Error::new(ErrorKind::ExpiredIterator, "The shard iterator has expired")
    }

    /// A record that is past its lifetime.
    pub fn record_trimmed() -> Error {
        Error::new(ErrorKind::TrimmedDataAccess, "The data you are trying to access has been trimmed")
    }

    /// A sequence number that is not in the shard.
    pub fn sequence_number_invalid(number: &str) -> Error {
        Error::validation(format!("Invalid SequenceNumber: {number} is not in the shard"))
    }

    /// The request would switch on what is on.
    pub fn stream_already_enabled(table: &str) -> Error {
        Error::validation(format!("Table already has an enabled stream: TableName: {table}"))
    }

    /// The request would switch off what is off.
    pub fn stream_already_disabled(table: &str) -> Error {
        Error::validation(format!("Table has no stream to disable: TableName: {table}"))
    }
}
