//! The DynamoDB API as data: operation names, inputs, outputs, errors, limits, messages.

mod error;

pub use error::{Error, ErrorKind};
