//! One request, one answer: which checks, in DynamoDB's order, and what becomes of each.
//!
//! 1. head within bounds; `Host` and `Origin` are ours; a preflight is answered here;
//! 2. method and path have a handler, and the content type is one of its service, or 404;
//! 3. body whole, unpacked and within bounds;
//! 4. body is JSON, then target known, then signature in order;
//! 5. the backend decodes and runs the operation, with memory set aside for its answer.
//!
//! The decoder of step 5 parses the JSON anyway. So step 4 parses it only for requests that are about to
//! be refused, to refuse them for the reason that comes first.

use crate::access::Guard;
use crate::administration::{self, Administration};
use crate::answer_size::AnswerSize;
use crate::budget::{Budget, Busy, Share};
use crate::dispatch::{Asked, Backend};
use crate::health::Health;
use crate::limits::{Limits, Options};
use crate::pages::{Pages, RestService};
use crate::peer::{Awaits, Peer, Peers, Wanted};
use crate::reply::{Reply, ReplyBody};
use crate::request::{self, Format, Receiver, RequestBody};
use crate::request_id::RequestIds;
use crate::route::Handler;
use crate::{auth, cors, metrics};
use api::{Error, ErrorKind, Target, is_json};
use bytes::Bytes;
use engine::Caller;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use std::any::Any;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::time::Instant;

/// Room for a GetItem's answer without growing.
const ANSWER_BYTES_EXPECTED: usize = 512;

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Exchange<B> {
    backend: Arc<B>,
    guard: Guard,
    health: Health,
    pub(crate) limits: Limits,
    pub(crate) peers: Arc<Peers>,
    bodies: Budget,
    answers: Arc<Budget>,
    request_ids: RequestIds,
    pages: Option<Arc<dyn Pages>>,
    rest_services: Vec<Arc<dyn RestService>>,
    administration: Option<Arc<dyn Administration>>,
}

impl<B: Backend> Exchange<B> {
    /// For a server that listens on this address.
    pub(crate) fn new(backend: Arc<B>, options: Options, address: SocketAddr) -> Exchange<B> {
        let limits = options.limits;
        let peers = Arc::new(Peers::new());
        let budget = |bytes_max, wanted| Budget::new(bytes_max, limits.share_timeout, wanted, peers.clone());
        Exchange {
            backend,
            guard: Guard::new(&options.access, address),
            health: Health::default(),
            bodies: budget(limits.bodies_bytes_max, Wanted::BodyMemory),
            answers: Arc::new(budget(limits.answers_bytes_max, Wanted::AnswerMemory)),
            request_ids: RequestIds::new(options.request_id_seed),
            pages: options.pages,
            rest_services: options.rest_services,
            administration: options.administration,
            peers,
            limits,
        }
    }

    pub(crate) async fn answer(&self, peer: &Arc<Peer>, request: Request<Incoming>) -> Response<ReplyBody> {
        peer.step();
        peer.set_awaits(Awaits::Nothing);
        let request_id = self.request_ids.next();
        let (head, body) = request.into_parts();
        let reply = if request::head_bytes(&head) > self.limits.head_bytes_max {
            Reply::head_too_large()
        } else {
            match self.guard.check(&head) {
                Err(refusal) => refusal.reply(),
                Ok(admitted) => {
                    let reply = match catch_panic(self.admitted(&head, body, peer)).await {
                        Ok(reply) => reply,
                        Err(panic) => panicked(&*panic, &request_id),
                    };
                    if admitted.is_cross_origin { cors::expose(reply) } else { reply }
                }
            }
        };
        peer.await_from(Awaits::Request, Instant::now());
        let response = reply.into_response(&request_id, peer);
        peer.step();
        response
    }

    async fn admitted(&self, head: &Parts, body: Incoming, peer: &Peer) -> Reply {
        if cors::is_preflight(&head.method, &head.headers) {
            return cors::preflight(&head.headers);
        }
        match Handler::of(&head.method, head.uri.path()) {
            Some(Handler::JsonCall) => self.json_call(head, body, peer).await,
            Some(Handler::Health) => match self.home(head) {
                Some(home) => Reply::redirect(home),
                None => self.health.answer(self.backend.health(), &head.headers),
            },
            Some(Handler::Metrics) => {
                let logs = self.backend.change_log_sizes();
                metrics::answer(self.backend.index_progress().await, logs, &self.answers)
            }
            Some(Handler::Checkpoint) => self.checkpoint(head, body, peer).await,
            None => self.elsewhere(head, body, peer).await,
        }
    }

    /// Answers a path that no route has.
    async fn elsewhere(&self, head: &Parts, body: Incoming, peer: &Peer) -> Reply {
        let path = head.uri.path();
        if let Some(service) = self.rest_services.iter().find(|service| service.owns(path)) {
            return self.rest_call(&**service, head, body, peer).await;
        }
        match self.pages.as_ref().filter(|pages| pages.owns(path)) {
            Some(pages) => self.page(&**pages, head, body, peer).await,
            None => Reply::not_found(),
        }
    }

    async fn rest_call(&self, service: &dyn RestService, head: &Parts, body: Incoming, peer: &Peer) -> Reply {
        let receiver = Receiver { limits: &self.limits, budget: &self.bodies, peer };
        let body = match receiver.receive(&head.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.reply(Format::DYNAMODB),
        };
        let response = match auth::caller(head, service.service()) {
            Ok(caller) => service.answer(caller, Request::from_parts(head.clone(), body.bytes.clone())).await,
            Err(error) => rest_error(&error),
        };
        drop(body);
        Reply::page(response).compressed(&head.headers).await.counted(Format::DYNAMODB, &self.answers)
    }

    /// Where a browser goes when a person opens the server's bare address. Programs don't ask for documents.
    fn home(&self, head: &Parts) -> Option<&'static str> {
        let is_navigation = head.headers.get("sec-fetch-dest").is_some_and(|dest| dest == "document");
        self.pages.as_ref().filter(|_| is_navigation).map(|pages| pages.home())
    }

    /// The bounds of bodies and answers hold for pages too; checks and headers are their own.
    async fn page(&self, pages: &dyn Pages, head: &Parts, body: Incoming, peer: &Peer) -> Reply {
        let receiver = Receiver { limits: &self.limits, budget: &self.bodies, peer };
        let body = match receiver.receive(&head.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.reply(Format::DYNAMODB),
        };
        let response = pages.answer(Request::from_parts(head.clone(), body.bytes.clone())).await;
        drop(body);
        Reply::page(response).compressed(&head.headers).await.counted(Format::DYNAMODB, &self.answers)
    }

    async fn checkpoint(&self, head: &Parts, body: Incoming, peer: &Peer) -> Reply {
        let Some(administration) = &self.administration else { return Reply::not_found() };
        if !peer.is_local || head.headers.contains_key(ORIGIN) {
            return administration::refusal();
        }
        let receiver = Receiver { limits: &self.limits, budget: &self.bodies, peer };
        match receiver.receive(&head.headers, body).await {
            Ok(body) => Reply::page(administration.checkpoint(body.bytes.clone()).await),
            Err(refusal) => refusal.reply(Format::DYNAMODB),
        }
    }

    async fn json_call(&self, head: &Parts, body: Incoming, peer: &Peer) -> Reply {
        let asked = Asked::of(&head.headers);
        let Some(format) = Format::of(&head.headers, asked.service()) else {
            return Reply::not_found();
        };
        let receiver = Receiver { limits: &self.limits, budget: &self.bodies, peer };
        let outcome = match receiver.receive(&head.headers, body).await {
            Ok(body) => self.run(head, asked, body).await,
            Err(refusal) => return refusal.reply(format),
        };
        let reply = match outcome {
            Ok((answer, share)) => Reply::success(format, answer, share),
            Err(error) => Reply::error(format, &self.health.explain(error, &*self.backend)),
        };
        reply.compressed(&head.headers).await.counted(format, &self.answers)
    }

    /// Takes the body, so that its memory is free again before the answer is sent.
    async fn run(&self, head: &Parts, asked: Asked, body: RequestBody) -> Result<(Vec<u8>, Share), Error> {
        match authenticated(head, asked) {
            Ok((caller, target)) => self.call(&caller, target, &body.bytes).await,
            // An empty body passes: that it is missing is found later than that one is broken.
            Err(_) if !body.bytes.is_empty() && !is_json(&body.bytes) => {
                Err(Error::new(ErrorKind::Serialization, ""))
            }
            Err(error) => Err(error),
        }
    }

    /// Runs an operation when there is memory for its answer.
    async fn call(&self, caller: &Caller, target: Target, body: &[u8]) -> Result<(Vec<u8>, Share), Error> {
        let request = self.backend.decode(target, body)?;
        let size = self.backend.answer_size(&request);
        let mut share = self.answers.take(size.reserved_bytes()).await.map_err(busy)?;
        let answer_bytes = match self.run_with(&mut share, caller, request).await? {
            Ok(answer) => return Ok((answer, share)),
            Err(answer_bytes) if size == AnswerSize::SeldomLarge => answer_bytes,
            Err(_) => return Err(busy(Busy)),
        };
        // Nothing but the size is kept of an answer that found no room.
        share = self.answers.take(answer_bytes).await.map_err(busy)?;
        let request = self.backend.decode(target, body)?;
        let answer = self.run_with(&mut share, caller, request).await?;
        answer.map(|answer| (answer, share)).map_err(|_| busy(Busy))
    }

    /// The answer, or how many bytes it has if there is no room for it.
    async fn run_with(
        &self,
        share: &mut Share,
        caller: &Caller,
        request: B::Request,
    ) -> Result<Result<Vec<u8>, usize>, Error> {
        let mut answer = Vec::with_capacity(ANSWER_BYTES_EXPECTED);
        self.backend.run(caller, request, &mut answer).await?;
        Ok(match share.resize(answer.capacity(), &self.answers) {
            Ok(()) => Ok(answer),
            Err(Busy) => Err(answer.capacity()),
        })
    }
}

/// An error as services with REST and JSON write it.
fn rest_error(error: &Error) -> Response<Bytes> {
    let mut body = Vec::new();
    error.write_json(api::Service::Lambda, &mut body);
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = hyper::StatusCode::FORBIDDEN;
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("x-amzn-errortype", HeaderValue::from_static(error.kind.name()));
    response
}

/// All memory for answers is in use: the client is asked to try again.
fn busy(_: Busy) -> Error {
    Error::service_unavailable()
}

fn authenticated(head: &Parts, asked: Asked) -> Result<(Caller, Target), Error> {
    let target = asked.target()?;
    let caller = auth::caller(head, target.service())?;
    Ok((caller, target))
}

/// Runs to the end, or to a panic: a bug that one request meets must not end its connection.
async fn catch_panic<T>(work: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn panicked(panic: &(dyn Any + Send), request_id: &[u8]) -> Reply {
    let text = panic.downcast_ref::<&str>().copied();
    let reason = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown");
    let request_id = String::from_utf8_lossy(request_id);
    tracing::error!(%request_id, reason, "a request's handler panicked");
    Reply::error(Format::DYNAMODB, &Error::internal())
}
