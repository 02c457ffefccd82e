use super::parameters::{Placeholders, check_attributes_to_get, check_mixing, check_read_values};
use super::{Refuse, check_table_names};
use crate::violation::{Violation, Violations};
use crate::{BatchGetItemInput, Error, KeysAndAttributes, limits};

impl Refuse for BatchGetItemInput {
    fn refuse(&self, violations: Violations) -> Error {
        Error::violations(violations.iter().map(wording))
    }
}

/// The tables and their keys are named in the newer wording: `RequestItems.T.member.Keys`.
fn wording(violation: &Violation) -> String {
    let is_missing = violation.value.is_none();
    match violation.member.strip_suffix(".keys") {
        _ if is_missing || !violation.member.starts_with("requestItems") => violation.to_string(),
        Some(table) => Violation { member: format!("{table}.Keys"), ..violation.clone() }.named_only(),
        None => violation.named_only(),
    }
}

impl BatchGetItemInput {
    /// Checks table names, parameters, values and the number of keys.
    pub fn check(&self) -> Result<(), Error> {
        check_table_names(self.request_items.keys())?;
        self.check_parameters().map_err(Error::validation)?;
        check_read_values(&self.value_fault)?;
        for table in self.request_items.values() {
            check_attributes_to_get(table.attributes_to_get.as_ref())?;
        }
        let keys: usize = self.request_items.values().map(|table| table.keys.len()).sum();
        match keys > limits::BATCH_GET_KEYS_MAX {
            true => Err(Error::batch_too_large("BatchGetItem")),
            false => Ok(()),
        }
    }

    /// Older parameters and expressions don't mix, not even in different tables.
    fn check_parameters(&self) -> Result<(), String> {
        let any = |has: fn(&KeysAndAttributes) -> bool| self.request_items.values().any(has);
        check_mixing(
            &[("AttributesToGet", any(|table| table.attributes_to_get.is_some()))],
            &[("ProjectionExpression", any(|table| table.projection_expression.is_some()))],
        )?;
        self.request_items.values().try_for_each(|table| {
            Placeholders {
                names: table.expression_attribute_names.as_ref(),
                names_usable: table.projection_expression.is_some(),
                ..Placeholders::default()
            }
            .check()
        })
    }
}
