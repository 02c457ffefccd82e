//! Rules for requests that need neither a table nor the meaning of an expression, one file an operation.
//!
//! Each input has a `check`, which the engine calls first. Through [`Refuse`] it also says how DynamoDB words
//! the constraints that decoding found broken. Where the service has two wordings, the newer one is used: it
//! begins a fault in the shape of a PutItem, UpdateItem or DeleteItem request with
//! `1 validation error detected: `, and has no such beginning for reads.

mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod create_table;
mod delete_item;
mod delete_resource_policy;
mod delete_table;
mod describe_table;
mod execute_statement;
mod execute_transaction;
mod get_item;
mod get_resource_policy;
mod list_tags_of_resource;
mod parameters;
mod put_item;
mod put_resource_policy;
mod query;
mod resource;
mod scan;
mod schema;
mod search_vectors;
mod start_bulk_put_items;
mod tag_resource;
mod transact_get_items;
mod transact_write_items;
mod untag_resource;
mod update_item;
mod update_table;
mod vector_index;

use crate::dynamodb::{
    CancelBulkOperationInput, CreateBackupInput, CreateGlobalTableInput, DeleteBackupInput,
    DescribeBackupInput, DescribeBulkOperationInput, DescribeContinuousBackupsInput,
    DescribeContributorInsightsInput, DescribeEndpointsRequest, DescribeExportInput,
    DescribeGlobalTableInput, DescribeGlobalTableSettingsInput, DescribeImportInput,
    DescribeKinesisStreamingDestinationInput, DescribeLimitsInput, DescribeTableReplicaAutoScalingInput,
    DescribeTimeToLiveInput, ExportTableToPointInTimeInput, ImportTableInput,
    KinesisStreamingDestinationInput, ListBackupsInput, ListBulkOperationsInput,
    ListContributorInsightsInput, ListExportsInput, ListGlobalTablesInput, ListImportsInput, ListTablesInput,
    RestoreTableFromBackupInput, RestoreTableToPointInTimeInput, UpdateContinuousBackupsInput,
    UpdateContributorInsightsInput, UpdateGlobalTableInput, UpdateGlobalTableSettingsInput,
    UpdateKinesisStreamingDestinationInput, UpdateTableReplicaAutoScalingInput, UpdateTimeToLiveInput,
};
use crate::violation::{Constraint, Refuse, Violation, Violations};
use crate::{Error, TableName};

/// Inputs without rules beyond the constraints of their shape.
macro_rules! constraints_only {
    ($($input:ident,)*) => {
        $(
            impl Refuse for $input {}

            impl $input {
                /// Nothing is left to check: decoding has checked the constraints.
                pub fn check(&self) -> Result<(), Error> {
                    Ok(())
                }
            }
        )*
    };
}

constraints_only! {
    CancelBulkOperationInput,
    CreateBackupInput,
    CreateGlobalTableInput,
    DeleteBackupInput,
    DescribeBackupInput,
    DescribeGlobalTableInput,
    DescribeGlobalTableSettingsInput,
    ListGlobalTablesInput,
    UpdateGlobalTableInput,
    UpdateGlobalTableSettingsInput,
    DescribeBulkOperationInput,
    DescribeContinuousBackupsInput,
    DescribeContributorInsightsInput,
    DescribeExportInput,
    DescribeImportInput,
    ExportTableToPointInTimeInput,
    ImportTableInput,
    ListBackupsInput,
    ListBulkOperationsInput,
    ListContributorInsightsInput,
    ListExportsInput,
    ListImportsInput,
    RestoreTableFromBackupInput,
    RestoreTableToPointInTimeInput,
    UpdateContinuousBackupsInput,
    UpdateContributorInsightsInput,
    DescribeEndpointsRequest,
    DescribeLimitsInput,
    DescribeTableReplicaAutoScalingInput,
    DescribeTimeToLiveInput,
    DescribeKinesisStreamingDestinationInput,
    KinesisStreamingDestinationInput,
    UpdateKinesisStreamingDestinationInput,
    ListTablesInput,
    UpdateTableReplicaAutoScalingInput,
    UpdateTimeToLiveInput,
}

/// A table operation reports a missing name alone, in other words than an item operation.
fn refuse_table_request(violations: Violations) -> Error {
    if violations.iter().any(|violation| violation.member == "tableName" && violation.value.is_none()) {
        return Error::validation("The parameter 'TableName' is required but was not present in the request");
    }
    violations.into_error()
}

/// An item operation reports an empty name alone, and some members in the newer wording.
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

/// A transaction's actions can be megabytes: the message about too many of them leaves them out.
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

/// Checks table names that are keys of a map, as in the batch operations.
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
