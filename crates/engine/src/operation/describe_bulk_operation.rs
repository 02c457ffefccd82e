//! DescribeBulkOperation: what a bulk operation does, and how far it is.

use api::{DescribeBulkOperationInput, DescribeBulkOperationOutput, Error, ErrorKind};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::bulk_put::BulkPutRecord;
use crate::copies::records;
use crate::operation::Engine;

pub(super) struct DescribeBulkOperation;

impl Serve for DescribeBulkOperation {
    type Input = DescribeBulkOperationInput;
    type Output = DescribeBulkOperationOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeBulkOperationInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeBulkOperation", Resource::arn(&input.bulk_operation_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeBulkOperationInput,
    ) -> Result<DescribeBulkOperationOutput, Error> {
        input.check()?;
        let record = find(engine, caller, &input.bulk_operation_arn).await?;
        Ok(DescribeBulkOperationOutput { bulk_operation_description: record.description()? })
    }
}

/// The caller's bulk operation with this ARN.
pub async fn find(engine: &Engine, caller: &Caller, arn: &str) -> Result<BulkPutRecord, Error> {
    let found = records::get::<BulkPutRecord>(&*engine.store, &caller.namespace, arn).await;
    found.map_err(fault::of_store)?.ok_or_else(|| {
        let message = format!("Requested resource not found: Bulk operation: {arn} not found");
        Error::new(ErrorKind::ResourceNotFound, message)
    })
}
