//! Administration: requests of whoever runs the server. Only programs on the same machine may ask.
//!
//! A reverse proxy on that machine speaks for whoever reaches it, so it must not pass on paths below
//! `/lodestone/`.

use crate::pages::PageAnswer;
use crate::reply::Reply;
use api::{Error, ErrorKind};
use bytes::Bytes;
use std::fmt::Debug;

/// Carries out what the operator asks for.
pub trait Administration: Debug + Send + Sync + 'static {
    /// Copies the whole database; the JSON body says where to.
    fn checkpoint(&self, body: Bytes) -> PageAnswer<'_>;

    /// Closes the database and ends the server, because the data is moved; the JSON body says where to.
    fn hand_over(&self, body: Bytes) -> PageAnswer<'_>;

    /// How a table's throughput is used; the JSON body says which table.
    fn capacity(&self, body: Bytes) -> PageAnswer<'_>;

    /// Adds, removes or lists faults that requests are to meet; the JSON body says which.
    fn faults(&self, body: Bytes) -> PageAnswer<'_>;

    /// Which key ranges of a table were used when; the JSON body says which table.
    fn heat(&self, body: Bytes) -> PageAnswer<'_>;

    /// Cuts, heals or lists the links between Regions; the JSON body says which.
    fn regions(&self, body: Bytes) -> PageAnswer<'_>;

    /// Begins to watch what clients ask, or hands out what was seen; the JSON body says which.
    fn requests(&self, body: Bytes) -> PageAnswer<'_>;

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

/// For requests from another machine, and for scripts of pages.
pub(crate) fn refusal() -> Reply {
    let message = "Only a program on the machine that runs Lodestone may ask for this.";
    Reply::forbidden(&Error::new(ErrorKind::AccessDenied, message))
}
