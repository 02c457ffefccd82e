use super::Refuse;
use crate::{DescribeContinuousBackupsInput, Error};

impl Refuse for DescribeContinuousBackupsInput {}

impl DescribeContinuousBackupsInput {
    /// The name is all there is, and it is already checked.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
