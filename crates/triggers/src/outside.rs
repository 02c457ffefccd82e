//! What triggers need from outside: streams here, and rows, time and chance as every service.

use api::streams::{
    DescribeStreamInput, DescribeStreamOutput, GetRecordsInput, GetRecordsOutput, GetShardIteratorInput,
    GetShardIteratorOutput,
};
use async_trait::async_trait;
pub use host::{Environment, Namespace, Rows, RowsError, Sleep};

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
