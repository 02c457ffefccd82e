//! Responses, and the headers that every one of them has.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderName, Response, StatusCode};
use serde_json::{Value, json};

/// Browsers must not guess types, send referrers, or give answers to pages of other sites.
const ALWAYS: [(&str, &str); 4] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

pub fn with_body(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

pub fn json(status: StatusCode, value: &Value) -> Response<Bytes> {
    with_body(status, "application/json", value.to_string())
}

/// A refusal with its reason.
pub fn message(status: StatusCode, message: &str) -> Response<Bytes> {
    json(status, &json!({ "message": message }))
}
