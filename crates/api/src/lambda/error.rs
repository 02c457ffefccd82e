//! Lambda's errors: their names, their status codes and their messages.

use std::fmt::{self, Display};

use serde_json::json;

use super::FunctionName;

/// An error as the client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LambdaError {
    /// Which error it is.
    pub kind: LambdaErrorKind,
    /// What went wrong.
    pub message: String,
}

/// Which error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LambdaErrorKind {
    /// A member breaks a rule of the service.
    InvalidParameterValue,
    /// A member breaks a constraint of its shape.
    Validation,
    /// The body is not the JSON that the operation takes.
    Serialization,
    /// There is no such mapping or function.
    ResourceNotFound,
    /// The mapping is already there.
    ResourceConflict,
    /// The mapping is being changed.
    ResourceInUse,
    /// There are too many mappings.
    TooManyRequests,
    /// The path or method belongs to no operation that is served.
    UnknownOperation,
    /// A fault of the server.
    Service,
}

impl LambdaErrorKind {
    /// The value of the header `x-amzn-ErrorType`.
    pub fn name(self) -> &'static str {
        match self {
            LambdaErrorKind::InvalidParameterValue => "InvalidParameterValueException",
            LambdaErrorKind::Validation => "ValidationException",
            LambdaErrorKind::Serialization => "SerializationException",
            LambdaErrorKind::ResourceNotFound => "ResourceNotFoundException",
            LambdaErrorKind::ResourceConflict => "ResourceConflictException",
            LambdaErrorKind::ResourceInUse => "ResourceInUseException",
            LambdaErrorKind::TooManyRequests => "TooManyRequestsException",
            LambdaErrorKind::UnknownOperation => "UnknownOperationException",
            LambdaErrorKind::Service => "ServiceException",
        }
    }

    /// The HTTP status. In rest-json it belongs to the error.
    pub fn status(self) -> u16 {
        match self {
            LambdaErrorKind::InvalidParameterValue
            | LambdaErrorKind::Validation
            | LambdaErrorKind::Serialization
            | LambdaErrorKind::ResourceInUse => 400,
            LambdaErrorKind::ResourceNotFound | LambdaErrorKind::UnknownOperation => 404,
            LambdaErrorKind::ResourceConflict => 409,
            LambdaErrorKind::TooManyRequests => 429,
            LambdaErrorKind::Service => 500,
        }
    }
}

impl LambdaError {
    /// An error of this kind.
    pub fn new(kind: LambdaErrorKind, message: impl Into<String>) -> LambdaError {
        LambdaError { kind, message: message.into() }
    }

    /// The body. Some errors spell the member `message` and some `Message`: both are there.
    pub fn to_json(&self) -> Vec<u8> {
        let side = if self.kind == LambdaErrorKind::Service { "Server" } else { "User" };
        json!({"Type": side, "message": self.message, "Message": self.message}).to_string().into_bytes()
    }

    /// A member that breaks a rule of the service.
    pub fn invalid_parameter_value(message: impl Into<String>) -> LambdaError {
        LambdaError::new(LambdaErrorKind::InvalidParameterValue, message)
    }

    /// A mapping of this function to this stream is already there. The blanks inside the quotes are AWS's.
    pub fn mapping_exists(stream_arn: &str, function: &str, uuid: &str) -> LambdaError {
        LambdaError::new(
            LambdaErrorKind::ResourceConflict,
            format!(
                "The event source arn (\" {stream_arn} \") and function (\" {function} \") provided mapping \
                 already exists. Please update or delete the existing mapping with UUID {uuid}"
            ),
        )
    }

    /// The stream is not there.
    pub fn stream_not_found(stream_arn: &str) -> LambdaError {
        LambdaError::invalid_parameter_value(format!("Stream not found: {stream_arn}"))
    }

    /// No function with this name is configured.
    pub fn function_not_found(function_arn: impl Display) -> LambdaError {
        LambdaError::new(LambdaErrorKind::ResourceNotFound, format!("Function not found: {function_arn}"))
    }

    /// No mapping has this UUID.
    pub fn mapping_not_found() -> LambdaError {
        LambdaError::new(LambdaErrorKind::ResourceNotFound, "The resource you requested does not exist.")
    }

    /// The mapping is being created, changed or deleted.
    pub fn mapping_in_use() -> LambdaError {
        LambdaError::new(
            LambdaErrorKind::ResourceInUse,
            "Cannot update the event source mapping because it is in use.",
        )
    }

    /// A filter pattern that is no JSON, or has a rule that does not exist.
    pub fn filter_pattern_invalid() -> LambdaError {
        LambdaError::invalid_parameter_value("Invalid filter pattern definition.")
    }

    /// A required member that the facts do not call required.
    pub fn member_missing(member: &str) -> LambdaError {
        LambdaError::invalid_parameter_value(format!(
            "1 validation error detected: Value null at '{member}' failed to satisfy constraint: Member must \
             not be null."
        ))
    }

    /// A fault of the server. The client learns only that it may try again.
    pub fn internal() -> LambdaError {
        LambdaError::new(LambdaErrorKind::Service, "Internal server error")
    }

    /// The method and path name no operation that is served.
    pub fn unknown_operation() -> LambdaError {
        LambdaError::new(
            LambdaErrorKind::UnknownOperation,
            "Lodestone serves Lambda's operations on event source mappings and their tags alone",
        )
    }

    /// A function of another account or Region.
    pub fn function_elsewhere(name: &FunctionName<'_>) -> LambdaError {
        LambdaError::new(LambdaErrorKind::ResourceNotFound, format!("Function not found: {}", name.text))
    }
}

impl Display for LambdaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for LambdaError {}
