//! Faults below the engine: the operator reads what happened, the client is told to try again.

use api::Error;
use item::Corrupt;
use store::StoreError;

pub fn of_store(error: StoreError) -> Error {
    tracing::error!(%error, "the store failed a request");
    Error::internal()
}

pub fn of_data(error: Corrupt) -> Error {
    tracing::error!(%error, "an item could not be read");
    Error::internal()
}
