use super::parameters::{
    Placeholders, Selection, check_attribute_names, check_attributes_to_get, check_conditional_operator,
    check_mixing, check_read_values,
};
use super::{Refuse, is_empty_name, refuse_item_request};
use crate::violation::Violations;
use crate::{Error, ScanInput};

impl Refuse for ScanInput {
    fn refuse(&self, violations: Violations) -> Error {
        refuse_item_request(violations.first_group(&[
            |violation| {
                is_empty_name(violation)
                    || matches!(violation.member.as_str(), "limit" | "segment" | "totalSegments")
            },
            |violation| matches!(violation.member.as_str(), "tableName" | "returnConsumedCapacity"),
            |violation| violation.member == "select",
        ]))
    }
}

impl ScanInput {
    /// Checks parameters, values, segments and what the scan returns.
    pub fn check(&self) -> Result<(), Error> {
        self.check_parameters().map_err(Error::validation)?;
        check_read_values(&self.value_fault)?;
        check_attributes_to_get(self.attributes_to_get.as_ref())?;
        self.check_segments().map_err(Error::validation)?;
        Selection {
            select: self.select,
            attributes_to_get: self.attributes_to_get.is_some(),
            projection: self.projection_expression.is_some(),
            index: self.index_name.is_some(),
        }
        .check()
        .map_err(Error::validation)
    }

    fn check_parameters(&self) -> Result<(), String> {
        let filter = self.filter_expression.is_some();
        check_conditional_operator(self.conditional_operator, self.scan_filter.as_ref())?;
        check_mixing(
            &[
                ("AttributesToGet", self.attributes_to_get.is_some()),
                ("ScanFilter", self.scan_filter.is_some()),
                ("ConditionalOperator", self.conditional_operator.is_some()),
            ],
            &[("ProjectionExpression", self.projection_expression.is_some()), ("FilterExpression", filter)],
        )?;
        Placeholders {
            names: self.expression_attribute_names.as_ref(),
            names_usable: filter || self.projection_expression.is_some(),
            values: self.expression_attribute_values.as_ref(),
            values_usable: filter,
            value_fault: self.value_fault.as_ref(),
        }
        .check()?;
        check_attribute_names(self.scan_filter.as_ref())
    }

    /// A parallel scan names its segment and how many there are, counted from zero.
    fn check_segments(&self) -> Result<(), String> {
        match (self.segment, self.total_segments) {
            (Some(_), None) => Err("The TotalSegments parameter is required but was not present in the \
                 request when Segment parameter is present"
                .to_owned()),
            (None, Some(_)) => Err("The Segment parameter is required but was not present in the request \
                 when parameter TotalSegments is present"
                .to_owned()),
            (Some(segment), Some(total)) if segment >= total => Err(format!(
                "The Segment parameter is zero-based and must be less than parameter TotalSegments: \
                 Segment: {segment} is not less than TotalSegments: {total}"
            )),
            _ => Ok(()),
        }
    }
}
