//! DescribeEndpoints: the host and port that clients should use.

use api::{DescribeEndpointsRequest, DescribeEndpointsResponse, Endpoint, Error};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::operation::Engine;

const CACHE_MINUTES: i64 = 1440;

pub(super) struct DescribeEndpoints;

impl Serve for DescribeEndpoints {
    type Input = DescribeEndpointsRequest;
    type Output = DescribeEndpointsResponse;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r DescribeEndpointsRequest, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeEndpoints", Resource::Any)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeEndpointsRequest,
    ) -> Result<DescribeEndpointsResponse, Error> {
        input.check()?;
        let address = engine.endpoint.clone();
        let address =
            address.unwrap_or_else(|| format!("dynamodb.{}.amazonaws.com", caller.namespace.region));
        Ok(DescribeEndpointsResponse {
            endpoints: vec![Endpoint { address, cache_period_in_minutes: CACHE_MINUTES }],
        })
    }
}
