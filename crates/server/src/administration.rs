//! Administration: requests of the operator who runs the server. Only programs on the same machine may ask.
//!
//! A reverse proxy on that machine passes on requests of other machines, so it must not pass on paths below
//! `/lodestone/`.

use crate::pages::PageAnswer;
use crate::peer::Peer;
use crate::reply::Reply;
use api::{Error, ErrorKind};
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::ORIGIN;
use std::fmt::Debug;

/// What the operator asks for. The JSON body of the request says the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Copies the whole database; the body says where to.
    Checkpoint,
    /// Closes the database and ends the server, because the data is moved; the body says where to.
    HandOver,
    /// How a table's throughput is used; the body says which table.
    Capacity,
    /// Adds, removes or lists faults that requests are to meet; the body says which.
    Faults,
    /// Which key ranges of a table were used when; the body says which table.
    Heat,
    /// Cuts, heals or lists the links between Regions; the body says which.
    Regions,
    /// Begins to watch what clients ask, or hands out what was seen; the body says which.
    Requests,
}

impl Task {
    /// The operation in the audit log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Task::Checkpoint => "Checkpoint",
            Task::HandOver => "HandOver",
            Task::Capacity => "Capacity",
            Task::Faults => "Faults",
            Task::Heat => "Heat",
            Task::Regions => "Regions",
            Task::Requests => "Requests",
        }
    }
}

/// Carries out what the operator asks for.
pub trait Administration: Debug + Send + Sync + 'static {
    /// Carries out a task, with the JSON body of its request.
    fn answer(&self, task: Task, body: Bytes) -> PageAnswer<'_>;

    /// Whether requests are watched.
    fn is_watching(&self) -> bool;

    /// A request that was served, while requests are watched. It is called by the thread of the request.
    fn watch(&self, watched: &Watched<'_>);
}

/// A request that was served.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    pub account: &'a str,
    pub region: &'a str,
    /// As `X-Amz-Target` names it.
    pub operation: &'a str,
    pub body: &'a [u8],
    pub answer: &'a [u8],
}

/// Whether a request may come from the operator: from this machine, and not from a script of a page.
pub(crate) fn is_from_operator(headers: &HeaderMap, peer: &Peer) -> bool {
    peer.is_local() && !headers.contains_key(ORIGIN)
}

/// For requests that are not the operator's.
pub(crate) fn refusal() -> Reply {
    let message = "Only a program on the machine that runs Lodestone may ask for this.";
    Reply::forbidden(&Error::new(ErrorKind::AccessDenied, message))
}
