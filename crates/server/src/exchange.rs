//! One request, one answer: which checks, in DynamoDB's order, and what follows from each.
//!
//! 1. head within bounds; `Host` and `Origin` are ours; a preflight is answered here;
//! 2. method, path and content type have a [`Recipient`], or 404;
//! 3. receive: the body whole, unpacked and within bounds;
//! 4. record: a line for the audit log begins;
//! 5. caller: body is JSON, then target known, then signature in order;
//! 6. answer: the recipient decodes the request and carries it out. The backend does so with memory set aside for
//!    its answer;
//! 7. reply: packed and counted until it is sent.
//!
//! Steps 3 to 7 are [`Exchange::serve`], for DynamoDB, the services beside it, pages and administration alike. Pages
//! have no callers: they check requests by themselves. Step 2 refuses administration to other machines and to pages.
//!
//! The decoder of step 6 parses the JSON anyway. So step 5 parses it only for requests that are about to
//! be refused, to refuse them for the reason that comes first.

use crate::access::{self, Guard};
use crate::administration::{self, Administration, Task, Watched};
use crate::audit::{Audit, Record};
use crate::auth::Verification;
use crate::budget::{Budget, Busy, Share};
use crate::dispatch::{Asked, Backend};
use crate::guarded::{self, RequestGuard, Sent};
use crate::health::Health;
use crate::limits::{Limits, Options};
use crate::pages::{Figures, NeighbourService, Pages};
use crate::peer::{Awaits, InFlight, Peer, Peers, Wanted};
use crate::recipient::Recipient;
use crate::reply::{Reply, ReplyBody};
use crate::request::{self, BodyStream, Format, Receiver, RequestBody};
use crate::request_id::RequestIds;
use crate::route::Handler;
use crate::tls::Tls;
use crate::turns::Turns;
use crate::{auth, cors, figures, metrics, request_id, sts};
use api::{Error, ErrorKind, Service, Target, is_json};
use bytes::Bytes;
use engine::{AnswerSize, Caller};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Request, Response};
use iam::SignatureError;
use std::any::Any;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::time::Instant;

/// Room for what an answer has beside its items.
const ANSWER_BYTES_EXPECTED: usize = 512;

/// Up to here, room is made for an answer before it is printed. A larger one grows: memory is counted by the room that an
/// answer has, and most would not use all of the guess.
const ANSWER_BYTES_GUESSED_MAX: usize = 64 * 1024;

/// Room for an answer with this many bytes of items: JSON adds quotes, and the type of each value.
fn answer_bytes_expected(item_bytes: usize) -> usize {
    ANSWER_BYTES_EXPECTED + (item_bytes + item_bytes / 2).min(ANSWER_BYTES_GUESSED_MAX)
}

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
    model_guard: Option<Arc<dyn RequestGuard>>,
    verification: Option<Verification>,
    operator: Option<Verification>,
    /// The only Region that is served.
    region: Option<String>,
    is_shared: bool,
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
            health: Health::new(options.health_of_local),
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
            model_guard: options.model_guard,
            verification: options.verification,
            operator: options.operator,
            region: options.region,
            is_shared: options.is_shared,
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
                Err(refusal) => refusal.reply(self.is_page(head.uri.path())),
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
        let recipient = match Handler::of(&head.method, head.uri.path()) {
            Some(Handler::JsonCall) => self.of_target(head),
            Some(Handler::Health) => return self.health_page(head),
            Some(Handler::Metrics) => return self.metrics_page(from.peer).await,
            Some(Handler::Administration(task)) => {
                self.administration.as_deref().map(|answers| Recipient::Administration(answers, task))
            }
            // Every client may use the tables, so it may say which test does. Where callers are verified, it is not known who asks.
            Some(Handler::Guard) if self.verification.is_none() => {
                self.model_guard.as_deref().map(Recipient::Guard)
            }
            Some(Handler::Guard) => None,
            None => self.of_path(head),
        };
        match recipient {
            None => Reply::not_found(),
            Some(Recipient::Administration(..))
                if !administration::is_from_operator(&head.headers, from.peer) =>
            {
                administration::refusal()
            }
            Some(recipient) => self.serve(recipient, head, body, from).await,
        }
    }

    /// The recipient of a POST to the bare address.
    fn of_target(&self, head: &Parts) -> Option<Recipient<'_>> {
        let asked = Asked::of(&head.headers);
        // Most requests are DynamoDB's, and need not be looked at twice.
        if !matches!(asked, Asked::For(_))
            && let Some(service) = self.neighbour(head)
        {
            return Some(service);
        }
        if sts::is_form(&head.headers) {
            return Some(Recipient::Sts);
        }
        let format = Format::of(&head.headers, asked.service())?;
        Some(Recipient::Operation(asked, format))
    }

    /// The recipient of a path that no route has.
    fn is_page(&self, path: &str) -> bool {
        self.pages.as_deref().is_some_and(|pages| pages.owns(path))
    }

    fn of_path(&self, head: &Parts) -> Option<Recipient<'_>> {
        let pages = || self.pages.as_deref().filter(|pages| pages.owns(head.uri.path()));
        self.neighbour(head).or_else(|| pages().map(Recipient::Pages))
    }

    /// The service beside DynamoDB that a request is for.
    fn neighbour(&self, head: &Parts) -> Option<Recipient<'_>> {
        self.neighbours
            .iter()
            .find(|service| service.owns(head))
            .map(|service| Recipient::Neighbour(&**service))
    }

    fn health_page(&self, head: &Parts) -> Reply {
        match self.home(head) {
            Some(home) => Reply::redirect(home),
            None => self.health.answer(&*self.backend, &head.headers),
        }
    }

    /// Where a browser goes when a person opens the server's bare address. Programs don't ask for documents.
    fn home(&self, head: &Parts) -> Option<&'static str> {
        let is_navigation = head.headers.get("sec-fetch-dest").is_some_and(|dest| dest == "document");
        self.pages.as_ref().filter(|_| is_navigation).and_then(|pages| pages.home())
    }

    async fn metrics_page(&self, peer: &Peer) -> Reply {
        let (logs, totals) = (self.backend.change_log_sizes(), self.backend.metric_totals());
        let faults = self.backend.injected_faults();
        let audit = self.audit.as_ref();
        let mut bounds = figures::text(&self.peers, &self.limits, &self.bodies, &self.answers, audit);
        bounds.push_str(&metrics::copies_text(self.backend.sketch_totals()));
        bounds.extend(self.figures.as_ref().map(|figures| figures.prometheus()));
        let progress = match self.backend.index_progress().await {
            Ok(indexes) => self.backend.replication_status().await.map(|pairs| (indexes, pairs)),
            Err(reason) => Err(reason),
        };
        metrics::answer(progress, logs, faults, totals, bounds, &self.answers, peer)
    }

    /// The way of every request with a body: receive, record, answer, reply.
    async fn serve(
        &self,
        recipient: Recipient<'_>,
        head: &Parts,
        body: &mut BodyStream,
        from: From<'_>,
    ) -> Reply {
        let receiver =
            Receiver { limits: &self.limits, budget: &self.bodies, turns: &self.turns, peer: from.peer };
        let body = match receiver.receive(&head.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.reply(recipient.format()),
        };
        if !recipient.serves(&body.bytes) {
            return Reply::not_found();
        }
        let answer = match self.record(recipient, head, &body.bytes, from) {
            Ok(record) => self.answer_call(recipient, Call { head, body, from, record }).await,
            Err(error) => Answer::Json(Err(error)),
        };
        self.reply(recipient, answer, &head.headers, from.peer).await
    }

    /// Begins a record, if there is an audit log and the request belongs in it.
    fn record(
        &self,
        recipient: Recipient<'_>,
        head: &Parts,
        body: &Bytes,
        from: From<'_>,
    ) -> Result<Option<Record>, Error> {
        let Some(audit) = &self.audit else { return Ok(None) };
        let Some((service, operation)) = recipient.recorded_as(head) else { return Ok(None) };
        audit.begin(from.peer, from.request_id, service, operation, body).map(Some)
    }

    /// Takes the call, so that its body's memory is free again before the answer is sent.
    async fn answer_call(&self, recipient: Recipient<'_>, mut call: Call<'_>) -> Answer {
        let answer = match recipient {
            Recipient::Operation(asked, _) => Answer::Json(self.run_operation(asked, &mut call).await),
            Recipient::Neighbour(service) => {
                Answer::Http(match self.caller(service.service().signing_name(), &mut call) {
                    Ok(caller) => service.answer(caller, call.request()).await,
                    Err(error) => service.refuse(call.head, &auth::json_error(error)),
                })
            }
            Recipient::Sts => Answer::Http(match self.caller(sts::SIGNING_NAME, &mut call) {
                Ok(caller) => sts::answer(&caller, call.from.request_id),
                Err(error) => sts::error(&error, call.from.request_id),
            }),
            Recipient::Pages(pages) => Answer::Http(pages.answer(call.request()).await),
            Recipient::Administration(administration, task) => match self.operator(task, &mut call) {
                Ok(account) => {
                    Answer::Http(administration.answer(task, account, call.body.bytes.clone()).await)
                }
                Err(error) => Answer::Json(Err(error)),
            },
            Recipient::Guard(guard) => Answer::Http(guard.call(&call.body.bytes)),
        };
        if let Some(record) = call.record {
            answer.end(record);
        }
        answer
    }

    /// The sender of a request to the service with this signing name. It is noted in the record.
    fn caller(&self, service: &str, call: &mut Call<'_>) -> Result<Caller, SignatureError> {
        let Peer { ip, is_secure, .. } = *call.from.peer;
        let (verification, payload) = (self.verification.as_ref(), &call.body.received);
        let mut caller = auth::verified_caller(verification, call.head, service, payload, ip, is_secure)?;
        if self.is_shared {
            caller.namespace = auth::shared_namespace();
        }
        auth::check_region(&caller, self.region.as_deref())?;
        if let Some(record) = &mut call.record {
            record.note_caller(&caller);
        }
        Ok(caller)
    }

    /// Refuses a request for administration that the operator has not signed. The account is the caller's if policies
    /// are enforced; else the operator may ask about all accounts.
    fn operator(&self, task: Task, call: &mut Call<'_>) -> Result<Option<Arc<str>>, Error> {
        let has_policies = self.verification.is_some();
        let verification = self.verification.as_ref().or(self.operator.as_ref());
        let verification = verification.ok_or_else(administration::without_token)?;
        let Peer { ip, is_secure, .. } = *call.from.peer;
        let (head, payload) = (call.head, &call.body.received);
        let name = administration::SIGNING_NAME;
        let caller = auth::verified_caller(Some(verification), head, name, payload, ip, is_secure);
        let caller = caller.map_err(|error| administration::signature_error(error, has_policies))?;
        if let Some(record) = &mut call.record {
            record.note_caller(&caller);
        }
        task.authorize(&caller, &verification.authority.operator_account())?;
        Ok(has_policies.then(|| caller.namespace.account.clone()))
    }

    async fn reply(
        &self,
        recipient: Recipient<'_>,
        answer: Answer,
        request: &HeaderMap,
        peer: &Peer,
    ) -> Reply {
        let format = recipient.format();
        let reply = match answer {
            Answer::Json(Ok((answer, share))) => Reply::success(format, answer, share),
            Answer::Json(Err(error)) => Reply::error(format, &self.health.explain(error, &*self.backend)),
            Answer::Http(response) => Reply::page(response),
        };
        if !recipient.is_bounded() {
            return reply;
        }
        reply.compressed(request).await.counted(format, &self.answers, peer)
    }

    /// Runs an operation of the backend, or finds the reason to refuse it that comes first.
    async fn run_operation(&self, asked: Asked, call: &mut Call<'_>) -> Result<(Vec<u8>, Share), Error> {
        let (caller, target) = match self.authenticated(asked, call) {
            Ok(found) => found,
            Err(error) => return Err(self.first_refusal(error, &call.body.bytes).await),
        };
        let sent = Sent::new(&call.body.bytes, &call.head.headers);
        let (answered, units) = self.metered_call(&caller, target, sent, call.from.peer).await;
        self.watch(&caller, target, sent.body, &answered, units);
        let (answer, share) = answered?;
        if let Some(record) = &mut call.record {
            record.note_answer(&answer);
        }
        Ok((answer, share))
    }

    fn authenticated(&self, asked: Asked, call: &mut Call<'_>) -> Result<(Caller, Target), Error> {
        let target = asked.target()?;
        let caller = self.caller(target.service().signing_name(), call).map_err(auth::json_error)?;
        Ok((caller, target))
    }

    /// A body that is not JSON is refused before all else, but not an empty body: DynamoDB finds that a body is
    /// missing only when it decodes the operation.
    async fn first_refusal(&self, error: Error, body: &[u8]) -> Error {
        if body.is_empty() || self.is_json(body).await { error } else { Error::unreadable() }
    }

    /// Passes the request to the watcher that counts requests for `lodestone model learn`, if it is on.
    fn watch(
        &self,
        caller: &Caller,
        target: Target,
        body: &[u8],
        answered: &Result<(Vec<u8>, Share), Error>,
        units: Option<f64>,
    ) {
        let answer = match answered {
            Ok((answer, _)) => Some(answer.as_slice()),
            Err(error) if error.kind == ErrorKind::ConditionalCheckFailed => None,
            Err(_) => return,
        };
        let watcher = self.watcher().filter(|_| target.service() == Service::DynamoDb);
        if let Some((watcher, units)) = watcher.zip(units) {
            let (account, region) = (&*caller.namespace.account, &*caller.namespace.region);
            watcher.watch(&Watched { account, region, operation: target.name(), body, answer, units });
        }
    }

    fn watcher(&self) -> Option<&dyn Administration> {
        self.administration.as_deref().filter(|administration| administration.is_watching())
    }

    /// As [`Self::call`], with the units that it used if requests are watched.
    async fn metered_call(
        &self,
        caller: &Caller,
        target: Target,
        sent: Sent<'_>,
        peer: &Peer,
    ) -> (Result<(Vec<u8>, Share), Error>, Option<f64>) {
        if self.watcher().is_none() {
            return (self.call(caller, target, sent, peer).await, None);
        }
        let (answered, units) = engine::metered(self.call(caller, target, sent, peer)).await;
        (answered, Some(units))
    }

    async fn is_json(&self, body: &[u8]) -> bool {
        let _turn = self.turns.wait(body.len()).await;
        is_json(body)
    }

    async fn decode(&self, target: Target, body: &[u8]) -> Result<B::Request, Error> {
        let _turn = self.turns.wait(body.len()).await;
        self.backend.decode(target, body)
    }

    /// Runs an operation when there is memory for its answer.
    async fn call(
        &self,
        caller: &Caller,
        target: Target,
        sent: Sent<'_>,
        peer: &Peer,
    ) -> Result<(Vec<u8>, Share), Error> {
        let request = self.decode(target, sent.body).await?;
        let size = self.backend.answer_size(&request);
        let mut share = self.answers.take(size.reserved_bytes(), &peer.address).await.map_err(busy)?;
        let answer_bytes = match self.run_with(&mut share, caller, request, sent, peer).await? {
            Ok(answer) => return Ok((answer, share)),
            Err(answer_bytes) if size == AnswerSize::SeldomLarge => answer_bytes,
            Err(_) => return Err(busy(Busy)),
        };
        // Nothing but the size is kept of an answer that found no room.
        share = self.answers.take(answer_bytes, &peer.address).await.map_err(busy)?;
        let request = self.decode(target, sent.body).await?;
        let answer = self.run_with(&mut share, caller, request, sent, peer).await?;
        answer.map(|answer| (answer, share)).map_err(|_| busy(Busy))
    }

    /// The answer, or how many bytes it has if there is no room for it.
    async fn run_with(
        &self,
        share: &mut Share,
        caller: &Caller,
        request: B::Request,
        sent: Sent<'_>,
        peer: &Peer,
    ) -> Result<Result<Vec<u8>, usize>, Error> {
        let response = match self.model_guard.as_deref() {
            None => self.backend.run(caller, request).await?,
            Some(guard) => guarded::run(guard, &*self.backend, caller, request, sent).await?,
        };
        let item_bytes = self.backend.item_bytes(&response);
        let mut answer = Vec::with_capacity(answer_bytes_expected(item_bytes));
        {
            let _turn = self.turns.wait(item_bytes).await;
            self.backend.print(response, &mut answer);
        }
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

/// A request that was received whole.
struct Call<'a> {
    head: &'a Parts,
    body: RequestBody,
    from: From<'a>,
    /// Its line in the audit log, if it has one.
    record: Option<Record>,
}

impl Call<'_> {
    /// The request as pages and neighbouring services take it.
    fn request(&self) -> Request<Bytes> {
        Request::from_parts(self.head.clone(), self.body.bytes.clone())
    }
}

/// An answer before it becomes a [`Reply`].
enum Answer {
    /// What the backend printed, and its share of the memory for answers.
    Json(Result<(Vec<u8>, Share), Error>),
    /// What a page or another service answered, with its own headers.
    Http(Response<Bytes>),
}

impl Answer {
    /// Ends a record with `ok`, the error's name or its status.
    fn end(&self, record: Record) {
        match self {
            Answer::Json(Ok(_)) => record.end("ok"),
            Answer::Json(Err(error)) => record.end(error.kind.name()),
            Answer::Http(response) => {
                let status = response.status();
                let is_error = status.is_client_error() || status.is_server_error();
                record.end(if is_error { status.as_str() } else { "ok" });
            }
        }
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
