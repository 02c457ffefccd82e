use super::Refuse;
use crate::{DescribeTimeToLiveInput, Error};

impl Refuse for DescribeTimeToLiveInput {}

impl DescribeTimeToLiveInput {
    /// The name is all there is, and it is already checked.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
