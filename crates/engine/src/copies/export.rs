//! Exports: the items of a table at a moment, or the changes of a period, as files in a bucket.
//!
//! An export is a record with the request and the description that clients see. A job makes the files while
//! writes go on; after a restart it begins again, with the same moment.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use api::{
    DescribeExportInput, DescribeExportOutput, Error, ExportDescription, ExportFormat, ExportStatus,
    ExportTableToPointInTimeInput, ExportViewType, Input, Operation, Request, Response,
};
use bytes::{BufMut, Bytes, BytesMut};
use expression::{Condition, Projection};
use item::Item;
use serde::{Deserialize, Serialize};
use store::{Consistency, Direction, Key, LogPosition, Position, Range, Space, StoreError, WriteSet};
use transfer::export::{Completed, Period, ViewType};
use transfer::{ExportWriter, Format, PlaceError, Summary};

use crate::background::Job;
use crate::copies::Copies;
use crate::copies::past::Past;
use crate::copies::transfer_record::{Transfer, TransferFailure, TransferRecord};
use crate::copies::{holds, places};
use crate::log::record::ChangeRecord;
use crate::tables::catalog::LiveTable;

/// Records and rows that are read at once: two images of 400 KB each fit 32 times into 25 MB.
const STEP: usize = 32;

/// An export as it is stored.
pub type ExportRecord = TransferRecord<ExportTimes>;

/// What an export is of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportTimes {
    /// The moment of a full export, or the end of an incremental one.
    pub time_us: u64,
    /// The beginning of an incremental export.
    pub from_us: Option<u64>,
    /// The files are there, and the table's log may no longer be kept for them.
    #[serde(default)]
    pub written: Option<Written>,
}

/// The files of an export.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Written {
    manifest_key: String,
    item_count: u64,
    size_bytes: u64,
}

impl Transfer for ExportTimes {
    const KIND: &'static str = "export";
    const OPERATION: Operation = Operation::ExportTableToPointInTime;
    type Request = ExportTableToPointInTimeInput;
    type Description = ExportDescription;

    fn request(request: Request) -> Option<ExportTableToPointInTimeInput> {
        match request {
            Request::ExportTableToPointInTime(input) => Some(*input),
            _ => None,
        }
    }

    fn client_token(request: &ExportTableToPointInTimeInput) -> Option<&str> {
        request.client_token.as_deref()
    }

    fn answer(description: ExportDescription) -> Response {
        DescribeExportOutput { export_description: Some(description) }.into()
    }

    fn read_answer(json: &[u8]) -> Result<ExportDescription, Error> {
        DescribeExportInput::read_output(json)?.export_description.ok_or_else(Error::internal)
    }

    fn is_under_way(description: &ExportDescription) -> bool {
        description.export_status == Some(ExportStatus::InProgress)
    }

    fn fail(description: &mut ExportDescription, failure: &TransferFailure) {
        description.export_status = Some(ExportStatus::Failed);
        description.end_time = Some(failure.end_time);
        description.failure_code = Some(failure.code.clone());
        description.failure_message = Some(failure.message.clone());
    }
}

/// Which items are exported, and which of their attributes.
#[derive(Default)]
pub struct ExportFilter {
    pub conditions: Vec<Condition>,
    pub projection: Option<Projection>,
}

impl ExportFilter {
    fn passes(&self, item: &Item) -> bool {
        self.conditions.iter().all(|condition| condition.evaluate(Some(item.as_ref())))
    }

    fn shown(&self, item: Item) -> Item {
        match &self.projection {
            Some(projection) => projection.apply(item.as_ref()),
            None => item,
        }
    }
}

/// Makes the files of an export.
pub struct ExportTable {
    pub copies: Arc<Copies>,
    pub record: ExportRecord,
    pub request: ExportTableToPointInTimeInput,
    pub filter: ExportFilter,
}

impl Job for ExportTable {
    fn name(&self) -> &'static str {
        "export of a table"
    }

    fn subject(&self) -> String {
        self.record.arn.clone()
    }

    async fn run(&self) -> Result<(), StoreError> {
        let ExportRecord { namespace, arn, table, table_id, .. } = &self.record;
        let Some(stored) = self.record.stored(&*self.copies.store).await? else { return Ok(()) };
        let source = self.copies.catalog.find(namespace, table).filter(|found| found.id == *table_id);
        let written = match (stored.details.written, &source) {
            (Some(written), _) => written,
            (None, None) => return self.fail("TableNotFound", "The table was deleted").await,
            (None, Some(source)) => match self.write(source).await {
                Ok(written) => self.keep(written).await?,
                Err(Failed::Store(error)) => return Err(error),
                Err(Failed::NotHeld) => return self.fail("UNKNOWN", holds::NOT_HELD).await,
                // There may be room later.
                Err(Failed::Place(error @ PlaceError::NoRoom { .. })) => {
                    return Err(places::unavailable(error));
                }
                Err(Failed::Place(error)) => {
                    self.fail(places::failure_code(&error), &error.to_string()).await?;
                    return holds::release(&self.copies, source, arn).await;
                }
            },
        };
        // A client that sees the export COMPLETED can delete the table, too.
        if let Some(source) = source {
            holds::release(&self.copies, &source, arn).await?;
        }
        self.complete(written).await
    }

    async fn gave_up(&self, reason: &StoreError) -> Result<(), StoreError> {
        let ExportRecord { namespace, arn, table, .. } = &self.record;
        self.fail("UNKNOWN", &reason.to_string()).await?;
        match self.copies.catalog.find(namespace, table) {
            Some(source) => holds::release(&self.copies, &source, arn).await,
            None => Ok(()),
        }
    }
}

/// Why an export was not written.
enum Failed {
    Place(PlaceError),
    Store(StoreError),
    /// The table has not kept its log until the end.
    NotHeld,
}

impl From<PlaceError> for Failed {
    fn from(error: PlaceError) -> Failed {
        Failed::Place(error)
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Store(error)
    }
}

impl ExportTable {
    /// Writes the files. If that fails, it leaves no data files.
    async fn write(&self, source: &Arc<LiveTable>) -> Result<Written, Failed> {
        let bucket = self.copies.bucket(&self.request.s3_bucket).await?;
        let format = match self.request.export_format {
            Some(ExportFormat::Ion) => Format::Ion,
            _ => Format::DynamodbJson,
        };
        let mut writer =
            ExportWriter::begin(bucket, format, self.summary(source), self.copies.file_names()).await?;
        let scratch = self.copies.catalog.scratch_space().await?;
        let written = match self.record.details.from_us {
            None => self.write_items(source, scratch, &mut writer).await,
            Some(from_us) => self.write_changes(source, from_us, scratch, &mut writer).await,
        };
        let written = match written {
            Ok(size_bytes) => self.check_held(source).await.map(|()| size_bytes),
            failed => failed,
        };
        match written {
            Ok(size_bytes) => {
                self.copies.catalog.clear(scratch).await?;
                let completed = writer.finish(self.copies.environment.now_ms(), size_bytes).await?;
                let Completed { manifest_key, item_count, .. } = completed;
                Ok(Written { manifest_key, item_count, size_bytes })
            }
            Err(failed) => {
                self.copies.catalog.clear(scratch).await?;
                writer.discard().await?;
                Err(failed)
            }
        }
    }

    async fn check_held(&self, source: &LiveTable) -> Result<(), Failed> {
        match self.copies.is_held(source, &self.record.arn).await? {
            true => Ok(()),
            false => Err(Failed::NotHeld),
        }
    }

    async fn write_items(
        &self,
        source: &Arc<LiveTable>,
        scratch: Space,
        writer: &mut ExportWriter,
    ) -> Result<u64, Failed> {
        let mut past =
            Past::new(self.copies.clone(), source.clone(), self.record.details.time_us, scratch, None);
        let mut size_bytes = 0;
        while let Some(items) = past.next().await? {
            for (_, item) in items {
                size_bytes += item.size_bytes() as u64;
                if !self.filter.passes(&item) {
                    continue;
                }
                writer.item(self.filter.shown(item).as_ref()).await?;
            }
        }
        Ok(size_bytes)
    }

    /// One line for each item that changed: as it was before the first change of the period, and after the
    /// last. The scratch space holds both while the log is read.
    async fn write_changes(
        &self,
        source: &Arc<LiveTable>,
        from_us: u64,
        scratch: Space,
        writer: &mut ExportWriter,
    ) -> Result<u64, Failed> {
        self.collect_changes(source, from_us, scratch).await?;
        let mut size_bytes = 0;
        let mut start = Bound::Unbounded;
        loop {
            let range = Range { space: scratch, start, end: Bound::Unbounded };
            let mut rows: Vec<(Position, Bytes)> = Vec::new();
            self.copies
                .store
                .scan(&range, Direction::Forward, Consistency::Latest, &mut |key, row| {
                    rows.push((key.to_position(), row));
                    if rows.len() < STEP { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })
                .await?;
            let Some((last, _)) = rows.last().cloned() else { return Ok(size_bytes) };
            for (_, row) in rows {
                let changed = Compacted::decode(row)?;
                let Some(image) = changed.new.as_ref().or(changed.old.as_ref()) else { continue };
                if !self.filter.passes(image) {
                    continue;
                }
                size_bytes += changed.size_bytes();
                let keys = source.keys.pick(image.as_ref());
                let [old, new] = [changed.old.clone(), changed.new.clone()]
                    .map(|image| image.map(|item| self.filter.shown(item)));
                let change = transfer::Change {
                    write_timestamp_micros: changed.time_us,
                    keys: keys.as_ref(),
                    old_image: old.as_ref().map(Item::as_ref),
                    new_image: new.as_ref().map(Item::as_ref),
                };
                writer.change(change).await?;
            }
            start = Bound::Excluded(last);
        }
    }

    async fn collect_changes(
        &self,
        source: &Arc<LiveTable>,
        from_us: u64,
        scratch: Space,
    ) -> Result<(), StoreError> {
        let end = LogPosition::through(self.record.details.time_us.saturating_sub(1));
        for log in source.log.logs() {
            let mut after = LogPosition::through(from_us.saturating_sub(1));
            loop {
                let mut records = self.copies.store.read_log(log, after, STEP).await?;
                records.retain(|(position, _)| *position <= end);
                let Some((last, _)) = records.last() else { break };
                after = *last;
                self.add_changes(source, scratch, records).await?;
            }
        }
        Ok(())
    }

    async fn add_changes(
        &self,
        source: &Arc<LiveTable>,
        scratch: Space,
        records: Vec<(LogPosition, Bytes)>,
    ) -> Result<(), StoreError> {
        let mut changed: BTreeMap<Key, Compacted> = BTreeMap::new();
        for (position, record) in records {
            let ChangeRecord { old, new, .. } = ChangeRecord::decode(record)?;
            let image = new.as_ref().or(old.as_ref()).expect("a change has an image");
            let key = Key { space: scratch, position: source.keys.position(image.as_ref()) };
            let next = Compacted { time_us: position.time_us(), old, new };
            match changed.entry(key) {
                std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(next)),
                std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().follow(next),
            }
        }
        let keys: Vec<Key> = changed.keys().cloned().collect();
        let mut fault = None;
        let mut decide = |rows: &[Option<Bytes>]| {
            fault = None;
            let mut puts = Vec::with_capacity(rows.len());
            for ((key, next), row) in changed.iter().zip(rows) {
                let merged = match row.clone().map(Compacted::decode) {
                    None => next.clone(),
                    Some(Ok(mut known)) => {
                        known.follow(next.clone());
                        known
                    }
                    Some(Err(error)) => {
                        fault = Some(error);
                        return WriteSet::default();
                    }
                };
                puts.push((key.clone(), merged.encode()));
            }
            WriteSet { puts, ..WriteSet::default() }
        };
        self.copies.store.update(&keys, &mut decide).await?;
        fault.map_or(Ok(()), Err)
    }

    fn summary(&self, source: &LiveTable) -> Summary {
        let view = match self
            .request
            .incremental_export_specification
            .as_ref()
            .and_then(|asked| asked.export_view_type)
        {
            Some(ExportViewType::NewImage) => ViewType::NewImage,
            _ => ViewType::NewAndOldImages,
        };
        Summary {
            export_arn: self.record.arn.clone(),
            table_arn: source.arn(),
            table_id: source.id.clone(),
            start_time_millis: self.record.started_ms,
            end_time_millis: 0,
            period: match self.record.details.from_us {
                None => Period::Full { time_millis: self.record.details.time_us / 1000 },
                Some(from_us) => Period::Incremental {
                    from_millis: from_us / 1000,
                    to_millis: self.record.details.time_us / 1000,
                    view,
                },
            },
            s3_bucket: self.request.s3_bucket.clone(),
            s3_prefix: self.request.s3_prefix.clone(),
            s3_sse_algorithm: Some(
                self.request.s3_sse_algorithm.map_or("AES256", |asked| asked.as_str()).to_owned(),
            ),
            s3_sse_kms_key_id: self.request.s3_sse_kms_key_id.clone(),
            billed_size_bytes: 0,
        }
    }

    /// Keeps that the files are there.
    async fn keep(&self, written: Written) -> Result<Written, StoreError> {
        let keep = |record: &mut ExportRecord| record.details.written = Some(written.clone());
        self.record.change(&*self.copies.store, keep).await?;
        Ok(written)
    }

    async fn complete(&self, written: Written) -> Result<(), StoreError> {
        /// What an incremental export is billed for at least.
        const INCREMENTAL_BYTES_MIN: u64 = 10_000_000;
        let least = if self.record.details.from_us.is_some() { INCREMENTAL_BYTES_MIN } else { 0 };
        let now_ms = self.copies.environment.now_ms();
        self.record
            .describe(&*self.copies.store, move |description| {
                description.export_status = Some(ExportStatus::Completed);
                description.end_time = Some(now_ms as f64 / 1000.0);
                description.export_manifest = Some(written.manifest_key.clone());
                description.item_count = Some(written.item_count as i64);
                description.billed_size_bytes = Some(written.size_bytes.max(least) as i64);
            })
            .await
    }

    async fn fail(&self, code: &str, message: &str) -> Result<(), StoreError> {
        self.record.fail(&self.copies, code, message).await
    }
}

/// What a period did to one item.
#[derive(Clone)]
struct Compacted {
    /// Of the last change.
    time_us: u64,
    /// Before the first change.
    old: Option<Item>,
    /// After the last change.
    new: Option<Item>,
}

impl Compacted {
    fn follow(&mut self, next: Compacted) {
        (self.time_us, self.new) = (next.time_us, next.new);
    }

    fn size_bytes(&self) -> u64 {
        [&self.old, &self.new].into_iter().flatten().map(|image| image.size_bytes() as u64).sum()
    }

    /// The time, the length of the old image, the old image, the new image; an image that is not there is empty.
    fn encode(&self) -> Bytes {
        let [old, new] =
            [&self.old, &self.new].map(|image| image.clone().map_or_else(Bytes::new, Item::into_stored));
        let mut bytes = BytesMut::with_capacity(12 + old.len() + new.len());
        bytes.put_u64(self.time_us);
        bytes.put_u32(old.len() as u32);
        bytes.put_slice(&old);
        bytes.put_slice(&new);
        bytes.freeze()
    }

    fn decode(mut row: Bytes) -> Result<Compacted, StoreError> {
        let corrupt = || StoreError::Corrupt("a change of an incremental export".to_owned());
        let head = row.split_to(row.len().min(12));
        let (time, length) = head.split_at_checked(8).ok_or_else(corrupt)?;
        let time_us = u64::from_be_bytes(time.try_into().map_err(|_| corrupt())?);
        let length = u32::from_be_bytes(length.try_into().map_err(|_| corrupt())?) as usize;
        if row.len() < length {
            return Err(corrupt());
        }
        let old = row.split_to(length);
        let image = |bytes: Bytes| (!bytes.is_empty()).then(|| Item::from_stored(bytes)).transpose();
        Ok(Compacted {
            time_us,
            old: image(old).map_err(|_| corrupt())?,
            new: image(row).map_err(|_| corrupt())?,
        })
    }
}
