use super::Refuse;
use crate::{DescribeLimitsInput, Error};

impl Refuse for DescribeLimitsInput {}

impl DescribeLimitsInput {
    /// There is nothing to get wrong.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
