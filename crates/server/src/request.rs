//! A request before it is dispatched: its content type, and its body, whole, unpacked and within bounds.

use crate::budget::{Budget, Busy, Share};
use crate::compression::{Coding, EXPANSION_MAX, InflateError};
use crate::limits::{Limits, UNCOUNTED_BYTES};
use crate::peer::{Awaits, Peer};
use crate::reply::Reply;
use crate::turns::{Turns, aside};
use api::{Error, Protocol, Service};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, EXPECT, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use tokio::time::{Instant, timeout};

/// The content types that SDKs send; an answer has the type of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentType {
    Json,
    AmazonJson10,
    AmazonJson11,
}

impl ContentType {
    const ALL: [ContentType; 3] = [ContentType::AmazonJson10, ContentType::Json, ContentType::AmazonJson11];

    fn name(self) -> &'static str {
        match self {
            ContentType::Json => "application/json",
            ContentType::AmazonJson10 => "application/x-amz-json-1.0",
            ContentType::AmazonJson11 => "application/x-amz-json-1.1",
        }
    }

    pub(crate) fn value(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    fn of(headers: &HeaderMap) -> Option<ContentType> {
        let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let name = value.split(';').next()?.trim();
        ContentType::ALL.into_iter().find(|known| name.eq_ignore_ascii_case(known.name()))
    }
}

/// How a call's answer is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub(crate) content_type: ContentType,
    /// Whose error names it has.
    pub(crate) service: Service,
}

impl Format {
    /// For answers that don't depend on what was asked for.
    pub(crate) const DYNAMODB: Format =
        Format { content_type: ContentType::AmazonJson10, service: Service::DynamoDb };

    /// `None` if the content type isn't one that the service speaks.
    pub(crate) fn of(headers: &HeaderMap, service: Option<Service>) -> Option<Format> {
        let content_type = ContentType::of(headers)?;
        let service = service.unwrap_or(Service::DynamoDb);
        let speaks_it = content_type != ContentType::AmazonJson11 || service.speaks(Protocol::Json11);
        speaks_it.then_some(Format { content_type, service })
    }
}

/// What the request line and the headers take on the wire, but for a few bytes of punctuation.
pub(crate) fn head_bytes(head: &Parts) -> usize {
    let uri = head.uri.path_and_query().map_or(0, |line| line.as_str().len());
    let fields: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    uri + fields
}

/// A request's body while it comes in.
#[derive(Debug)]
pub(crate) struct BodyStream {
    incoming: Incoming,
    /// All of it was read.
    has_ended: bool,
    bytes_read: usize,
    /// It is too long to be read to its end.
    is_given_up: bool,
}

impl BodyStream {
    pub(crate) fn new(incoming: Incoming) -> BodyStream {
        BodyStream { incoming, has_ended: false, bytes_read: 0, is_given_up: false }
    }

    /// Some of it was not read. Whether it has arrived yet does not matter: the same bytes must get the same
    /// answers in whatever pieces they come.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_given_up || (!self.has_ended && !self.incoming.is_end_stream())
    }

    /// Absent for a chunked body, which may turn out as long as any.
    fn bytes_left(&self) -> Option<usize> {
        self.incoming.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// The next piece of the body itself; trailers mean nothing here.
    async fn next_piece(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        while let Some(frame) = self.incoming.frame().await {
            if let Ok(piece) = frame?.into_data() {
                self.bytes_read += piece.len();
                return Ok(Some(piece));
            }
        }
        self.has_ended = true;
        Ok(None)
    }

    /// Reads on within bounds, without keeping anything.
    async fn discard(&mut self, limits: &Limits) {
        self.is_given_up = self.bytes_read > limits.discard_bytes_max;
        let to_the_end = async {
            while !self.is_given_up && matches!(self.next_piece().await, Ok(Some(_))) {
                self.is_given_up = self.bytes_read > limits.discard_bytes_max;
            }
        };
        // What did not come in time is unread.
        let _ = timeout(limits.body_timeout, to_the_end).await;
    }
}

/// A request's body as the client meant it.
#[derive(Debug)]
pub(crate) struct RequestBody {
    pub(crate) bytes: Bytes,
    /// As it came, before it was unpacked: what a signature covers.
    pub(crate) received: Bytes,
    /// What the bytes count against while they are needed.
    _share: Share,
}

impl RequestBody {
    fn new(bytes: Bytes, received: Bytes, share: Share) -> RequestBody {
        debug_assert!(share.allows(bytes.len().max(received.len())), "a large body has a share");
        RequestBody { bytes, received, _share: share }
    }
}

/// Why there is no body.
#[derive(Debug)]
pub(crate) enum BodyRefusal {
    TooLarge,
    /// An unknown coding or a broken stream. DynamoDB calls it its own fault.
    CannotUnpack,
    TimedOut,
    /// The connection broke or the chunks don't add up.
    Broken,
    Busy,
}

impl BodyRefusal {
    pub(crate) fn reply(self, format: Format) -> Reply {
        match self {
            BodyRefusal::TooLarge => Reply::body_too_large(format),
            BodyRefusal::CannotUnpack => Reply::error(format, &Error::internal()),
            BodyRefusal::TimedOut => Reply::body_incomplete(StatusCode::REQUEST_TIMEOUT),
            BodyRefusal::Broken => Reply::body_incomplete(StatusCode::BAD_REQUEST),
            BodyRefusal::Busy => Reply::error(format, &Error::service_unavailable()).closing(),
        }
    }
}

impl From<Busy> for BodyRefusal {
    fn from(_: Busy) -> BodyRefusal {
        BodyRefusal::Busy
    }
}

impl From<hyper::Error> for BodyRefusal {
    fn from(error: hyper::Error) -> BodyRefusal {
        tracing::debug!(%error, "a request's body broke off");
        BodyRefusal::Broken
    }
}

/// Where bodies get their memory and their time, and whose body it is.
#[derive(Clone, Copy)]
pub(crate) struct Receiver<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) budget: &'a Budget,
    pub(crate) turns: &'a Turns,
    pub(crate) peer: &'a Peer,
}

impl Receiver<'_> {
    /// Reads a body to its end and unpacks it.
    pub(crate) async fn receive(
        self,
        headers: &HeaderMap,
        body: &mut BodyStream,
    ) -> Result<RequestBody, BodyRefusal> {
        self.peer.set_awaits(Awaits::Body);
        let received = self.receive_packed(headers, body).await;
        self.peer.set_awaits(Awaits::Nothing);
        let (bytes, share) = received?;
        match Coding::of_request(headers).map_err(|_| BodyRefusal::CannotUnpack)? {
            None => Ok(RequestBody::new(bytes.clone(), bytes, share)),
            Some(coding) => self.unpack(coding, bytes, share).await,
        }
    }

    async fn receive_packed(
        self,
        headers: &HeaderMap,
        body: &mut BodyStream,
    ) -> Result<(Bytes, Share), BodyRefusal> {
        let announced = body.bytes_left();
        if announced.is_some_and(|length| length > self.limits.body_bytes_max) {
            // A client that sends `Expect` waits for permission to send the body, so there is nothing to discard.
            if !headers.contains_key(EXPECT) {
                body.discard(self.limits).await;
            }
            return Err(BodyRefusal::TooLarge);
        }
        let length_max = announced.unwrap_or(self.limits.body_bytes_max);
        let is_packed = !matches!(Coding::of_request(headers), Ok(None));
        let share_bytes = length_max + if is_packed { self.unpacked_bytes_max(length_max) } else { 0 };
        match timeout(self.limits.body_timeout, self.gather(body, length_max, share_bytes)).await {
            Ok(Err(BodyRefusal::TooLarge)) => {
                body.discard(self.limits).await;
                Err(BodyRefusal::TooLarge)
            }
            Ok(outcome) => outcome,
            Err(_) => Err(BodyRefusal::TimedOut),
        }
    }

    /// The whole body. One that is small so far has no share: a client that announces much and sends
    /// little takes no memory from others.
    async fn gather(
        self,
        body: &mut BodyStream,
        length_max: usize,
        share_bytes: usize,
    ) -> Result<(Bytes, Share), BodyRefusal> {
        let mut share = Share::default();
        let Some(first) = body.next_piece().await? else { return Ok((Bytes::new(), share)) };
        // Mostly the whole body came with the head and is handed on without a copy.
        if !body.is_unread() && first.len() <= length_max.min(UNCOUNTED_BYTES) {
            return Ok((first, share));
        }
        let mut bytes = Vec::new();
        let mut next = Some(first);
        while let Some(piece) = next {
            if piece.len() > length_max - bytes.len() {
                return Err(BodyRefusal::TooLarge);
            }
            if !share.is_counted() && bytes.len() + piece.len() > UNCOUNTED_BYTES {
                share = self.budget.take(share_bytes, &self.peer.address).await?;
                self.peer.await_from(Awaits::LargeBody, Instant::now());
                let rest = body.bytes_left().unwrap_or(0);
                bytes.reserve_exact((piece.len() + rest).min(length_max - bytes.len()));
            }
            self.peer.credit(piece.len());
            bytes.extend_from_slice(&piece);
            drop(piece);
            next = body.next_piece().await?;
        }
        Ok((bytes.into(), share))
    }

    /// On a thread of its own: a body that unpacks to 16 MiB takes tens of milliseconds.
    async fn unpack(
        self,
        coding: Coding,
        packed: Bytes,
        mut share: Share,
    ) -> Result<RequestBody, BodyRefusal> {
        if !share.is_counted() {
            share = self.budget.take(self.unpacked_bytes_max(packed.len()), &self.peer.address).await?;
        }
        let bytes_max = self.limits.body_bytes_max;
        let received = packed.clone();
        let turn = self.turns.wait(self.unpacked_bytes_max(packed.len())).await;
        match aside((share, turn), move || coding.inflate(&packed, bytes_max)).await {
            Some((Ok(plain), (share, _))) => Ok(RequestBody::new(plain.into(), received, share)),
            Some((Err(InflateError::TooLarge), _)) => Err(BodyRefusal::TooLarge),
            Some((Err(InflateError::Broken), _)) | None => Err(BodyRefusal::CannotUnpack),
        }
    }

    /// Twice the result, because a vector that grows holds its old half while it copies.
    fn unpacked_bytes_max(self, packed_bytes: usize) -> usize {
        packed_bytes.saturating_mul(EXPANSION_MAX).min(2 * self.limits.body_bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::turns::tests::Busy;

    #[test]
    fn a_body_that_is_unpacked_for_a_client_that_has_gone_keeps_its_memory_and_its_turn() {
        Busy::run(async |busy| {
            let (limits, budget, turns, peer) = (&busy.limits, &busy.budget, &busy.turns, &*busy.client.peer);
            let receiver = Receiver { limits, budget, turns, peer };
            let share = budget.take(500_000, &peer.address).await.expect("there is room");
            let packed = Bytes::from(vec![0; 1000]);
            let unpacking = receiver.unpack(Coding::Gzip, packed, share);
            assert!(unpacking.now_or_never().is_none(), "it is not unpacked yet");
            assert_eq!(budget.bytes_used(), 500_000);
            assert!(turns.wait(usize::MAX).now_or_never().is_none(), "it has its turn");
            busy.finish().await;
        });
    }
}
