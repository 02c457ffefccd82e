use super::parameters::{
    Placeholders, Selection, check_attribute_names, check_attributes_to_get, check_conditional_operator,
    check_mixing, check_read_values,
};
use super::{Refuse, is_empty_name, refuse_item_request};
use crate::violation::Violations;
use crate::{Error, QueryInput};

impl Refuse for QueryInput {
    /// An unknown Select is reported only if older parameters and expressions are not mixed.
    fn refuse(&self, violations: Violations) -> Error {
        let violations = violations.first_group(&[
            |violation| violation.member == "limit" || is_empty_name(violation),
            |violation| violation.member == "tableName",
            |violation| violation.member != "select",
        ]);
        match self.check_mixing() {
            Err(text) if violations.iter().all(|violation| violation.member == "select") => {
                Error::validation(text)
            }
            _ => refuse_item_request(violations),
        }
    }
}

impl QueryInput {
    /// Checks parameters, values and what the query returns.
    pub fn check(&self) -> Result<(), Error> {
        self.check_parameters().map_err(Error::validation)?;
        check_read_values(&self.value_fault)?;
        check_attributes_to_get(self.attributes_to_get.as_ref())?;
        if self.key_conditions.is_none() && self.key_condition_expression.is_none() {
            return Err(Error::validation(
                "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
            ));
        }
        Selection {
            select: self.select,
            attributes_to_get: self.attributes_to_get.is_some(),
            projection: self.projection_expression.is_some(),
            index: self.index_name.is_some(),
        }
        .check()
        .map_err(Error::request_shape)
    }

    fn check_parameters(&self) -> Result<(), String> {
        let conditions = self.key_condition_expression.is_some() || self.filter_expression.is_some();
        check_conditional_operator(self.conditional_operator, self.query_filter.as_ref())?;
        self.check_mixing()?;
        Placeholders {
            names: self.expression_attribute_names.as_ref(),
            names_usable: conditions || self.projection_expression.is_some(),
            values: self.expression_attribute_values.as_ref(),
            values_usable: conditions,
            value_fault: self.value_fault.as_ref(),
        }
        .check()?;
        check_attribute_names(self.query_filter.as_ref())?;
        check_attribute_names(self.key_conditions.as_ref())
    }

    fn check_mixing(&self) -> Result<(), String> {
        check_mixing(
            &[
                ("AttributesToGet", self.attributes_to_get.is_some()),
                ("QueryFilter", self.query_filter.is_some()),
                ("ConditionalOperator", self.conditional_operator.is_some()),
                // KeyConditions clash with a KeyConditionExpression only, not with other expressions.
                ("KeyConditions", self.key_conditions.is_some() && self.key_condition_expression.is_some()),
            ],
            &[
                ("ProjectionExpression", self.projection_expression.is_some()),
                ("FilterExpression", self.filter_expression.is_some()),
                ("KeyConditionExpression", self.key_condition_expression.is_some()),
            ],
        )
    }
}
