//! GetRecords: the records of a shard from an iterator on.

use std::borrow::Cow;

use api::Error;
use api::limits::ITEM_BYTES_MAX;
use api::streams::limits::GET_RECORDS_BYTES_MAX;
use api::streams::{GetRecordsInput, GetRecordsOutput, Record, limits};
use capacity::metric::Metric;
use store::{LogPosition, StoreError};

use super::answer_size::AnswerSize;
use super::authorization::access::{Access, Resource};
use super::shard_iterator::ShardIterator;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::change_log::Shard;
use crate::base::fault;
use crate::log::record::ChangeRecord;
use crate::log::stream::StreamView;
use crate::operation::Engine;
use crate::throughput::dimensions::{CellSet, Subject};

/// Records that are read from the store at once: two images of 400 KB each fit 32 times into 25 MB.
const STEP_RECORDS: usize = 32;

pub(super) struct GetRecords;

impl Serve for GetRecords {
    type Input = GetRecordsInput;
    type Output = GetRecordsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r GetRecordsInput, _: &Namespace) -> Vec<Access<'r>> {
        // What is no iterator names no stream, and is refused for that.
        let stream = ShardIterator::parse(&input.shard_iterator).map(|iterator| iterator.stream_arn);
        Access::one(
            "dynamodb:GetRecords",
            stream.map_or(Resource::Any, |stream| Resource::Arn(Cow::Owned(stream))),
        )
    }

    fn answer_size(_: &GetRecordsInput) -> AnswerSize {
        // A page ends behind the record that fills it, which has two images of an item.
        AnswerSize::of_bytes(GET_RECORDS_BYTES_MAX + 2 * ITEM_BYTES_MAX)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: GetRecordsInput,
    ) -> Result<GetRecordsOutput, Error> {
        input.check()?;
        let iterator = ShardIterator::parse(&input.shard_iterator).ok_or_else(Error::iterator_invalid)?;
        let now_ms = engine.environment.now_ms();
        if now_ms.saturating_sub(iterator.issued_ms) > limits::ITERATOR_LIFETIME.as_millis() as u64 {
            return Err(Error::iterator_expired());
        }
        let stream = engine.stream(caller, &iterator.stream_arn)?;
        let shard = stream.shards.iter().find(|shard| shard.number == iterator.shard);
        let shard = shard.ok_or_else(Error::record_trimmed)?;
        let limit = input.limit.map_or(limits::GET_RECORDS_PAGE_MAX, |limit| limit as usize);
        // What is older than a day can't be read, whether it was trimmed yet or not.
        let after = iterator.after.max(LogPosition(engine.stream_horizon().0.saturating_sub(1)));
        let mut page = read(engine, &stream, shard, after, limit).await.map_err(fault::of_store)?;
        if page.is_end && page.records.is_empty() {
            // A write that began before the shard was closed may just have been recorded.
            engine.wait_for_writes_of(&stream).await;
            page = read(engine, &stream, shard, after, limit).await.map_err(fault::of_store)?;
        } else {
            page.is_end = false;
        }
        if !engine.usage.is_off() {
            let figures = engine.usage.metrics.figures(&stream.namespace, Subject::Table(&stream.table));
            let returned = [
                (Metric::ReturnedRecordsCount, page.records.len() as f64),
                (Metric::ReturnedBytes, page.bytes as f64),
            ];
            figures.add(CellSet::Stream(&stream.stream.label()), &returned, engine.usage.now().ms);
        }
        let next = ShardIterator { after: page.through, issued_ms: now_ms, ..iterator };
        Ok(GetRecordsOutput {
            next_shard_iterator: (!page.is_end).then(|| next.to_string()),
            records: Some(page.records),
        })
    }
}

struct Page {
    records: Vec<Record>,
    /// The position of the last record that was read.
    through: LogPosition,
    /// The size of the records as they are stored.
    bytes: usize,
    /// Whether the shard is closed and has no more records. Only an empty page says so, when no write is
    /// under way any more.
    is_end: bool,
}

async fn read(
    engine: &Engine,
    stream: &StreamView,
    shard: &Shard,
    after: LogPosition,
    limit: usize,
) -> Result<Page, StoreError> {
    let mut page = Page { records: Vec::new(), through: after, bytes: 0, is_end: false };
    loop {
        let wanted = STEP_RECORDS.min(limit - page.records.len());
        let records = engine.store.read_log(shard.log(), page.through, wanted).await?;
        let is_last = records.len() < wanted;
        for (position, record) in records {
            if shard.end().is_some_and(|end| position > end) {
                page.is_end = true;
                return Ok(page);
            }
            let bytes = page.bytes + record.len();
            if bytes > limits::GET_RECORDS_BYTES_MAX && !page.records.is_empty() {
                return Ok(page);
            }
            page.bytes = bytes;
            page.records.push(stream.record(shard.log(), position, &ChangeRecord::decode(record)?));
            page.through = position;
        }
        if is_last {
            page.is_end = shard.end().is_some();
            return Ok(page);
        }
        if page.records.len() == limit {
            return Ok(page);
        }
    }
}
