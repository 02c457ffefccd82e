//! What can go wrong inside a call, before it is a [`StoreError`].

use store::StoreError;

use super::database::Refusal;
use crate::retry::Fault;

/// A failure of FoundationDB, or of what is stored there.
#[derive(Debug)]
pub(super) enum Failure {
    Refused(Refusal),
    /// A call took longer than it may.
    Late(&'static str),
    /// The answer to a commit was lost. It has not happened, and will not.
    NothingHappened,
    /// Values were written ahead of their commit, which has to begin after that.
    WrittenAhead,
    /// Values were to be kept for a snapshot that was closed.
    SnapshotClosed,
    /// An update waits for the claim of another server.
    Claimed,
    /// Trying again changes nothing.
    Final(StoreError),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Final(error)
    }
}

impl Failure {
    pub(super) fn fault(&self) -> Fault {
        match self {
            Failure::Refused(refusal) => Fault::of(refusal.code, refusal.is_retryable),
            Failure::Late(_) => Fault::Away,
            Failure::WrittenAhead => Fault::WrittenAhead,
            Failure::Claimed | Failure::NothingHappened | Failure::SnapshotClosed => Fault::Conflict,
            Failure::Final(_) => Fault::Refused,
        }
    }

    /// The error that the caller gets when the call is given up.
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Failure::Final(error) => error,
            Failure::Late(what) => StoreError::Unavailable(format!("FoundationDB did not {what} in time")),
            Failure::WrittenAhead => {
                StoreError::Unavailable("a large update decides differently each time".into())
            }
            Failure::NothingHappened => {
                StoreError::Unavailable("a commit was lost again and again".to_owned())
            }
            Failure::SnapshotClosed => {
                StoreError::Unavailable("snapshots were closed again and again".to_owned())
            }
            Failure::Claimed => StoreError::Unavailable("other servers held a row of the update".to_owned()),
            Failure::Refused(refusal) if Fault::of(refusal.code, false) == Fault::TooLarge => {
                let reason = "the changes are larger than a transaction of FoundationDB may be: 10 MB of keys \
                    and small values";
                StoreError::Unavailable(reason.to_owned())
            }
            Failure::Refused(refusal) => {
                StoreError::Unavailable(format!("FoundationDB: {} ({})", refusal.message, refusal.code))
            }
        }
    }
}
