use super::Refuse;
use super::parameters::check_read_values;
use crate::{BatchExecuteStatementInput, Error};

impl Refuse for BatchExecuteStatementInput {}

impl BatchExecuteStatementInput {
    pub fn check(&self) -> Result<(), Error> {
        check_read_values(&self.value_fault)
    }
}
