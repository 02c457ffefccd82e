//! Where failed batches are reported: files that stand for the buckets, queues and topics of AWS.
//!
//! ```text
//! arn:aws:s3:::bucket              bucket/aws/lambda/<uuid>/<shard>/2026/11/17/2026-11-17T01.20.00-<random>
//! arn:aws:sqs:region:account:name  name.sqs.jsonl, one report a line
//! arn:aws:sns:region:account:name  name.sns.jsonl
//! kafka://topic                    topic.kafka.jsonl
//! ```
//!
//! A report in a bucket also has the batch itself, as a string. Reports are on the disk when `deliver` returns.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use host::uuid;
use serde_json::Value;

use crate::batch::Failure;
use crate::event::batch_event;
use crate::time;

/// The folder of all destinations. Without one, mappings can have none.
#[derive(Clone, Debug, Default)]
pub struct Destinations {
    folder: Option<PathBuf>,
}

/// Why an ARN can't be a destination.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum DestinationError {
    #[error(
        "The provided destination config DestinationConfig(onFailure=OnFailure(destination={0})) is invalid."
    )]
    NotADestination(String),
    #[error("No folder for destinations is configured: start Lodestone with --s3 DIR to use {0}")]
    NoFolder(String),
}

/// The place of a destination within the folder.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Bucket(String),
    File(String),
}

impl Destinations {
    /// Keeps all reports below this folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Destinations {
        Destinations { folder: Some(folder.into()) }
    }

    /// Whether failures can be reported there.
    pub fn check(&self, arn: &str) -> Result<(), DestinationError> {
        place(arn).ok_or_else(|| DestinationError::NotADestination(arn.to_owned()))?;
        match self.folder {
            Some(_) => Ok(()),
            None => Err(DestinationError::NoFolder(arn.to_owned())),
        }
    }

    /// Writes a report. It blocks.
    pub fn deliver(&self, arn: &str, failure: &Failure, random: u128, now_ms: u64) -> io::Result<()> {
        let unusable = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        self.check(arn).map_err(|error| unusable(error.to_string()))?;
        let (Some(folder), Some(place)) = (&self.folder, place(arn)) else {
            return Err(unusable(format!("{arn} is no destination")));
        };
        let mut report = failure.to_json(&uuid(random), now_ms);
        match place {
            Place::File(name) => append(&folder.join(name), &report),
            Place::Bucket(bucket) => {
                let batch = batch_event(failure.records.iter().map(|entry| &entry.json), b"");
                report["payload"] = String::from_utf8_lossy(&batch).into_owned().into();
                let path = folder.join(bucket).join(object_key(failure, random, now_ms));
                write_new(&path, &report)
            }
        }
    }
}

fn place(arn: &str) -> Option<Place> {
    if let Some(topic) = arn.strip_prefix("kafka://") {
        return is_file_name(topic).then(|| Place::File(format!("{topic}.kafka.jsonl")));
    }
    let parts: Vec<&str> = arn.split(':').collect();
    match parts.as_slice() {
        ["arn", _, "s3", _, _, bucket] if is_file_name(bucket) => Some(Place::Bucket((*bucket).to_owned())),
        ["arn", _, service @ ("sqs" | "sns"), _, _, name] if is_file_name(name) => {
            Some(Place::File(format!("{name}.{service}.jsonl")))
        }
        _ => None,
    }
}

/// A name that stays within its folder.
fn is_file_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.len() <= 249 && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// `aws/lambda/<uuid>/<shard>/2026/11/17/2026-11-17T01.20.00-<random>`
fn object_key(failure: &Failure, random: u128, now_ms: u64) -> String {
    let time = time::to_seconds(now_ms).trim_end_matches('Z').replace(':', ".");
    let day = time.get(..10).unwrap_or_default().replace('-', "/");
    format!("aws/lambda/{}/{}/{day}/{time}-{}", failure.uuid, failure.shard_id, uuid(random))
}

/// Reports may hold items: only the owner can read them, and the folders that are made for them.
fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o700).create(folder))
}

fn append(path: &Path, report: &Value) -> io::Result<()> {
    make_folder_of(path)?;
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.write_all(format!("{report}\n").as_bytes())?;
    file.sync_all()
}

fn write_new(path: &Path, report: &Value) -> io::Result<()> {
    make_folder_of(path)?;
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(report.to_string().as_bytes())?;
    file.sync_all()
}
