//! Why work on a connection failed, by what can be done about it.

use std::error::Error;

use deadpool_postgres::PoolError;
use store::StoreError;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// A failure below the contract; [`StoreError`] is what callers see of it.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server answered with an error; the transaction is over, the connection is in order.
    Refused(Box<DbError>),
    /// No answer came. Nothing was committed.
    Lost(String),
    /// No answer came to COMMIT.
    CommitLost(String),
    /// No answer came to COMMIT, and it was found out that nothing was committed.
    NotCommitted(String),
    /// The database holds something that this store cannot have written.
    Unreadable(String),
    /// The write is larger than the database allows.
    Unstorable(String),
    /// This server is no longer a member of the cluster. Nothing was committed.
    Fenced(String),
    /// The store was closed.
    Closed,
}

impl Failure {
    /// The same failure once COMMIT may have reached the server: without an answer the outcome is unknown.
    pub(crate) fn after_commit_was_sent(self) -> Failure {
        match self {
            Failure::Lost(reason) => Failure::CommitLost(reason),
            Failure::Refused(error) if *error.code() == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN => {
                Failure::CommitLost(error.to_string())
            }
            other => other,
        }
    }

    /// Whether the connection may be used again.
    pub(crate) fn spares_connection(&self) -> bool {
        match self {
            // A leader that became a standby refuses writes; the next connection looks for the new leader.
            Failure::Refused(error) => *error.code() != SqlState::READ_ONLY_SQL_TRANSACTION,
            Failure::Unreadable(_) | Failure::Unstorable(_) | Failure::Fenced(_) => true,
            Failure::Lost(_) | Failure::CommitLost(_) | Failure::NotCommitted(_) | Failure::Closed => false,
        }
    }

    pub(crate) fn code(&self) -> Option<&SqlState> {
        match self {
            Failure::Refused(error) => Some(error.code()),
            _ => None,
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            // After FATAL or PANIC the server closes the connection.
            Some(answer) if answer.parsed_severity() == Some(Severity::Error) => {
                Failure::Refused(Box::new(answer.clone()))
            }
            _ => Failure::Lost(with_causes(&error)),
        }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Closed => Failure::Closed,
            other => Failure::Lost(with_causes(&other)),
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) if is_corruption(error.code()) => StoreError::Corrupt(error.to_string()),
            Failure::Refused(error) => {
                StoreError::Unavailable(format!("{} (SQLSTATE {})", error, error.code().code()))
            }
            Failure::Lost(reason) | Failure::NotCommitted(reason) | Failure::Unstorable(reason) => {
                StoreError::Unavailable(reason)
            }
            Failure::CommitLost(reason) => StoreError::Ambiguous(reason),
            Failure::Unreadable(reason) => StoreError::Corrupt(reason),
            Failure::Fenced(reason) => StoreError::Fenced(reason),
            Failure::Closed => StoreError::closed(),
        }
    }
}

fn is_corruption(code: &SqlState) -> bool {
    [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code)
}

/// An error with its causes: the outermost alone says only "error connecting to server".
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
