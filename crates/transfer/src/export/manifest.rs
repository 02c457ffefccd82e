//! The two manifests: what an export is, and which files it consists of.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::format::{Format, ViewType};

/// What the caller knows of an export. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub export_arn: String,
    pub table_arn: String,
    pub table_id: String,
    pub start_time_millis: u64,
    pub end_time_millis: u64,
    pub period: Period,
    pub s3_bucket: String,
    pub s3_prefix: Option<String>,
    pub s3_sse_algorithm: Option<String>,
    pub s3_sse_kms_key_id: Option<String>,
    pub billed_size_bytes: u64,
}

/// What an export covers. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// All items as of one moment.
    Full { time_millis: u64 },
    /// The items that changed from one moment on and before another.
    Incremental { from_millis: u64, to_millis: u64, view: ViewType },
}

/// `manifest-summary.json`. The order of the members is DynamoDB's.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SummaryManifest {
    version: String,
    export_arn: String,
    start_time: String,
    end_time: String,
    table_arn: String,
    table_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    export_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    export_from_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    export_to_time: Option<String>,
    s3_bucket: String,
    s3_prefix: Option<String>,
    s3_sse_algorithm: Option<String>,
    s3_sse_kms_key_id: Option<String>,
    pub manifest_files_s3_key: String,
    billed_size_bytes: u64,
    pub item_count: u64,
    output_format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_view: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    export_type: Option<String>,
}

const FULL: (&str, &str) = ("2020-06-30", "FULL_EXPORT");
const INCREMENTAL: (&str, &str) = ("2023-08-01", "INCREMENTAL_EXPORT");

impl SummaryManifest {
    pub fn new(summary: &Summary, format: Format, files_key: String, item_count: u64) -> SummaryManifest {
        let ((version, export_type), times, view) = match summary.period {
            Period::Full { time_millis } => (FULL, [Some(time_millis), None, None], None),
            Period::Incremental { from_millis, to_millis, view } => {
                (INCREMENTAL, [None, Some(from_millis), Some(to_millis)], Some(view))
            }
        };
        let [export_time, export_from_time, export_to_time] = times.map(|time| time.map(timestamp));
        SummaryManifest {
            version: version.to_owned(),
            export_arn: summary.export_arn.clone(),
            start_time: timestamp(summary.start_time_millis),
            end_time: timestamp(summary.end_time_millis),
            table_arn: summary.table_arn.clone(),
            table_id: summary.table_id.clone(),
            export_time,
            export_from_time,
            export_to_time,
            s3_bucket: summary.s3_bucket.clone(),
            s3_prefix: summary.s3_prefix.clone(),
            s3_sse_algorithm: summary.s3_sse_algorithm.clone(),
            s3_sse_kms_key_id: summary.s3_sse_kms_key_id.clone(),
            manifest_files_s3_key: files_key,
            billed_size_bytes: summary.billed_size_bytes,
            item_count,
            output_format: format.name().to_owned(),
            output_view: view.map(|view| view.name().to_owned()),
            export_type: Some(export_type.to_owned()),
        }
    }

    /// The summary and format, or the name of the member that can't be read.
    pub fn parse(&self) -> Result<(Summary, Format), &'static str> {
        let period = match (&self.export_time, &self.export_from_time, &self.export_to_time) {
            (Some(time), None, None) => Period::Full { time_millis: millis(time).ok_or("exportTime")? },
            (None, Some(from), Some(to)) => Period::Incremental {
                from_millis: millis(from).ok_or("exportFromTime")?,
                to_millis: millis(to).ok_or("exportToTime")?,
                view: self.output_view.as_deref().and_then(ViewType::from_name).ok_or("outputView")?,
            },
            _ => return Err("exportTime"),
        };
        let summary = Summary {
            export_arn: self.export_arn.clone(),
            table_arn: self.table_arn.clone(),
            table_id: self.table_id.clone(),
            start_time_millis: millis(&self.start_time).ok_or("startTime")?,
            end_time_millis: millis(&self.end_time).ok_or("endTime")?,
            period,
            s3_bucket: self.s3_bucket.clone(),
            s3_prefix: self.s3_prefix.clone(),
            s3_sse_algorithm: self.s3_sse_algorithm.clone(),
            s3_sse_kms_key_id: self.s3_sse_kms_key_id.clone(),
            billed_size_bytes: self.billed_size_bytes,
        };
        Ok((summary, Format::from_name(&self.output_format).ok_or("outputFormat")?))
    }
}

/// A line of `manifest-files.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataFile {
    pub item_count: u64,
    /// Of the compressed bytes, in base64.
    pub md5_checksum: String,
    pub etag: String,
    /// From the root of the bucket.
    #[serde(rename = "dataFileS3Key")]
    pub key: String,
}

/// `2020-11-04T07:28:34.028Z`
fn timestamp(millis: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis)).to_string()
}

fn millis(timestamp: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339(timestamp).ok()?;
    time.duration_since(UNIX_EPOCH).ok()?.as_millis().try_into().ok()
}
