//! FoundationDB's library: one network thread for the whole process, which can't be started again once it has ended.

use std::sync::OnceLock;

use foundationdb::Database;
use foundationdb::api::{FdbApiBuilder, NetworkAutoStop};
use store::StoreError;

/// Ends with the process. What was acknowledged is durable, so nothing has to be finished.
static NETWORK: OnceLock<Result<NetworkAutoStop, String>> = OnceLock::new();

/// The cluster that a file names.
pub(super) fn connect(cluster_file: &str) -> Result<Database, StoreError> {
    let started = NETWORK.get_or_init(|| start().map_err(|error| error.to_string()));
    if let Err(error) = started {
        let advice = "is the client library of FoundationDB 7.3 or later installed?";
        return Err(StoreError::Unavailable(format!(
            "FoundationDB's library does not start: {error}; {advice}"
        )));
    }
    Database::from_path(cluster_file).map_err(|error| {
        StoreError::Unavailable(format!("the cluster file {cluster_file} can't be used: {}", error.message()))
    })
}

#[expect(
    unsafe_code,
    reason = "the library asks that its thread ends before the process does, or that the process aborts"
)]
fn start() -> Result<NetworkAutoStop, foundationdb::FdbError> {
    let network = FdbApiBuilder::default().build()?;
    // SAFETY: The thread works on memory of its own library alone, which stays loaded until the process is gone. It
    // calls into this program only by callbacks of futures, and those who wait for futures are gone by then.
    unsafe { network.boot() }
}
