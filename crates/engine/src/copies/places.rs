//! Where the files of backups, exports, imports and bulk puts are.

use store::StoreError;
use transfer::export::FileNames;
use transfer::{Bucket, PlaceError};

use crate::copies::Copies;

impl Copies {
    /// Where backups are.
    pub(crate) fn backups_place(&self) -> Result<Bucket, PlaceError> {
        self.backups.clone().ok_or_else(|| PlaceError::Unusable {
            place: "--backups".to_owned(),
            reason: "the server has no place for backups".to_owned(),
        })
    }

    /// The bucket of an export or import.
    pub(crate) async fn bucket(&self, name: &str) -> Result<Bucket, PlaceError> {
        match &self.s3 {
            Some(buckets) => buckets.bucket(name).await,
            None => {
                let bucket = format!("{name}. The server has no buckets: start it with --s3");
                Err(PlaceError::NoSuchBucket { bucket })
            }
        }
    }

    /// Random names for data files.
    pub(crate) fn file_names(&self) -> FileNames {
        let environment = self.environment.clone();
        Box::new(move || environment.random().to_be_bytes())
    }
}

/// A place that can't be used now may be usable later.
pub fn unavailable(error: PlaceError) -> StoreError {
    match error {
        PlaceError::NoRoom { .. } => StoreError::Full(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}

/// The FailureCode of a transfer that ended because of a place.
pub fn failure_code(error: &PlaceError) -> &'static str {
    match error {
        PlaceError::NoSuchBucket { .. } => "S3NoSuchBucket",
        PlaceError::AccessDenied { .. } => "S3AccessDenied",
        _ => "UNKNOWN",
    }
}
