use super::parameters::{
    Placeholders, check_attribute_names, check_conditional_operator, check_mixing, check_written_values,
};
use super::{Refuse, refuse_item_request};
use crate::violation::Violations;
use crate::{Error, PutItemInput, ReturnValue, limits};

impl Refuse for PutItemInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_item_request(violations)
    }
}

impl PutItemInput {
    /// Checks parameters, values, ReturnValues and the item's size.
    pub fn check(&self) -> Result<(), Error> {
        self.check_parameters().map_err(Error::request_shape)?;
        check_written_values(&self.value_fault)?;
        match self.return_values {
            None | Some(ReturnValue::None | ReturnValue::AllOld) => {}
            Some(_) => return Err(Error::request_shape("ReturnValues can only be ALL_OLD or NONE")),
        }
        match self.item.as_ref().size_bytes() > limits::ITEM_BYTES_MAX {
            true => Err(Error::item_too_large()),
            false => Ok(()),
        }
    }

    fn check_parameters(&self) -> Result<(), String> {
        let condition = self.condition_expression.is_some();
        check_conditional_operator(self.conditional_operator, self.expected.as_ref())?;
        check_mixing(&[("Expected", self.expected.is_some())], &[("ConditionExpression", condition)])?;
        Placeholders {
            names: self.expression_attribute_names.as_ref(),
            names_usable: condition,
            values: self.expression_attribute_values.as_ref(),
            values_usable: condition,
            value_fault: self.value_fault.as_ref(),
        }
        .check()?;
        check_attribute_names(self.expected.as_ref())
    }
}
