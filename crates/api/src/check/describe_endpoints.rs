use super::Refuse;
use crate::{DescribeEndpointsRequest, Error};

impl Refuse for DescribeEndpointsRequest {}

impl DescribeEndpointsRequest {
    /// There is nothing to get wrong.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
