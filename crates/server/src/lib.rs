//! The only crate that knows HTTP.
//!
//! One request, from bytes to bytes:
//!
//! ```text
//! connection   accepts, bounds and ends connections; hyper parses heads
//!   stream       times the client, and checks line ends before hyper does (framing)
//! exchange     the one place that decides: which checks, in which order, which answer
//!   access       Host and Origin: is the request for us, and from a page of ours
//!   route        method and path -> handler; other paths -> pages, and services with paths
//!   request      content type; the body, bounded and decompressed
//!   dispatch     X-Amz-Target -> service and operation
//!   auth         signature -> account and Region
//!   dispatch     the backend decodes, runs and prints the operation
//!   reply        status, body, compression, checksum, headers
//! ```
//!
//! What always holds: every request gets an answer or its connection is closed; nothing that a client
//! sends ends the process or grows memory past [`Limits`]; a client that is slow loses its place only when
//! another waits for it (`peer`, `budget`).

mod access;
mod administration;
mod answer_size;
mod auth;
mod budget;
mod compression;
mod connection;
mod cors;
mod dispatch;
mod exchange;
mod framing;
mod health;
mod limits;
mod metrics;
mod pages;
mod peer;
mod reply;
mod request;
mod request_id;
mod route;
mod stream;

pub use access::Access;
pub use administration::Administration;
pub use answer_size::AnswerSize;
pub use connection::{Ended, Server};
pub use dispatch::{Backend, ServiceRequest};
pub use limits::{Limits, Options};
pub use pages::{PageAnswer, Pages, RestService};
