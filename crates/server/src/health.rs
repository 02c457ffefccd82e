//! `GET /`: the sign of life that load balancers ask for.

use crate::reply::Reply;
use hyper::HeaderMap;
use hyper::header::{HOST, HeaderValue};

/// DynamoDB answers with the name it was called by, and a space behind it.
pub(crate) fn answer(headers: &HeaderMap) -> Reply {
    let host =
        headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("dynamodb.us-east-1.amazonaws.com");
    Reply::text(format!("healthy: {host} "), HeaderValue::from_static("text/plain"))
}
