//! What a request must be before anybody asks what it wants: its content type, and its body, whole,
//! unpacked and within bounds.

use crate::compression::{Coding, EXPANSION_MAX, InflateError};
use crate::dispatch::Service;
use crate::limits::Limits;
use crate::reply::Reply;
use crate::share::{Busy, Share, Shares};
use api::Error;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, EXPECT, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};
use tokio::time::timeout;

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

    /// `None` if it isn't one that the service speaks.
    pub(crate) fn of(headers: &HeaderMap, service: Option<Service>) -> Option<ContentType> {
        let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let name = value.split(';').next()?.trim();
        let found = ContentType::ALL.into_iter().find(|known| name.eq_ignore_ascii_case(known.name()))?;
        let spoken = found != ContentType::AmazonJson11 || service.is_some_and(Service::speaks_json_1_1);
        spoken.then_some(found)
    }
}

/// What the request line and the headers take on the wire, but for a few bytes of punctuation.
pub(crate) fn head_bytes(head: &Parts) -> usize {
    let uri = head.uri.path_and_query().map_or(0, |line| line.as_str().len());
    let fields: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    uri + fields
}

/// A request's body as the client meant it.
#[derive(Debug)]
pub(crate) struct RequestBody {
    pub(crate) bytes: Bytes,
    /// What the bytes count against while they are needed.
    _share: Share,
}

/// Why there is no body.
#[derive(Debug)]
pub(crate) enum Refusal {
    TooLarge {
        /// Some of it is still on its way.
        unread: bool,
    },
    /// An unknown coding or a broken stream. DynamoDB calls it its own fault.
    CannotUnpack,
    TimedOut,
    /// The connection broke or the chunks don't add up.
    Broken,
    Busy,
}

impl Refusal {
    pub(crate) fn reply(self, content_type: ContentType) -> Reply {
        match self {
            Refusal::TooLarge { unread: true } => Reply::body_too_large(content_type).closing(),
            Refusal::TooLarge { unread: false } => Reply::body_too_large(content_type),
            Refusal::CannotUnpack => Reply::error(content_type, &Error::internal()),
            Refusal::TimedOut => Reply::body_incomplete(StatusCode::REQUEST_TIMEOUT),
            Refusal::Broken => Reply::body_incomplete(StatusCode::BAD_REQUEST),
            Refusal::Busy => Reply::error(content_type, &Error::service_unavailable()).closing(),
        }
    }
}

impl From<Busy> for Refusal {
    fn from(_: Busy) -> Refusal {
        Refusal::Busy
    }
}

/// Reads a body to its end and unpacks it.
pub(crate) async fn read_body(
    headers: &HeaderMap,
    body: Incoming,
    limits: &Limits,
    shares: &Shares,
) -> Result<RequestBody, Refusal> {
    let coding = Coding::of_request(headers);
    // Absent for a chunked body, which may turn out as long as any.
    let announced = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced.is_some_and(|length| length > limits.body_bytes_max) {
        let unread = headers.contains_key(EXPECT) || !discard(body, limits).await;
        return Err(Refusal::TooLarge { unread });
    }
    let length_max = announced.unwrap_or(limits.body_bytes_max);
    let unpacked_max = match coding {
        // Twice, because a vector that grows holds its old half while it copies.
        Ok(Some(_)) => length_max.saturating_mul(EXPANSION_MAX).min(2 * limits.body_bytes_max),
        _ => 0,
    };
    let share = shares.take(length_max + unpacked_max).await?;
    let bytes = collect(body, length_max, limits).await?;
    let bytes = match coding.map_err(|_| Refusal::CannotUnpack)? {
        None => bytes,
        Some(coding) => unpack(coding, bytes, limits.body_bytes_max).await?,
    };
    Ok(RequestBody { bytes, _share: share })
}

async fn collect(mut body: Incoming, length_max: usize, limits: &Limits) -> Result<Bytes, Refusal> {
    // Mostly the whole body came with the head and is handed on without a copy.
    match timeout(limits.body_timeout, gather(&mut body, length_max)).await {
        Ok(Ok(Some(bytes))) => Ok(bytes),
        Ok(Ok(None)) => Err(Refusal::TooLarge { unread: !discard(body, limits).await }),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a request's body broke off");
            Err(Refusal::Broken)
        }
        Err(_) => Err(Refusal::TimedOut),
    }
}

/// `None` if it is longer than allowed.
async fn gather(body: &mut Incoming, length_max: usize) -> Result<Option<Bytes>, hyper::Error> {
    let Some(first) = next_piece(body).await? else { return Ok(Some(Bytes::new())) };
    if first.len() > length_max {
        return Ok(None);
    }
    if body.is_end_stream() {
        return Ok(Some(first));
    }
    let rest = body.size_hint().exact().map_or(0, |rest| rest as usize).min(length_max - first.len());
    let mut bytes = Vec::with_capacity(first.len() + rest);
    bytes.extend_from_slice(&first);
    drop(first);
    while let Some(piece) = next_piece(body).await? {
        if piece.len() > length_max - bytes.len() {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Some(bytes.into()))
}

/// The next piece of the body itself; trailers mean nothing here.
async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, hyper::Error> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(frame) => {
                if let Ok(piece) = frame?.into_data() {
                    return Ok(Some(piece));
                }
            }
        }
    }
}

/// Reads on without keeping anything; `true` if the body came to its end within bounds.
async fn discard(mut body: Incoming, limits: &Limits) -> bool {
    let to_the_end = async {
        let mut discarded = 0;
        while discarded <= limits.discard_bytes_max {
            match next_piece(&mut body).await {
                Ok(Some(piece)) => discarded += piece.len(),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    };
    timeout(limits.body_timeout, to_the_end).await.unwrap_or(false)
}

/// On a thread of its own: a body that unpacks to 16 MiB takes tens of milliseconds.
async fn unpack(coding: Coding, packed: Bytes, bytes_max: usize) -> Result<Bytes, Refusal> {
    match tokio::task::spawn_blocking(move || coding.inflate(&packed, bytes_max)).await {
        Ok(Ok(plain)) => Ok(plain.into()),
        Ok(Err(InflateError::TooLarge)) => Err(Refusal::TooLarge { unread: false }),
        Ok(Err(InflateError::Broken)) | Err(_) => Err(Refusal::CannotUnpack),
    }
}
