//! Answers: status, body, checksum and the headers that DynamoDB sends with every one of them.
//! hyper adds `Content-Length` and a `Date` that it renews once a second.

use crate::compression::Coding;
use crate::request::ContentType;
use crate::request_id;
use crate::share::Share;
use api::{Error, ErrorKind, Service};
use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, SERVER};
use hyper::{HeaderMap, Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Answers above this size are compressed for clients that can unpack them; smaller ones never.
pub(crate) const COMPRESSED_ABOVE_BYTES: usize = 4096;
/// Answers above this size are compressed off the threads that serve connections: about a millisecond.
const COMPRESSED_ASIDE_ABOVE_BYTES: usize = 64 * 1024;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");

/// An answer before it becomes HTTP.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    coding: Option<Coding>,
    body: Bytes,
    /// Headers of this kind of answer alone.
    pub(crate) extra: Vec<(HeaderName, HeaderValue)>,
    /// What the body counts against while it is being sent.
    share: Share,
}

impl Reply {
    fn new(status: StatusCode, content_type: Option<HeaderValue>, body: impl Into<Bytes>) -> Reply {
        Reply { status, content_type, coding: None, body: body.into(), extra: Vec::new(), share: None }
    }

    pub(crate) fn empty() -> Reply {
        Reply::new(StatusCode::OK, None, Bytes::new())
    }

    pub(crate) fn text(body: String, content_type: HeaderValue) -> Reply {
        Reply::new(StatusCode::OK, Some(content_type), body)
    }

    /// Not a call of the API at all.
    pub(crate) fn not_found() -> Reply {
        Reply::new(StatusCode::NOT_FOUND, None, Bytes::from_static(b"<UnknownOperationException/>\n"))
    }

    /// The request line and headers are too long: a bare 400, as from DynamoDB's front.
    pub(crate) fn head_too_large() -> Reply {
        Reply::new(StatusCode::BAD_REQUEST, None, Bytes::new())
    }

    /// JSON, because SDKs look for it and some fail on anything else.
    pub(crate) fn body_too_large(content_type: ContentType) -> Reply {
        let body = br#"{"__type":"com.amazon.coral.service#RequestEntityTooLargeException","message":"Request body is too large"}"#;
        Reply::new(StatusCode::PAYLOAD_TOO_LARGE, Some(content_type.value()), Bytes::from_static(body))
    }

    /// The body did not arrive in time, or not as HTTP.
    pub(crate) fn body_incomplete(status: StatusCode) -> Reply {
        Reply::new(status, None, Bytes::new()).closing()
    }

    pub(crate) fn success(content_type: ContentType, body: Vec<u8>) -> Reply {
        Reply::new(StatusCode::OK, Some(content_type.value()), body)
    }

    pub(crate) fn error(content_type: ContentType, error: &Error) -> Reply {
        let mut body = Vec::with_capacity(256);
        error.write_json(Service::DynamoDb, &mut body);
        Reply::new(status(error.kind), Some(content_type.value()), body)
    }

    /// The connection ends with this answer: what the client still sends can't be told from a request.
    pub(crate) fn closing(mut self) -> Reply {
        self.extra.push((CONNECTION, HeaderValue::from_static("close")));
        self
    }

    pub(crate) fn body_len(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn counted(mut self, share: Share) -> Reply {
        self.share = share;
        self
    }

    /// Packs a large body as the client likes it.
    pub(crate) async fn compressed(mut self, request: &HeaderMap) -> Reply {
        if self.body.len() <= COMPRESSED_ABOVE_BYTES {
            return self;
        }
        let Some(coding) = Coding::accepted(request) else { return self };
        let plain = self.body.clone();
        let packed = if plain.len() > COMPRESSED_ASIDE_ABOVE_BYTES {
            tokio::task::spawn_blocking(move || coding.deflate(&plain)).await.ok()
        } else {
            Some(coding.deflate(&plain))
        };
        // Without a thread to pack it on, the answer is as good unpacked.
        if let Some(packed) = packed {
            self.body = packed.into();
            self.coding = Some(coding);
        }
        self
    }

    pub(crate) fn into_response(self, request_id: &[u8; request_id::LENGTH]) -> Response<ReplyBody> {
        let crc32 = crc32fast::hash(&self.body);
        let mut response = Response::new(ReplyBody(Some(Piece { bytes: self.body, _share: self.share })));
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
        headers.insert(CRC32, HeaderValue::from(crc32));
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

/// A body in one piece.
#[derive(Debug)]
pub(crate) struct ReplyBody(Option<Piece>);

/// Bytes that hold their share until the last of them is written: hyper keeps the piece, not the body,
/// while a slow client reads.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Bytes,
    _share: Share,
}

impl Body for ReplyBody {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        let piece = self.0.take().filter(|piece| piece.has_remaining());
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |piece| piece.remaining() as u64))
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
    }
}
