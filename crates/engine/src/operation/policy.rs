//! What the operations on resource policies have in common.

use api::Error;
use serde::de::IgnoredAny;

use crate::table::Table;

/// What a request expects that wants to set a table's first policy.
const NO_POLICY: &str = "NO_POLICY";

/// A policy is a JSON object; what it says is not looked at.
pub fn check_document(policy: &str) -> Result<(), Error> {
    match serde_json::from_str::<std::collections::BTreeMap<String, IgnoredAny>>(policy) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::invalid_parameter("The policy document is not a JSON object")),
    }
}

/// Refuses a change that was meant for another revision than the current one.
pub fn check_revision(table: &Table, expected: Option<&str>) -> Result<(), Error> {
    let current = table.policy.as_ref().map_or(NO_POLICY, |policy| &policy.revision);
    match expected {
        Some(expected) if expected != current => Err(Error::policy_not_found(&table.arn())),
        _ => Ok(()),
    }
}

/// Digits, as DynamoDB's are.
pub fn revision(random: u128) -> String {
    (random as u64).to_string()
}
