//! The services' APIs as data: operations, inputs, outputs, errors, limits and messages.
//!
//! A request takes three steps here, in the order in which DynamoDB takes them:
//! 1. [`Request::decode`] reads its JSON and refuses wrong types and broken constraints;
//! 2. the input's `check` applies the rules that need neither a table nor the meaning of an expression;
//! 3. the answer is a [`Response`] or an [`Error`], and both print themselves as JSON.
//!
//! A client goes the other way: it prints a request ([`Request::write_json`]) and reads the answer
//! ([`Input::read_output`]).
//!
//! Each service is a module of its own, all built alike:
//! - `generated`: shapes and operations, written by `cargo xtask codegen` from `facts/<service>.json`;
//! - `check`: the rules, written by hand, one file an operation;
//! - `error` and `limits`: the service's messages and fixed numbers.
//!
//! CloudWatch's requests also come as forms and as CBOR: `cloudwatch::Call` reads and answers all three, with
//! `protocol` doing the translation.
//!
//! `lambda` differs: its few operations are written by hand, because a request's members are in its path, its
//! query and its body.
//!
//! DynamoDB is the main service: its names are also those of this crate. Use the others by their module.
//! [`Service`] and [`Target`] say which service and operation a request is aimed at.
//!
//! | question | file |
//! |---|---|
//! | which services are there? | `service.rs`; which operation a request asks for: `target.rs` |
//! | how is JSON read, and how is it printed? | `decode.rs`, `encode.rs`, `enumeration.rs` |
//! | which broken constraints are reported together? | `violation.rs`, `pattern.rs` |
//! | what must an input obey without a table? | `dynamodb/check.rs` and the file of its operation beside it |
//! | which errors are there? | `error/kind.rs`; what they say: `dynamodb/error.rs` |
//! | what are the limits? | `dynamodb/limits.rs`, and one for each other service |
//! | which output belongs to an input? | `input.rs` |
//! | what may a table name be? | `dynamodb/table_name.rs` |
//! | how are forms and CBOR read? | `protocol.rs` |

#![warn(missing_docs)]

pub mod autoscaling;
pub mod cloudwatch;
mod decode;
pub mod dynamodb;
mod encode;
mod enumeration;
mod error;
mod input;
pub mod lambda;
mod pattern;
mod protocol;
mod service;
pub mod streams;
mod target;
mod violation;

pub use decode::is_json;
pub use dynamodb::*;
pub use error::{CancellationCode, CancellationReason, Error, ErrorKind, ThrottlingReason};
pub use input::Input;
pub use service::{Protocol, Service};
pub use target::Target;
pub use violation::Constraint;
