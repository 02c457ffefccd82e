//! DescribeKinesisStreamingDestination: the streams that get the changes of a table, and their states.

use api::{
    DescribeKinesisStreamingDestinationInput, DescribeKinesisStreamingDestinationOutput, Error,
    KinesisDataStreamDestination,
};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::kinesis_destination::KinesisDestination;
use crate::operation::Engine;

pub(super) struct DescribeKinesisStreamingDestination;

impl Serve for DescribeKinesisStreamingDestination {
    type Input = DescribeKinesisStreamingDestinationInput;
    type Output = DescribeKinesisStreamingDestinationOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeKinesisStreamingDestinationInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeKinesisStreamingDestination", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeKinesisStreamingDestinationInput,
    ) -> Result<DescribeKinesisStreamingDestinationOutput, Error> {
        input.check()?;
        let table = engine
            .find(caller, &input.table_name)?
            .ok_or_else(|| Error::resource_not_found_table(&input.table_name))?;
        let now_ms = engine.environment.now_ms();
        let describe = |destination: &KinesisDestination| {
            let is_known = |name: &str| engine.kinesis.get(name).is_some();
            let (status, description) =
                destination.status(&table.namespace, is_known, now_ms, engine.state_delay);
            KinesisDataStreamDestination {
                stream_arn: Some(destination.stream_arn.clone()),
                destination_status: Some(status),
                destination_status_description: description,
                approximate_creation_date_time_precision: Some(destination.precision.into()),
            }
        };
        Ok(DescribeKinesisStreamingDestinationOutput {
            table_name: Some(table.name.clone()),
            kinesis_data_stream_destinations: Some(table.destinations.iter().map(describe).collect()),
        })
    }
}
