use super::parameters::{Placeholders, check_read_values};
use super::{Refuse, refuse_item_request};
use crate::violation::{Constraint, Violation, Violations};
use crate::{Error, SearchVectorsInput, limits};

impl Refuse for SearchVectorsInput {
    /// A vector can be long: the message about its length leaves it out.
    fn refuse(&self, violations: Violations) -> Error {
        if let Some(low) = violations.iter().find(|violation| {
            violation.member == "topK" && matches!(violation.constraint, Constraint::ValueMin(_))
        }) {
            return Error::top_k_out_of_range(low.value.as_deref().unwrap_or_default());
        }
        let is_vector_length = |violation: &&Violation| {
            violation.member == "searchVector" && matches!(violation.constraint, Constraint::LengthMax(_))
        };
        if let Some(long) = violations.iter().find(is_vector_length) {
            return Error::violations([long.named_only()].into_iter());
        }
        refuse_item_request(violations)
    }
}

impl SearchVectorsInput {
    /// Checks parameters and values. The length of the vector is a matter of the index.
    pub fn check(&self) -> Result<(), Error> {
        let condition = self.search_condition_expression.is_some();
        Placeholders {
            names: self.expression_attribute_names.as_ref(),
            names_usable: condition || self.projection_expression.is_some(),
            values: self.expression_attribute_values.as_ref(),
            values_usable: condition,
            value_fault: self.value_fault.as_ref(),
        }
        .check()
        .map_err(Error::validation)?;
        check_read_values(&self.value_fault)?;
        if !(1..=limits::SEARCH_TOP_K_MAX).contains(&self.top_k) {
            return Err(Error::top_k_out_of_range(self.top_k));
        }
        Ok(())
    }
}
