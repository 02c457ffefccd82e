//! ListExports: the exports of a namespace or table, newest first.

use api::{Error, ExportSummary, ListExportsInput, ListExportsOutput};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::export::ExportRecord;
use crate::copies::records;
use crate::copies::transfer_record::newest_first;
use crate::operation::Engine;

const PAGE_MAX: usize = 25;

pub(super) struct ListExports;

impl Serve for ListExports {
    type Input = ListExportsInput;
    type Output = ListExportsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r ListExportsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListExports", input.table_arn.as_deref().map_or(Resource::Any, Resource::arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListExportsInput,
    ) -> Result<ListExportsOutput, Error> {
        input.check()?;
        let mut exports = records::list::<ExportRecord>(&*engine.store, &caller.namespace)
            .await
            .map_err(fault::of_store)?;
        if let Some(arn) = &input.table_arn {
            let table = engine.find(caller, arn)?;
            exports.retain(|export| table.as_ref().is_some_and(|table| table.id == export.table_id));
        }
        let limit = input.max_results.map_or(PAGE_MAX, |limit| limit as usize);
        let (exports, next_token) =
            newest_first(exports, input.next_token.as_deref(), limit, |export| export.arn.clone());
        let summary = |export: &ExportRecord| {
            let description = export.description()?;
            Ok::<_, Error>(ExportSummary {
                export_arn: description.export_arn,
                export_status: description.export_status,
                export_type: description.export_type,
            })
        };
        Ok(ListExportsOutput {
            next_token,
            export_summaries: Some(exports.iter().map(summary).collect::<Result<_, _>>()?),
        })
    }
}
