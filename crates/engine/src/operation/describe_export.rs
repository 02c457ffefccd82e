//! DescribeExport: what an export is of, and how far it is.

use api::{DescribeExportInput, DescribeExportOutput, Error, ErrorKind, TableName};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::export::ExportRecord;
use crate::copies::records;
use crate::operation::Engine;

pub(super) struct DescribeExport;

impl Serve for DescribeExport {
    type Input = DescribeExportInput;
    type Output = DescribeExportOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r DescribeExportInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:DescribeExport", Resource::arn(&input.export_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: DescribeExportInput,
    ) -> Result<DescribeExportOutput, Error> {
        input.check()?;
        let arn = &input.export_arn;
        let invalid = || Error::validation("Invalid Export ARN");
        let (table, _) = arn.split_once("/export/").ok_or_else(invalid)?;
        let home = TableName::parse_arn(table).and_then(|name| name.home).ok_or_else(invalid)?;
        if (home.account, home.region) != (&*caller.namespace.account, &*caller.namespace.region) {
            return Err(Error::new(ErrorKind::AccessDenied, "Access is denied"));
        }
        let found = records::get::<ExportRecord>(&*engine.store, &caller.namespace, arn)
            .await
            .map_err(fault::of_store)?;
        let export = found.ok_or_else(|| {
            Error::new(ErrorKind::ExportNotFound, format!("Export not found: Export not found: {arn}"))
        })?;
        Ok(DescribeExportOutput { export_description: Some(export.description()?) })
    }
}
