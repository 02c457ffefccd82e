//! What is wrong with a transaction.

use crate::{CancellationReason, Error, ErrorKind, limits};

impl Error {
    /// `reasons` has one for each action, in their order.
    pub fn transaction_canceled(reasons: Vec<CancellationReason>) -> Error {
        let codes: Vec<&str> = reasons.iter().map(|reason| reason.code.as_str()).collect();
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            codes.join(", ")
        );
        Error { cancellation_reasons: reasons, ..Error::new(ErrorKind::TransactionCanceled, message) }
    }

    /// A write of an item that a transaction is about to change.
    pub fn transaction_conflict() -> Error {
        Error::new(ErrorKind::TransactionConflict, "Transaction is ongoing for the item")
    }

    /// The same request was sent before and is not done yet.
    pub fn transaction_in_progress() -> Error {
        Error::new(
            ErrorKind::TransactionInProgress,
            "The transaction with this client request token is still in progress",
        )
    }

    /// A client request token that was used before, with other parameters.
    pub fn idempotent_parameter_mismatch() -> Error {
        Error::new(
            ErrorKind::IdempotentParameterMismatch,
            "The client request token was used before, with other parameters",
        )
    }

    /// A transaction with two actions on one item.
    pub fn transaction_items_not_distinct() -> Error {
        Error::validation("Transaction request cannot include multiple operations on one item")
    }

    /// A transaction over its limit.
    pub fn transaction_too_large() -> Error {
        let max = limits::TRANSACTION_BYTES_MAX;
        Error::validation(format!("Transaction request size cannot exceed {max} bytes"))
    }
}
