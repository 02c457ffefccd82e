//! What is wrong with a PartiQL statement.

use crate::{Error, ErrorKind};

impl Error {
    /// A SELECT from an index that its table does not have: unlike Query, without the index's name.
    pub fn index_unknown_in_statement() -> Error {
        Error::validation("The table does not have the specified index")
    }

    /// A consistent SELECT from a global index, for which Query has other words.
    pub fn consistent_read_in_statement() -> Error {
        Error::validation("Strongly consistent read is not supported on Global Secondary Indexes")
    }

    /// INSERT of an item whose key is taken.
    pub fn duplicate_item() -> Error {
        Error::new(ErrorKind::DuplicateItem, "Duplicate primary key exists in table")
    }

    /// An EXISTS statement that is not part of a transaction.
    pub fn exists_outside_transaction() -> Error {
        Error::validation("EXISTS is supported only in ExecuteTransaction")
    }

    /// A batch with reads and writes.
    pub fn statements_mixed_in_batch() -> Error {
        Error::validation("Read and write requests together in the same batch is not supported.")
    }

    /// A SELECT in a batch that does not give the whole primary key.
    pub fn select_without_key_in_batch() -> Error {
        Error::validation(
            "Select statements within BatchExecuteStatement must specify the primary key in the where clause.",
        )
    }

    /// A transaction with reads and writes.
    pub fn statements_mixed_in_transaction() -> Error {
        Error::validation("Read and write requests together in the same transaction is not supported.")
    }

    /// The same error with the position of its statement in the transaction, counted from 0. Only a
    /// ValidationException gets it.
    pub fn in_transact_statement(self, place: usize) -> Error {
        match self.kind {
            ErrorKind::Validation => Error::validation(format!(
                "Validation failed in TransactStatements[{place}]: {}",
                self.message
            )),
            _ => self,
        }
    }

    /// A SELECT from an index in a transaction.
    pub fn index_in_transaction() -> Error {
        Error::validation("Transactions do not read from indexes")
    }

    /// A RETURNING clause in a transaction.
    pub fn returning_in_transaction() -> Error {
        Error::validation("RETURNING is not supported in a transaction")
    }

    /// A NextToken of another statement or of other parameters, or one that Lodestone never gave out.
    pub fn next_token_mismatch() -> Error {
        Error::validation("NextToken does not match request")
    }
}
