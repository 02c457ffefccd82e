//! DescribeTimeToLive: which attribute holds the time at which an item expires.

use api::{
    DescribeTimeToLiveInput, DescribeTimeToLiveOutput, Error, TimeToLiveDescription, TimeToLiveStatus,
};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

pub(super) struct DescribeTimeToLive;

impl Serve for DescribeTimeToLive {
    type Input = DescribeTimeToLiveInput;
    type Output = DescribeTimeToLiveOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeTimeToLiveInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeTimeToLive", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeTimeToLiveInput,
    ) -> Result<DescribeTimeToLiveOutput, Error> {
        input.check()?;
        let table = engine
            .find(caller, &input.table_name)?
            .ok_or_else(|| Error::resource_not_found_table(&input.table_name))?;
        let status = match table.time_to_live {
            Some(_) if table.expiry.is_some_and(|expiry| !expiry.is_filled) => TimeToLiveStatus::Enabling,
            Some(_) => TimeToLiveStatus::Enabled,
            None => TimeToLiveStatus::Disabled,
        };
        Ok(DescribeTimeToLiveOutput {
            time_to_live_description: Some(TimeToLiveDescription {
                attribute_name: table.time_to_live.clone(),
                time_to_live_status: Some(status),
            }),
        })
    }
}
