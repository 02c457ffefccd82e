//! The messages of CloudWatch, and its errors' names in the query protocol.

use crate::{Error, ErrorKind};

impl ErrorKind {
    /// The name as the query protocol has it. JSON and CBOR carry it in a header, because clients knew the
    /// errors by these names first.
    pub fn query_code(self) -> &'static str {
        match self {
            ErrorKind::Validation => "ValidationError",
            ErrorKind::MissingRequiredParameter => "MissingParameter",
            ErrorKind::InvalidParameterValue => "InvalidParameterValue",
            ErrorKind::InvalidParameterCombination => "InvalidParameterCombination",
            ErrorKind::InternalServiceFault => "InternalServiceError",
            ErrorKind::InvalidFormatFault => "InvalidFormat",
            ErrorKind::LimitExceededFault => "LimitExceeded",
            ErrorKind::UnknownOperation => "InvalidAction",
            ErrorKind::Serialization => "MalformedInput",
            ErrorKind::MissingAuthenticationToken => "MissingAuthenticationToken",
            ErrorKind::IncompleteSignature => "IncompleteSignature",
            ErrorKind::InvalidSignature => "SignatureDoesNotMatch",
            ErrorKind::UnrecognizedClient => "InvalidClientTokenId",
            ErrorKind::AccessDenied => "AccessDenied",
            other => other.name(),
        }
    }

    /// Whether the service is at fault, and not the client.
    pub fn is_fault_of_service(self) -> bool {
        matches!(
            self,
            ErrorKind::InternalServerError
                | ErrorKind::InternalServiceFault
                | ErrorKind::InternalServiceException
                | ErrorKind::ServiceUnavailable
        )
    }

    /// The HTTP status of services other than DynamoDB, which answers 400 to nearly everything.
    pub fn status(self) -> u16 {
        match self {
            ErrorKind::ServiceUnavailable => 503,
            kind if kind.is_fault_of_service() => 500,
            ErrorKind::ResourceNotFound | ErrorKind::ResourceNotFoundOfCloudWatch => 404,
            ErrorKind::RequestEntityTooLarge => 413,
            ErrorKind::MissingAuthenticationToken
            | ErrorKind::IncompleteSignature
            | ErrorKind::InvalidSignature
            | ErrorKind::UnrecognizedClient
            | ErrorKind::AccessDenied => 403,
            _ => 400,
        }
    }
}

impl Error {
    /// A parameter with a value that it can't have.
    pub fn invalid_value(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidParameterValue, message)
    }

    /// Parameters that do not go together.
    pub fn invalid_combination(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidParameterCombination, message)
    }

    /// A parameter that must be there.
    pub fn missing_parameter(name: &str) -> Error {
        Error::new(ErrorKind::MissingRequiredParameter, format!("The parameter {name} is required."))
    }

    /// More points than one answer has.
    pub fn too_many_points(points: u64, max: u64) -> Error {
        Error::invalid_combination(format!(
            "You have requested up to {points} datapoints, which exceeds the limit of {max}. You may reduce the \
             datapoints requested by increasing Period, or decreasing the time range."
        ))
    }

    /// An alarm that does not exist.
    pub fn alarm_not_found(name: &str) -> Error {
        Error::new(ErrorKind::ResourceNotFoundOfCloudWatch, format!("Alarm {name} does not exist"))
    }

    /// A token that no earlier answer had.
    pub fn next_token_invalid() -> Error {
        Error::new(ErrorKind::InvalidNextToken, "The next token specified is invalid.")
    }

    /// A body that is longer than any request needs.
    pub fn body_too_large() -> Error {
        Error::new(ErrorKind::RequestEntityTooLarge, "Request body is too large")
    }
}
