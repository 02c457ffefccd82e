//! Loading: the items of objects in a bucket are put into a table, a few in each commit. Imports and bulk puts both
//! load; what they do differently is a [`Loader`].

use std::ops::ControlFlow;
use std::sync::Arc;

use api::{Error, InputCompressionType};
use expression::Condition;
use item::Item;
use store::{Key, StoreError};
use transfer::import::InputFormat;
use transfer::{Bucket, Compression, Import, ImportError, PlaceError, PutRecord};

use crate::base::origin::Origin;
use crate::base::table::Table;
use crate::commit::{self, Change, Failure, Outcome, Plan, Refusal, WriteError};
use crate::copies::Copies;
use crate::copies::places;
use crate::tables::catalog::LiveTable;

/// Items that one commit writes.
const COMMIT_ITEMS: usize = 25;

/// Where a record came from: the key of its object, and its number there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordSource {
    pub key: Arc<str>,
    pub index: u64,
}

/// How far a load is.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadCounts {
    pub processed: u64,
    pub written: u64,
    /// Records that can't be read or put.
    pub errors: u64,
    pub bytes: u64,
}

/// Why a load ended before its last record.
pub enum LoadStop {
    /// The loader asked for it.
    Ended,
    TableGone,
    Store(StoreError),
}

impl From<StoreError> for LoadStop {
    fn from(error: StoreError) -> LoadStop {
        LoadStop::Store(error)
    }
}

/// What a load does in its own way.
pub trait Loader: Send {
    const ORIGIN: Origin;
    /// Records between two calls of [`Loader::progress`].
    const PROGRESS_RECORDS: u64;

    /// The condition under which a record is put.
    fn condition(&self, record: &PutRecord) -> Result<Option<Condition>, Error>;

    /// A record can't be read or put.
    fn refused(&mut self, source: &RecordSource, message: &str);

    /// The condition of a record is false. True if the record counts as written all the same.
    fn condition_failed(&mut self, source: &RecordSource, item: &Item, existing: Option<Item>) -> bool;

    /// A record was put.
    fn written(&mut self, table: &Table, outcome: &Outcome);

    /// Whether [`Loader::progress`] should be called soon.
    fn is_full(&self) -> bool;

    /// Keeps how far the load is: all records up to `last` are processed. It may end the load.
    fn progress(
        &mut self,
        counts: LoadCounts,
        last: Option<&RecordSource>,
    ) -> impl Future<Output = Result<ControlFlow<()>, StoreError>> + Send;
}

/// The objects of a load.
pub async fn open(
    bucket: Bucket,
    prefix: Option<&str>,
    format: InputFormat,
    compression: Option<InputCompressionType>,
) -> Result<Import, PlaceError> {
    let compression = match compression {
        Some(InputCompressionType::Gzip) => Compression::Gzip,
        Some(InputCompressionType::Zstd) => Compression::Zstd,
        Some(InputCompressionType::None) | None => Compression::None,
    };
    Import::open(bucket, prefix.unwrap_or_default(), format, compression).await
}

/// A load under way.
pub struct Load<'a, L> {
    pub copies: &'a Copies,
    pub table: Arc<LiveTable>,
    pub loader: L,
    pub counts: LoadCounts,
    /// The last record that an earlier run has processed.
    pub after: Option<RecordSource>,
    batch: Vec<(RecordSource, Plan)>,
}

impl<'a, L: Loader> Load<'a, L> {
    pub fn new(copies: &'a Copies, table: Arc<LiveTable>, loader: L) -> Load<'a, L> {
        Load { copies, table, loader, counts: LoadCounts::default(), after: None, batch: Vec::new() }
    }

    /// Puts every record.
    pub async fn put_all(&mut self, objects: &mut Import) -> Result<(), LoadStop> {
        if let Some(after) = &self.after {
            objects.skip_before(&after.key);
        }
        let mut last = self.after.clone();
        let mut since_progress = 0;
        while let Some(source) = self.put_next(objects).await? {
            self.counts.bytes = objects.processed_bytes();
            // What an earlier run has processed is no progress of this one.
            if self.is_processed(&source) {
                continue;
            }
            last = Some(source);
            since_progress += 1;
            if since_progress >= L::PROGRESS_RECORDS || self.loader.is_full() {
                since_progress = 0;
                self.progress(last.as_ref()).await?;
            }
        }
        self.counts.bytes = objects.processed_bytes();
        self.progress(last.as_ref()).await
    }

    /// Reads one record and puts it, or adds it to the next commit; none behind the last record.
    async fn put_next(&mut self, objects: &mut Import) -> Result<Option<RecordSource>, LoadStop> {
        match objects.next().await {
            Ok(None) => Ok(None),
            Ok(Some(record)) => {
                let source = RecordSource { key: record.key, index: record.index };
                if self.is_processed(&source) {
                    return Ok(Some(source));
                }
                self.counts.processed += 1;
                match record.outcome {
                    Ok(put) => self.add(source.clone(), put).await?,
                    Err(message) => self.refuse(&source, &message),
                }
                Ok(Some(source))
            }
            // The rest of the object can't be read.
            Err(ImportError::Damaged { key, what, .. }) => {
                let source = RecordSource { key: key.into(), index: u64::MAX };
                self.counts.processed += 1;
                self.refuse(&source, &what);
                Ok(Some(source))
            }
            Err(ImportError::Place(error)) => Err(places::unavailable(error).into()),
        }
    }

    fn is_processed(&self, source: &RecordSource) -> bool {
        self.after.as_ref().is_some_and(|after| source <= after)
    }

    async fn progress(&mut self, last: Option<&RecordSource>) -> Result<(), LoadStop> {
        self.commit().await?;
        match self.loader.progress(self.counts, last).await? {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(LoadStop::Ended),
        }
    }

    async fn add(&mut self, source: RecordSource, record: PutRecord) -> Result<(), LoadStop> {
        let key = match self.table.key_of_item(record.item.as_ref()) {
            Ok(key) => key,
            Err(error) => {
                self.refuse(&source, &Error::from(error).message);
                return Ok(());
            }
        };
        let condition = match self.loader.condition(&record) {
            Ok(condition) => condition,
            Err(error) => {
                self.refuse(&source, &error.message);
                return Ok(());
            }
        };
        // A commit has each key once; the later of two items counts.
        if self.has_key(&key) {
            self.commit().await?;
        }
        let plan = Plan::of_client(self.table.clone(), key, Change::Put(record.item));
        let plan = Plan { origin: L::ORIGIN, ..plan.on_condition(condition, true) };
        self.batch.push((source, plan));
        if self.batch.len() == COMMIT_ITEMS { self.commit().await } else { Ok(()) }
    }

    fn has_key(&self, key: &Key) -> bool {
        self.batch.iter().any(|(_, plan)| plan.key == *key)
    }

    async fn commit(&mut self) -> Result<(), LoadStop> {
        let (sources, mut plans): (Vec<RecordSource>, Vec<Plan>) =
            std::mem::take(&mut self.batch).into_iter().unzip();
        let failed = |failure: Failure| match failure {
            Failure::TableGone => LoadStop::TableGone,
            Failure::Store(error) => LoadStop::Store(error),
        };
        let results = commit::apply_each(self.copies, None, &mut plans).await.map_err(failed)?;
        for ((source, plan), result) in sources.iter().zip(&plans).zip(results) {
            match result {
                Ok(outcome) => {
                    self.counts.written += 1;
                    self.loader.written(&plan.table, &outcome);
                }
                Err(WriteError::Refused(Refusal::ConditionFailed { shown: existing, .. })) => {
                    let Change::Put(item) = &plan.change else { unreachable!("a load puts items") };
                    if self.loader.condition_failed(source, item, existing) {
                        self.counts.written += 1;
                    }
                }
                Err(WriteError::Refused(refusal)) => self.refuse(source, &Error::from(refusal).message),
                Err(WriteError::Failed(failure)) => return Err(failed(failure)),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, source: &RecordSource, message: &str) {
        self.counts.errors += 1;
        self.loader.refused(source, message);
    }
}
