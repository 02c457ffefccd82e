//! What can go wrong inside a call, before it is a [`StoreError`].

use foundationdb::FdbError;
use store::StoreError;

use crate::retry::Fault;

/// A failure of FoundationDB, or of what is stored there.
#[derive(Debug)]
pub(super) enum Failure {
    Fdb(FdbError),
    /// A call took longer than it may.
    Late(&'static str),
    /// An update waits for the claim of another server.
    Claimed,
    /// Trying again changes nothing.
    Final(StoreError),
}

impl From<FdbError> for Failure {
    fn from(error: FdbError) -> Failure {
        Failure::Fdb(error)
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
            Failure::Fdb(error) => Fault::of(error.code(), error.is_retryable()),
            Failure::Late(_) => Fault::Away,
            Failure::Claimed => Fault::Conflict,
            Failure::Final(_) => Fault::Refused,
        }
    }

    /// What the caller is told when the call is given up.
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Failure::Final(error) => error,
            Failure::Late(what) => StoreError::Unavailable(format!("FoundationDB did not {what} in time")),
            Failure::Claimed => StoreError::Unavailable("other servers held a row of the update".to_owned()),
            Failure::Fdb(error) if Fault::of(error.code(), false) == Fault::TooLarge => StoreError::Unavailable(
                "the changes are larger than a transaction of FoundationDB may be: 10 MB of keys, and of rows below \
                 their pieces"
                    .to_owned(),
            ),
            Failure::Fdb(error) => {
                StoreError::Unavailable(format!("FoundationDB: {} ({})", error.message(), error.code()))
            }
        }
    }
}
