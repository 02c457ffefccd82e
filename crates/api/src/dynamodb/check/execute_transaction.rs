use super::parameters::check_read_values;
use super::{Refuse, refuse_transaction};
use crate::violation::Violations;
use crate::{Error, ExecuteTransactionInput, ParameterizedStatement, limits};

impl Refuse for ExecuteTransactionInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_transaction(violations)
    }
}

impl ExecuteTransactionInput {
    /// Checks the statements' parameters and the size of the request.
    pub fn check(&self) -> Result<(), Error> {
        check_read_values(&self.value_fault)?;
        match self.transact_statements.iter().map(size_bytes).sum::<usize>() > limits::TRANSACTION_BYTES_MAX {
            true => Err(Error::transaction_too_large()),
            false => Ok(()),
        }
    }
}

/// The size of the statement's text and parameters.
fn size_bytes(statement: &ParameterizedStatement) -> usize {
    let parameters = statement.parameters.iter().flatten();
    statement.statement.len() + parameters.map(|value| value.as_ref().size_bytes()).sum::<usize>()
}
