//! Faults below the engine: the log says what happened, the client may try again.

use api::{Error, ErrorKind};
use store::StoreError;

/// Logs a fault of the store and makes it DynamoDB's InternalServerError.
pub fn of_store(error: StoreError) -> Error {
    match error {
        // The store has logged it, and every write is refused for it.
        StoreError::Full(_) => tracing::debug!(%error, "the store refused a request"),
        _ => tracing::error!(%error, "the store failed a request"),
    }
    match error {
        // The reason (a full disk, say) is no secret. It says whether trying again helps.
        StoreError::Poisoned(_) | StoreError::Full(_) => {
            Error::new(ErrorKind::InternalServerError, format!("Internal server error: {error}"))
        }
        _ => Error::internal(),
    }
}

/// Logs that a place for files can't be used, and tells the client why: it is the operator's to mend.
pub fn of_place(error: transfer::PlaceError) -> Error {
    tracing::error!(%error, "a place for files failed a request");
    Error::new(ErrorKind::InternalServerError, format!("Internal server error: {error}"))
}
