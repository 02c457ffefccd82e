//! Why a transaction was cancelled, action by action.

use item::Item;

use crate::encode::{Encode, Object};
use crate::{Error, ErrorKind};

/// Why an action stopped its transaction, or that it did not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CancellationReason {
    /// What stopped the transaction.
    pub code: CancellationCode,
    /// The message that the action alone would have failed with.
    pub message: Option<String>,
    /// The item that failed its condition, if the action asked for it.
    pub item: Option<Item>,
}

/// What stopped a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CancellationCode {
    /// Not this action.
    #[default]
    None,
    /// The action's condition is false.
    ConditionalCheckFailed,
    /// The item's collection would outgrow its limit.
    ItemCollectionSizeLimitExceeded,
    /// Another transaction is about to change the item.
    TransactionConflict,
    /// The table or an index has too little provisioned throughput.
    ProvisionedThroughputExceeded,
    /// The request was throttled for another reason.
    ThrottlingError,
    /// The action breaks a rule.
    ValidationError,
    /// INSERT of an item whose key is taken.
    DuplicateItem,
}

impl CancellationCode {
    /// The service's name for the code.
    pub fn as_str(self) -> &'static str {
        match self {
            CancellationCode::None => "None",
            CancellationCode::ConditionalCheckFailed => "ConditionalCheckFailed",
            CancellationCode::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceeded",
            CancellationCode::TransactionConflict => "TransactionConflict",
            CancellationCode::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
            CancellationCode::ThrottlingError => "ThrottlingError",
            CancellationCode::ValidationError => "ValidationError",
            CancellationCode::DuplicateItem => "DuplicateItem",
        }
    }

    /// The code for an action's error; none if the error is the whole request's.
    fn of(kind: ErrorKind) -> Option<CancellationCode> {
        Some(match kind {
            ErrorKind::ConditionalCheckFailed => CancellationCode::ConditionalCheckFailed,
            ErrorKind::ItemCollectionSizeLimitExceeded => CancellationCode::ItemCollectionSizeLimitExceeded,
            ErrorKind::TransactionConflict => CancellationCode::TransactionConflict,
            ErrorKind::ProvisionedThroughputExceeded => CancellationCode::ProvisionedThroughputExceeded,
            ErrorKind::Throttling => CancellationCode::ThrottlingError,
            ErrorKind::Validation => CancellationCode::ValidationError,
            ErrorKind::DuplicateItem => CancellationCode::DuplicateItem,
            _ => return None,
        })
    }
}

impl TryFrom<Error> for CancellationReason {
    /// The same error, if it is the whole request's.
    type Error = Error;

    fn try_from(error: Error) -> Result<CancellationReason, Error> {
        match CancellationCode::of(error.kind) {
            Some(code) => Ok(CancellationReason { code, message: Some(error.message), item: error.item }),
            None => Err(error),
        }
    }
}

impl Encode for CancellationReason {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        object.member("Code", self.code.as_str());
        object.member("Message", &self.message);
        object.member("Item", &self.item);
        object.end();
    }
}
