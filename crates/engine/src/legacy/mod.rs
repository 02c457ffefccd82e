//! The parameters from before there were expressions. Each becomes what the expression that took its
//! place becomes, so nothing behind this folder knows which of the two a request used:
//!
//! - Expected, QueryFilter and ScanFilter a [`Condition`];
//! - KeyConditions a [`expression::KeyCondition`];
//! - AttributeUpdates an [`expression::Update`];
//! - AttributesToGet a [`expression::Projection`].
//!
//! Here a request is held to the rules about operators and their values. That it doesn't mix the old and
//! the new, names attributes properly and joins at least two conditions was checked in `api`.

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

/// One condition of several, all of which must hold if not said otherwise. Without any, there is nothing
/// to ask.
fn join(terms: Vec<Condition>, operator: Option<ConditionalOperator>) -> Option<Condition> {
    if terms.is_empty() {
        return None;
    }
    Some(match operator {
        None | Some(ConditionalOperator::And) => Condition::And(terms),
        Some(ConditionalOperator::Or) => Condition::Or(terms),
    })
}
