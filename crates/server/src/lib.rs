//! The only crate that knows HTTP.
//!
//! One request, from bytes to bytes:
//!
//! ```text
//! connection   accepts, bounds and times connections; hyper parses heads
//! exchange     the one place that decides: which checks, in which order, which answer
//!   request      method, path, content type; the body, bounded and decompressed
//!   dispatch     X-Amz-Target -> service and operation
//!   auth         signature -> account and Region
//!   dispatch     the backend decodes, runs and prints the operation
//!   reply        status, body, compression, checksum, headers
//! ```
//!
//! What always holds: every request gets an answer or its connection is closed; nothing that a client
//! sends ends the process or grows memory past [`Limits`].

mod auth;
mod compression;
mod connection;
mod cors;
mod dispatch;
mod exchange;
mod health;
mod limits;
mod metrics;
mod reply;
mod request;
mod request_id;
mod share;
mod stream;

pub use connection::{Ended, Server};
pub use dispatch::Backend;
pub use limits::{Limits, Options};
