//! Writes an export.
//!
//! Lines are collected, compressed off the async threads, and put as one object when a data file is large enough. The
//! summary comes last, so an export without one is unfinished.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzEncoder;
use item::ItemRef;

use super::manifest::{DataFile, Period, Summary, SummaryManifest};
use super::{Layout, checksum_key, export_id};
use crate::checksum::Checksum;
use crate::format::{Change, Format};
use crate::{Bucket, PlaceError, id, place};

/// How large a compressed data file becomes: what is held in memory until the file is put.
pub const FILE_BYTES: usize = 16 << 20;
/// How much text is compressed at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// A source of random bytes for the names of data files.
pub type FileNames = Box<dyn FnMut() -> [u8; 16] + Send + Sync>;

/// An export in the making.
pub struct ExportWriter {
    bucket: Bucket,
    layout: Layout,
    format: Format,
    summary: Summary,
    file_names: FileNames,
    file_bytes_max: usize,
    file: OpenFile,
    files: Vec<DataFile>,
    item_count: u64,
    /// A write failed, or its future was dropped before its end: lines are lost, so the export can't be completed.
    is_broken: bool,
}

/// The data file that is being filled.
#[derive(Default)]
struct OpenFile {
    lines: Vec<u8>,
    compressed: Option<GzEncoder<Vec<u8>>>,
    item_count: u64,
}

/// An export that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The key of `manifest-summary.json`.
    pub manifest_key: String,
    pub item_count: u64,
    pub files: Vec<DataFile>,
}

impl ExportWriter {
    /// Writes `_started`, which shows that the place can be written to. The id of the export is the last part of its
    /// ARN; `end_time_millis` and `billed_size_bytes` are replaced by what [`ExportWriter::finish`] is given.
    pub async fn begin(
        bucket: Bucket,
        format: Format,
        summary: Summary,
        file_names: FileNames,
    ) -> Result<ExportWriter, PlaceError> {
        let layout = Layout::new(summary.s3_prefix.as_deref(), export_id(&summary.export_arn))?;
        bucket.put(&layout.started(), Bytes::new()).await?;
        Ok(ExportWriter {
            bucket,
            layout,
            format,
            summary,
            file_names,
            file_bytes_max: FILE_BYTES,
            file: OpenFile::default(),
            files: Vec::new(),
            item_count: 0,
            is_broken: false,
        })
    }

    /// Data files of another size than [`FILE_BYTES`].
    pub fn with_file_bytes(mut self, file_bytes_max: usize) -> ExportWriter {
        self.file_bytes_max = file_bytes_max;
        self
    }

    /// How many items or changes were written so far.
    pub fn item_count(&self) -> u64 {
        self.item_count
    }

    /// Adds an item to a full export.
    pub async fn item(&mut self, item: ItemRef<'_>) -> Result<(), PlaceError> {
        self.format.write_item(item, &mut self.file.lines);
        self.line_ended().await
    }

    /// Adds a change to an incremental export, as its view type shows it. An item that was neither there before nor
    /// afterwards leaves no line.
    pub async fn change(&mut self, change: Change<'_>) -> Result<(), PlaceError> {
        let seen = match self.summary.period {
            Period::Incremental { view, .. } => change.seen_as(view),
            Period::Full { .. } => Some(change),
        };
        let Some(seen) = seen else { return Ok(()) };
        self.format.write_change(&seen, &mut self.file.lines);
        self.line_ended().await
    }

    async fn line_ended(&mut self) -> Result<(), PlaceError> {
        self.item_count += 1;
        self.file.item_count += 1;
        if self.file.lines.len() < CHUNK_BYTES {
            return Ok(());
        }
        self.enter()?;
        self.compress().await?;
        let size = self.file.compressed.as_ref().map_or(0, |compressed| compressed.get_ref().len());
        if size >= self.file_bytes_max {
            self.end_file().await?;
        }
        self.is_broken = false;
        Ok(())
    }

    /// Counts the export as broken until the work that follows has ended well.
    fn enter(&mut self) -> Result<(), PlaceError> {
        match std::mem::replace(&mut self.is_broken, true) {
            false => Ok(()),
            true => Err(self.failure("an earlier write of this export did not end well")),
        }
    }

    fn failure(&self, reason: impl ToString) -> PlaceError {
        let (bucket, key) = (self.bucket.name().to_owned(), self.layout.folder());
        PlaceError::Failed { bucket, key, reason: reason.to_string() }
    }

    /// Compresses the lines that were collected.
    async fn compress(&mut self) -> Result<(), PlaceError> {
        let lines = std::mem::take(&mut self.file.lines);
        let compressed = self.file.compressed.take();
        let work = move || {
            let mut compressed =
                compressed.unwrap_or_else(|| GzEncoder::new(Vec::new(), flate2::Compression::default()));
            compressed.write_all(&lines)?;
            Ok((lines, compressed))
        };
        let (mut lines, compressed) = self.off_thread(work).await?;
        lines.clear();
        self.file.lines = lines;
        self.file.compressed = Some(compressed);
        Ok(())
    }

    /// Puts the data file and begins another.
    async fn end_file(&mut self) -> Result<(), PlaceError> {
        self.compress().await?;
        let file = std::mem::take(&mut self.file);
        let Some(compressed) = file.compressed else { return Ok(()) };
        let work = move || {
            let content = compressed.finish()?;
            let checksum = Checksum::of(&content);
            Ok((content, checksum))
        };
        let (content, checksum) = self.off_thread(work).await?;
        let name = id::file_name((self.file_names)());
        let key =
            format!("{}/{name}.{}", self.layout.data(&self.summary.period), self.format.file_extension());
        self.bucket.put(&key, content.into()).await?;
        self.files.push(DataFile {
            item_count: file.item_count,
            md5_checksum: checksum.base64(),
            etag: format!("{}-1", checksum.hex()),
            key,
        });
        Ok(())
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, PlaceError> {
        place::blocking(work).await.map_err(|error| self.failure(error))
    }

    /// Writes what is left and the manifests. An export without items has one empty data file.
    pub async fn finish(
        mut self,
        end_time_millis: u64,
        billed_size_bytes: u64,
    ) -> Result<Completed, PlaceError> {
        self.enter()?;
        if self.file.item_count > 0 || self.files.is_empty() {
            self.end_file().await?;
        }
        let (files_key, manifest_key) = (self.layout.files(), self.layout.summary());
        let lines = self.files.iter().map(|file| json_of(file) + "\n").collect::<String>();
        self.put_manifest(&files_key, lines).await?;
        let summary = Summary { end_time_millis, billed_size_bytes, ..self.summary.clone() };
        let manifest = SummaryManifest::new(&summary, self.format, files_key, self.item_count);
        self.put_manifest(&manifest_key, json_of(&manifest)).await?;
        Ok(Completed { manifest_key, item_count: self.item_count, files: self.files })
    }

    /// Removes the data files of an export that can't be completed, so that they take no room.
    pub async fn discard(self) -> Result<(), PlaceError> {
        for file in &self.files {
            self.bucket.delete(&file.key).await?;
        }
        Ok(())
    }

    /// Puts the checksum first, so that a reader of the manifest always finds it.
    async fn put_manifest(&self, key: &str, content: String) -> Result<(), PlaceError> {
        let checksum = Checksum::of(content.as_bytes()).base64();
        self.bucket.put(&checksum_key(key), checksum.into()).await?;
        self.bucket.put(key, content.into()).await
    }
}

fn json_of(manifest: &impl serde::Serialize) -> String {
    serde_json::to_string(manifest)
        .expect("manifests hold strings and numbers, which all have a form in JSON")
}
