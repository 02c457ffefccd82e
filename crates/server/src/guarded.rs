//! A guard: what refuses requests that an application should not send, by what its model says.
//!
//! It sees each request twice: decoded, before it is carried out; and with its answer and the units that it used. A
//! server without a guard does none of this.

use crate::dispatch::Backend;
use api::{Error, Request, Response};
use bytes::Bytes;
use engine::Caller;
use hyper::HeaderMap;
use std::fmt::Debug;

/// The header in which a client names the test that sends a request.
const TEST: &str = "x-lodestone-test";
/// A longer name is cut off.
const TEST_BYTES_MAX: usize = 1024;

/// Refuses requests, or keeps what is wrong with them.
pub trait RequestGuard: Debug + Send + Sync + 'static {
    /// Before a request is carried out. `None` if nothing is wanted of its answer.
    fn begin<'g>(&'g self, sent: &GuardedRequest<'_>) -> Result<Option<Box<dyn GuardedAnswer + 'g>>, Error>;

    /// Answers `POST /lodestone/guard`, by which test runners begin and end tests.
    fn call(&self, body: &[u8]) -> hyper::Response<Bytes>;
}

/// A request that is being carried out.
pub trait GuardedAnswer: Send {
    /// It is answered, and used these units. An error takes the place of the answer.
    fn end(self: Box<Self>, answer: &Response, units: f64) -> Result<(), Error>;
}

/// A request of DynamoDB's API.
#[derive(Clone, Copy, Debug)]
pub struct GuardedRequest<'a> {
    pub account: &'a str,
    /// The test that the client names.
    pub test: Option<&'a str>,
    pub request: &'a Request,
    /// Its JSON.
    pub body: &'a [u8],
}

/// A body as it was sent, and the test that it is part of.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) test: Option<&'a str>,
}

impl<'a> Sent<'a> {
    pub(crate) fn new(body: &'a [u8], headers: &'a HeaderMap) -> Sent<'a> {
        let test = headers.get(TEST).and_then(|name| name.to_str().ok());
        Sent { body, test: test.map(|name| &name[..name.len().min(TEST_BYTES_MAX)]) }
    }
}

/// Runs a request under a guard.
pub(crate) async fn run<B: Backend>(
    guard: &dyn RequestGuard,
    backend: &B,
    caller: &Caller,
    request: B::Request,
    sent: Sent<'_>,
) -> Result<B::Response, Error> {
    let asked = backend.dynamodb(&request).map(|request| {
        let account = &*caller.namespace.account;
        guard.begin(&GuardedRequest { account, test: sent.test, request, body: sent.body })
    });
    let Some(pending) = asked.transpose()?.flatten() else { return backend.run(caller, request).await };
    let (answered, units) = engine::metered(backend.run(caller, request)).await;
    let answered = answered?;
    if let Some(answer) = backend.dynamodb_answer(&answered) {
        pending.end(answer, units)?;
    }
    Ok(answered)
}
