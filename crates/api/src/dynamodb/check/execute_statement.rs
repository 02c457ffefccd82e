use super::Refuse;
use super::parameters::check_read_values;
use crate::{Error, ExecuteStatementInput};

impl Refuse for ExecuteStatementInput {}

impl ExecuteStatementInput {
    /// Checks the statement's parameters. What the statement means is the engine's to check.
    pub fn check(&self) -> Result<(), Error> {
        check_read_values(&self.value_fault)
    }
}
