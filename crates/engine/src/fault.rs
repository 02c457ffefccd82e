//! Faults below the engine: the operator reads what happened, the client is told to try again.

use api::Error;
use store::StoreError;

pub fn of_store(error: StoreError) -> Error {
    tracing::error!(%error, "the store failed a request");
    Error::internal()
}
