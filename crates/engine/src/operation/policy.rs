//! What the operations on resource policies have in common. What AWS does was seen there in October 2026.

use std::sync::Arc;

use api::{Error, ErrorKind, TableName};
use iam::{Policy, PolicyError, PolicyUse};

use crate::base::caller::Caller;
use crate::base::table::Table;
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

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

/// The document in the form in which it is kept, if it is a policy that a table may have. Equal forms are the same
/// policy, whatever their blanks and the order of their members.
pub fn canonical_document(text: &str) -> Result<String, Error> {
    let policy = Policy::parse(text, PolicyUse::Resource).map_err(|error| match error {
        PolicyError::Syntax { line, column, .. } => {
            invalid_document(format_args!("Syntax error at position ({line},{column})"))
        }
        PolicyError::Principal => Error::invalid_parameter(error),
        error => invalid_document(error),
    })?;
    if policy.is_unbounded() {
        return Err(Error::validation(
            "Resource-based policy grants unbounded access in one or more elements. Please revise the policy to \
             ensure least-privilege form of access",
        ));
    }
    Policy::canonical(text).map_err(invalid_document)
}

fn invalid_document(problem: impl std::fmt::Display) -> Error {
    Error::invalid_parameter(format_args!("Invalid policy document: {problem}"))
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
