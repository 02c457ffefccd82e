//! Faults below the engine: the log says what happened, the client may try again.

use api::{Error, ErrorKind};
use store::StoreError;

/// Logs a fault of the store and makes it DynamoDB's InternalServerError.
pub fn of_store(error: StoreError) -> Error {
    tracing::error!(%error, "the store failed a request");
    match error {
        // The reason (a full disk, say) is no secret. It says whether trying again helps.
        StoreError::Poisoned(_) | StoreError::Full(_) => {
            Error::new(ErrorKind::InternalServerError, format!("Internal server error: {error}"))
        }
        _ => Error::internal(),
    }
}
