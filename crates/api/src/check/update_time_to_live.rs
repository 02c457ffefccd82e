use super::Refuse;
use crate::{Error, UpdateTimeToLiveInput};

impl Refuse for UpdateTimeToLiveInput {}

impl UpdateTimeToLiveInput {
    /// Name and attribute are already checked; the rest depends on the table.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
