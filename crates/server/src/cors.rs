//! The headers that let a browser send a script's request and show it the answer. Which scripts may is
//! decided before (`access.rs`), so DynamoDB's own `*` is right for all requests that get this far.

use crate::reply::Reply;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN,
};
use hyper::{HeaderMap, Method};

/// What a script may read of an answer beside its body: what SDKs look at.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,x-amz-crc32,Date");
/// Two days: as long as DynamoDB lets a browser remember a preflight.
const MAX_AGE_SECONDS: HeaderValue = HeaderValue::from_static("172800");

/// A browser asks before it sends the real request.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ORIGIN)
}

/// Grants whatever the preflight asks for.
pub(crate) fn preflight(headers: &HeaderMap) -> Reply {
    let mut reply = Reply::empty();
    let granted = [
        (ACCESS_CONTROL_ALLOW_METHODS, headers.get(ACCESS_CONTROL_REQUEST_METHOD)),
        (ACCESS_CONTROL_ALLOW_HEADERS, headers.get(ACCESS_CONTROL_REQUEST_HEADERS)),
        (ACCESS_CONTROL_MAX_AGE, Some(&MAX_AGE_SECONDS)),
    ];
    reply.extra.extend(granted.into_iter().filter_map(|(name, value)| Some((name, value?.clone()))));
    reply
}

/// Lets the script behind a cross-origin request see its answer.
pub(crate) fn expose(mut reply: Reply) -> Reply {
    reply.extra.push((ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")));
    reply.extra.push((ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED));
    reply
}
