//! ListExports: the exports of a namespace or table, newest first.

use api::{Error, ExportSummary, ListExportsInput, ListExportsOutput};

use crate::export::ExportRecord;
use crate::{Caller, Engine, fault, records};

const PAGE_MAX: usize = 25;

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: ListExportsInput,
) -> Result<ListExportsOutput, Error> {
    input.check()?;
    let mut exports =
        records::list::<ExportRecord>(&*engine.store, &caller.namespace).await.map_err(fault::of_store)?;
    if let Some(arn) = &input.table_arn {
        let table = engine.find(caller, arn)?;
        exports.retain(|export| table.as_ref().is_some_and(|table| table.id == export.table_id));
    }
    exports.sort_by(|left, right| (right.started_ms, &right.arn).cmp(&(left.started_ms, &left.arn)));
    if let Some(after) = &input.next_token {
        let place = exports.iter().position(|export| export.arn == *after);
        exports.drain(..place.map_or(0, |place| place + 1));
    }
    let limit = input.max_results.map_or(PAGE_MAX, |limit| limit as usize);
    let is_last = exports.len() <= limit;
    exports.truncate(limit);
    let summary = |export: &ExportRecord| {
        let description = export.description()?;
        Ok::<_, Error>(ExportSummary {
            export_arn: description.export_arn,
            export_status: description.export_status,
            export_type: description.export_type,
        })
    };
    Ok(ListExportsOutput {
        next_token: exports.last().map(|export| export.arn.clone()).filter(|_| !is_last),
        export_summaries: Some(exports.iter().map(summary).collect::<Result<_, _>>()?),
    })
}
