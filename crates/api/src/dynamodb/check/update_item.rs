use super::parameters::{
    Placeholders, check_attribute_names, check_conditional_operator, check_mixing, check_written_values,
};
use super::{Refuse, refuse_item_request};
use crate::violation::Violations;
use crate::{Error, UpdateItemInput};

impl Refuse for UpdateItemInput {
    /// Reports faults of the name alone, then one enum alone.
    fn refuse(&self, violations: Violations) -> Error {
        refuse_item_request(violations.first_group(&[
            |violation| violation.member == "tableName",
            |violation| violation.member == "returnValues",
            |violation| violation.member == "returnValuesOnConditionCheckFailure",
            |violation| violation.member == "returnItemCollectionMetrics",
            |violation| violation.member == "returnConsumedCapacity",
        ]))
    }
}

impl UpdateItemInput {
    /// Checks parameters and values.
    pub fn check(&self) -> Result<(), Error> {
        self.check_parameters().map_err(Error::request_shape)?;
        check_written_values(&self.value_fault)
    }

    fn check_parameters(&self) -> Result<(), String> {
        let (update, condition) = (self.update_expression.is_some(), self.condition_expression.is_some());
        check_conditional_operator(self.conditional_operator, self.expected.as_ref())?;
        check_mixing(
            &[("AttributeUpdates", self.attribute_updates.is_some()), ("Expected", self.expected.is_some())],
            &[("UpdateExpression", update), ("ConditionExpression", condition)],
        )?;
        Placeholders {
            names: self.expression_attribute_names.as_ref(),
            names_usable: update || condition,
            values: self.expression_attribute_values.as_ref(),
            values_usable: update || condition,
            value_fault: self.value_fault.as_ref(),
        }
        .check()?;
        check_attribute_names(self.attribute_updates.as_ref())?;
        check_attribute_names(self.expected.as_ref())
    }
}
