//! DescribeStream: a stream and its shards, or the children of one of them.

use api::Error;
use api::streams::{DescribeStreamInput, DescribeStreamOutput, StreamDescription, limits};

use super::authorization::access::{Access, Resource};
use super::description::key_schema;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::change_log::Shard;
use crate::operation::Engine;

pub(super) struct DescribeStream;

impl Serve for DescribeStream {
    type Input = DescribeStreamInput;
    type Output = DescribeStreamOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeStreamInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeStream", Resource::arn(&input.stream_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeStreamInput,
    ) -> Result<DescribeStreamOutput, Error> {
        input.check()?;
        let stream = engine.stream(caller, &input.stream_arn)?;
        let parent = input.shard_filter.as_ref().and_then(|filter| filter.shard_id.as_deref());
        let parent = parent.map(|id| stream.shard(id).map(|shard| shard.number));
        let is_wanted =
            |shard: &&Shard| parent.is_none_or(|parent| parent.is_some() && shard.parent == parent);
        let mut shards: Vec<(String, &Shard)> =
            stream.shards.iter().filter(is_wanted).map(|shard| (stream.shard_id(shard), shard)).collect();
        shards.sort_by(|(left, _), (right, _)| left.cmp(right));
        if let Some(after) = &input.exclusive_start_shard_id {
            shards.retain(|(id, _)| id > after);
        }
        let limit = input.limit.map_or(limits::DESCRIBE_STREAM_PAGE_MAX, |limit| limit as usize);
        let is_last = shards.len() <= limit;
        shards.truncate(limit);
        let description = StreamDescription {
            creation_request_date_time: Some(stream.stream.created_ms as f64 / 1000.0),
            key_schema: Some(key_schema(&stream.keys)),
            last_evaluated_shard_id: shards.last().map(|(id, _)| id.clone()).filter(|_| !is_last),
            shards: Some(shards.into_iter().map(|(_, shard)| stream.describe_shard(shard)).collect()),
            stream_arn: Some(stream.arn()),
            stream_label: Some(stream.stream.label()),
            stream_status: Some(stream.status),
            stream_view_type: Some(stream.stream.view),
            table_name: Some(stream.table.clone()),
        };
        Ok(DescribeStreamOutput { stream_description: Some(description) })
    }
}
