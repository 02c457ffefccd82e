use super::Refuse;
use super::parameters::check_read_values;
use crate::{BatchExecuteStatementInput, Error};

impl Refuse for BatchExecuteStatementInput {}

impl BatchExecuteStatementInput {
    /// Checks the statements' parameters. What a statement means is the engine's to check.
    pub fn check(&self) -> Result<(), Error> {
        check_read_values(&self.value_fault)
    }
}
