//! ListBulkOperations: the bulk operations of the last 90 days, newest first.

use api::{
    BulkOperationStatus, BulkOperationSummary, Error, ListBulkOperationsInput, ListBulkOperationsOutput,
};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::bulk_put::BulkPutRecord;
use crate::copies::records;
use crate::copies::transfer_record::{hexadecimal_token, newest_first};
use crate::operation::Engine;

const PAGE_DEFAULT: usize = 10;
/// How long an operation is listed.
const LISTED_MS: u64 = 90 * 24 * 60 * 60 * 1000;

pub(super) struct ListBulkOperations;

impl Serve for ListBulkOperations {
    type Input = ListBulkOperationsInput;
    type Output = ListBulkOperationsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(_: &'r ListBulkOperationsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListBulkOperations", Resource::Any)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListBulkOperationsInput,
    ) -> Result<ListBulkOperationsOutput, Error> {
        input.check()?;
        let mut records = records::list::<BulkPutRecord>(&*engine.store, &caller.namespace)
            .await
            .map_err(fault::of_store)?;
        let since_ms = engine.environment.now_ms().saturating_sub(LISTED_MS);
        records.retain(|record| record.started_ms >= since_ms);
        let limit = input.max_results.map_or(PAGE_DEFAULT, |limit| limit as usize);
        let (records, next_token) =
            newest_first(records, input.next_token.as_deref(), limit, hexadecimal_token);
        let summaries = records.iter().map(summary).collect::<Result<_, _>>()?;
        Ok(ListBulkOperationsOutput { bulk_operations_summary_list: Some(summaries), next_token })
    }
}

fn summary(record: &BulkPutRecord) -> Result<BulkOperationSummary, Error> {
    let description = record.description()?;
    Ok(BulkOperationSummary {
        bulk_operation_arn: record.arn.clone(),
        bulk_operation_status: description.bulk_operation_status.unwrap_or(BulkOperationStatus::InProgress),
        end_time: description.end_time,
        start_time: description.start_time.unwrap_or_default(),
    })
}
