//! The parameters that DynamoDB had before expressions. Each becomes what its successor becomes, so that no
//! other code knows which of the two a request used:
//!
//! - Expected, QueryFilter and ScanFilter become a [`Condition`];
//! - KeyConditions become a [`expression::KeyCondition`];
//! - AttributeUpdates become an [`expression::Update`];
//! - AttributesToGet becomes a [`expression::Projection`].
//!
//! The rules about operators and their values are checked here. The checks that need no operator (old and
//! new parameters mixed, attribute names, ConditionalOperator with one condition) are in `api`.

mod attribute_updates;
mod attributes_to_get;
mod comparison;
mod expected;
mod fault;
mod filter;
mod key_conditions;

use api::ConditionalOperator;
use expression::Condition;

pub use attribute_updates::attribute_updates;
pub use attributes_to_get::attributes_to_get;
pub use expected::expected;
pub use filter::filter;
pub use key_conditions::key_conditions;

/// Joins conditions by the operator, which is AND by default. None if there are no conditions.
fn join(terms: Vec<Condition>, operator: Option<ConditionalOperator>) -> Option<Condition> {
    if terms.is_empty() {
        return None;
    }
    Some(match operator {
        None | Some(ConditionalOperator::And) => Condition::And(terms),
        Some(ConditionalOperator::Or) => Condition::Or(terms),
    })
}
