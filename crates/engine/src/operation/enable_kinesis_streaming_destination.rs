//! EnableKinesisStreamingDestination: delivers the changes of a table to a stream, from now on.

use api::{
    DestinationStatus, EnableKinesisStreamingConfiguration, Error, ErrorKind,
    KinesisStreamingDestinationInput, KinesisStreamingDestinationOutput,
};
use store::Space;

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::kinesis_destination::{DESTINATIONS_ON_MAX, KinesisDestination, Precision, stream_name};
use crate::base::table::Table;
use crate::operation::Engine;

pub(super) struct EnableKinesisStreamingDestination;

impl Serve for EnableKinesisStreamingDestination {
    type Input = KinesisStreamingDestinationInput;
    type Output = KinesisStreamingDestinationOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r KinesisStreamingDestinationInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:EnableKinesisStreamingDestination", Resource::table(&input.table_name))
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
        let asked = input.enable_kinesis_streaming_configuration.as_ref();
        let asked = asked.and_then(|configuration| configuration.approximate_creation_date_time_precision);
        let precision = asked.map_or(Precision::Millisecond, Precision::from);
        let (arn, shards, now_ms) =
            (input.stream_arn.clone(), engine.stream_shards, engine.environment.now_ms());
        let (streams, state_delay) = (engine.kinesis.clone(), engine.state_delay);
        // Between writes: each of them is delivered, or was before.
        let update = move |table: &Table, unused: Space, now_us: u64| {
            table.check_active()?;
            let known = table.destination(&arn);
            let status = known.map(|known| {
                known.status(&table.namespace, |name| streams.get(name).is_some(), now_ms, state_delay).0
            });
            if !matches!(status, None | Some(DestinationStatus::Disabled | DestinationStatus::EnableFailed)) {
                return Err(Error::kinesis_destination_not_off());
            }
            let others = table.destinations.iter().filter(|other| other.stream_arn != arn);
            if others.filter(|other| other.since_us.is_some()).count() >= DESTINATIONS_ON_MAX {
                let message = format!(
                    "A table can have at most {DESTINATIONS_ON_MAX} active Kinesis streaming destinations"
                );
                return Err(Error::new(ErrorKind::LimitExceeded, message));
            }
            let mut table = table.clone();
            table.set_destination(KinesisDestination {
                stream_arn: arn.clone(),
                since_us: Some(now_us),
                precision,
                changed_ms: now_ms,
                was_updated: false,
            });
            table.settle_log(shards, unused, now_us);
            Ok::<_, Error>(table)
        };
        let changed = engine.change_between_writes(&table, update).await.map_err(fault::of_store)?;
        let table = changed.ok_or_else(not_found)??;
        engine.start_deliveries(&table);
        let configuration = EnableKinesisStreamingConfiguration {
            approximate_creation_date_time_precision: Some(precision.into()),
        };
        Ok(KinesisStreamingDestinationOutput {
            table_name: Some(table.name.clone()),
            stream_arn: Some(input.stream_arn),
            destination_status: Some(DestinationStatus::Enabling),
            enable_kinesis_streaming_configuration: Some(configuration),
        })
    }
}
