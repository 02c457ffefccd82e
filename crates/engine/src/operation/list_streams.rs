//! ListStreams: the streams of a namespace or of one table, those included that were switched off within a day.

use api::Error;
use api::streams::{ListStreamsInput, ListStreamsOutput, limits};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::log::stream::StreamView;
use crate::operation::Engine;

pub(super) struct ListStreams;

impl Serve for ListStreams {
    type Input = ListStreamsInput;
    type Output = ListStreamsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r ListStreamsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListStreams", Resource::Any)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListStreamsInput,
    ) -> Result<ListStreamsOutput, Error> {
        input.check()?;
        let limit = input.limit.map_or(limits::LIST_STREAMS_PAGE_MAX, |limit| limit as usize);
        let is_wanted =
            |stream: &StreamView| input.table_name.as_ref().is_none_or(|name| *name == stream.table);
        let mut streams: Vec<(String, StreamView)> = engine
            .streams(&caller.namespace)
            .into_iter()
            .filter(is_wanted)
            .map(|stream| (stream.arn(), stream))
            .collect();
        streams.sort_by(|(left, _), (right, _)| left.cmp(right));
        let after = input.exclusive_start_stream_arn.as_deref();
        let later = streams.into_iter().filter(|(arn, _)| after.is_none_or(|after| arn.as_str() > after));
        let mut page: Vec<(String, StreamView)> = later.take(limit + 1).collect();
        let is_last = page.len() <= limit;
        page.truncate(limit);
        let last = page.last().map(|(arn, _)| arn.clone()).filter(|_| !is_last);
        Ok(ListStreamsOutput {
            last_evaluated_stream_arn: last,
            streams: Some(page.into_iter().map(|(arn, stream)| listed(arn, &stream)).collect()),
        })
    }
}

fn listed(arn: String, stream: &StreamView) -> api::streams::Stream {
    api::streams::Stream {
        stream_arn: Some(arn),
        stream_label: Some(stream.stream.label()),
        table_name: Some(stream.table.clone()),
    }
}
