//! Answers: status, body, checksum and the headers that DynamoDB sends with every one of them.
//! hyper adds `Content-Length` and a `Date` that it renews once a second.
//!
//! Most answers are whole before they are sent. One that is too long for that, or whose end is not known
//! yet, is streamed ([`Reply::streamed`]): its chunks are made while it is sent, and it has no checksum.

use crate::address::Address;
use crate::budget::{Budget, Busy, Share};
use crate::compression::Coding;
use crate::peer::{Awaits, InFlight, Peer};
use crate::request::Format;
use crate::request_id;
use crate::turns::aside;
use api::{Error, ErrorKind};
use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, SERVER};
use hyper::{HeaderMap, Response, StatusCode};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Answers above this size are compressed for clients that can unpack them; smaller ones never.
const COMPRESSED_ABOVE_BYTES: usize = 4096;
/// Answers above this size are compressed off the threads that serve connections: about a millisecond.
const COMPRESSED_ASIDE_ABOVE_BYTES: usize = 64 * 1024;
/// Chunks of a streamed answer that are made before the first of them is sent.
const CHUNKS_AHEAD: usize = 2;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain");

/// An answer before it becomes HTTP.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    coding: Option<Coding>,
    content: Content,
    /// The body is compressed already.
    is_packed: bool,
    /// Headers of this kind of answer alone.
    pub(crate) extra: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Debug)]
enum Content {
    /// With what it counts against until it is sent.
    Whole(Bytes, Share),
    Streamed(Chunks),
}

impl Reply {
    fn new(status: StatusCode, content_type: Option<HeaderValue>, body: impl Into<Bytes>) -> Reply {
        let content = Content::Whole(body.into(), Share::default());
        Reply { status, content_type, coding: None, content, is_packed: false, extra: Vec::new() }
    }

    pub(crate) fn empty() -> Reply {
        Reply::new(StatusCode::OK, None, Bytes::new())
    }

    pub(crate) fn text(status: StatusCode, body: String) -> Reply {
        Reply::new(status, Some(TEXT), body)
    }

    /// An answer that `make` makes while it is sent. `make` runs as part of the connection: it advances
    /// when the client has read what was made, and is dropped with the connection.
    pub(crate) fn streamed<F>(
        content_type: HeaderValue,
        budget: &Arc<Budget>,
        peer: &Peer,
        make: impl FnOnce(ChunkSender) -> F,
    ) -> Reply
    where
        F: Future<Output = Result<(), Busy>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
        let maker: Maker =
            Box::pin(make(ChunkSender { sender, budget: budget.clone(), address: peer.address.clone() }));
        let content = Content::Streamed(Chunks { maker: Some(maker), receiver });
        let reply = Reply::new(StatusCode::OK, Some(content_type), Bytes::new());
        Reply { content, ..reply }
    }

    /// What a page answered, with its own headers.
    pub(crate) fn page(response: Response<Bytes>) -> Reply {
        let (head, body) = response.into_parts();
        let mut reply = Reply::new(head.status, None, body);
        reply.is_packed = head.headers.contains_key(CONTENT_ENCODING);
        reply.extra = head.headers.into_iter().filter_map(|(name, value)| Some((name?, value))).collect();
        reply
    }

    /// A redirect to another path of this server.
    pub(crate) fn redirect(path: &'static str) -> Reply {
        let mut reply = Reply::new(StatusCode::TEMPORARY_REDIRECT, None, Bytes::new());
        reply.extra.push((LOCATION, HeaderValue::from_static(path)));
        reply
    }

    /// Not a call of the API at all.
    pub(crate) fn not_found() -> Reply {
        Reply::new(StatusCode::NOT_FOUND, None, Bytes::from_static(b"<UnknownOperationException/>\n"))
    }

    pub(crate) fn bad_request(reason: &'static str) -> Reply {
        Reply::new(StatusCode::BAD_REQUEST, Some(TEXT), Bytes::from_static(reason.as_bytes()))
    }

    /// The request line and headers are too long: a bare 400, as DynamoDB sends.
    pub(crate) fn head_too_large() -> Reply {
        Reply::new(StatusCode::BAD_REQUEST, None, Bytes::new())
    }

    /// JSON, because SDKs look for it and some fail on anything else.
    pub(crate) fn body_too_large(format: Format) -> Reply {
        let body = br#"{"__type":"com.amazon.coral.service#RequestEntityTooLargeException","message":"Request body is too large"}"#;
        Reply::new(StatusCode::PAYLOAD_TOO_LARGE, Some(format.content_type.value()), Bytes::from_static(body))
    }

    /// The body did not arrive in time, or not as HTTP.
    pub(crate) fn body_incomplete(status: StatusCode) -> Reply {
        Reply::new(status, None, Bytes::new()).closing()
    }

    /// A call that succeeded, and the share that its answer took.
    pub(crate) fn success(format: Format, body: Vec<u8>, share: Share) -> Reply {
        debug_assert!(share.allows(body.capacity()), "a large answer has a share");
        let reply = Reply::new(StatusCode::OK, Some(format.content_type.value()), Bytes::new());
        Reply { content: Content::Whole(body.into(), share), ..reply }
    }

    pub(crate) fn error(format: Format, error: &Error) -> Reply {
        let mut body = Vec::with_capacity(256);
        error.write_json(format.service, &mut body);
        Reply::new(status(error.kind), Some(format.content_type.value()), body)
    }

    /// A request that is not answered at all, whatever it asks for.
    pub(crate) fn forbidden(error: &Error) -> Reply {
        Reply { status: StatusCode::FORBIDDEN, ..Reply::error(Format::DYNAMODB, error) }
    }

    /// A request for a page that was meant for another server.
    pub(crate) fn misdirected(error: &Error) -> Reply {
        Reply { status: StatusCode::MISDIRECTED_REQUEST, ..Reply::error(Format::DYNAMODB, error) }
    }

    /// The connection ends with this answer: the rest of an unread body would look like a request.
    pub(crate) fn closing(mut self) -> Reply {
        self.extra.retain(|(name, _)| *name != CONNECTION);
        self.extra.push((CONNECTION, HeaderValue::from_static("close")));
        self
    }

    /// Packs a large body as the client prefers it.
    pub(crate) async fn compressed(mut self, request: &HeaderMap) -> Reply {
        let Content::Whole(plain, share) = &mut self.content else { return self };
        if plain.len() <= COMPRESSED_ABOVE_BYTES || self.is_packed {
            return self;
        }
        let Some(coding) = Coding::accepted(request) else { return self };
        let packed = if plain.len() > COMPRESSED_ASIDE_ABOVE_BYTES {
            let plain = plain.clone();
            aside(std::mem::take(share), move || coding.deflate(&plain)).await
        } else {
            Some((coding.deflate(plain), std::mem::take(share)))
        };
        // Without a thread to pack it on, the answer is sent unpacked. It gets a new share when it is counted.
        if let Some((packed, share)) = packed {
            self.content = Content::Whole(packed.into(), share);
            self.coding = Some(coding);
        }
        self
    }

    /// Lets the body count for what it takes until it is sent. Without room for it the client is asked to
    /// try again.
    pub(crate) fn counted(mut self, format: Format, budget: &Budget, peer: &Peer) -> Reply {
        let fits = match &mut self.content {
            Content::Whole(body, share) => share.resize(body.len(), budget, &peer.address).is_ok(),
            Content::Streamed(_) => true,
        };
        if fits { self } else { Reply::error(format, &Error::service_unavailable()) }
    }

    pub(crate) fn into_response(
        self,
        request_id: &[u8; request_id::LENGTH],
        in_flight: InFlight,
    ) -> Response<ReplyBody> {
        let (body, crc32) = match self.content {
            Content::Whole(bytes, share) => {
                let crc32 = crc32fast::hash(&bytes);
                (ReplyBody::Whole(Some(Piece::new(bytes, share, Request::One(in_flight)))), Some(crc32))
            }
            Content::Streamed(chunks) => (ReplyBody::Streamed(chunks, Arc::new(in_flight)), None),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.reserve(8);
        headers.insert(SERVER, HeaderValue::from_static("Server"));
        if let Some(content_type) = self.content_type {
            headers.insert(CONTENT_TYPE, content_type);
        }
        if let Some(coding) = self.coding {
            headers.insert(CONTENT_ENCODING, coding.name());
        }
        if let Ok(request_id) = HeaderValue::from_bytes(request_id) {
            headers.insert(REQUEST_ID, request_id);
        }
        if let Some(crc32) = crc32 {
            headers.insert(CRC32, HeaderValue::from(crc32));
        }
        headers.extend(self.extra);
        response
    }
}

/// Every error of the API is the client's, 400, but for the two that say it is not.
fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::InternalServerError => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorKind::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// The body that hyper sends.
#[derive(Debug)]
pub(crate) enum ReplyBody {
    Whole(Option<Piece>),
    Streamed(Chunks, Arc<InFlight>),
}

/// Bytes that hold their share, and their request's place, until the last of them is written: hyper keeps the
/// piece, not the body, while a slow client reads.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Bytes,
    share: Share,
    /// Its client is timed while it reads this.
    is_timed: bool,
    request: Request,
}

/// Of a whole answer, or of one of several pieces.
#[derive(Debug)]
enum Request {
    One(InFlight),
    Shared(Arc<InFlight>),
}

impl Request {
    fn in_flight(&self) -> &InFlight {
        match self {
            Request::One(in_flight) => in_flight,
            Request::Shared(in_flight) => in_flight,
        }
    }
}

impl Piece {
    fn new(bytes: Bytes, share: Share, request: Request) -> Piece {
        let in_flight = request.in_flight();
        // Over HTTP/2 a client can leave an answer of any size unread while its connection goes on.
        let awaits = match (share.is_counted(), in_flight.is_stream()) {
            (true, _) => Some(Awaits::Reading),
            (false, true) => Some(Awaits::ReadingSmall),
            (false, false) => None,
        };
        if let Some(awaits) = awaits {
            in_flight.peer.await_from(awaits, Instant::now());
        }
        Piece { bytes, share, is_timed: awaits.is_some(), request }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.is_timed {
            self.request.in_flight().peer.await_from(Awaits::Request, Instant::now());
        }
        self.share = Share::default();
    }
}

type Maker = Pin<Box<dyn Future<Output = Result<(), Busy>> + Send>>;

/// Chunks that are made while they are sent.
pub(crate) struct Chunks {
    /// Until it has made the last.
    maker: Option<Maker>,
    receiver: mpsc::Receiver<(Bytes, Share)>,
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").finish_non_exhaustive()
    }
}

impl Chunks {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<(Bytes, Share), Busy>>> {
        if let Some(maker) = &mut self.maker
            && let Poll::Ready(made) = maker.as_mut().poll(context)
        {
            self.maker = None;
            if let Err(busy) = made {
                return Poll::Ready(Some(Err(busy)));
            }
        }
        self.receiver.poll_recv(context).map(|chunk| chunk.map(Ok))
    }
}

/// Where the chunks of a streamed answer go: up to [`CHUNKS_AHEAD`] of them wait for the client to read.
pub(crate) struct ChunkSender {
    sender: mpsc::Sender<(Bytes, Share)>,
    budget: Arc<Budget>,
    address: Arc<Address>,
}

impl ChunkSender {
    /// Waits for room for another chunk. Without memory for it the answer breaks off, which the client
    /// sees.
    pub(crate) async fn send(&self, chunk: impl Into<Bytes>) -> Result<(), Busy> {
        let chunk = chunk.into();
        let share = self.budget.take(chunk.len(), &self.address).await?;
        // The receiver is dropped together with the future that sends, so it is always there.
        let _ = self.sender.send((chunk, share)).await;
        Ok(())
    }
}

impl Body for ReplyBody {
    type Data = Piece;
    type Error = Busy;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Busy>>> {
        match &mut *self {
            ReplyBody::Whole(piece) => {
                let piece = piece.take().filter(|piece| piece.has_remaining());
                Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
            }
            ReplyBody::Streamed(chunks, in_flight) => {
                let request = || Request::Shared(in_flight.clone());
                let piece = |(bytes, share)| Frame::data(Piece::new(bytes, share, request()));
                chunks.poll_next(context).map(|chunk| chunk.map(|chunk| chunk.map(piece)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Whole(piece) => piece.as_ref().is_none_or(|piece| !piece.has_remaining()),
            ReplyBody::Streamed(..) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(piece) => {
                SizeHint::with_exact(piece.as_ref().map_or(0, |piece| piece.remaining() as u64))
            }
            ReplyBody::Streamed(..) => SizeHint::default(),
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }
    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }
    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        let in_flight = self.request.in_flight();
        if in_flight.is_stream() {
            in_flight.peer.credit(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use hyper::header::ACCEPT_ENCODING;

    use super::*;
    use crate::turns::tests::Busy;

    #[test]
    fn an_answer_that_is_packed_for_a_client_that_has_gone_keeps_its_memory() {
        Busy::run(async |busy| {
            let share = busy.budget.take(500_000, &busy.client.peer.address).await.expect("there is room");
            let reply = Reply::success(Format::DYNAMODB, vec![b' '; 500_000], share);
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
            assert!(reply.compressed(&headers).now_or_never().is_none(), "it is not packed yet");
            assert_eq!(busy.budget.bytes_used(), 500_000);
            busy.finish().await;
        });
    }

    #[test]
    fn a_packed_answer_has_the_share_of_the_plain_one() {
        Busy::run(async |busy| {
            let share = busy.budget.take(500_000, &busy.client.peer.address).await.expect("there is room");
            let reply = Reply::success(Format::DYNAMODB, vec![b' '; 500_000], share);
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
            let packing = reply.compressed(&headers);
            let (reply, ()) = tokio::join!(packing, async { busy.let_work() });
            assert_eq!(busy.budget.bytes_used(), 500_000, "until it is counted again");
            let reply = reply.counted(Format::DYNAMODB, &busy.budget, &busy.client.peer);
            assert_eq!(reply.coding, Some(Coding::Gzip));
            assert_eq!(busy.budget.bytes_used(), 0, "half a kilobyte counts for nothing");
        });
    }
}
