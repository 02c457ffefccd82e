//! DescribeImport: what an import is of, and how far it is.

use api::{DescribeImportInput, DescribeImportOutput, Error, ErrorKind};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::import::ImportRecord;
use crate::copies::records;
use crate::operation::Engine;

pub(super) struct DescribeImport;

impl Serve for DescribeImport {
    type Input = DescribeImportInput;
    type Output = DescribeImportOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeImportInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeImport", Resource::arn(&input.import_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeImportInput,
    ) -> Result<DescribeImportOutput, Error> {
        input.check()?;
        let arn = &input.import_arn;
        let found = records::get::<ImportRecord>(&*engine.store, &caller.namespace, arn)
            .await
            .map_err(fault::of_store)?;
        let import = found.ok_or_else(|| {
            Error::new(ErrorKind::ImportNotFound, format!("Import not found: Import not found: {arn}"))
        })?;
        Ok(DescribeImportOutput { import_table_description: import.description()? })
    }
}
