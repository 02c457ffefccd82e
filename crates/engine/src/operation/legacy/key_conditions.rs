//! KeyConditions: which partition a Query reads, and which range of its sort keys. Whether they name the key
//! attributes is checked later, with the table, as for KeyConditionExpression.

use std::collections::BTreeMap;

use api::{Error, limits};
use expression::KeyCondition;
use expression::key_condition::Term;

use super::comparison::Comparison;
use super::fault::Fault;

/// The key condition that KeyConditions describe. A table's key has at most two attributes; the key of an
/// index, if one is queried, may have more.
pub fn key_conditions(
    conditions: &BTreeMap<String, api::Condition>,
    of_index: bool,
) -> Result<KeyCondition, Error> {
    let terms = terms(conditions, of_index).map_err(Fault::in_read)?;
    KeyCondition::new(terms).map_err(|error| Error::validation(error.to_string()))
}

fn terms(conditions: &BTreeMap<String, api::Condition>, of_index: bool) -> Result<Vec<Term>, Fault> {
    let mut terms = Vec::new();
    let mut indexable = true;
    for (attribute, condition) in conditions {
        let values = condition.attribute_value_list.as_deref().unwrap_or_default();
        match Comparison::new(condition.comparison_operator, values)?.range() {
            Some(range) => terms.push(Term { attribute: attribute.clone(), range }),
            None => indexable = false,
        }
    }
    let most = if of_index { 2 * limits::INDEX_KEY_ATTRIBUTES_MAX } else { 2 };
    if conditions.is_empty() || conditions.len() > most {
        return Err(Fault::KeyConditionCount);
    }
    if indexable { Ok(terms) } else { Err(Fault::NotIndexable) }
}
