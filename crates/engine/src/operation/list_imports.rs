//! ListImports: the imports of a namespace or table, newest first.

use api::{Error, ImportSummary, ListImportsInput, ListImportsOutput};

use crate::import::ImportRecord;
use crate::{Caller, Engine, fault, records};

const PAGE_MAX: usize = 25;

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: ListImportsInput,
) -> Result<ListImportsOutput, Error> {
    input.check()?;
    let mut imports =
        records::list::<ImportRecord>(&*engine.store, &caller.namespace).await.map_err(fault::of_store)?;
    if let Some(arn) = &input.table_arn {
        imports.retain(|import| caller.namespace.table_arn(&import.table) == *arn);
    }
    imports.sort_by(|left, right| (right.started_ms, &right.arn).cmp(&(left.started_ms, &left.arn)));
    if let Some(after) = &input.next_token {
        let place = imports.iter().position(|import| token(import) == *after);
        imports.drain(..place.map_or(0, |place| place + 1));
    }
    let limit = input.page_size.map_or(PAGE_MAX, |limit| limit as usize);
    let is_last = imports.len() <= limit;
    imports.truncate(limit);
    Ok(ListImportsOutput {
        next_token: imports.last().map(token).filter(|_| !is_last),
        import_summary_list: Some(imports.iter().map(summary).collect::<Result<_, _>>()?),
    })
}

/// The token of the page after this import. DynamoDB's tokens have only hexadecimal digits.
fn token(import: &ImportRecord) -> String {
    blake3::hash(import.arn.as_bytes()).to_hex().repeat(2)[..112].to_owned()
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
