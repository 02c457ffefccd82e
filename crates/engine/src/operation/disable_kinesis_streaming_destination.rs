//! DisableKinesisStreamingDestination: delivers no more changes of a table to a stream.

use api::{
    DestinationStatus, EnableKinesisStreamingConfiguration, Error, KinesisStreamingDestinationInput,
    KinesisStreamingDestinationOutput,
};
use store::Space;

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::kinesis_destination::{KinesisDestination, stream_name};
use crate::base::table::Table;
use crate::operation::Engine;

pub(super) struct DisableKinesisStreamingDestination;

impl Serve for DisableKinesisStreamingDestination {
    type Input = KinesisStreamingDestinationInput;
    type Output = KinesisStreamingDestinationOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r KinesisStreamingDestinationInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DisableKinesisStreamingDestination", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: KinesisStreamingDestinationInput,
    ) -> Result<KinesisStreamingDestinationOutput, Error> {
        input.check()?;
        let not_found = || Error::resource_not_found_table(&input.table_name);
        let table = engine.find(caller, &input.table_name)?.ok_or_else(not_found)?;
        stream_name(&table.namespace, &input.stream_arn)?;
        let (arn, shards, now_ms) =
            (input.stream_arn.clone(), engine.stream_shards, engine.environment.now_ms());
        let (streams, state_delay) = (engine.kinesis.clone(), engine.state_delay);
        let update = move |table: &Table, unused: Space, now_us: u64| {
            table.check_active()?;
            let refused = || Error::kinesis_destination_not_active("DISABLE");
            let known = table.destination(&arn).ok_or_else(refused)?;
            let status =
                known.status(&table.namespace, |name| streams.get(name).is_some(), now_ms, state_delay).0;
            // One that failed still waits for its stream, and this is how to give it up.
            if !matches!(status, DestinationStatus::Active | DestinationStatus::EnableFailed) {
                return Err(refused());
            }
            let off = KinesisDestination {
                since_us: None,
                changed_ms: now_ms,
                was_updated: false,
                ..known.clone()
            };
            let mut table = table.clone();
            table.set_destination(off);
            table.settle_log(shards, unused, now_us);
            Ok::<_, Error>(table)
        };
        let changed = engine.change_between_writes(&table, update).await.map_err(fault::of_store)?;
        let table = changed.ok_or_else(not_found)??;
        let precision = table.destination(&input.stream_arn).map(|destination| destination.precision.into());
        Ok(KinesisStreamingDestinationOutput {
            table_name: Some(table.name.clone()),
            destination_status: Some(DestinationStatus::Disabling),
            enable_kinesis_streaming_configuration: Some(EnableKinesisStreamingConfiguration {
                approximate_creation_date_time_precision: precision,
            }),
            stream_arn: Some(input.stream_arn),
        })
    }
}
