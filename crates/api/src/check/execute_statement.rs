use super::Refuse;
use super::parameters::check_read_values;
use crate::{Error, ExecuteStatementInput};

impl Refuse for ExecuteStatementInput {}

impl ExecuteStatementInput {
    pub fn check(&self) -> Result<(), Error> {
        check_read_values(&self.value_fault)
    }
}
