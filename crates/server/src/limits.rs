//! How much a client may ask for, and how long it may take.
//!
//! The bytes of requests and answers that slow or many clients can keep here are about
//!
//! ```text
//! connections_max × CONNECTION  +  requests_max × 2 × UNCOUNTED  +  bodies_bytes_max  +  answers_bytes_max
//!            4096 ×     64 KiB  +          4096 × 2 ×    16 KiB  +           256 MiB  +            256 MiB
//!                                                                                          =  896 MiB
//! ```
//!
//! The first term is what a connection buffers before a request is looked at: up to 32 KiB over HTTP/1.1, and over
//! HTTP/2 the 64 KiB of its window. The second is one small body and one small answer of every request in flight;
//! a request counts until its answer is written. The third is all larger bodies together; each takes its whole
//! share at once and holds it until its request is answered. The fourth is all larger answers together, and what
//! the engine holds while it makes them: a request that may have a large answer takes the largest share that it
//! can need before it is run, and gives back what it did not need ([`engine::AnswerSize`]). TLS adds its own buffers,
//! up to 128 KiB for a connection whose client sends or reads slowly.
//!
//! One address gets `address_share_percent` of each term (`address.rs`).
//!
//! Not in the sum: the items of single-item requests while these run, and the slack of a chunked body's
//! growing buffer, at most its length again.

use crate::access::Access;
use crate::administration::Administration;
use crate::audit::Audit;
use crate::auth::Verification;
use crate::guarded::RequestGuard;
use crate::pages::{Figures, NeighbourService, Pages};
use crate::tls::Tls;
use std::sync::Arc;
use std::time::Duration;

/// What one connection reads ahead at most: a request head, or a piece of a body.
pub(crate) const READ_BUFFER_BYTES: usize = 32 * 1024;

/// What a client may send ahead over HTTP/2, on all streams of a connection together: what every connection starts
/// with, and the least there can be.
pub(crate) const HTTP2_WINDOW_BYTES: u32 = 65_535;

/// Requests at once over one HTTP/2 connection. Node and browsers open about as many.
pub(crate) const HTTP2_STREAMS_MAX: u32 = 100;

/// Bodies and answers up to this size belong to their connection; larger ones take a share of
/// [`Limits::bodies_bytes_max`] or [`Limits::answers_bytes_max`]. Most requests stay below it and never
/// touch the shared counters.
pub(crate) const UNCOUNTED_BYTES: usize = 16 * 1024;

/// The bounds of the HTTP layer.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections served at once. When all are taken, a new one replaces the one that has rested longest.
    pub connections_max: usize,
    /// Requests in flight, each until its answer is sent. Further ones are asked to try again (503).
    pub requests_max: usize,
    /// How much of every bound the clients of one address may take together.
    pub address_share_percent: usize,
    /// Request line and header fields together. DynamoDB refuses more than 16 KiB with a 400.
    pub head_bytes_max: usize,
    /// Header fields in one request. SDKs send about ten.
    pub head_fields_max: usize,
    /// A request's body, as sent and again after decompression: DynamoDB's 16 MiB.
    pub body_bytes_max: usize,
    /// All bodies above 16 KiB together; room for sixteen of the largest.
    pub bodies_bytes_max: usize,
    /// All answers above 16 KiB together, from the start of their request until they are sent.
    pub answers_bytes_max: usize,
    /// How long an oversized body may be to be read to its end before the 413, so that a client that sends first and
    /// reads afterwards sees the answer and not a reset connection.
    pub discard_bytes_max: usize,
    /// From the first byte of a request head to its last.
    pub head_timeout: Duration,
    /// How long a connection may rest between requests. Longer than the pools of common SDKs keep one.
    pub idle_timeout: Duration,
    /// From the end of the head to the end of the body: 16 MiB at 1.2 Mbit/s.
    pub body_timeout: Duration,
    /// How long a client may leave its side of the socket full before it is disconnected.
    pub write_timeout: Duration,
    /// How long a large body or answer waits for its share before the client is asked to try again.
    pub share_timeout: Duration,
    /// How long requests in flight may take to finish once the server is asked to stop.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 4096,
            requests_max: 4096,
            address_share_percent: 75,
            head_bytes_max: 16 * 1024,
            head_fields_max: 100,
            body_bytes_max: api::limits::BODY_BYTES_MAX,
            bodies_bytes_max: 256 * 1024 * 1024,
            answers_bytes_max: 256 * 1024 * 1024,
            discard_bytes_max: 64 * 1024 * 1024,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(180),
            body_timeout: Duration::from_secs(120),
            write_timeout: Duration::from_secs(30),
            share_timeout: Duration::from_secs(10),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// How much of a bound one address may take.
    pub fn of_one_address(&self, bound: usize) -> usize {
        (bound.saturating_mul(self.address_share_percent.min(100)) / 100).max(1)
    }
}

/// How a server is set up.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub limits: Limits,
    pub access: Access,
    /// Encrypts all connections; without it, none.
    pub tls: Option<Arc<Tls>>,
    /// Records requests; without it, none.
    pub audit: Option<Audit>,
    /// Where request ids start. They need to differ, not to be secret; give another number to each run.
    pub request_id_seed: u64,
    /// What answers paths that are not the API's.
    pub pages: Option<Arc<dyn Pages>>,
    /// Services that name their operations by method and path.
    pub neighbours: Vec<Arc<dyn NeighbourService>>,
    /// Further figures for the operator.
    pub figures: Option<Arc<dyn Figures>>,
    /// What answers the operator.
    pub administration: Option<Arc<dyn Administration>>,
    /// Compares requests with what the application's model says; without it, none.
    pub model_guard: Option<Arc<dyn RequestGuard>>,
    /// What verifies signatures. Without it, anyone may do anything, except for administration.
    pub verification: Option<Verification>,
    /// What verifies the operator's signatures if the signatures of clients are not verified. Without either, all
    /// requests for administration are refused.
    pub operator: Option<Verification>,
    /// The Region of this server, if others have the other ones.
    pub region: Option<String>,
    /// All accounts and Regions have the same tables, as with DynamoDB Local's `-sharedDb`.
    pub is_shared: bool,
    /// `GET /` is answered as DynamoDB Local does, for what waits for that answer.
    pub health_of_local: bool,
}
