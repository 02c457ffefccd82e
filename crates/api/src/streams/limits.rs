//! The fixed limits of DynamoDB Streams.

use std::time::Duration;

/// Streams that ListStreams answers with.
pub const LIST_STREAMS_PAGE_MAX: usize = 100;
/// Shards that DescribeStream answers with.
pub const DESCRIBE_STREAM_PAGE_MAX: usize = 100;
/// Records that GetRecords answers with.
pub const GET_RECORDS_PAGE_MAX: usize = 1000;
/// Bytes of records that GetRecords answers with.
pub const GET_RECORDS_BYTES_MAX: usize = 1024 * 1024;
/// How long a shard iterator can be used.
pub const ITERATOR_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// How long a record can be read.
pub const RECORD_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
