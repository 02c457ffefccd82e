//! DescribeEndpoints: the host and port that clients should use.

use api::{DescribeEndpointsRequest, DescribeEndpointsResponse, Endpoint, Error};

use crate::{Caller, Engine};

const CACHE_MINUTES: i64 = 1440;

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: DescribeEndpointsRequest,
) -> Result<DescribeEndpointsResponse, Error> {
    input.check()?;
    let address = engine.options.endpoint.clone();
    let address = address.unwrap_or_else(|| format!("dynamodb.{}.amazonaws.com", caller.namespace.region));
    Ok(DescribeEndpointsResponse {
        endpoints: vec![Endpoint { address, cache_period_in_minutes: CACHE_MINUTES }],
    })
}
