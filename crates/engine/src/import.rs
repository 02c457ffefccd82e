//! Imports: a new table from files in a bucket.
//!
//! An import is a record with the request and the description that clients see. A job makes the table, CREATING,
//! and puts the items; the table is ACTIVE at the end. Items that can't be put are counted and listed in a
//! log beside the backups. After a restart the job begins again: puts of the same items change nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use api::{
    CreateTableInput, DescribeImportInput, DescribeImportOutput, Error, ImportStatus, ImportTableDescription,
    ImportTableInput, Input, InputCompressionType, InputFormat, Operation, Request, Response,
};
use item::{Item, Type};
use serde::{Deserialize, Serialize};
use store::{Key, StoreError};
use transfer::import::{self, CsvOptions, error_log_line};
use transfer::{Bucket, Compression, Format, Import, ImportError, PlaceError};

use crate::background::Job;
use crate::catalog::{CreateError, LiveTable};
use crate::records::{self, Record};
use crate::shared::Core;
use crate::table::{NewTable, Table, TableState};
use crate::write::{self, Change, Failure, Origin, Plan, WriteError};
use crate::{Namespace, restore};

/// Items that one commit writes.
const COMMIT_ITEMS: usize = 25;
/// Items between two updates of the record's counters.
const PROGRESS_ITEMS: u64 = 5000;
/// How large the log of errors becomes.
const LOG_BYTES_MAX: usize = 1 << 20;

/// An import as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportRecord {
    #[serde(flatten)]
    pub namespace: Namespace,
    pub arn: String,
    pub table: String,
    /// The request and the answer of DescribeImport, as JSON.
    request: String,
    description: String,
    pub started_ms: u64,
}

impl Record for ImportRecord {
    const KIND: &'static str = "import";

    fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    fn arn(&self) -> &str {
        &self.arn
    }
}

impl ImportRecord {
    /// The record of a new import.
    pub fn new(
        namespace: &Namespace,
        request: &ImportTableInput,
        description: ImportTableDescription,
        started_ms: u64,
    ) -> ImportRecord {
        let mut json = Vec::new();
        request.clone().into_request().write_json(&mut json);
        ImportRecord {
            namespace: namespace.clone(),
            arn: description.import_arn.clone().unwrap_or_default(),
            table: request.table_creation_parameters.table_name.clone(),
            request: String::from_utf8_lossy(&json).into_owned(),
            description: description_json(description),
            started_ms,
        }
    }

    /// What was asked for.
    pub fn request(&self) -> Result<ImportTableInput, Error> {
        match Request::decode(Operation::ImportTable, self.request.as_bytes())? {
            Request::ImportTable(input) => Ok(*input),
            _ => Err(Error::internal()),
        }
    }

    /// What clients see.
    pub fn description(&self) -> Result<ImportTableDescription, Error> {
        DescribeImportInput::read_output(self.description.as_bytes())
            .map(|output| output.import_table_description)
    }

    fn describe(&mut self, change: impl Fn(&mut ImportTableDescription)) {
        if let Ok(mut description) = self.description() {
            change(&mut description);
            self.description = description_json(description);
        }
    }
}

fn description_json(description: ImportTableDescription) -> String {
    let mut json = Vec::new();
    Response::from(DescribeImportOutput { import_table_description: description }).write_json(&mut json);
    String::from_utf8_lossy(&json).into_owned()
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
        ..CreateTableInput::default()
    }
}

/// Makes the table of an import and puts its items.
pub struct ImportTable {
    pub core: Arc<Core>,
    pub record: ImportRecord,
    pub request: ImportTableInput,
    pub new: NewTable,
    /// The id of the new table.
    pub table_id: String,
}

/// How far an import is.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    processed: u64,
    imported: u64,
    errors: u64,
    bytes: u64,
}

impl Job for ImportTable {
    fn name(&self) -> &'static str {
        "import of a table"
    }

    fn subject(&self) -> String {
        self.record.arn.clone()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let opened = match self.core.bucket(&self.request.s3_bucket_source.s3_bucket).await {
            Ok(bucket) => self.open(bucket).await,
            Err(error) => Err(error),
        };
        let mut source = match opened {
            Ok(source) => source,
            Err(error @ PlaceError::NoSuchBucket { .. }) => {
                return self.fail("S3NoSuchBucket", &error.to_string()).await;
            }
            Err(error) => return self.fail("S3AccessError", &error.to_string()).await,
        };
        let Some(table) = self.table().await? else {
            let message = format!("Table already exists: {}", self.record.table);
            return self.fail("TableAlreadyExists", &message).await;
        };
        let mut run =
            Run { job: self, table, counts: Counts::default(), batch: Vec::new(), log: String::new() };
        run.put_all(&mut source).await?;
        let Run { table, counts, log, .. } = run;
        restore::finish(&self.core, &table).await?;
        self.keep_log(log).await;
        self.end(counts).await
    }
}

impl ImportTable {
    async fn open(&self, bucket: Bucket) -> Result<Import, PlaceError> {
        let compression = match self.request.input_compression_type {
            Some(InputCompressionType::Gzip) => Compression::Gzip,
            Some(InputCompressionType::Zstd) => Compression::Zstd,
            Some(InputCompressionType::None) | None => Compression::None,
        };
        let format = match self.request.input_format {
            InputFormat::Csv => import::InputFormat::Csv(self.csv_options()),
            InputFormat::DynamodbJson => import::InputFormat::Lines(Format::DynamodbJson),
            InputFormat::Ion => import::InputFormat::Lines(Format::Ion),
        };
        let prefix = self.request.s3_bucket_source.s3_key_prefix.as_deref().unwrap_or_default();
        Import::open(bucket, prefix, format, compression).await
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
        if let Some(found) = self.core.catalog.find(namespace, table) {
            return Ok((found.import.as_ref() == Some(arn)).then_some(found));
        }
        let (home, arn, new) = (namespace.clone(), arn.clone(), self.new.clone());
        let (id, now_ms) = (self.table_id.clone(), self.core.environment.now_ms());
        let make = move |space| {
            let new = NewTable { state: TableState::Creating, ..new.clone() };
            let mut table = Table::new(home.clone(), new, space, id.clone(), now_ms);
            table.import = Some(arn.clone());
            table
        };
        match self.core.catalog.create(namespace, table, make).await {
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
        let kept = match self.core.backups_place() {
            Ok(place) => place.put(&key, log.clone().into()).await,
            Err(error) => Err(error),
        };
        match kept {
            Ok(()) => tracing::warn!(import = self.record.arn, log = key, "items were not imported"),
            Err(_) => tracing::warn!(import = self.record.arn, "items were not imported:\n{log}"),
        }
    }

    async fn end(&self, counts: Counts) -> Result<(), StoreError> {
        const MESSAGE: &str = "Some of the items failed validation checks and were not imported. Please check \
                               CloudWatch error logs for more details.";
        let now_ms = self.core.environment.now_ms();
        self.describe(move |description| {
            show(description, counts);
            description.end_time = Some(now_ms as f64 / 1000.0);
            description.import_status = Some(ImportStatus::Completed);
            if counts.errors > 0 {
                description.import_status = Some(ImportStatus::Failed);
                description.failure_code = Some("ItemValidationError".to_owned());
                description.failure_message = Some(MESSAGE.to_owned());
            }
        })
        .await
    }

    async fn fail(&self, code: &str, message: &str) -> Result<(), StoreError> {
        let now_ms = self.core.environment.now_ms();
        let (code, message) = (code.to_owned(), message.to_owned());
        self.describe(move |description| {
            description.import_status = Some(ImportStatus::Failed);
            description.end_time = Some(now_ms as f64 / 1000.0);
            description.failure_code = Some(code.clone());
            description.failure_message = Some(message.clone());
        })
        .await
    }

    async fn describe(
        &self,
        change: impl Fn(&mut ImportTableDescription) + Send + Sync,
    ) -> Result<(), StoreError> {
        let ImportRecord { namespace, arn, .. } = &self.record;
        records::change(&*self.core.store, namespace, arn, |record: &mut ImportRecord| {
            record.describe(&change)
        })
        .await
    }
}

fn show(description: &mut ImportTableDescription, counts: Counts) {
    description.processed_item_count = Some(counts.processed as i64);
    description.imported_item_count = Some(counts.imported as i64);
    description.error_count = Some(counts.errors as i64);
    description.processed_size_bytes = Some(counts.bytes as i64);
}

/// An import while its items are put.
struct Run<'a> {
    job: &'a ImportTable,
    table: Arc<LiveTable>,
    counts: Counts,
    /// The items of the next commit, each with where it came from.
    batch: Vec<(Origins, Item, Key)>,
    log: String,
}

/// Where an item came from: the object and its number there.
type Origins = (Arc<str>, u64);

impl Run<'_> {
    async fn put_all(&mut self, source: &mut Import) -> Result<(), StoreError> {
        loop {
            match source.next().await {
                Ok(None) => break,
                Ok(Some(record)) => {
                    self.counts.processed += 1;
                    let place = (record.key, record.index);
                    match record.outcome {
                        Ok(put) => self.add(place, put.item).await?,
                        Err(message) => self.refuse(&place, &message),
                    }
                }
                // The rest of the object can't be read.
                Err(ImportError::Damaged { key, what, .. }) => {
                    self.counts.processed += 1;
                    self.refuse(&(key.into(), 0), &what);
                }
                Err(ImportError::Place(error)) => return Err(crate::backup::unavailable(error)),
            }
            self.counts.bytes = source.processed_bytes();
            if self.counts.processed.is_multiple_of(PROGRESS_ITEMS) {
                let counts = self.counts;
                self.job.describe(move |description| show(description, counts)).await?;
            }
        }
        self.commit().await
    }

    async fn add(&mut self, place: Origins, item: Item) -> Result<(), StoreError> {
        match self.table.key_of_item(item.as_ref()) {
            Ok(key) => {
                // A commit has each key once; the later of two items counts.
                if self.batch.iter().any(|(_, _, known)| *known == key) {
                    self.commit().await?;
                }
                self.batch.push((place, item, key));
            }
            Err(error) => self.refuse(&place, &Error::from(error).message),
        }
        if self.batch.len() == COMMIT_ITEMS { self.commit().await } else { Ok(()) }
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        let batch = std::mem::take(&mut self.batch);
        debug_assert_eq!(batch.iter().map(|(_, _, key)| key).collect::<HashSet<_>>().len(), batch.len());
        let (places, mut plans): (Vec<Origins>, Vec<Plan>) = batch
            .into_iter()
            .map(|(place, item, key)| {
                let plan = Plan::of_client(self.table.clone(), key, Change::Put(item));
                (place, Plan { origin: Origin::Import, ..plan })
            })
            .unzip();
        let gone = || StoreError::Unavailable("the table was deleted in the meantime".to_owned());
        let failed = |failure: Failure| match failure {
            Failure::TableGone => gone(),
            Failure::Store(error) => error,
        };
        let results = write::apply_each(&self.job.core, &mut plans).await.map_err(failed)?;
        for (place, result) in places.iter().zip(results) {
            match result {
                Ok(_) => self.counts.imported += 1,
                Err(WriteError::Refused(refusal)) => self.refuse(place, &Error::from(refusal).message),
                Err(WriteError::Failed(failure)) => return Err(failed(failure)),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, (key, index): &Origins, message: &str) {
        self.counts.errors += 1;
        if self.log.len() < LOG_BYTES_MAX {
            let bucket = &self.job.request.s3_bucket_source.s3_bucket;
            self.log += &error_log_line(&self.job.record.arn, bucket, key, *index, &[message]);
            self.log += "\n";
        }
    }
}
