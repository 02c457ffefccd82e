//! The DynamoDB API as data: operation names, inputs, outputs, errors, limits, messages.
//!
//! A request goes through three steps here, in DynamoDB's own order:
//! 1. [`Request::decode`] reads its JSON: wrong types and broken constraints are refused;
//! 2. the input's `check` applies the rules that need neither the table nor the expressions' meaning;
//! 3. the answer is a [`Response`] or an [`Error`], and both print themselves as JSON.
//!
//! Whoever sends a request prints it as JSON likewise ([`Request::write_json`]), and reads the answer
//! ([`Input::read_output`]).
//!
//! The shapes in `generated` come from `facts/dynamodb.json` through `cargo xtask codegen`; everything
//! else is written by hand, the checks with one file an operation.

mod action;
mod check;
mod decode;
mod encode;
mod error;
mod generated;
mod input;
pub mod limits;
mod name;
mod pattern;
mod violation;

pub use action::{Act, Action};
pub use error::{
    Access, CancellationCode, CancellationReason, Error, ErrorKind, ThrottlingCause, ThrottlingReason,
};
pub use generated::*;
pub use input::Input;
pub use name::{TableHome, TableName};
pub use violation::Constraint;
