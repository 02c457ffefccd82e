//! Exports: a table, or the changes of some time, as the files that DynamoDB writes.
//!
//! ```text
//! <prefix>/AWSDynamoDB/<export id>/_started               empty, written first
//! <prefix>/AWSDynamoDB/<export id>/data/<name>.json.gz    or .ion.gz; incremental: <prefix>/AWSDynamoDB/data/
//! <prefix>/AWSDynamoDB/<export id>/manifest-files.json    one line for each data file: its key, count and MD5
//! <prefix>/AWSDynamoDB/<export id>/manifest-files.md5
//! <prefix>/AWSDynamoDB/<export id>/manifest-summary.md5
//! <prefix>/AWSDynamoDB/<export id>/manifest-summary.json  written last: an export that has it is complete
//! ```
//!
//! Each file is put whole and another file has its MD5, so a reader notices a file that is cut, changed or missing.

mod manifest;
mod read;
mod write;

pub use crate::format::{Change, ChangeRecord, ViewType};
pub use manifest::{DataFile, Period, Summary};
pub use read::{Changes, Export, ExportError, Items};
pub use write::{Completed, ExportWriter, FILE_BYTES, FileNames};

use crate::PlaceError;
use crate::place::check_key;

/// The folder of one full export, with the slash at its end.
pub fn folder(prefix: Option<&str>, export_arn: &str) -> Result<String, PlaceError> {
    Layout::new(prefix, export_id(export_arn)).map(|layout| layout.folder() + "/")
}

/// The last part of the ARN.
fn export_id(export_arn: &str) -> &str {
    export_arn.rsplit('/').next().unwrap_or_default()
}

/// The keys of an export's files.
struct Layout {
    /// `<prefix>/AWSDynamoDB`.
    root: String,
    export_id: String,
}

impl Layout {
    /// `prefix` is as in the request: slashes at its ends do not count.
    fn new(prefix: Option<&str>, export_id: &str) -> Result<Layout, PlaceError> {
        let prefix = prefix.unwrap_or_default().trim_matches('/');
        let root = if prefix.is_empty() { "AWSDynamoDB".to_owned() } else { format!("{prefix}/AWSDynamoDB") };
        let layout = Layout { root, export_id: export_id.to_owned() };
        check_key(&layout.folder())?;
        Ok(layout)
    }

    /// The folder of this export alone.
    fn folder(&self) -> String {
        format!("{}/{}", self.root, self.export_id)
    }

    /// What DescribeExport calls ExportManifest.
    fn summary(&self) -> String {
        format!("{}/manifest-summary.json", self.folder())
    }

    fn started(&self) -> String {
        format!("{}/_started", self.folder())
    }

    fn files(&self) -> String {
        format!("{}/manifest-files.json", self.folder())
    }

    /// The folder of data files. Incremental exports below one prefix share theirs.
    fn data(&self, period: &Period) -> String {
        match period {
            Period::Full { .. } => format!("{}/data", self.folder()),
            Period::Incremental { .. } => format!("{}/data", self.root),
        }
    }
}

/// The key of the file with the MD5 of a manifest.
fn checksum_key(manifest_key: &str) -> String {
    format!("{}.md5", manifest_key.strip_suffix(".json").unwrap_or(manifest_key))
}
