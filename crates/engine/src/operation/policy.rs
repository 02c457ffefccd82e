//! What the operations on resource policies have in common. What AWS does was seen there in October 2026.

use std::sync::Arc;

use api::{Error, ErrorKind, TableName};
use serde_json::Value;

use crate::catalog::LiveTable;
use crate::table::Table;
use crate::{Caller, Engine};

/// What a request expects if there must be no policy yet.
const NO_POLICY: &str = "NO_POLICY";

/// The caller's table with this ARN.
pub fn table(engine: &Engine, caller: &Caller, arn: &str) -> Result<Arc<LiveTable>, Error> {
    let TableName { name, home } =
        TableName::parse_arn(arn).ok_or_else(|| Error::resource_not_found_table(arn))?;
    if home.is_some_and(|home| home.account != &*caller.namespace.account) {
        return Err(Error::validation(
            "This action is only supported by accounts that match the resource owner’s account.",
        ));
    }
    if home.is_some_and(|home| home.region != &*caller.namespace.region) {
        return Err(Error::invalid_parameter(format_args!("Invalid resource Arn: {arn}")));
    }
    engine.catalog.find(&caller.namespace, name).ok_or_else(|| Error::resource_not_found_table(name))
}

/// A policy is a JSON object; its contents are not checked.
pub fn check_document(policy: &str) -> Result<(), Error> {
    match serde_json::from_str::<Value>(policy) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(Error::invalid_parameter("The policy document is not a JSON object")),
    }
}

/// Whether two documents differ only in their blanks and in the order of their members.
pub fn is_same_document(one: &str, other: &str) -> bool {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || parsed(one).is_some_and(|one| Some(one) == parsed(other))
}

/// Refuses a change that expects another revision than the current one.
pub fn check_revision(table: &Table, expected: Option<&str>) -> Result<(), Error> {
    let Some(expected) = expected else { return Ok(()) };
    let found = match (current_revision(table), &table.policy) {
        (_, None) if expected == NO_POLICY => return Ok(()),
        (Some(current), _) if expected == current => return Ok(()),
        (Some(current), _) => {
            format!("the policy associated to target table {} has revision id {current}.", table.name)
        }
        (None, _) => format!("table {} has no associated policy.", table.name),
    };
    Err(Error::new(
        ErrorKind::PolicyNotFound,
        format!(
            "Resource-based policy not found for the provided ResourceArn: Requested update for policy with \
             revision id {expected}, but {found}"
        ),
    ))
}

/// The revision of the last change: that of the policy, or of its removal.
pub fn current_revision(table: &Table) -> Option<&str> {
    table.policy.as_ref().map(|policy| policy.revision.as_str()).or(table.policy_removal.as_deref())
}

/// The revision of a change that is made now: the time, but greater than the current revision.
pub fn next_revision(table: &Table, now_ms: u64) -> String {
    let current = current_revision(table).and_then(|revision| revision.parse::<u64>().ok());
    current.map_or(now_ms, |current| now_ms.max(current.saturating_add(1))).to_string()
}
