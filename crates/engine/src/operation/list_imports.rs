//! ListImports: the imports of a namespace or table, newest first.

use api::{Error, ImportSummary, ListImportsInput, ListImportsOutput};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::import::ImportRecord;
use crate::copies::records;
use crate::copies::transfer_record::{hexadecimal_token, newest_first};
use crate::operation::Engine;

const PAGE_MAX: usize = 25;

pub(super) struct ListImports;

impl Serve for ListImports {
    type Input = ListImportsInput;
    type Output = ListImportsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r ListImportsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ListImports", input.table_arn.as_deref().map_or(Resource::Any, Resource::arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ListImportsInput,
    ) -> Result<ListImportsOutput, Error> {
        input.check()?;
        let mut imports = records::list::<ImportRecord>(&*engine.store, &caller.namespace)
            .await
            .map_err(fault::of_store)?;
        if let Some(arn) = &input.table_arn {
            imports.retain(|import| caller.namespace.table_arn(&import.table) == *arn);
        }
        let limit = input.page_size.map_or(PAGE_MAX, |limit| limit as usize);
        let (imports, next_token) =
            newest_first(imports, input.next_token.as_deref(), limit, hexadecimal_token);
        Ok(ListImportsOutput {
            next_token,
            import_summary_list: Some(imports.iter().map(summary).collect::<Result<_, _>>()?),
        })
    }
}

fn summary(import: &ImportRecord) -> Result<ImportSummary, Error> {
    let description = import.description()?;
    Ok(ImportSummary {
        cloud_watch_log_group_arn: description.cloud_watch_log_group_arn,
        end_time: description.end_time,
        import_arn: description.import_arn,
        import_status: description.import_status,
        input_format: description.input_format,
        s3_bucket_source: description.s3_bucket_source,
        start_time: description.start_time,
        table_arn: description.table_arn,
    })
}
