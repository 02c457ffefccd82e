//! What a client is told when a request fails: DynamoDB's error names and texts. Status codes and
//! JSON are the server's business.

use item::Item;

/// An error as the client sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    /// The item that failed its condition, if the request asked for it.
    pub item: Option<Item>,
}

/// The error's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    Validation,
    Serialization,
    UnknownOperation,
    MissingAuthenticationToken,
    IncompleteSignature,
    InvalidSignature,
    UnrecognizedClient,
    AccessDenied,
    ConditionalCheckFailed,
    ResourceNotFound,
    ResourceInUse,
    LimitExceeded,
    InternalServerError,
    ServiceUnavailable,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), item: None }
    }
    pub fn validation(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Validation, message)
    }
    /// The body's `__type`, prefix and all: `com.amazon.coral.validate#ValidationException`.
    pub fn type_name(&self) -> &'static str {
        todo!()
    }
}
