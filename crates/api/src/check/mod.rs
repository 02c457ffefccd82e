//! Rules for requests that need neither the table nor an expression's meaning, one file an operation.
//!
//! Each input has a `check`, which the engine calls first, and says through [`Refuse`] how DynamoDB
//! words the constraints that its decoding found broken. Where the service has two wordings, the newer
//! one is used: it puts faults in the shape of a PutItem, UpdateItem or DeleteItem request behind
//! `1 validation error detected: `, and leaves those of reads bare.

mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod create_table;
mod delete_item;
mod delete_resource_policy;
mod delete_table;
mod describe_continuous_backups;
mod describe_endpoints;
mod describe_limits;
mod describe_table;
mod describe_time_to_live;
mod execute_statement;
mod execute_transaction;
mod get_item;
mod get_resource_policy;
mod list_tables;
mod list_tags_of_resource;
mod parameters;
mod put_item;
mod put_resource_policy;
mod query;
mod resource;
mod scan;
mod schema;
mod tag_resource;
mod transact_get_items;
mod transact_write_items;
mod untag_resource;
mod update_item;
mod update_table;
mod update_time_to_live;

use crate::violation::{Constraint, Violation, Violations};
use crate::{Error, TableName};

/// How an operation reports broken constraints.
pub(crate) trait Refuse {
    /// `violations` is not empty, and in the order in which its members are reported.
    fn refuse(&self, violations: Violations) -> Error {
        violations.into_error()
    }
}

/// Table operations report a missing name alone and in other words.
fn refuse_table_request(violations: Violations) -> Error {
    if violations.iter().any(|violation| violation.member == "tableName" && violation.value.is_none()) {
        return Error::validation("The parameter 'TableName' is required but was not present in the request");
    }
    violations.into_error()
}

/// Item operations report an empty name before all else, and some members in the newer wording.
fn refuse_item_request(violations: Violations) -> Error {
    Error::violations(violations.first_group(&[is_empty_name]).iter().map(newer_wording))
}

fn is_empty_name(violation: &Violation) -> bool {
    violation.member == "tableName" && violation.constraint == Constraint::LengthMin(1)
}

fn newer_wording(violation: &Violation) -> String {
    match (violation.member.as_str(), &violation.constraint) {
        // The list and its misspelling are DynamoDB's.
        ("returnValues", Constraint::OneOf(_)) => "Failed to satisfy constraint: Member must satisfy enum \
             value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
            .to_owned(),
        ("tableName", Constraint::LengthMin(1)) => violation.named_only(),
        ("limit" | "segment" | "totalSegments", _) => violation.named_only(),
        _ => violation.to_string(),
    }
}

/// A transaction's actions can be megabytes: too many of them are not repeated to the client.
fn refuse_transaction(violations: Violations) -> Error {
    Error::violations(violations.iter().map(|violation| {
        match (violation.member.as_str(), &violation.constraint) {
            ("transactItems" | "transactStatements", Constraint::LengthMax(_)) => {
                Violation { value: Some("[...]".to_owned()), ..violation.clone() }.to_string()
            }
            _ => violation.to_string(),
        }
    }))
}

/// The names of tables that are keys of a map, as the batch operations have them.
fn check_table_names<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<(), Error> {
    match names.into_iter().find(|name| TableName::parse(name).is_err()) {
        Some(name) => Err(Error::request_shape(format_args!(
            "Value '{{{name}=...}}' at 'requestItems' failed to satisfy constraint: Map keys must satisfy \
             constraint: [Member must have length less than or equal to 255, Member must have length greater \
             than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
        ))),
        None => Ok(()),
    }
}
