//! Where backups, exports and imports keep their files, as flags name it.

use std::path::Path;
use std::sync::Arc;

use transfer::{Bucket, Buckets};

/// The place of backups: the one that is named, else a folder in the data folder, else memory.
pub async fn backups(place: Option<&str>, data: Option<&Path>) -> Result<Bucket, String> {
    let place = match (place, data) {
        (Some(place), _) => place.to_owned(),
        (None, Some(data)) => data.join("backups").display().to_string(),
        (None, None) => return Ok(Bucket::in_memory()),
    };
    Bucket::open(&place)
        .await
        .map_err(|error| format!("can't keep backups: {error}. Name another place with --backups"))
}

/// The buckets of exports and imports.
pub fn buckets(place: Option<&str>) -> Result<Option<Arc<Buckets>>, String> {
    let Some(place) = place else { return Ok(None) };
    let buckets = Buckets::open(place).map_err(|error| format!("can't use --s3 {place}: {error}"))?;
    Ok(Some(Arc::new(buckets)))
}
