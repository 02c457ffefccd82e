//! Imports: items from all objects whose keys begin with a text.
//!
//! A record that breaks a rule is reported with its place, and reading goes on behind it. A line that is not in the
//! format ends its object, because nothing behind it can be trusted; the next object is read all the same.

mod csv;
mod log;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;

use item::Type;

use crate::format::{Format, LineFault, PutRecord};
use crate::reader::{Progress, ReadError, TextReader};
use crate::{Bucket, ObjectInfo, PlaceError};
use csv::CsvReader;
pub use log::{Pointer, bulk_error_line, condition_failure_line, error_log_line};

/// How the objects of an import are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// As in `InputCompressionType`.
    pub fn from_name(name: &str) -> Option<Compression> {
        match name {
            "NONE" => Some(Compression::None),
            "GZIP" => Some(Compression::Gzip),
            "ZSTD" => Some(Compression::Zstd),
            _ => None,
        }
    }
}

/// How the objects of an import are read.
#[derive(Clone, Debug)]
pub enum InputFormat {
    Csv(CsvOptions),
    /// DynamoDB JSON or Ion: one record a line.
    Lines(Format),
}

/// How CSV is read.
#[derive(Clone, Debug)]
pub struct CsvOptions {
    pub delimiter: u8,
    /// The names of the columns. Without them, the first line of each object has them.
    pub header: Option<Vec<String>>,
    /// The types of key attributes: S, N or B. All other columns are S.
    pub key_types: BTreeMap<String, Type>,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions { delimiter: b',', header: None, key_types: BTreeMap::new() }
    }
}

/// One record of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub key: Arc<str>,
    /// Counted from 0 in each object.
    pub index: u64,
    /// The item, or what is wrong with it.
    pub outcome: Result<PutRecord, String>,
}

/// Why the rest of an object can't be read. Every text names the object.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("{bucket}/{key} is damaged: {what}")]
    Damaged {
        bucket: String,
        key: String,
        /// The number of the record that can't be read.
        index: u64,
        what: String,
    },
}

/// The records of all objects below a prefix.
pub struct Import {
    bucket: Bucket,
    format: InputFormat,
    compression: Compression,
    size_bytes: u64,
    objects: VecDeque<ObjectInfo>,
    open: Option<OpenObject>,
    /// Of the objects that are closed.
    processed_bytes: u64,
}

struct OpenObject {
    key: Arc<str>,
    /// The index of the next record.
    index: u64,
    text: TextReader,
    csv: Option<CsvReader>,
    progress: Progress,
}

/// What comes next in an object.
enum Step {
    Put(PutRecord),
    Fault(LineFault),
    End,
}

impl Import {
    /// Lists the objects; the prefix is the beginning of their keys and need not be the name of a folder.
    pub async fn open(
        bucket: Bucket,
        prefix: &str,
        format: InputFormat,
        compression: Compression,
    ) -> Result<Import, PlaceError> {
        let objects: VecDeque<ObjectInfo> = bucket.list(prefix).await?.into();
        let size_bytes = objects.iter().map(|object| object.size_bytes).sum();
        Ok(Import { bucket, format, compression, size_bytes, objects, open: None, processed_bytes: 0 })
    }

    /// The size of all objects, as they are stored.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// How much of it was read so far.
    pub fn processed_bytes(&self) -> u64 {
        self.processed_bytes + self.open.as_ref().map_or(0, |object| object.progress.bytes())
    }

    /// Leaves out the objects whose keys come before this one. Their bytes count as read.
    pub fn skip_before(&mut self, key: &str) {
        while self.objects.front().is_some_and(|object| object.key.as_str() < key) {
            self.processed_bytes += self.objects.pop_front().map_or(0, |object| object.size_bytes);
        }
    }

    /// The next record; `None` behind the last object. An error ends one object: the next call goes on with the
    /// object behind it.
    pub async fn next(&mut self) -> Result<Option<Record>, ImportError> {
        loop {
            if self.open.is_none() && !self.open_next().await? {
                return Ok(None);
            }
            let Some(object) = &mut self.open else { continue };
            let step = object.step(&self.format).await;
            let (key, index) = (object.key.clone(), object.index);
            object.index += 1;
            let outcome = match step {
                Ok(Step::Put(record)) => Ok(record),
                Ok(Step::Fault(LineFault::Refused(message))) => Err(message),
                Ok(Step::Fault(LineFault::Unparseable(message))) => {
                    self.close();
                    Err(message)
                }
                Ok(Step::End) => {
                    self.close();
                    continue;
                }
                Err(error @ ReadError::LongRecord) => {
                    self.close();
                    Err(error.to_string())
                }
                Err(error) => {
                    self.close();
                    return Err(self.failure(&key, index, error));
                }
            };
            return Ok(Some(Record { key, index, outcome }));
        }
    }

    /// Opens the next object; false if there is none.
    async fn open_next(&mut self) -> Result<bool, ImportError> {
        let Some(object) = self.objects.front() else { return Ok(false) };
        let content = self.bucket.get(&object.key).await;
        // Only now, so that a call that is dropped while it waits skips no object.
        let Some(object) = self.objects.pop_front() else { return Ok(false) };
        let (content, progress) = (content?, Progress::default());
        let csv = match &self.format {
            InputFormat::Csv(options) => Some(CsvReader::new(options)),
            InputFormat::Lines(_) => None,
        };
        self.open = Some(OpenObject {
            key: object.key.into(),
            index: 0,
            text: TextReader::new(content, self.compression, progress.clone()),
            csv,
            progress,
        });
        Ok(true)
    }

    fn close(&mut self) {
        self.processed_bytes = self.processed_bytes();
        self.open = None;
    }

    fn failure(&self, key: &str, index: u64, error: ReadError) -> ImportError {
        match error {
            ReadError::Place(error) => error.into(),
            error => ImportError::Damaged {
                bucket: self.bucket.name().to_owned(),
                key: key.to_owned(),
                index,
                what: error.to_string(),
            },
        }
    }
}

impl OpenObject {
    async fn step(&mut self, format: &InputFormat) -> Result<Step, ReadError> {
        let read = match (format, &mut self.csv) {
            (InputFormat::Csv(options), Some(csv)) => csv.next(options, &mut self.text).await?,
            (InputFormat::Lines(format), _) => next_line(*format, &mut self.text).await?,
            (InputFormat::Csv(_), None) => None,
        };
        Ok(match read {
            None => Step::End,
            Some(Ok(record)) => Step::Put(record),
            Some(Err(fault)) => Step::Fault(fault),
        })
    }
}

async fn next_line(
    format: Format,
    text: &mut TextReader,
) -> Result<Option<Result<PutRecord, LineFault>>, ReadError> {
    while let Some(line) = text.line().await? {
        if !format.is_blank(line) {
            return Ok(Some(format.read_put(line)));
        }
    }
    Ok(None)
}
