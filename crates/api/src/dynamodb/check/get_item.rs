use super::parameters::{Placeholders, check_attributes_to_get, check_mixing, check_read_values};
use super::{Refuse, refuse_item_request};
use crate::violation::Violations;
use crate::{Error, GetItemInput};

impl Refuse for GetItemInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_item_request(violations)
    }
}

impl GetItemInput {
    /// Checks parameters and values.
    pub fn check(&self) -> Result<(), Error> {
        self.check_parameters().map_err(Error::validation)?;
        check_read_values(&self.value_fault)?;
        check_attributes_to_get(self.attributes_to_get.as_ref())
    }

    fn check_parameters(&self) -> Result<(), String> {
        let projection = self.projection_expression.is_some();
        check_mixing(
            &[("AttributesToGet", self.attributes_to_get.is_some())],
            &[("ProjectionExpression", projection)],
        )?;
        Placeholders {
            names: self.expression_attribute_names.as_ref(),
            names_usable: projection,
            ..Placeholders::default()
        }
        .check()
    }
}
