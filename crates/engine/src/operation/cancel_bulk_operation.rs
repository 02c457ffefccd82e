//! CancelBulkOperation: a bulk operation ends soon. Items that it has written stay.

use api::{BulkOperationStatus, CancelBulkOperationInput, CancelBulkOperationOutput, Error};

use super::authorization::access::{Access, Resource};
use super::describe_bulk_operation::find;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::bulk_put::BulkPut;
use crate::copies::transfer_record::Transfer;
use crate::operation::Engine;

pub(super) struct CancelBulkOperation;

impl Serve for CancelBulkOperation {
    type Input = CancelBulkOperationInput;
    type Output = CancelBulkOperationOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r CancelBulkOperationInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:CancelBulkOperation", Resource::arn(&input.bulk_operation_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: CancelBulkOperationInput,
    ) -> Result<CancelBulkOperationOutput, Error> {
        input.check()?;
        let record = find(engine, caller, &input.bulk_operation_arn).await?;
        let cancelled = record.describe(&*engine.store, |description| {
            if BulkPut::is_under_way(description) {
                description.bulk_operation_status = Some(BulkOperationStatus::Cancelling);
            }
        });
        cancelled.await.map_err(fault::of_store)?;
        let status = find(engine, caller, &record.arn).await?.description()?.bulk_operation_status;
        match status {
            Some(status @ BulkOperationStatus::Cancelling) => Ok(CancelBulkOperationOutput {
                bulk_operation_arn: record.arn,
                bulk_operation_status: status,
            }),
            // It may have ended because it was cancelled a moment ago.
            Some(BulkOperationStatus::Cancelled) => Ok(CancelBulkOperationOutput {
                bulk_operation_arn: record.arn,
                bulk_operation_status: BulkOperationStatus::Cancelling,
            }),
            status => Err(Error::validation(format!(
                "Invalid Request: The bulk operation has ended and can't be cancelled: {}",
                status.map_or("unknown", |status| status.as_str())
            ))),
        }
    }
}
