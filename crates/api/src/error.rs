//! What a client gets when a request fails: the error's name, its message and its JSON body.
//!
//! The status code is the server's to choose. Messages are made beside the service that they belong to:
//! `dynamodb/error` and `streams/error.rs`. Here are those of every service.

mod cancellation;
mod kind;
mod throttling;

use item::Item;

use crate::Service;
use crate::encode::Object;

pub use cancellation::{CancellationCode, CancellationReason};
pub use kind::ErrorKind;
pub use throttling::ThrottlingReason;

/// An error as the client sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Which error it is.
    pub kind: ErrorKind,
    /// What went wrong, in the service's words.
    pub message: String,
    /// The item that failed its condition, if the request asked for it.
    pub item: Option<Item>,
    /// What each action has to do with the cancellation of its transaction; empty for other errors.
    pub cancellation_reasons: Vec<CancellationReason>,
    /// What throttled the request; empty for other errors.
    pub throttling_reasons: Vec<ThrottlingReason>,
}

impl Error {
    /// An error with nothing but its name and message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            item: None,
            cancellation_reasons: Vec::new(),
            throttling_reasons: Vec::new(),
        }
    }

    /// Appends the body as a service with JSON 1.0 or 1.1 writes it. An error without a message, such as the
    /// one for unreadable JSON, has no member for it.
    pub fn write_json(&self, service: Service, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        object.member("__type", &self.kind.type_name(service));
        if !self.message.is_empty() {
            object.member(self.kind.message_member(service), &self.message);
        }
        object.member("Item", &self.item);
        if !self.cancellation_reasons.is_empty() {
            object.member("CancellationReasons", &self.cancellation_reasons);
        }
        if !self.throttling_reasons.is_empty() {
            // The model spells this member of ThrottlingException in its own way.
            let is_lower = self.kind == ErrorKind::Throttling;
            let name = if is_lower { "throttlingReasons" } else { "ThrottlingReasons" };
            object.member(name, &self.throttling_reasons);
        }
        object.end();
    }

    /// A request that breaks a rule.
    pub fn validation(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Validation, message)
    }

    /// A fault in the shape of a PutItem, UpdateItem or DeleteItem request: bad sets, expression syntax,
    /// placeholders, mixed parameters. A fault in the data is a plain [`Error::validation`].
    pub fn request_shape(text: impl std::fmt::Display) -> Error {
        Error::validation(format!("1 validation error detected: {text}"))
    }

    /// A request with parameters that do not go together, or not with the table.
    pub fn invalid_parameter(text: impl std::fmt::Display) -> Error {
        Error::validation(format!("One or more parameter values were invalid: {text}"))
    }

    /// Text that is not JSON. The service does not say what is wrong with it.
    pub fn unreadable() -> Error {
        Error::new(ErrorKind::Serialization, "")
    }

    /// It is [`Error::unreadable`].
    pub(crate) fn is_unreadable(&self) -> bool {
        self.kind == ErrorKind::Serialization && self.message.is_empty()
    }

    /// A request without a known service.
    pub fn unknown_operation() -> Error {
        Error::new(ErrorKind::UnknownOperation, "")
    }

    /// A known service's operation that is not served. DynamoDB has no message here; ours says that the
    /// caller's spelling is not the reason.
    pub fn operation_not_served() -> Error {
        Error::new(
            ErrorKind::UnknownOperation,
            "Lodestone does not serve this operation; its README tells what is served",
        )
    }

    /// A fault of the server. The client learns only that it may try again.
    pub fn internal() -> Error {
        Error::new(ErrorKind::InternalServerError, "Internal server error")
    }

    /// The server has no room for the request at this moment.
    pub fn service_unavailable() -> Error {
        Error::new(ErrorKind::ServiceUnavailable, "The service is temporarily unavailable. Please try again.")
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for Error {}
