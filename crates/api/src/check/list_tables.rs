use super::Refuse;
use crate::{Error, ListTablesInput};

impl Refuse for ListTablesInput {}

impl ListTablesInput {
    /// The shape's constraints say it all.
    pub fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
