//! Data in a FoundationDB cluster. A build without the feature `foundationdb` does not link FoundationDB's library, and
//! says so when it is asked for such data.

use std::path::Path;
use std::sync::Arc;

use store::{Store, StoreError};

use crate::OpenError;

/// A database in a FoundationDB cluster.
#[derive(Clone, Copy, Debug)]
pub struct FoundationDb<'a> {
    /// The file that names the cluster.
    pub cluster_file: &'a Path,
    /// The name of the database: several can share one cluster.
    pub prefix: &'a str,
}

impl FoundationDb<'_> {
    /// The name of a database if none is given.
    pub const DEFAULT_PREFIX: &'static str = "lodestone";

    /// The format of the data that this program reads and writes; none if it was built without FoundationDB.
    #[cfg(feature = "foundationdb")]
    pub const FORMAT: Option<u32> = Some(store_fdb::FORMAT_VERSION);
    /// The format of the data that this program reads and writes; none if it was built without FoundationDB.
    #[cfg(not(feature = "foundationdb"))]
    pub const FORMAT: Option<u32> = None;

    /// Opens the database, and makes it if the cluster has none with this name, unless it is only to be read.
    pub async fn open(self, is_read_only: bool) -> Result<Arc<dyn Store>, OpenError> {
        self.store(is_read_only).await.map_err(OpenError::FoundationDb)
    }

    #[cfg(feature = "foundationdb")]
    async fn store(self, is_read_only: bool) -> Result<Arc<dyn Store>, StoreError> {
        let name = self.prefix.to_owned();
        let options = store_fdb::Options { name, is_read_only, ..store_fdb::Options::default() };
        let cluster_file = self.cluster_file.to_str().ok_or_else(|| {
            StoreError::Format(format!("the path {} is not UTF-8", self.cluster_file.display()))
        })?;
        Ok(Arc::new(store_fdb::FdbStore::open(cluster_file, options).await?))
    }

    #[cfg(not(feature = "foundationdb"))]
    #[expect(clippy::unused_async, reason = "as with FoundationDB")]
    async fn store(self, _: bool) -> Result<Arc<dyn Store>, StoreError> {
        Err(StoreError::Format(format!(
            "this program was built without FoundationDB, so it can't use the cluster of {}. Build it with `cargo build \
             --release -p lodestone --features foundationdb` where libclang and FoundationDB's client library are \
             installed",
            self.cluster_file.display()
        )))
    }
}
