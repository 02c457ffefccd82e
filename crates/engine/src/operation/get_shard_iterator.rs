//! GetShardIterator: a place in a shard to read on from.

use api::Error;
use api::streams::{GetShardIteratorInput, GetShardIteratorOutput, ShardIteratorType};
use store::LogPosition;

use super::authorization::access::{Access, Resource};
use super::shard_iterator::ShardIterator;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::change_log::Shard;
use crate::base::fault;
use crate::log::stream;
use crate::operation::Engine;

pub(super) struct GetShardIterator;

impl Serve for GetShardIterator {
    type Input = GetShardIteratorInput;
    type Output = GetShardIteratorOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r GetShardIteratorInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:GetShardIterator", Resource::arn(&input.stream_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: GetShardIteratorInput,
    ) -> Result<GetShardIteratorOutput, Error> {
        input.check()?;
        let view = engine.stream(caller, &input.stream_arn)?;
        let shard = view.shard(&input.shard_id).ok_or_else(Error::shard_not_found)?;
        let after = position(engine, &input, shard).await?;
        let iterator = ShardIterator {
            stream_arn: view.arn(),
            shard: shard.number,
            after,
            issued_ms: engine.environment.now_ms(),
        };
        Ok(GetShardIteratorOutput { shard_iterator: Some(iterator.to_string()) })
    }
}

/// The position after which the iterator reads.
async fn position(
    engine: &Engine,
    input: &GetShardIteratorInput,
    shard: &Shard,
) -> Result<LogPosition, Error> {
    let after = match input.shard_iterator_type {
        ShardIteratorType::TrimHorizon => shard.start(),
        ShardIteratorType::Latest => {
            let end = engine.store.log_end(shard.log()).await.map_err(fault::of_store)?;
            shard.end().map_or(end, |closed| end.min(closed))
        }
        ShardIteratorType::AtSequenceNumber => {
            let at = sequence_number(engine, input, shard)?;
            LogPosition(at.0.saturating_sub(1))
        }
        ShardIteratorType::AfterSequenceNumber => sequence_number(engine, input, shard)?,
        ShardIteratorType::AtTimestamp => {
            let time_us = (input.timestamp.unwrap_or(0.0).max(0.0) * 1e6) as u64;
            LogPosition::through(time_us.saturating_sub(1))
        }
    };
    Ok(after.max(shard.start()))
}

/// The sequence number that the request names. It must be one of the shard's, and not trimmed.
fn sequence_number(
    engine: &Engine,
    input: &GetShardIteratorInput,
    shard: &Shard,
) -> Result<LogPosition, Error> {
    let text = input.sequence_number.as_deref().unwrap_or_default();
    let position = stream::position(text).ok_or_else(|| Error::sequence_number_invalid(text))?;
    if position <= shard.start() || shard.end().is_some_and(|end| position > end) {
        return Err(Error::sequence_number_invalid(text));
    }
    if position < engine.stream_horizon() {
        return Err(Error::record_trimmed());
    }
    Ok(position)
}
