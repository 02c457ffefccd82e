//! What can go wrong below the contract. The engine turns any of these into a 500-class answer;
//! the text is for the operator.

/// A fault of the store, never of the request.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the connection failed; the same call may succeed later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// A write could not be made durable. Nothing more is written until the store is opened again.
    #[error("the store refuses writes since a write could not be made durable: {0}")]
    Poisoned(String),
    /// What was read is not what was written.
    #[error("stored data cannot be read: {0}")]
    Corrupt(String),
    /// The commit was sent but its outcome is not known.
    #[error("the outcome of a commit is unknown: {0}")]
    Ambiguous(String),
}

impl StoreError {
    /// The answer of a store that was closed.
    pub fn closed() -> Self {
        StoreError::Unavailable("it is closed".to_owned())
    }
}
