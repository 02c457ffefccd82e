//! Bulk puts: items from files in a bucket into a table that is in use, each perhaps under a condition.
//!
//! The items are ordinary writes: conditions are checked, indexes kept, changes recorded. They use none of the
//! table's throughput, because DynamoDB bills them by bytes; MaxWriteRequestUnits slows the operation itself down.
//!
//! Records that can't be put, and those whose condition is false, are reported as files:
//!
//! ```text
//! <prefix>/<operation id>/errors/<processed>.json                      one line for each record of type ERROR
//! <prefix>/<operation id>/condition-check-failures/<processed>.json    the same for CONDITION_CHECK_FAILURE
//! <prefix>/<operation id>/manifest.json                                written last: the counts and the files
//! ```
//!
//! How far the job is, is in its record, and so is what it has reported by then. After a restart it goes on from
//! there, so at most [`Loader::PROGRESS_RECORDS`] items are put again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use api::{
    BulkOperationBytes, BulkOperationDescription, BulkOperationInputFormat, BulkOperationStatus,
    BulkOperationUsage, BulkOperationVectorBytes, DescribeBulkOperationInput, DescribeBulkOperationOutput,
    Error, Input, Operation, OutputTypeEnum, Request, Response, StartBulkPutItemsInput,
};
use expression::{Condition, ExpressionError, Kind, Placeholders};
use item::{Item, ValueBuf};
use serde::{Deserialize, Serialize};
use store::StoreError;
use transfer::import::{self, Pointer};
use transfer::{Bucket, Format, Import, PlaceError, PutRecord};

use crate::background::Job;
use crate::base::expressions::Expressions;
use crate::base::index;
use crate::base::origin::Origin;
use crate::base::table::{Scope, Table};
use crate::commit::{Outcome, PLAIN_FACTOR};
use crate::copies::Copies;
use crate::copies::loading::{self, Load, LoadCounts, LoadStop, Loader, RecordSource};
use crate::copies::places;
use crate::copies::transfer_record::{Transfer, TransferFailure, TransferRecord};
use crate::tables::catalog::LiveTable;

/// The lines of a report that are held until they become a file.
const REPORT_BYTES_MAX: usize = 4 << 20;

/// A bulk put as it is stored.
pub type BulkPutRecord = TransferRecord<BulkPut>;

/// How far a bulk put is, beside what clients see of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BulkPut {
    /// Whether an earlier run may have put items behind `after`.
    begun: bool,
    /// The last record that was processed: the key of its object, and its number there.
    after: Option<(String, u64)>,
    condition_failures: u64,
    table_bytes: u64,
    /// By the names of the indexes.
    index_bytes: BTreeMap<String, u64>,
}

impl Transfer for BulkPut {
    const KIND: &'static str = "bulk-put";
    const OPERATION: Operation = Operation::StartBulkPutItems;
    type Request = StartBulkPutItemsInput;
    type Description = BulkOperationDescription;

    fn request(request: Request) -> Option<StartBulkPutItemsInput> {
        match request {
            Request::StartBulkPutItems(input) => Some(*input),
            _ => None,
        }
    }

    fn client_token(request: &StartBulkPutItemsInput) -> Option<&str> {
        request.client_token.as_deref()
    }

    fn answer(description: BulkOperationDescription) -> Response {
        DescribeBulkOperationOutput { bulk_operation_description: description }.into()
    }

    fn read_answer(json: &[u8]) -> Result<BulkOperationDescription, Error> {
        DescribeBulkOperationInput::read_output(json).map(|output| output.bulk_operation_description)
    }

    fn is_under_way(description: &BulkOperationDescription) -> bool {
        let status = description.bulk_operation_status;
        matches!(status, Some(BulkOperationStatus::InProgress | BulkOperationStatus::Cancelling))
    }

    fn fail(description: &mut BulkOperationDescription, failure: &TransferFailure) {
        description.bulk_operation_status = Some(BulkOperationStatus::Failed);
        description.end_time = Some(failure.end_time);
        description.failure_code = Some(failure.code.clone());
        description.failure_message = Some(failure.message.clone());
    }
}

/// Puts the items of a bulk put.
pub struct PutItems {
    copies: Arc<Copies>,
    record: BulkPutRecord,
    request: StartBulkPutItemsInput,
    expressions: Expressions,
}

impl PutItems {
    /// The job of a record.
    pub fn of(copies: Arc<Copies>, record: BulkPutRecord) -> Result<PutItems, Error> {
        let request = record.request()?;
        Ok(PutItems { copies, record, request, expressions: Expressions::default() })
    }
}

impl Job for PutItems {
    fn name(&self) -> &'static str {
        "bulk put of items"
    }

    fn subject(&self) -> String {
        self.record.arn.clone()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let (mut objects, output) = match self.open().await {
            Ok(opened) => opened,
            Err(error) => return self.fail(places::failure_code(&error), &error.to_string()).await,
        };
        let Some(table) = self.table() else { return self.fail_without_table().await };
        let Some(mut load) = self.load(table, output, objects.size_bytes()).await? else { return Ok(()) };
        match load.put_all(&mut objects).await {
            Ok(()) | Err(LoadStop::Ended) => self.end(load.loader, load.counts).await,
            Err(LoadStop::Store(error)) => Err(error),
            Err(LoadStop::TableGone) => self.fail_without_table().await,
        }
    }

    async fn gave_up(&self, reason: &StoreError) -> Result<(), StoreError> {
        self.fail("InternalServerError", &reason.to_string()).await
    }
}

impl PutItems {
    /// The objects to be read, and the bucket for the report.
    async fn open(&self) -> Result<(Import, Bucket), PlaceError> {
        let source = &self.request.input_s3_configuration;
        let format = match source.input_format {
            BulkOperationInputFormat::DynamodbJson => Format::DynamodbJson,
            BulkOperationInputFormat::Ion => Format::Ion,
        };
        let (bucket, prefix) =
            (self.copies.bucket(&source.s3_bucket).await?, source.s3_key_prefix.as_deref());
        let format = import::InputFormat::Lines(format);
        let objects = loading::open(bucket, prefix, format, source.input_compression_type).await?;
        let output = self.request.output_s3_configuration.s3_bucket.as_deref().unwrap_or_default();
        Ok((objects, self.copies.bucket(output).await?))
    }

    fn table(&self) -> Option<Arc<LiveTable>> {
        let BulkPutRecord { namespace, table, table_id, .. } = &self.record;
        self.copies.catalog.find(namespace, table).filter(|found| found.id == *table_id && found.has_items())
    }

    /// The load from where it is; none if it has ended.
    async fn load(
        &self,
        table: Arc<LiveTable>,
        output: Bucket,
        total_bytes: u64,
    ) -> Result<Option<Load<'_, Reporter<'_>>>, StoreError> {
        let BulkPutRecord { namespace, arn, .. } = &self.record;
        let stored =
            crate::copies::records::get::<BulkPutRecord>(&*self.copies.store, namespace, arn).await?;
        let Some(stored) = stored else { return Ok(None) };
        let shown = stored.description().map_err(|error| stored.unreadable(error))?;
        if !BulkPut::is_under_way(&shown) {
            return Ok(None);
        }
        let count = |count: Option<i64>| count.unwrap_or(0).max(0) as u64;
        let reporter = Reporter {
            job: self,
            output,
            total_bytes,
            is_resumed: stored.details.begun,
            progress: BulkPut { begun: true, ..stored.details.clone() },
            errors: String::new(),
            failures: String::new(),
            units: 0.0,
            started_ms: self.copies.environment.now_ms(),
        };
        self.record.change(&*self.copies.store, |record| record.details.begun = true).await?;
        let mut load = Load::new(&self.copies, table, reporter);
        load.counts.processed = count(shown.processed_item_count);
        load.counts.errors = count(shown.failed_item_count);
        load.after = stored.details.after.map(|(key, index)| RecordSource { key: key.into(), index });
        Ok(Some(load))
    }

    async fn end(&self, reporter: Reporter<'_>, counts: LoadCounts) -> Result<(), StoreError> {
        reporter.write_manifest(counts).await.map_err(places::unavailable)?;
        let end_time = self.copies.environment.now_ms() as f64 / 1000.0;
        self.record
            .describe(&*self.copies.store, move |description| {
                description.end_time = Some(end_time);
                let status = match description.bulk_operation_status {
                    Some(BulkOperationStatus::Cancelling) => BulkOperationStatus::Cancelled,
                    _ if counts.errors > 0 => BulkOperationStatus::CompletedWithErrors,
                    _ => BulkOperationStatus::Completed,
                };
                description.bulk_operation_status = Some(status);
                if status == BulkOperationStatus::Cancelled {
                    description.failure_code = Some("Cancelled".to_owned());
                    description.failure_message = Some(
                        "CancelBulkOperation ended the operation. Items that were written stay.".to_owned(),
                    );
                }
            })
            .await
    }

    async fn fail(&self, code: &str, message: &str) -> Result<(), StoreError> {
        self.record.fail(&self.copies, code, message).await
    }

    async fn fail_without_table(&self) -> Result<(), StoreError> {
        self.fail("TableNotFound", "The table was deleted").await
    }
}

/// Reports the outcome of each record, and stores how far the load is.
struct Reporter<'a> {
    job: &'a PutItems,
    output: Bucket,
    total_bytes: u64,
    /// Whether an earlier run may have put the next items already.
    is_resumed: bool,
    progress: BulkPut,
    /// Lines of the two reports that are not in a file yet.
    errors: String,
    failures: String,
    /// Write units since this run began, and when it did.
    units: f64,
    started_ms: u64,
}

impl Loader for Reporter<'_> {
    const ORIGIN: Origin = Origin::BulkPut;
    const PROGRESS_RECORDS: u64 = 500;

    fn condition(&self, record: &PutRecord) -> Result<Option<Condition>, Error> {
        let values: Option<BTreeMap<String, ValueBuf>> =
            record.expression_attribute_values.as_ref().map(|values| {
                values.as_ref().iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
            });
        let mut placeholders = Placeholders::new(record.expression_attribute_names.as_ref(), values.as_ref());
        let bind = || {
            placeholders.check_keys()?;
            let text = record.condition_expression.as_deref();
            let condition = self.job.expressions.condition(Kind::Condition, text, &mut placeholders)?;
            placeholders.finish()?;
            Ok(condition)
        };
        bind().map_err(|error: ExpressionError| Error::validation(error.to_string()))
    }

    fn refused(&mut self, source: &RecordSource, message: &str) {
        if self.reports(OutputTypeEnum::Error) {
            let line = import::bulk_error_line(&self.job.record.arn, self.pointer(source), &[message]);
            add_line(&mut self.errors, &line);
        }
    }

    /// An item that an earlier run has put can make its own condition false.
    fn condition_failed(&mut self, source: &RecordSource, item: &Item, existing: Option<Item>) -> bool {
        if self.is_resumed && existing.as_ref() == Some(item) {
            return true;
        }
        self.progress.condition_failures += 1;
        if self.reports(OutputTypeEnum::ConditionCheckFailure) {
            let (arn, pointer) = (&self.job.record.arn, self.pointer(source));
            let line = import::condition_failure_line(arn, pointer, item.as_ref(), existing.as_ref());
            add_line(&mut self.failures, &line);
        }
        false
    }

    fn written(&mut self, table: &Table, outcome: &Outcome) {
        self.units += outcome.units(table, PLAIN_FACTOR).total();
        self.progress.table_bytes += outcome.new_bytes() as u64;
        let Some(new) = &outcome.new else { return };
        for changed in &outcome.indexes {
            let Some(index) = table.indexes.iter().find(|index| index.space() == changed.space) else {
                continue;
            };
            if let Some((_, entry)) = index::entry(table, index, new) {
                let bytes = self.progress.index_bytes.entry(index.name.clone()).or_default();
                *bytes += entry.size_bytes() as u64;
            }
        }
    }

    fn is_full(&self) -> bool {
        self.errors.len().max(self.failures.len()) >= REPORT_BYTES_MAX
    }

    async fn progress(
        &mut self,
        counts: LoadCounts,
        last: Option<&RecordSource>,
    ) -> Result<ControlFlow<()>, StoreError> {
        self.write_reports(counts).await.map_err(places::unavailable)?;
        self.progress.after = last.map(|source| (source.key.to_string(), source.index));
        self.is_resumed = false;
        let is_cancelled = AtomicBool::new(false);
        let (progress, total_bytes) = (&self.progress, self.total_bytes as i64);
        let Some(table) = self.job.table() else { return Ok(ControlFlow::Continue(())) };
        let change = |record: &mut BulkPutRecord| {
            record.details = progress.clone();
            record.redescribe(|description| {
                let status = description.bulk_operation_status;
                is_cancelled.store(status == Some(BulkOperationStatus::Cancelling), Ordering::Relaxed);
                description.processed_item_count = Some(counts.processed as i64);
                description.failed_item_count = Some(counts.errors as i64);
                description.processed_input_bytes = Some(counts.bytes as i64);
                description.total_input_bytes = Some(total_bytes);
                description.bulk_operation_usage = Some(vec![usage(&table, progress)]);
            });
        };
        self.job.record.change(&*self.job.copies.store, change).await?;
        if is_cancelled.load(Ordering::Relaxed) {
            return Ok(ControlFlow::Break(()));
        }
        self.keep_to_rate().await;
        Ok(ControlFlow::Continue(()))
    }
}

impl Reporter<'_> {
    fn reports(&self, kind: OutputTypeEnum) -> bool {
        self.job.request.output_s3_configuration.output_type.contains(&kind)
    }

    fn pointer<'s>(&'s self, source: &'s RecordSource) -> Pointer<'s> {
        Pointer::new(&self.job.request.input_s3_configuration.s3_bucket, &source.key, source.index)
    }

    /// Waits for as long as the units so far should have taken at least.
    async fn keep_to_rate(&self) {
        let Some(units_per_second) = self.job.request.max_write_request_units else { return };
        let environment = &self.job.copies.environment;
        let due_ms = (self.units / units_per_second as f64 * 1000.0) as u64;
        let elapsed_ms = environment.now_ms().saturating_sub(self.started_ms);
        if let Some(early_ms) = due_ms.checked_sub(elapsed_ms).filter(|early_ms| *early_ms > 0) {
            environment.sleep(Duration::from_millis(early_ms)).await;
        }
    }

    /// The folder of the report.
    fn folder(&self) -> String {
        let prefix = self.job.request.output_s3_configuration.s3_key_prefix.as_deref().unwrap_or_default();
        let id = self.job.record.arn.rsplit('/').next().unwrap_or_default();
        match prefix.trim_matches('/') {
            "" => id.to_owned(),
            prefix => format!("{prefix}/{id}"),
        }
    }

    /// Puts the lines that are held as files. They are named by the number of records, so that a run that repeats
    /// this part replaces them.
    async fn write_reports(&mut self, counts: LoadCounts) -> Result<(), PlaceError> {
        let (folder, processed) = (self.folder(), counts.processed);
        let reports = [("errors", &mut self.errors), ("condition-check-failures", &mut self.failures)];
        for (name, lines) in reports.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            let key = format!("{folder}/{name}/{processed:012}.json");
            self.output.put(&key, lines.clone().into()).await?;
            lines.clear();
        }
        Ok(())
    }

    async fn write_manifest(&self, counts: LoadCounts) -> Result<(), PlaceError> {
        let folder = self.folder();
        let files = self.output.list(&format!("{folder}/")).await?;
        let manifest = Manifest {
            bulk_operation_arn: &self.job.record.arn,
            table_arn: self.job.record.namespace.table_arn(&self.job.record.table),
            processed_item_count: counts.processed,
            failed_item_count: counts.errors,
            condition_check_failure_count: self.progress.condition_failures,
            files: files.into_iter().map(|file| file.key).collect(),
        };
        let json = serde_json::to_vec(&manifest).expect("strings and numbers all have a form in JSON");
        self.output.put(&format!("{folder}/manifest.json"), json.into()).await
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    bulk_operation_arn: &'a str,
    table_arn: String,
    processed_item_count: u64,
    failed_item_count: u64,
    condition_check_failure_count: u64,
    /// The keys of the report's files.
    files: Vec<String>,
}

fn add_line(report: &mut String, line: &str) {
    report.push_str(line);
    report.push('\n');
}

fn usage(table: &Table, progress: &BulkPut) -> BulkOperationUsage {
    let bytes = |bytes: u64| BulkOperationBytes { bulk_put_bytes: Some(bytes as i64) };
    let of_scope = |scope: Scope| {
        let is_of_scope = |name: &String| table.index(name).is_some_and(|index| index.scope == scope);
        let indexes = progress.index_bytes.iter().filter(|(name, _)| is_of_scope(name));
        let indexes: BTreeMap<String, BulkOperationBytes> =
            indexes.map(|(name, count)| (name.clone(), bytes(*count))).collect();
        (!indexes.is_empty()).then_some(indexes)
    };
    let is_vector = |name: &String| table.index(name).is_some_and(|index| index.vector.is_some());
    let vectors = progress.index_bytes.iter().filter(|(name, _)| is_vector(name));
    let vector_bytes = |bytes: u64| BulkOperationVectorBytes { bulk_put_vector_bytes: Some(bytes as i64) };
    let vectors: BTreeMap<String, BulkOperationVectorBytes> =
        vectors.map(|(name, count)| (name.clone(), vector_bytes(*count))).collect();
    let total = progress.table_bytes + progress.index_bytes.values().sum::<u64>();
    BulkOperationUsage {
        bulk_put_bytes: Some(total as i64),
        global_secondary_indexes: of_scope(Scope::Global),
        local_secondary_indexes: of_scope(Scope::Local),
        table: Some(bytes(progress.table_bytes)),
        table_name: Some(table.arn()),
        vector_indexes: (!vectors.is_empty()).then_some(vectors),
    }
}
