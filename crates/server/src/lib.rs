//! The only crate that knows HTTP.
//!
//! One request, from bytes to bytes:
//!
//! ```text
//! connection   accepts, bounds and ends connections; hyper parses heads
//!   tls          the certificate, if connections are encrypted; HTTP/1.1 or HTTP/2
//!   stream       times the client, and checks line ends before hyper does (framing)
//! exchange     the one place that decides: which checks, in which order, which answer
//!   access       Host and Origin: is the request for us, and from a page of ours
//!   route        method and path -> handler
//!   recipient    DynamoDB, a service beside it, pages or administration, and in what they differ
//!   request      content type; the body, bounded and decompressed
//!   dispatch     X-Amz-Target -> service and operation
//!   audit        a line for the audit log, if there is one
//!   auth         signature -> caller, whose policies the engine asks
//!   dispatch     the backend decodes, runs and prints the operation
//!   reply        status, body, compression, checksum, headers
//! ```
//!
//! What always holds: every request gets an answer or its connection is closed; nothing that a client
//! sends ends the process or grows memory past [`Limits`]; one address leaves room for others (`address`); a
//! client that is slow loses its place only when another waits for it (`peer`, `budget`); large bodies leave a core to
//! small ones (`turns`).
//!
//! | question | file |
//! |---|---|
//! | in which order is a request checked, and which answer does it get? | `exchange.rs`: one pipeline for all; `recipient.rs` has the points in which they differ |
//! | what may the operator ask, and who answers? | `administration.rs`; `lodestone/src/administration.rs` |
//! | how are connections accepted, encrypted and ended? | `connection.rs`, `tls.rs`; the certificate's files are `lodestone/certificate.rs` |
//! | how much may clients take, and how long? | `limits.rs`, which has the sum; `budget.rs` for memory, `turns.rs` for cores, `address.rs` for what one address may take, `figures.rs` for the metrics |
//! | which slow client makes way for others? | `peer.rs`; `stream.rs` times one connection |
//! | where can a request be refused because the application's model does not know it? | `guarded.rs`; `lodestone/src/guard_service.rs` asks the `guard` crate |
//! | is a request from a page, or for another server? | `access.rs` |
//! | what is recorded of requests? | `audit.rs`; `audit/subject.rs` finds the tables, `audit/log.rs` writes and rotates files |
//! | what is defended, and what not? | `docs/security.md` |
//!
//! Over HTTP/2 a connection has several requests at once. Each is a peer of its own, so timeouts, memory and bounds are
//! the same code as over HTTP/1.1.

mod access;
mod address;
mod administration;
mod audit;
mod auth;
mod budget;
mod compression;
mod connection;
mod cors;
mod dispatch;
mod exchange;
mod figures;
mod framing;
mod guarded;
mod health;
mod limits;
mod metrics;
mod pages;
mod peer;
mod recipient;
mod reply;
mod request;
mod request_id;
mod route;
mod stream;
mod sts;
mod tls;
mod turns;

pub use access::Access;
pub use address::network;
pub use administration::{Administration, SIGNING_NAME, Task, Watched};
pub use audit::{Answered, Audit, AuditFile, AuditLog};
pub use auth::{Verification, caller};
pub use connection::{Ended, Server, serve_stream};
pub use dispatch::{Backend, ServiceRequest, ServiceResponse};
pub use engine::AnswerSize;
pub use guarded::{GuardedAnswer, GuardedRequest, RequestGuard};
pub use limits::{Limits, Options};
pub use pages::{Figures, NeighbourService, PageAnswer, Pages};
pub use tls::{Tls, TlsError};
