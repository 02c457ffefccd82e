use super::{check_limit, check_stream_arn};
use crate::Error;
use crate::streams::{DescribeStreamInput, limits};
use crate::violation::Refuse;

impl Refuse for DescribeStreamInput {}

impl DescribeStreamInput {
    /// Checks the page's size, the ARN, and that a filter is complete.
    pub fn check(&self) -> Result<(), Error> {
        check_limit(self.limit, limits::DESCRIBE_STREAM_PAGE_MAX)?;
        check_stream_arn(&self.stream_arn)?;
        match &self.shard_filter {
            Some(filter) if filter.r#type.is_none() || filter.shard_id.is_none() => {
                Err(Error::invalid_parameter("ShardFilter must have a Type and a ShardId"))
            }
            _ => Ok(()),
        }
    }
}
