//! Reads an export back and compares every checksum and count on the way.
//!
//! The MD5 of a data file is known to be right only when the file has been read to its end. So a caller that must not
//! act on damaged data calls [`Export::verify`] first, which reads everything once, and then [`Export::items`].

use item::Item;

use super::checksum_key;
use super::manifest::{DataFile, Summary, SummaryManifest};
use crate::checksum::Checksum;
use crate::format::{ChangeRecord, Format, LineFault};
use crate::import::Compression;
use crate::reader::{Progress, ReadError, TextReader};
use crate::{Bucket, PlaceError};

/// How large a manifest may be: room for some 300,000 data files.
const MANIFEST_BYTES_MAX: usize = 64 << 20;

/// Why an export can't be used. Every text names the file.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file is missing or can't be read.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file is not as it was written.
    #[error("{bucket}/{key} is damaged: {what}")]
    Damaged { bucket: String, key: String, what: String },
}

/// An export whose manifests were read and agree with their checksums.
#[derive(Clone, Debug)]
pub struct Export {
    bucket: Bucket,
    summary: Summary,
    format: Format,
    files: Vec<DataFile>,
    item_count: u64,
}

impl Export {
    /// Reads the manifests. `manifest_key` is the key of `manifest-summary.json`.
    pub async fn open(bucket: Bucket, manifest_key: &str) -> Result<Export, ExportError> {
        let damaged = |key: &str, what: String| damaged(&bucket, key, what);
        let text = manifest(&bucket, manifest_key).await?;
        let manifest_json: SummaryManifest =
            serde_json::from_slice(&text).map_err(|error| damaged(manifest_key, error.to_string()))?;
        let (summary, format) = manifest_json
            .parse()
            .map_err(|member| damaged(manifest_key, format!("{member} can't be read")))?;
        let files_key = &manifest_json.manifest_files_s3_key;
        let text = manifest(&bucket, files_key).await?;
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let files: Result<Vec<DataFile>, _> = lines.map(serde_json::from_slice).collect();
        let files = files.map_err(|error| damaged(files_key, error.to_string()))?;
        let item_count = files.iter().map(|file| file.item_count).fold(0, u64::saturating_add);
        if item_count != manifest_json.item_count {
            let counted = manifest_json.item_count;
            let what = format!("the data files have {item_count} items, the summary counts {counted}");
            return Err(damaged(files_key, what));
        }
        Ok(Export { bucket, summary, format, files, item_count })
    }

    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn files(&self) -> &[DataFile] {
        &self.files
    }

    /// How many items or changes the export has.
    pub fn item_count(&self) -> u64 {
        self.item_count
    }

    /// Reads every record of every file and uses none. After this, what was read is what was written.
    pub async fn verify(&self) -> Result<(), ExportError> {
        let mut records = Records::of(self);
        let is_full = matches!(self.summary.period, super::Period::Full { .. });
        let read = |format: Format, line: &[u8]| match is_full {
            true => format.read_put(line).map(drop),
            false => format.read_change(line).map(drop),
        };
        while records.next(read).await?.is_some() {}
        Ok(())
    }

    /// The items of a full export.
    pub fn items(&self) -> Items<'_> {
        Items(Records::of(self))
    }

    /// The changes of an incremental export.
    pub fn changes(&self) -> Changes<'_> {
        Changes(Records::of(self))
    }
}

/// The items of a full export, file by file.
pub struct Items<'e>(Records<'e>);

impl Items<'_> {
    /// The next item; `None` when all files were read and were right.
    pub async fn next(&mut self) -> Result<Option<Item>, ExportError> {
        self.0.next(|format, line| format.read_put(line).map(|record| record.item)).await
    }
}

/// The changes of an incremental export, file by file.
pub struct Changes<'e>(Records<'e>);

impl Changes<'_> {
    /// The next change; `None` when all files were read and were right.
    pub async fn next(&mut self) -> Result<Option<ChangeRecord>, ExportError> {
        self.0.next(Format::read_change).await
    }
}

struct Records<'e> {
    export: &'e Export,
    /// Of the file that is open, or opened next.
    index: usize,
    open: Option<OpenFile>,
}

struct OpenFile {
    text: TextReader,
    progress: Progress,
    item_count: u64,
}

impl<'e> Records<'e> {
    fn of(export: &'e Export) -> Records<'e> {
        Records { export, index: 0, open: None }
    }

    async fn next<T>(
        &mut self,
        read: impl Fn(Format, &[u8]) -> Result<T, LineFault>,
    ) -> Result<Option<T>, ExportError> {
        let export = self.export;
        while let Some(file) = export.files.get(self.index) {
            let damaged = |what: String| damaged(&export.bucket, &file.key, what);
            let open = match &mut self.open {
                Some(open) => open,
                closed => closed.insert(OpenFile::open(&export.bucket, file).await?),
            };
            match open.text.line().await {
                Ok(Some(line)) if export.format.is_blank(line) => {}
                Ok(Some(line)) => {
                    open.item_count += 1;
                    let fault = |fault| damaged(format!("record {}: {fault}", open.item_count));
                    return read(export.format, line).map(Some).map_err(fault);
                }
                Ok(None) => {
                    open.check(file).map_err(damaged)?;
                    self.open = None;
                    self.index += 1;
                }
                Err(ReadError::Place(error)) => return Err(error.into()),
                Err(error) => return Err(damaged(error.to_string())),
            }
        }
        Ok(None)
    }
}

impl OpenFile {
    async fn open(bucket: &Bucket, file: &DataFile) -> Result<OpenFile, ExportError> {
        let progress = Progress::default();
        let content = bucket.get(&file.key).await?;
        let text = TextReader::new(content, Compression::Gzip, progress.clone());
        Ok(OpenFile { text, progress, item_count: 0 })
    }

    /// Called at the end of the file.
    fn check(&self, file: &DataFile) -> Result<(), String> {
        let found = self.progress.checksum().base64();
        if found != file.md5_checksum {
            return Err(format!("its MD5 is {found}, the manifest says {}", file.md5_checksum));
        }
        if self.item_count != file.item_count {
            return Err(format!("it has {} records, the manifest says {}", self.item_count, file.item_count));
        }
        Ok(())
    }
}

/// A manifest that agrees with its `.md5` file.
async fn manifest(bucket: &Bucket, key: &str) -> Result<Vec<u8>, ExportError> {
    let content = bucket.get_small(key, MANIFEST_BYTES_MAX).await?;
    let checksum_key = checksum_key(key);
    let expected = bucket.get_small(&checksum_key, 1024).await?;
    let found = Checksum::of(&content).base64();
    match found.as_bytes() == expected.trim_ascii() {
        true => Ok(content),
        false => Err(damaged(bucket, key, format!("its MD5 is {found}, {checksum_key} has another"))),
    }
}

fn damaged(bucket: &Bucket, key: &str, what: String) -> ExportError {
    ExportError::Damaged { bucket: bucket.name().to_owned(), key: key.to_owned(), what }
}
