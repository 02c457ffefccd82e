//! Expected: the condition of a write. For each attribute it has either an operator with its values or, in its
//! oldest form, a value that the attribute must equal, or that the attribute must not exist.

use std::collections::BTreeMap;
use std::slice;

use api::{ComparisonOperator, ConditionalOperator, Error, ExpectedAttributeValue};
use expression::Condition;

use super::comparison::Comparison;
use super::fault::Fault;
use super::join;

/// The condition that Expected describes.
pub fn expected(
    attributes: &BTreeMap<String, ExpectedAttributeValue>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, Error> {
    let terms = attributes
        .iter()
        .map(|(attribute, expected)| Ok(comparison(attribute, expected)?.condition(attribute)))
        .collect::<Result<Vec<Condition>, Fault>>();
    Ok(join(terms.map_err(Fault::in_write)?, operator))
}

fn comparison<'r>(attribute: &str, expected: &'r ExpectedAttributeValue) -> Result<Comparison<'r>, Fault> {
    let attribute = || attribute.to_owned();
    let values = match (&expected.attribute_value_list, &expected.value) {
        (Some(_), Some(_)) => return Err(Fault::ValueAndList(attribute())),
        (Some(list), None) => Some(list.as_slice()),
        (None, Some(value)) => Some(slice::from_ref(value)),
        (None, None) => None,
    };
    match (expected.comparison_operator, expected.exists, values) {
        (Some(_), Some(_), _) => Err(Fault::ExistsAndOperator(attribute())),
        (Some(operator @ (ComparisonOperator::Null | ComparisonOperator::NotNull)), None, None) => {
            Comparison::new(operator, &[])
        }
        (Some(operator), None, None) => Err(Fault::OperatorAlone { operator, attribute: attribute() }),
        (Some(operator), None, Some(values)) => Comparison::new(operator, values),
        (None, _, _) if expected.attribute_value_list.is_some() => Err(Fault::ListAlone(attribute())),
        (None, Some(false), None) => Ok(Comparison::NotExists),
        (None, Some(false), Some(_)) => Err(Fault::ValueOfNothing(attribute())),
        (None, Some(true), None) => Err(Fault::ValueMissing { exists: "true", attribute: attribute() }),
        (None, None, None) => Err(Fault::ValueMissing { exists: "null", attribute: attribute() }),
        (None, None | Some(true), Some(value)) => Comparison::new(ComparisonOperator::Eq, value),
    }
}
