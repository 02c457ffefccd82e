//! What triggers need from outside: streams, rows, time and chance.

use std::pin::Pin;
use std::time::Duration;

use api::streams::{
    DescribeStreamInput, DescribeStreamOutput, GetRecordsInput, GetRecordsOutput, GetShardIteratorInput,
    GetShardIteratorOutput,
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// An account and a Region.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Namespace {
    pub account: String,
    pub region: String,
}

/// Ends when something happened.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The streams of a database, read as a client of DynamoDB Streams reads them.
#[async_trait]
pub trait Streams: Send + Sync + 'static {
    async fn describe_stream(
        &self,
        namespace: &Namespace,
        input: DescribeStreamInput,
    ) -> Result<DescribeStreamOutput, api::Error>;

    /// AT_TIMESTAMP must start at the first record that was written at that time or later: a mapping that
    /// starts at LATEST is read from the time at which it was created.
    async fn get_shard_iterator(
        &self,
        namespace: &Namespace,
        input: GetShardIteratorInput,
    ) -> Result<GetShardIteratorOutput, api::Error>;

    async fn get_records(
        &self,
        namespace: &Namespace,
        input: GetRecordsInput,
    ) -> Result<GetRecordsOutput, api::Error>;

    /// Ends when the stream may have new records or shards. What happens after this call counts, even if the
    /// future is not polled yet. It may end too often; if it ends too seldom, records are found a second later.
    fn changed(&self, stream_arn: &str) -> Sleep;
}

/// Named rows of bytes, durable once `put` or `delete` has returned.
#[async_trait]
pub trait Rows: Send + Sync + 'static {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RowsError>;

    async fn put(&self, name: &str, value: Vec<u8>) -> Result<(), RowsError>;

    /// It is no error if there is no such row.
    async fn delete(&self, name: &str) -> Result<(), RowsError>;

    /// The rows whose names start with the prefix, in the order of their names.
    async fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, RowsError>;
}

/// Why rows could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RowsError(pub String);

/// The source of time and random numbers.
pub trait Environment: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// The next random number.
    fn random(&self) -> u128;

    /// Waits. The default is tokio's clock, which a test can pause.
    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }
}
