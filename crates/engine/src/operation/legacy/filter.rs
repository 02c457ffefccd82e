//! QueryFilter and ScanFilter: which of the evaluated items are returned.

use std::collections::BTreeMap;

use api::{ConditionalOperator, Error};
use expression::Condition;

use super::comparison::Comparison;
use super::fault::Fault;
use super::join;

/// The condition that a filter describes.
pub fn filter(
    conditions: &BTreeMap<String, api::Condition>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, Error> {
    let terms = conditions
        .iter()
        .map(|(attribute, condition)| {
            let values = condition.attribute_value_list.as_deref().unwrap_or_default();
            Ok(Comparison::new(condition.comparison_operator, values)?.condition(attribute))
        })
        .collect::<Result<Vec<Condition>, Fault>>();
    Ok(join(terms.map_err(Fault::in_read)?, operator))
}
