//! UpdateKinesisStreamingDestination: sets how exact the times in a stream's records are.

use api::{
    DestinationStatus, Error, UpdateKinesisStreamingConfiguration, UpdateKinesisStreamingDestinationInput,
    UpdateKinesisStreamingDestinationOutput,
};
use store::Space;

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::kinesis_destination::{KinesisDestination, Precision, stream_name};
use crate::base::table::Table;
use crate::operation::Engine;

pub(super) struct UpdateKinesisStreamingDestination;

impl Serve for UpdateKinesisStreamingDestination {
    type Input = UpdateKinesisStreamingDestinationInput;
    type Output = UpdateKinesisStreamingDestinationOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r UpdateKinesisStreamingDestinationInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:UpdateKinesisStreamingDestination", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: UpdateKinesisStreamingDestinationInput,
    ) -> Result<UpdateKinesisStreamingDestinationOutput, Error> {
        input.check()?;
        let not_found = || Error::resource_not_found_table(&input.table_name);
        let table = engine.find(caller, &input.table_name)?.ok_or_else(not_found)?;
        stream_name(&table.namespace, &input.stream_arn)?;
        let asked = input.update_kinesis_streaming_configuration.as_ref();
        let asked = asked.and_then(|configuration| configuration.approximate_creation_date_time_precision);
        let asked = asked.ok_or_else(Error::kinesis_update_without_change)?;
        let precision = Precision::from(asked);
        let (arn, now_ms) = (input.stream_arn.clone(), engine.environment.now_ms());
        let (streams, state_delay) = (engine.kinesis.clone(), engine.state_delay);
        let update = move |table: &mut Table, _: Space| {
            let refused = || Error::kinesis_destination_not_active("UPDATE");
            let known = table.destination(&arn).ok_or_else(refused)?;
            if known.status(&table.namespace, |name| streams.get(name).is_some(), now_ms, state_delay).0
                != DestinationStatus::Active
            {
                return Err(refused());
            }
            if known.precision == precision {
                return Err(Error::kinesis_precision_unchanged(asked, &table.id, &arn));
            }
            table.set_destination(KinesisDestination {
                precision,
                changed_ms: now_ms,
                was_updated: true,
                ..known.clone()
            });
            Ok(())
        };
        let table = engine.change_table(&table, update).await?.ok_or_else(not_found)?;
        Ok(UpdateKinesisStreamingDestinationOutput {
            table_name: Some(table.name.clone()),
            stream_arn: Some(input.stream_arn),
            destination_status: Some(DestinationStatus::Updating),
            update_kinesis_streaming_configuration: Some(UpdateKinesisStreamingConfiguration {
                approximate_creation_date_time_precision: Some(asked),
            }),
        })
    }
}
