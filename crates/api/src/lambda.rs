//! Lambda's event source mappings: which functions get the change records of which streams.
//!
//! The service speaks rest-json: the operation is the HTTP method and the path, and a request's members are in
//! its path, its query and its body. [`Request::decode`] puts them together again. Only the operations on
//! event source mappings and their tags are here, and only the members that have a meaning for DynamoDB
//! streams; other members are ignored. This module is written by hand: it is smaller than a generator
//! for this protocol.

mod check;
mod error;
mod function_name;
pub mod limits;
mod request;
mod shape;

pub use error::{LambdaError, LambdaErrorKind};
pub use function_name::FunctionName;
pub use request::{Request, owns_path};
pub use shape::*;
