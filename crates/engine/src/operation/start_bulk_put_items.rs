//! StartBulkPutItems: items from files in a bucket into a table that is there.

use api::{
    BulkOperationDescription, BulkOperationPerformanceTier, BulkOperationStatus, BulkOperationTableDetail,
    Error, ErrorKind, InputCompressionType, InputS3Configuration, OutputS3Configuration,
    StartBulkPutItemsInput, StartBulkPutItemsOutput,
};

use super::authorization::access::{Access, Resource};
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::copies::bulk_put::{BulkPut, BulkPutRecord, PutItems};
use crate::copies::records;
use crate::copies::transfer_record::NewTransfer;
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

/// Operations that may be under way at the same time, as for imports.
const UNDER_WAY_MAX: usize = 50;

pub(super) struct StartBulkPutItems;

impl Serve for StartBulkPutItems {
    type Input = StartBulkPutItemsInput;
    type Output = StartBulkPutItemsOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r StartBulkPutItemsInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:StartBulkPutItems", Resource::table(&input.table_name))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: StartBulkPutItemsInput,
    ) -> Result<StartBulkPutItemsOutput, Error> {
        input.check()?;
        let token = input.client_token.as_deref();
        if let Some(earlier) = BulkPutRecord::of_token(engine, &caller.namespace, token).await? {
            if !earlier.is_same_request(&input) {
                return Err(Error::idempotent_parameter_mismatch());
            }
            return Ok(StartBulkPutItemsOutput { bulk_operation_description: earlier.description()? });
        }
        let table = engine.find(caller, &input.table_name)?;
        let table = table.ok_or_else(|| Error::resource_not_found_table(&input.table_name))?;
        if !table.has_items() {
            return Err(Error::table_being_created(&table.name));
        }
        let under_way = BulkPutRecord::under_way(&*engine.store).await.map_err(fault::of_store)?;
        if under_way.len() >= UNDER_WAY_MAX {
            let message =
                format!("There are {UNDER_WAY_MAX} bulk operations under way. Try again when one has ended");
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        }
        let record = begin(engine, caller, &table, &input);
        records::put(&*engine.store, &record).await.map_err(fault::of_store)?;
        let description = record.description()?;
        engine.background.start(PutItems::of(engine.copies.clone(), record)?);
        Ok(StartBulkPutItemsOutput { bulk_operation_description: description })
    }
}

fn begin(
    engine: &Engine,
    caller: &Caller,
    table: &LiveTable,
    input: &StartBulkPutItemsInput,
) -> BulkPutRecord {
    let started_ms = engine.environment.now_ms();
    let id = transfer::id::operation_id(started_ms, engine.environment.random() as u32);
    let arn = format!("{}/bulk-operation/{id}", table.arn());
    let account = caller.namespace.account.to_string();
    let source = &input.input_s3_configuration;
    let output = &input.output_s3_configuration;
    let description = BulkOperationDescription {
        bulk_operation_arn: Some(arn.clone()),
        bulk_operation_status: Some(BulkOperationStatus::InProgress),
        client_token: input.client_token.clone(),
        failed_item_count: Some(0),
        input_s3_configuration: Some(InputS3Configuration {
            input_compression_type: Some(source.input_compression_type.unwrap_or(InputCompressionType::None)),
            s3_bucket_owner: Some(source.s3_bucket_owner.clone().unwrap_or_else(|| account.clone())),
            ..source.clone()
        }),
        max_write_request_units: input.max_write_request_units,
        output_s3_configuration: Some(OutputS3Configuration {
            s3_bucket_owner: Some(output.s3_bucket_owner.clone().unwrap_or(account)),
            ..output.clone()
        }),
        performance_tier: Some(input.performance_tier.unwrap_or(BulkOperationPerformanceTier::Standard)),
        processed_input_bytes: Some(0),
        processed_item_count: Some(0),
        start_time: Some(started_ms as f64 / 1000.0),
        table_details: Some(vec![BulkOperationTableDetail {
            table_id: Some(table.id.clone()),
            table_name: Some(table.arn()),
        }]),
        ..BulkOperationDescription::default()
    };
    BulkPutRecord::new(NewTransfer {
        namespace: &caller.namespace,
        arn,
        table: &table.name,
        table_id: table.id.clone(),
        request: input,
        description,
        started_ms,
        details: BulkPut::default(),
    })
}
