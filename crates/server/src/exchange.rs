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

use crate::access::{self, Guard};
use crate::administration::{self, Administration, Watched};
use crate::audit::{self, Audit, Record};
use crate::auth::Verification;
use crate::budget::{Budget, Busy, Share};
use crate::dispatch::{Asked, Backend};
use crate::health::Health;
use crate::limits::{Limits, Options};
use crate::pages::{Figures, NeighbourService, PageAnswer, Pages};
use crate::peer::{Awaits, InFlight, Peer, Peers, Wanted};
use crate::reply::{Reply, ReplyBody};
use crate::request::{self, BodyStream, Format, Receiver, RequestBody};
use crate::request_id::RequestIds;
use crate::route::Handler;
use crate::tls::Tls;
use crate::turns::Turns;
use crate::{auth, cors, figures, metrics, request_id, sts};
use api::{Error, Service, Target, is_json};
use bytes::Bytes;
use engine::AnswerSize;
use engine::Caller;
use hyper::body::Incoming;
use hyper::header::ORIGIN;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use iam::SignatureError;
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
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) peers: Arc<Peers>,
    bodies: Budget,
    answers: Arc<Budget>,
    turns: Turns,
    request_ids: RequestIds,
    pages: Option<Arc<dyn Pages>>,
    neighbours: Vec<Arc<dyn NeighbourService>>,
    figures: Option<Arc<dyn Figures>>,
    administration: Option<Arc<dyn Administration>>,
    audit: Option<Audit>,
    verification: Option<Verification>,
    /// The only Region that is served.
    region: Option<String>,
}

impl<B: Backend> Exchange<B> {
    /// For a server that listens on this address.
    pub(crate) fn new(backend: Arc<B>, options: Options, address: SocketAddr) -> Exchange<B> {
        let limits = options.limits;
        let peers = Arc::new(Peers::new(&limits));
        let budget = |bytes_max, wanted| Budget::new(bytes_max, &limits, wanted, peers.clone());
        Exchange {
            backend,
            guard: Guard::new(&options.access, address),
            health: Health::default(),
            bodies: budget(limits.bodies_bytes_max, Wanted::BodyMemory),
            answers: Arc::new(budget(limits.answers_bytes_max, Wanted::AnswerMemory)),
            turns: Turns::new(),
            request_ids: RequestIds::new(options.request_id_seed),
            pages: options.pages,
            neighbours: options.neighbours,
            figures: options.figures,
            administration: options.administration,
            tls: options.tls,
            audit: options.audit,
            verification: options.verification,
            region: options.region,
            peers,
            limits,
        }
    }

    pub(crate) async fn answer(
        &self,
        in_flight: InFlight,
        request: Request<Incoming>,
    ) -> Response<ReplyBody> {
        let answering = Answering::begin(&in_flight);
        let peer = &in_flight.peer;
        let request_id = self.request_ids.next();
        let (mut head, body) = request.into_parts();
        let mut body = BodyStream::new(body);
        access::name_host(&mut head);
        let reply = if in_flight.is_too_many() {
            Reply::error(Format::DYNAMODB, &Error::service_unavailable()).closing()
        } else if self.is_too_large(&head) {
            Reply::head_too_large()
        } else {
            match self.guard.check(&head) {
                Err(refusal) => refusal.reply(),
                Ok(admitted) => {
                    let from = From { peer, request_id: &request_id };
                    let reply = match catch_panic(self.admitted(&head, &mut body, from)).await {
                        Ok(reply) => reply,
                        Err(panic) => panicked(&*panic, &request_id),
                    };
                    if admitted.is_cross_origin { cors::expose(reply) } else { reply }
                }
            }
        };
        let reply = if body.is_unread() { reply.closing() } else { reply };
        answering.end();
        reply.into_response(&request_id, in_flight)
    }

    fn is_too_large(&self, head: &Parts) -> bool {
        head.headers.len() > self.limits.head_fields_max
            || request::head_bytes(head) > self.limits.head_bytes_max
    }

    async fn admitted(&self, head: &Parts, body: &mut BodyStream, from: From<'_>) -> Reply {
        if cors::is_preflight(&head.method, &head.headers) {
            return cors::preflight(&head.headers);
        }
        match Handler::of(&head.method, head.uri.path()) {
            Some(Handler::JsonCall) => self.json_call(head, body, from).await,
            Some(Handler::Health) => match self.home(head) {
                Some(home) => Reply::redirect(home),
                None => self.health.answer(self.backend.health(), &head.headers),
            },
            Some(Handler::Metrics) => {
                let (logs, totals) = (self.backend.change_log_sizes(), self.backend.metric_totals());
                let faults = self.backend.injected_faults();
                let mut bounds = figures::text(
                    &self.peers,
                    &self.limits,
                    &self.bodies,
                    &self.answers,
                    self.audit.as_ref(),
                );
                bounds.push_str(&metrics::copies_text(self.backend.sketch_totals()));
                bounds.extend(self.figures.as_ref().map(|figures| figures.prometheus()));
                let progress = match self.backend.index_progress().await {
                    Ok(indexes) => self.backend.replication_status().await.map(|pairs| (indexes, pairs)),
                    Err(reason) => Err(reason),
                };
                metrics::answer(progress, logs, faults, totals, bounds, &self.answers, from.peer)
            }
            Some(Handler::Checkpoint) => {
                self.administer("Checkpoint", head, body, from, |administration, body| {
                    administration.checkpoint(body)
                })
                .await
            }
            Some(Handler::HandOver) => {
                self.administer("HandOver", head, body, from, |administration, body| {
                    administration.hand_over(body)
                })
                .await
            }
            Some(Handler::Capacity) => {
                self.administer("Capacity", head, body, from, |administration, body| {
                    administration.capacity(body)
                })
                .await
            }
            Some(Handler::Faults) => {
                self.administer("Faults", head, body, from, |administration, body| {
                    administration.faults(body)
                })
                .await
            }
            Some(Handler::Heat) => {
                self.administer("Heat", head, body, from, |administration, body| administration.heat(body))
                    .await
            }
            Some(Handler::Regions) => {
                self.administer("Regions", head, body, from, |administration, body| {
                    administration.regions(body)
                })
                .await
            }
            Some(Handler::Requests) => {
                self.administer("Requests", head, body, from, |administration, body| {
                    administration.requests(body)
                })
                .await
            }
            None => self.elsewhere(head, body, from).await,
        }
    }

    /// Answers a path that no route has.
    async fn elsewhere(&self, head: &Parts, body: &mut BodyStream, from: From<'_>) -> Reply {
        if let Some(service) = self.neighbour(head) {
            return self.neighbour_call(service, head, body, from).await;
        }
        match self.pages.as_ref().filter(|pages| pages.owns(head.uri.path())) {
            Some(pages) => self.page(&**pages, head, body, from).await,
            None => Reply::not_found(),
        }
    }

    /// The service beside DynamoDB that a request is for.
    fn neighbour(&self, head: &Parts) -> Option<&dyn NeighbourService> {
        self.neighbours.iter().find(|service| service.owns(head)).map(|service| &**service)
    }

    async fn neighbour_call(
        &self,
        service: &dyn NeighbourService,
        head: &Parts,
        body: &mut BodyStream,
        from: From<'_>,
    ) -> Reply {
        let receiver = self.receiver(from.peer);
        let body = match receiver.receive(&head.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.reply(Format::DYNAMODB),
        };
        let asked =
            || (audit::service_name(Some(service.service())), format!("{} {}", head.method, head.uri.path()));
        let mut record = match self.record(from, asked, &body.bytes) {
            Ok(record) => record,
            Err(error) => return Reply::error(Format::DYNAMODB, &error),
        };
        let caller = self.caller(head, service.service().signing_name(), &body, from.peer);
        let response = match caller.map_err(auth::json_error) {
            Ok(caller) => {
                record.iter_mut().for_each(|record| record.note_caller(&caller));
                service.answer(caller, Request::from_parts(head.clone(), body.bytes.clone())).await
            }
            Err(error) => service.refuse(head, &error),
        };
        drop(body);
        end_by_status(record, &response);
        Reply::page(response).compressed(&head.headers).await.counted(
            Format::DYNAMODB,
            &self.answers,
            from.peer,
        )
    }

    /// Where a browser goes when a person opens the server's bare address. Programs don't ask for documents.
    fn home(&self, head: &Parts) -> Option<&'static str> {
        let is_navigation = head.headers.get("sec-fetch-dest").is_some_and(|dest| dest == "document");
        self.pages.as_ref().filter(|_| is_navigation).map(|pages| pages.home())
    }

    /// The bounds of bodies and answers hold for pages too; checks and headers are their own.
    async fn page(&self, pages: &dyn Pages, head: &Parts, body: &mut BodyStream, from: From<'_>) -> Reply {
        let receiver = self.receiver(from.peer);
        let body = match receiver.receive(&head.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.reply(Format::DYNAMODB),
        };
        // Files of the pages are nobody's data.
        let is_call = head.method == Method::POST;
        let asked = || ("studio", format!("{} {}", head.method, head.uri.path()));
        let record = match if is_call { self.record(from, asked, &body.bytes) } else { Ok(None) } {
            Ok(record) => record,
            Err(error) => return Reply::error(Format::DYNAMODB, &error),
        };
        let response = pages.answer(Request::from_parts(head.clone(), body.bytes.clone())).await;
        drop(body);
        end_by_status(record, &response);
        Reply::page(response).compressed(&head.headers).await.counted(
            Format::DYNAMODB,
            &self.answers,
            from.peer,
        )
    }

    async fn administer(
        &self,
        name: &str,
        head: &Parts,
        body: &mut BodyStream,
        from: From<'_>,
        answer: impl for<'a> FnOnce(&'a dyn Administration, Bytes) -> PageAnswer<'a>,
    ) -> Reply {
        let Some(administration) = &self.administration else { return Reply::not_found() };
        if !from.peer.is_local() || head.headers.contains_key(ORIGIN) {
            return administration::refusal();
        }
        let receiver = self.receiver(from.peer);
        let body = match receiver.receive(&head.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.reply(Format::DYNAMODB),
        };
        match self.record(from, || ("lodestone", name.to_owned()), &body.bytes) {
            Ok(record) => {
                let response = answer(&**administration, body.bytes.clone()).await;
                end_by_status(record, &response);
                Reply::page(response)
            }
            Err(error) => Reply::error(Format::DYNAMODB, &error),
        }
    }

    /// Answers a request whose body is a form.
    async fn form_call(&self, head: &Parts, body: &mut BodyStream, from: From<'_>) -> Reply {
        let receiver = self.receiver(from.peer);
        let body = match receiver.receive(&head.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.reply(Format::DYNAMODB),
        };
        if !sts::is_get_caller_identity(&body.bytes) {
            return Reply::not_found();
        }
        let asked = || (sts::SIGNING_NAME, "GetCallerIdentity".to_owned());
        let mut record = match self.record(from, asked, &body.bytes) {
            Ok(record) => record,
            Err(error) => return Reply::error(Format::DYNAMODB, &error),
        };
        let response = match self.caller(head, sts::SIGNING_NAME, &body, from.peer) {
            Ok(caller) => {
                record.iter_mut().for_each(|record| record.note_caller(&caller));
                sts::answer(&caller, from.request_id)
            }
            Err(error) => sts::error(&error, from.request_id),
        };
        end_by_status(record, &response);
        Reply::page(response)
    }

    fn receiver<'a>(&'a self, peer: &'a Peer) -> Receiver<'a> {
        Receiver { limits: &self.limits, budget: &self.bodies, turns: &self.turns, peer }
    }

    /// Who sends a request.
    fn caller(
        &self,
        head: &Parts,
        service: &str,
        body: &RequestBody,
        peer: &Peer,
    ) -> Result<Caller, SignatureError> {
        let verification = self.verification.as_ref();
        let caller =
            auth::verified_caller(verification, head, service, &body.received, peer.ip, peer.is_secure)?;
        auth::check_region(&caller, self.region.as_deref())?;
        Ok(caller)
    }

    async fn json_call(&self, head: &Parts, body: &mut BodyStream, from: From<'_>) -> Reply {
        let asked = Asked::of(&head.headers);
        // Most requests are DynamoDB's, and need not be looked at twice.
        if !matches!(asked, Asked::For(_))
            && let Some(service) = self.neighbour(head)
        {
            return self.neighbour_call(service, head, body, from).await;
        }
        if sts::is_form(&head.headers) {
            return self.form_call(head, body, from).await;
        }
        let Some(format) = Format::of(&head.headers, asked.service()) else {
            return Reply::not_found();
        };
        let receiver = self.receiver(from.peer);
        let outcome = match receiver.receive(&head.headers, body).await {
            Ok(body) => self.recorded(head, asked, body, from).await,
            Err(refusal) => return refusal.reply(format),
        };
        let reply = match outcome {
            Ok((answer, share)) => Reply::success(format, answer, share),
            Err(error) => Reply::error(format, &self.health.explain(error, &*self.backend)),
        };
        reply.compressed(&head.headers).await.counted(format, &self.answers, from.peer)
    }

    /// Has the audit log record the request, if there is one.
    async fn recorded(
        &self,
        head: &Parts,
        asked: Asked,
        body: RequestBody,
        from: From<'_>,
    ) -> Result<(Vec<u8>, Share), Error> {
        let mut record =
            self.record(from, || (audit::service_name(asked.service()), asked.name()), &body.bytes)?;
        let outcome = self.run(head, asked, body, from.peer, record.as_mut()).await;
        if let Some(record) = record {
            record.end(outcome.as_ref().map_or_else(|error| error.kind.name(), |_| "ok"));
        }
        outcome
    }

    /// Begins a record, if there is an audit log: of a service and an operation.
    fn record(
        &self,
        from: From<'_>,
        asked: impl FnOnce() -> (&'static str, String),
        body: &Bytes,
    ) -> Result<Option<Record>, Error> {
        let Some(audit) = &self.audit else { return Ok(None) };
        let (service, operation) = asked();
        audit.begin(from.peer, from.request_id, service, operation, body).map(Some)
    }

    /// Takes the body, so that its memory is free again before the answer is sent.
    async fn run(
        &self,
        head: &Parts,
        asked: Asked,
        body: RequestBody,
        peer: &Peer,
        mut record: Option<&mut Record>,
    ) -> Result<(Vec<u8>, Share), Error> {
        match self.authenticated(head, asked, &body, peer) {
            Ok((caller, target)) => {
                if let Some(record) = &mut record {
                    record.note_caller(&caller);
                }
                let outcome = self.call(&caller, target, &body.bytes, peer).await;
                if let Ok((answer, _)) = &outcome {
                    self.watch(&caller, target, &body.bytes, answer);
                    if let Some(record) = record {
                        record.note_answer(answer);
                    }
                }
                outcome
            }
            // An empty body passes: that it is missing is found later than that one is broken.
            Err(_) if !body.bytes.is_empty() && !self.is_json(&body.bytes).await => Err(Error::unreadable()),
            Err(error) => Err(error),
        }
    }

    /// Shows the request to whoever learns from requests.
    fn watch(&self, caller: &Caller, target: Target, body: &[u8], answer: &[u8]) {
        let watcher = self.administration.as_ref().filter(|administration| administration.is_watching());
        if let Some(watcher) = watcher.filter(|_| target.service() == Service::DynamoDb) {
            let (account, region) = (&*caller.namespace.account, &*caller.namespace.region);
            watcher.watch(&Watched { account, region, operation: target.name(), body, answer });
        }
    }

    async fn is_json(&self, body: &[u8]) -> bool {
        let _turn = self.turns.wait(body.len()).await;
        is_json(body)
    }

    async fn decode(&self, target: Target, body: &[u8]) -> Result<B::Request, Error> {
        let _turn = self.turns.wait(body.len()).await;
        self.backend.decode(target, body)
    }

    fn authenticated(
        &self,
        head: &Parts,
        asked: Asked,
        body: &RequestBody,
        peer: &Peer,
    ) -> Result<(Caller, Target), Error> {
        let target = asked.target()?;
        let service = target.service();
        let caller = self.caller(head, service.signing_name(), body, peer).map_err(auth::json_error)?;
        // DynamoDB's own operations are about tables and items, which the engine knows.
        if !matches!(service, Service::DynamoDb | Service::DynamoDbStreams) {
            caller.authorize(&format!("{}:{}", service.action_prefix(), target.name()), "*")?;
        }
        Ok((caller, target))
    }

    /// Runs an operation when there is memory for its answer.
    async fn call(
        &self,
        caller: &Caller,
        target: Target,
        body: &[u8],
        peer: &Peer,
    ) -> Result<(Vec<u8>, Share), Error> {
        let request = self.decode(target, body).await?;
        let size = self.backend.answer_size(&request);
        let mut share = self.answers.take(size.reserved_bytes(), &peer.address).await.map_err(busy)?;
        let answer_bytes = match self.run_with(&mut share, caller, request, peer).await? {
            Ok(answer) => return Ok((answer, share)),
            Err(answer_bytes) if size == AnswerSize::SeldomLarge => answer_bytes,
            Err(_) => return Err(busy(Busy)),
        };
        // Nothing but the size is kept of an answer that found no room.
        share = self.answers.take(answer_bytes, &peer.address).await.map_err(busy)?;
        let request = self.decode(target, body).await?;
        let answer = self.run_with(&mut share, caller, request, peer).await?;
        answer.map(|answer| (answer, share)).map_err(|_| busy(Busy))
    }

    /// The answer, or how many bytes it has if there is no room for it.
    async fn run_with(
        &self,
        share: &mut Share,
        caller: &Caller,
        request: B::Request,
        peer: &Peer,
    ) -> Result<Result<Vec<u8>, usize>, Error> {
        let mut answer = Vec::with_capacity(ANSWER_BYTES_EXPECTED);
        self.backend.run(caller, request, &mut answer).await?;
        Ok(match share.resize(answer.capacity(), &self.answers, &peer.address) {
            Ok(()) => Ok(answer),
            Err(Busy) => Err(answer.capacity()),
        })
    }
}

/// Where a request comes from, and what it is called.
#[derive(Clone, Copy)]
struct From<'a> {
    peer: &'a Peer,
    request_id: &'a [u8; request_id::LENGTH],
}

/// Ends the record of what a page or a service with paths answered.
fn end_by_status(record: Option<Record>, response: &Response<Bytes>) {
    if let Some(record) = record {
        let status = response.status();
        record.end(if status.is_client_error() || status.is_server_error() { status.as_str() } else { "ok" });
    }
}

/// A request that is being answered, as its client's timers see it.
struct Answering<'a> {
    peer: &'a Peer,
    is_done: bool,
}

impl Answering<'_> {
    fn begin(in_flight: &InFlight) -> Answering<'_> {
        let peer = &in_flight.peer;
        peer.step();
        peer.set_awaits(Awaits::Nothing);
        Answering { peer, is_done: false }
    }

    fn end(mut self) {
        self.peer.await_from(Awaits::Request, Instant::now());
        self.peer.step();
        self.is_done = true;
    }
}

impl Drop for Answering<'_> {
    /// The client may take a request back (HTTP/2), or its connection may end.
    fn drop(&mut self) {
        if !self.is_done {
            self.peer.cancelled();
        }
    }
}

/// All memory for answers is in use: the client is asked to try again.
fn busy(_: Busy) -> Error {
    Error::service_unavailable()
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
