//! Imports: a new table from files in a bucket.
//!
//! A job makes the table, CREATING, and puts the items; the table is ACTIVE at the end. Items that can't be put are
//! counted and listed in a log beside the backups. After a restart the job begins again: puts of the same items
//! change nothing.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use api::{
    CreateTableInput, DescribeImportInput, DescribeImportOutput, Error, ImportStatus, ImportTableDescription,
    ImportTableInput, Input, InputFormat, Operation, Request, Response,
};
use expression::Condition;
use item::{Item, Type};
use serde::{Deserialize, Serialize};
use store::StoreError;
use transfer::import::{self, CsvOptions, Pointer};
use transfer::{Format, Import, PlaceError, PutRecord};

use crate::background::Job;
use crate::base::origin::Origin;
use crate::base::table::{NewTable, Table, TableState};
use crate::commit::Outcome;
use crate::copies::Copies;
use crate::copies::loading::{self, Load, LoadCounts, LoadStop, Loader, RecordSource};
use crate::copies::transfer_record::{Transfer, TransferFailure, TransferRecord};
use crate::copies::{places, restore};
use crate::tables::catalog::{CreateError, LiveTable};

/// How large the log of errors becomes.
const LOG_BYTES_MAX: usize = 1 << 20;

/// An import as it is stored.
pub type ImportRecord = TransferRecord<ImportDetails>;

/// How far an import is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ImportDetails {
    /// All items were put, and the description has their counts. What is left is to make the table ACTIVE and to say so:
    /// clients may have written to the table since, or deleted it.
    #[serde(default)]
    pub is_loaded: bool,
}

impl Transfer for ImportDetails {
    const KIND: &'static str = "import";
    const OPERATION: Operation = Operation::ImportTable;
    type Request = ImportTableInput;
    type Description = ImportTableDescription;

    fn request(request: Request) -> Option<ImportTableInput> {
        match request {
            Request::ImportTable(input) => Some(*input),
            _ => None,
        }
    }

    fn client_token(request: &ImportTableInput) -> Option<&str> {
        request.client_token.as_deref()
    }

    fn answer(description: ImportTableDescription) -> Response {
        DescribeImportOutput { import_table_description: description }.into()
    }

    fn read_answer(json: &[u8]) -> Result<ImportTableDescription, Error> {
        DescribeImportInput::read_output(json).map(|output| output.import_table_description)
    }

    fn is_under_way(description: &ImportTableDescription) -> bool {
        description.import_status == Some(ImportStatus::InProgress)
    }

    fn fail(description: &mut ImportTableDescription, failure: &TransferFailure) {
        description.import_status = Some(ImportStatus::Failed);
        description.end_time = Some(failure.end_time);
        description.failure_code = Some(failure.code.clone());
        description.failure_message = Some(failure.message.clone());
    }
}

/// The request for the table that an import makes.
pub fn create_table_input(input: &ImportTableInput) -> CreateTableInput {
    let asked = input.table_creation_parameters.clone();
    CreateTableInput {
        table_name: asked.table_name,
        attribute_definitions: Some(asked.attribute_definitions),
        key_schema: Some(asked.key_schema),
        billing_mode: asked.billing_mode,
        provisioned_throughput: asked.provisioned_throughput,
        on_demand_throughput: asked.on_demand_throughput,
        sse_specification: asked.sse_specification,
        global_secondary_indexes: asked.global_secondary_indexes,
        vector_indexes: asked.vector_indexes,
        ..CreateTableInput::default()
    }
}

/// Makes the table of an import and puts its items.
pub struct ImportJob {
    pub copies: Arc<Copies>,
    pub record: ImportRecord,
    pub request: ImportTableInput,
    pub new: NewTable,
    /// The id of the new table.
    pub table_id: String,
}

impl Job for ImportJob {
    fn name(&self) -> &'static str {
        "import of a table"
    }

    fn subject(&self) -> String {
        self.record.arn.clone()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let Some(stored) = self.record.stored(&*self.copies.store).await? else { return Ok(()) };
        if !stored.details.is_loaded && !self.load().await? {
            return Ok(());
        }
        if let Some(table) = self.own_table() {
            restore::finish(&self.copies, &table).await?;
        }
        self.end().await
    }

    async fn gave_up(&self, reason: &StoreError) -> Result<(), StoreError> {
        self.abandon("UNKNOWN", &reason.to_string()).await
    }
}

impl ImportJob {
    /// Puts all items. False if the import has failed.
    async fn load(&self) -> Result<bool, StoreError> {
        let failed = |ended: Result<(), StoreError>| ended.map(|()| false);
        let mut objects = match self.open().await {
            Ok(objects) => objects,
            Err(error) => {
                return failed(self.abandon(places::failure_code(&error), &error.to_string()).await);
            }
        };
        let Some(table) = self.table().await? else {
            let message = format!("Table already exists: {}", self.record.table);
            return failed(self.fail("TableAlreadyExists", &message).await);
        };
        let mut load = Load::new(&self.copies, table, ErrorLog { job: self, log: String::new() });
        match load.put_all(&mut objects).await {
            Ok(()) => {}
            Err(LoadStop::Store(error)) => return Err(error),
            Err(LoadStop::TableGone | LoadStop::Ended) => {
                return failed(self.fail("TableNotFound", "The table was deleted in the meantime").await);
            }
        }
        self.keep_log(load.loader.log).await;
        let loaded = |record: &mut ImportRecord| record.details.is_loaded = true;
        self.record.change(&*self.copies.store, loaded).await?;
        Ok(true)
    }

    /// The table that this import has made, until it is ACTIVE.
    fn own_table(&self) -> Option<Arc<LiveTable>> {
        let ImportRecord { namespace, arn, table, .. } = &self.record;
        self.copies.catalog.find(namespace, table).filter(|found| found.import.as_ref() == Some(arn))
    }

    /// Ends the import as failed, without its table.
    async fn abandon(&self, code: &str, message: &str) -> Result<(), StoreError> {
        if let Some(table) = self.own_table() {
            restore::abandon(&self.copies, &table).await?;
        }
        self.fail(code, message).await
    }

    async fn open(&self) -> Result<Import, PlaceError> {
        let source = &self.request.s3_bucket_source;
        let format = match self.request.input_format {
            InputFormat::Csv => import::InputFormat::Csv(self.csv_options()),
            InputFormat::DynamodbJson => import::InputFormat::Lines(Format::DynamodbJson),
            InputFormat::Ion => import::InputFormat::Lines(Format::Ion),
        };
        let bucket = self.copies.bucket(&source.s3_bucket).await?;
        let compression = self.request.input_compression_type;
        loading::open(bucket, source.s3_key_prefix.as_deref(), format, compression).await
    }

    fn csv_options(&self) -> CsvOptions {
        let asked = self.request.input_format_options.as_ref().and_then(|options| options.csv.clone());
        let delimiter =
            asked.as_ref().and_then(|csv| csv.delimiter.as_ref()).and_then(|text| text.bytes().next());
        let key_types: BTreeMap<String, Type> =
            self.new.definitions.iter().map(|attribute| (attribute.name.clone(), attribute.kind)).collect();
        CsvOptions {
            delimiter: delimiter.unwrap_or(b','),
            header: asked.and_then(|csv| csv.header_list),
            key_types,
        }
    }

    /// The table to be filled, made if it is not there yet; none if the name is taken.
    async fn table(&self) -> Result<Option<Arc<LiveTable>>, StoreError> {
        let ImportRecord { namespace, arn, table, .. } = &self.record;
        if self.copies.catalog.find(namespace, table).is_some() {
            return Ok(self.own_table());
        }
        let (home, arn, new) = (namespace.clone(), arn.clone(), self.new.clone());
        let (id, now_ms) = (self.table_id.clone(), self.copies.environment.now_ms());
        let make = move |space| {
            let new = NewTable { state: TableState::Creating, ..new.clone() };
            let mut table = Table::new(home.clone(), new, space, id.clone(), now_ms);
            table.import = Some(arn.clone());
            table
        };
        match self.copies.catalog.create(namespace, table, make).await {
            Ok(table) => Ok(Some(table)),
            Err(CreateError::Exists) => Ok(None),
            Err(CreateError::Store(error)) => Err(error),
        }
    }

    /// Keeps the log of errors beside the backups. Without a place for it the server's own log has to do.
    async fn keep_log(&self, log: String) {
        if log.is_empty() {
            return;
        }
        let id = self.record.arn.rsplit('/').next().unwrap_or_default();
        let key = format!("imports/{id}/error");
        let kept = match self.copies.backups_place() {
            Ok(place) => place.put(&key, log.clone().into()).await,
            Err(error) => Err(error),
        };
        match kept {
            Ok(()) => tracing::warn!(import = self.record.arn, log = key, "items were not imported"),
            Err(_) => tracing::warn!(import = self.record.arn, "items were not imported:\n{log}"),
        }
    }

    async fn end(&self) -> Result<(), StoreError> {
        const MESSAGE: &str = "Some of the items failed validation checks and were not imported. Please check \
                               CloudWatch error logs for more details.";
        let end_time = self.copies.environment.now_ms() as f64 / 1000.0;
        let (code, message) = ("ItemValidationError".to_owned(), MESSAGE.to_owned());
        let failure = TransferFailure { code, message, end_time };
        self.record
            .describe(&*self.copies.store, move |description| {
                description.end_time = Some(end_time);
                description.import_status = Some(ImportStatus::Completed);
                if description.error_count.unwrap_or_default() > 0 {
                    ImportDetails::fail(description, &failure);
                }
            })
            .await
    }

    async fn fail(&self, code: &str, message: &str) -> Result<(), StoreError> {
        self.record.fail(&self.copies, code, message).await
    }
}

fn show(description: &mut ImportTableDescription, counts: LoadCounts) {
    description.processed_item_count = Some(counts.processed as i64);
    description.imported_item_count = Some(counts.written as i64);
    description.error_count = Some(counts.errors as i64);
    description.processed_size_bytes = Some(counts.bytes as i64);
}

/// The log of what could not be imported.
struct ErrorLog<'a> {
    job: &'a ImportJob,
    log: String,
}

impl Loader for ErrorLog<'_> {
    const ORIGIN: Origin = Origin::Import;
    const PROGRESS_RECORDS: u64 = 5000;

    /// Imports have no conditions.
    fn condition(&self, _: &PutRecord) -> Result<Option<Condition>, Error> {
        Ok(None)
    }

    fn refused(&mut self, source: &RecordSource, message: &str) {
        if self.log.len() < LOG_BYTES_MAX {
            let bucket = &self.job.request.s3_bucket_source.s3_bucket;
            let pointer = Pointer::new(bucket, &source.key, source.index);
            self.log += &import::error_log_line(&self.job.record.arn, pointer, &[message]);
            self.log += "\n";
        }
    }

    fn condition_failed(&mut self, _: &RecordSource, _: &Item, _: Option<Item>) -> bool {
        false
    }

    fn written(&mut self, _: &Table, _: &Outcome) {}

    fn is_full(&self) -> bool {
        false
    }

    async fn progress(
        &mut self,
        counts: LoadCounts,
        _: Option<&RecordSource>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let store = &*self.job.copies.store;
        self.job.record.describe(store, move |description| show(description, counts)).await?;
        Ok(ControlFlow::Continue(()))
    }
}
