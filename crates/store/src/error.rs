//! What can go wrong below the contract. The engine answers any of these with a status of 500;
//! the text is for the operator.

/// A failure of the store. A bad request is never the cause.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the connection failed; the same call may succeed later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// There is no room for a write, and nothing of it was written. Reads go on, and so do writes
    /// when there is room again.
    #[error("the store is full, try again when there is room: {0}")]
    Full(String),
    /// A failure left the store or the engine in a state that further writes could damage. Nothing is
    /// written until the database is opened again.
    #[error("writes are refused until the database is opened again: {0}")]
    Poisoned(String),
    /// What was read is not what was written.
    #[error("stored data cannot be read: {0}")]
    Corrupt(String),
    /// The commit was sent but its outcome is not known.
    #[error("the outcome of a commit is unknown: {0}")]
    Ambiguous(String),
    /// This process is no longer a member of the cluster that shares the store. Nothing of the write was
    /// written, and nothing is written until it has joined again.
    #[error("this server was removed from the cluster: {0}")]
    Fenced(String),
    /// The data is not to be opened: a newer program wrote it in a format that this one does not know, or it is
    /// being moved to another store.
    #[error("{0}")]
    Format(String),
}

impl StoreError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            StoreError::Unavailable(_) | StoreError::Full(_) | StoreError::Ambiguous(_) => true,
            StoreError::Poisoned(_)
            | StoreError::Corrupt(_)
            | StoreError::Fenced(_)
            | StoreError::Format(_) => false,
        }
    }

    /// The answer of a store that was closed.
    pub fn closed() -> Self {
        StoreError::Unavailable("it is closed".to_owned())
    }
}
