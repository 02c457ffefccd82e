//! One request, one answer: which checks, in DynamoDB's order, and what becomes of each.
//!
//! 1. head within bounds; preflight and health are answered here;
//! 2. method, path and content type, or 404;
//! 3. body whole, unpacked and within bounds;
//! 4. body is JSON, then target known, then signature in order;
//! 5. the backend decodes and runs the operation.
//!
//! The decoder of step 5 parses the JSON anyway, so step 4 parses it only for requests that are about to
//! be refused, to refuse them for the reason that comes first.

use crate::dispatch::{Backend, Target};
use crate::limits::{Limits, Options};
use crate::reply::{Reply, ReplyBody};
use crate::request::{self, ContentType, RequestBody};
use crate::request_id::RequestIds;
use crate::share::Shares;
use crate::{auth, cors, health, metrics};
use api::{Error, ErrorKind, Operation};
use engine::Caller;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use serde::de::IgnoredAny;
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// Room for a GetItem's answer without growing.
const ANSWER_BYTES_EXPECTED: usize = 512;

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Exchange<B> {
    backend: Arc<B>,
    pub(crate) limits: Limits,
    shares: Shares,
    request_ids: RequestIds,
}

impl<B: Backend> Exchange<B> {
    pub(crate) fn new(backend: Arc<B>, options: Options) -> Exchange<B> {
        let shares = Shares::new(&options.limits);
        let request_ids = RequestIds::new(options.request_id_seed);
        Exchange { backend, limits: options.limits, shares, request_ids }
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<ReplyBody> {
        let request_id = self.request_ids.next();
        let (head, body) = request.into_parts();
        let reply = match unwound(self.reply(&head, body)).await {
            Ok(reply) => reply,
            Err(panic) => {
                let request_id = String::from_utf8_lossy(&request_id);
                tracing::error!(%request_id, reason = reason(&*panic), "a request's handler panicked");
                Reply::error(ContentType::AmazonJson10, &Error::internal())
            }
        };
        let mut response = reply.into_response(&request_id);
        if cors::is_cross_origin(&head.headers) {
            cors::expose(response.headers_mut());
        }
        response
    }

    async fn reply(&self, head: &Parts, body: Incoming) -> Reply {
        if request::head_bytes(head) > self.limits.head_bytes_max {
            return Reply::head_too_large();
        }
        if cors::is_preflight(&head.method, &head.headers) {
            return cors::preflight(&head.headers);
        }
        if head.method == Method::GET && head.uri.path() == "/metrics" {
            return metrics::answer(&self.backend.index_progress().await);
        }
        if head.uri.path() != "/" {
            return Reply::not_found();
        }
        if head.method == Method::GET {
            return health::answer(&head.headers);
        }
        let target = Target::of(&head.headers);
        let content_type = ContentType::of(&head.headers, target.service);
        let (&Method::POST, Some(content_type)) = (&head.method, content_type) else {
            return Reply::not_found();
        };
        let reply = match request::read_body(&head.headers, body, &self.limits, &self.shares).await {
            Ok(body) => self.run(head, target, body, content_type).await,
            Err(refusal) => return refusal.reply(content_type),
        };
        let reply = reply.compressed(&head.headers).await;
        match self.shares.take(reply.body_len()).await {
            Ok(share) => reply.counted(share),
            Err(_) => Reply::error(content_type, &Error::service_unavailable()),
        }
    }

    /// Takes the body, so that its memory is free again before the answer asks for some.
    async fn run(&self, head: &Parts, target: Target, body: RequestBody, content_type: ContentType) -> Reply {
        let mut answer = Vec::with_capacity(ANSWER_BYTES_EXPECTED);
        let outcome = match admitted(head, target) {
            Ok((caller, operation)) => self.backend.call(&caller, operation, &body.bytes, &mut answer).await,
            Err(_) if !is_json(&body.bytes) => Err(Error::new(ErrorKind::Serialization, "")),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => Reply::success(content_type, answer),
            Err(error) => Reply::error(content_type, &error),
        }
    }
}

fn admitted(head: &Parts, target: Target) -> Result<(Caller, Operation), Error> {
    let (service, operation) = target.known()?;
    let caller = auth::caller(head, service)?;
    Ok((caller, operation))
}

/// No body at all is complained about later than a broken one.
fn is_json(body: &[u8]) -> bool {
    body.is_empty() || serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

/// Runs to the end, or to a panic: a bug met by one request must not take its connection along.
async fn unwound<T>(work: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown")
}
