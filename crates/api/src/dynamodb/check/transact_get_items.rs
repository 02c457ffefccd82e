use super::parameters::{Placeholders, check_read_values};
use super::{Refuse, refuse_transaction};
use crate::violation::Violations;
use crate::{Error, Get, TransactGetItemsInput};

impl Refuse for TransactGetItemsInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_transaction(violations)
    }
}

impl TransactGetItemsInput {
    /// Checks the parameters of each get, and values.
    pub fn check(&self) -> Result<(), Error> {
        for item in &self.transact_items {
            check_parameters(&item.get).map_err(Error::validation)?;
        }
        check_read_values(&self.value_fault)
    }
}

fn check_parameters(get: &Get) -> Result<(), String> {
    Placeholders {
        names: get.expression_attribute_names.as_ref(),
        names_usable: get.projection_expression.is_some(),
        ..Placeholders::default()
    }
    .check()
}
