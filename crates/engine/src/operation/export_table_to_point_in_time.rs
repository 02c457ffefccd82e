//! ExportTableToPointInTime: the items of a table at a time, or the changes of a period, as files in a bucket.

use std::sync::Arc;

use api::{
    Error, ErrorKind, ExportDescription, ExportFormat, ExportStatus, ExportTableToPointInTimeInput,
    ExportTableToPointInTimeOutput, ExportType, ExportViewType, FilterSpecification,
    IncrementalExportSpecification, S3SseAlgorithm,
};

use super::authorization::access::{Access, Resource};
use super::describe_continuous_backups::window;
use super::parameters::Parameters;
use super::restore_table_to_point_in_time;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::stream::iso_8601_ms;
use crate::commit::Commits;
use crate::copies::export::{ExportFilter, ExportRecord, ExportTable, ExportTimes};
use crate::copies::transfer_record::NewTransfer;
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

const PERIOD_MIN_US: u64 = 15 * 60 * 1_000_000;
const PERIOD_MAX_US: u64 = 24 * 60 * 60 * 1_000_000;

pub(super) struct ExportTableToPointInTime;

impl Serve for ExportTableToPointInTime {
    type Input = ExportTableToPointInTimeInput;
    type Output = ExportTableToPointInTimeOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r ExportTableToPointInTimeInput, _: &Namespace) -> Vec<Access<'r>> {
        Access::one("dynamodb:ExportTableToPointInTime", Resource::arn(&input.table_arn))
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: ExportTableToPointInTimeInput,
    ) -> Result<ExportTableToPointInTimeOutput, Error> {
        input.check()?;
        let kind = check_type(&input)?;
        if input.s3_sse_kms_key_id.is_some() && input.s3_sse_algorithm != Some(S3SseAlgorithm::Kms) {
            return Err(invalid("KMS Key Id is not supported for this encryption type"));
        }
        let filter = filter(engine, input.filter_specification.as_ref())?;
        if let Some(earlier) = earlier(engine, caller, &input).await? {
            return Ok(ExportTableToPointInTimeOutput { export_description: Some(earlier) });
        }
        let table = engine.find(caller, &input.table_arn)?.filter(|table| table.has_items());
        let table = table.ok_or_else(|| Error::table_not_found(&input.table_arn))?;
        let now_us = engine.cut(&table).await.map_err(fault::of_store)?;
        let (from_us, time_us) = match kind {
            ExportType::FullExport => (None, full_time(engine, &table, &input, now_us)?),
            ExportType::IncrementalExport => {
                let (from_us, to_us) = period(engine, &table, &input, now_us)?;
                (Some(from_us), to_us)
            }
        };
        check_known(engine, &table, &input).await?;
        let record = begin(engine, &table, &input, from_us, time_us).await?;
        let description = record.description()?;
        engine.background.start(ExportTable {
            copies: engine.copies.clone(),
            record,
            request: input,
            filter,
        });
        Ok(ExportTableToPointInTimeOutput { export_description: Some(description) })
    }
}

async fn begin(
    engine: &Engine,
    table: &Arc<LiveTable>,
    input: &ExportTableToPointInTimeInput,
    from_us: Option<u64>,
    time_us: u64,
) -> Result<ExportRecord, Error> {
    let started_ms = engine.environment.now_ms();
    let id = transfer::id::operation_id(started_ms, engine.environment.random() as u32);
    let arn = format!("{}/export/{id}", table.arn());
    engine.hold_log_from(table, &arn, from_us.unwrap_or(time_us)).await.map_err(fault::of_store)?;
    let description = description(table, input, arn.clone(), from_us.is_some(), time_us, started_ms);
    let record = ExportRecord::new(NewTransfer {
        namespace: &table.namespace,
        arn,
        table: &table.name,
        table_id: table.id.clone(),
        request: input,
        description,
        started_ms,
        details: ExportTimes { time_us, from_us, written: None },
    });
    engine.put_held(table, &record).await.map_err(fault::of_store)?;
    Ok(record)
}

fn description(
    table: &LiveTable,
    input: &ExportTableToPointInTimeInput,
    arn: String,
    is_incremental: bool,
    time_us: u64,
    started_ms: u64,
) -> ExportDescription {
    let kind = if is_incremental { ExportType::IncrementalExport } else { ExportType::FullExport };
    let incremental = input.incremental_export_specification.clone();
    ExportDescription {
        client_token: input.client_token.clone(),
        export_arn: Some(arn),
        export_format: Some(input.export_format.unwrap_or(ExportFormat::DynamodbJson)),
        export_status: Some(ExportStatus::InProgress),
        export_time: (!is_incremental).then_some(time_us as f64 / 1e6),
        export_type: Some(kind),
        filter_specification: input.filter_specification.clone(),
        incremental_export_specification: incremental.map(|asked| IncrementalExportSpecification {
            export_to_time: Some(time_us as f64 / 1e6),
            export_view_type: Some(asked.export_view_type.unwrap_or(ExportViewType::NewAndOldImages)),
            ..asked
        }),
        s3_bucket: Some(input.s3_bucket.clone()),
        s3_bucket_owner: input.s3_bucket_owner.clone(),
        s3_prefix: input.s3_prefix.clone(),
        s3_sse_algorithm: Some(input.s3_sse_algorithm.unwrap_or(S3SseAlgorithm::Aes256)),
        s3_sse_kms_key_id: input.s3_sse_kms_key_id.clone(),
        start_time: Some(started_ms as f64 / 1000.0),
        table_arn: Some(table.arn()),
        table_id: Some(table.id.clone()),
        ..ExportDescription::default()
    }
}

/// The export's type; refuses a specification that does not go with it.
fn check_type(input: &ExportTableToPointInTimeInput) -> Result<ExportType, Error> {
    match (input.export_type, &input.incremental_export_specification) {
        (None, Some(_)) => Err(invalid(
            "Export Type expected to be Incremental Export when incremental export specification is provided",
        )),
        (Some(ExportType::FullExport), Some(_)) => Err(invalid(
            "When Export Type is Full Export , Incremental Export Specification should not be provided",
        )),
        (Some(ExportType::IncrementalExport), None) => Err(invalid(
            "Incremental Export Specification expected when export type is set as Incremental Export",
        )),
        (Some(ExportType::IncrementalExport), Some(asked)) if asked.export_from_time.is_none() => {
            Err(invalid("ExportFromTime must be provided in IncrementalExportSpecification"))
        }
        (kind, _) => Ok(kind.unwrap_or(ExportType::FullExport)),
    }
}

/// Which items are exported, as the request says.
pub fn filter(commits: &Commits, specification: Option<&FilterSpecification>) -> Result<ExportFilter, Error> {
    let Some(asked) = specification else { return Ok(ExportFilter::default()) };
    if *asked == FilterSpecification::default() {
        return Err(invalid("Invalid FilterSpecification: The specification can not be empty"));
    }
    let names = &asked.expression_attribute_names;
    let mut parameters = Parameters::of_read(commits, names, &asked.expression_attribute_values)?;
    let keys = parameters.condition(asked.key_condition_expression.as_deref())?;
    let filter = parameters.filter(asked.filter_expression.as_deref(), None, None)?;
    let projection = parameters.projection(asked.projection_expression.as_deref(), None)?;
    parameters.finish()?;
    Ok(ExportFilter { conditions: keys.into_iter().chain(filter).collect(), projection })
}

/// The export that was begun with the same client token.
async fn earlier(
    engine: &Engine,
    caller: &Caller,
    input: &ExportTableToPointInTimeInput,
) -> Result<Option<ExportDescription>, Error> {
    let token = input.client_token.as_deref();
    let found = ExportRecord::of_token(engine, &caller.namespace, token).await?;
    match found {
        None => Ok(None),
        Some(export) if export.is_same_request(input) => export.description().map(Some),
        Some(_) => Err(Error::new(
            ErrorKind::ExportConflict,
            "Export conflict: Duplicate request detected with conflicting parameters",
        )),
    }
}

/// The moment of a full export: the one that the request names, or now.
fn full_time(
    engine: &Engine,
    table: &LiveTable,
    input: &ExportTableToPointInTimeInput,
    now_us: u64,
) -> Result<u64, Error> {
    let window = window(engine, table).ok_or_else(|| Error::recovery_unavailable(&table.name))?;
    let time_us = input.export_time.map_or(now_us, micros);
    match time_us <= now_us && time_us >= *window.start() {
        true => Ok(time_us),
        false => Err(invalid_time("Export Time is invalid")),
    }
}

/// The period of an incremental export: from inclusive, to exclusive.
fn period(
    engine: &Engine,
    table: &LiveTable,
    input: &ExportTableToPointInTimeInput,
    now_us: u64,
) -> Result<(u64, u64), Error> {
    let window = window(engine, table).ok_or_else(|| Error::recovery_unavailable(&table.name))?;
    let asked = input.incremental_export_specification.as_ref();
    let from_us = asked.and_then(|asked| asked.export_from_time).map_or(0, micros);
    let to_us = asked.and_then(|asked| asked.export_to_time).map_or(now_us, micros);
    let shown = |time_us: u64| iso_8601_ms(time_us / 1000) + "Z";
    if from_us < table.created_ms * 1000 {
        return Err(invalid_time(&format!(
            "Incremental export period from time cannot be less than the table creation time : {}",
            shown(table.created_ms * 1000)
        )));
    }
    if to_us > now_us {
        return Err(invalid_time(&format!(
            "Incremental export period to time cannot be greater than the current time : {}",
            shown(now_us)
        )));
    }
    if to_us.saturating_sub(from_us) < PERIOD_MIN_US {
        return Err(invalid_time(
            "Difference between export period from time and export period to time is less than 15 minutes",
        ));
    }
    if to_us - from_us > PERIOD_MAX_US {
        return Err(invalid_time(
            "Difference between export period from time and export period to time is greater than 24 hours",
        ));
    }
    if from_us < *window.start() {
        return Err(invalid_time("Point in Time Recovery is not available for specified export time"));
    }
    Ok((from_us, to_us))
}

/// Refuses a time at which the clock was wrong.
async fn check_known(
    engine: &Engine,
    table: &LiveTable,
    input: &ExportTableToPointInTimeInput,
) -> Result<(), Error> {
    let period = input.incremental_export_specification.as_ref();
    let times = period.map(|period| [period.export_from_time, period.export_to_time]);
    for time in times.into_iter().flatten().chain([input.export_time]).flatten() {
        let known = restore_table_to_point_in_time::check_known(engine, table, micros(time)).await;
        known.map_err(|error| match error.kind {
            ErrorKind::InvalidRestoreTime => invalid_time(&error.message),
            _ => error,
        })?;
    }
    Ok(())
}

fn micros(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e6) as u64
}

fn invalid(text: &str) -> Error {
    Error::validation(format!("Invalid Request: {text}"))
}

fn invalid_time(text: &str) -> Error {
    Error::new(ErrorKind::InvalidExportTime, text)
}
