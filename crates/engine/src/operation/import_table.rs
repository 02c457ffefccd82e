//! ImportTable: a new table from files in a bucket.

use std::sync::Arc;

use api::{
    Error, ErrorKind, ImportStatus, ImportTableDescription, ImportTableInput, ImportTableOutput,
    InputCompressionType, InputFormat,
};

use super::authorization::access::{Access, Resource};
use super::create_table;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::Copies;
use crate::copies::import::{ImportDetails, ImportJob, ImportRecord, create_table_input};
use crate::copies::records;
use crate::copies::transfer_record::{NewTransfer, Transfer};
use crate::operation::Engine;

pub(super) struct ImportTable;

impl Serve for ImportTable {
    type Input = ImportTableInput;
    type Output = ImportTableOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r ImportTableInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ImportTable", Resource::table(&input.table_creation_parameters.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ImportTableInput,
    ) -> Result<ImportTableOutput, Error> {
        input.check()?;
        let has_options = input.input_format_options.as_ref().is_some_and(|options| options.csv.is_some());
        if has_options && input.input_format != InputFormat::Csv {
            return Err(Error::validation(format!(
                "Invalid Request: Unsupported InputFormatOptions for the given input format: {}.",
                input.input_format.as_str()
            )));
        }
        create_table_input(&input).check()?;
        if let Some(earlier) = earlier(engine, caller, &input).await? {
            return Ok(ImportTableOutput { import_table_description: earlier });
        }
        let name = &input.table_creation_parameters.table_name;
        if engine.find(caller, name)?.is_some() {
            return Err(Error::table_exists(name));
        }
        let record = begin(engine, caller, &input);
        let description = record.description()?;
        records::put(&*engine.store, &record).await.map_err(fault::of_store)?;
        engine.background.start(job(&engine.copies, record)?);
        Ok(ImportTableOutput { import_table_description: description })
    }
}

/// What puts the items of an import.
pub fn job(copies: &Arc<Copies>, record: ImportRecord) -> Result<ImportJob, Error> {
    let request = record.request()?;
    let new = create_table::new_table(&create_table_input(&request), record.started_ms)?;
    let table_id = record.table_id.clone();
    Ok(ImportJob { copies: copies.clone(), record, request, new, table_id })
}

fn begin(engine: &Engine, caller: &Caller, input: &ImportTableInput) -> ImportRecord {
    let started_ms = engine.environment.now_ms();
    let table = &input.table_creation_parameters.table_name;
    let table_arn = caller.namespace.table_arn(table);
    let table_id = create_table::uuid(engine.environment.random());
    let id = transfer::id::operation_id(started_ms, engine.environment.random() as u32);
    let arn = format!("{table_arn}/import/{id}");
    let (account, region) = (&caller.namespace.account, &caller.namespace.region);
    let mut source = input.s3_bucket_source.clone();
    source.s3_bucket_owner.get_or_insert_with(|| account.to_string());
    let description = ImportTableDescription {
        client_token: input.client_token.clone(),
        cloud_watch_log_group_arn: Some(format!(
            "arn:aws:logs:{region}:{account}:log-group:/aws-dynamodb/imports:*"
        )),
        import_arn: Some(arn.clone()),
        import_status: Some(ImportStatus::InProgress),
        error_count: Some(0),
        imported_item_count: Some(0),
        processed_item_count: Some(0),
        processed_size_bytes: Some(0),
        input_compression_type: Some(input.input_compression_type.unwrap_or(InputCompressionType::None)),
        input_format: Some(input.input_format),
        input_format_options: input.input_format_options.clone(),
        s3_bucket_source: Some(source),
        start_time: Some(started_ms as f64 / 1000.0),
        table_arn: Some(table_arn),
        table_creation_parameters: Some(input.table_creation_parameters.clone()),
        table_id: Some(table_id.clone()),
        ..ImportTableDescription::default()
    };
    ImportRecord::new(NewTransfer {
        namespace: &caller.namespace,
        arn,
        table,
        table_id,
        request: input,
        description,
        started_ms,
        details: ImportDetails::default(),
    })
}

/// The import under way that was begun with the same client token.
async fn earlier(
    engine: &Engine,
    caller: &Caller,
    input: &ImportTableInput,
) -> Result<Option<ImportTableDescription>, Error> {
    let token = input.client_token.as_deref();
    let found = ImportRecord::of_token(engine, &caller.namespace, token).await?;
    let Some(import) = found else { return Ok(None) };
    if import.table != input.table_creation_parameters.table_name {
        return Err(Error::new(
            ErrorKind::ImportConflict,
            "Import conflict: Duplicate request detected with conflicting parameters",
        ));
    }
    Ok(Some(import.description()?).filter(ImportDetails::is_under_way))
}
