//! Requests as the AWS clients send them, as prepared bytes.

use std::time::SystemTime;

use client::{Credentials, authorization};

const HOST: &str = "127.0.0.1";
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
const DATE: &str = "20260101T000000Z";
/// A well-formed signature. Its credential scope chooses the account and the Region.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 \
    Credential=BENCH/20260101/us-east-1/dynamodb/aws4_request, \
    SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
    Signature=0000000000000000000000000000000000000000000000000000000000000000";

/// One call of a DynamoDB operation over HTTP/1.1.
pub fn encode(operation: &str, body: &serde_json::Value) -> Vec<u8> {
    encode_as("bench", operation, &body.to_string())
}

/// Like [`encode`], for a service of another prefix in `X-Amz-Target`.
pub fn encode_for(service: &str, operation: &str, body: &serde_json::Value) -> Vec<u8> {
    encode_target("bench", &format!("{service}.{operation}"), &body.to_string())
}

/// Like [`encode`], in another Region.
pub fn encode_in(region: &str, operation: &str, body: &serde_json::Value) -> Vec<u8> {
    let request = encode(operation, body);
    let request = String::from_utf8_lossy(&request);
    request.replacen("/us-east-1/dynamodb/", &format!("/{region}/dynamodb/"), 1).into_bytes()
}

/// Like [`encode_for`], for a service that has a name of its own in signatures, too.
pub fn encode_scoped(scope: &str, service: &str, operation: &str, body: &serde_json::Value) -> Vec<u8> {
    let request = encode_for(service, operation, body);
    let request = String::from_utf8_lossy(&request);
    request.replacen("/dynamodb/aws4_request", &format!("/{scope}/aws4_request"), 1).into_bytes()
}

/// Like [`encode`], with a `User-Agent` that names the workload of the call.
pub fn encode_as(agent: &str, operation: &str, body: &str) -> Vec<u8> {
    encode_target(agent, &format!("DynamoDB_20120810.{operation}"), body)
}

fn encode_target(agent: &str, target: &str, body: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\n\
         Host: {HOST}\r\n\
         User-Agent: {agent}\r\n\
         Content-Type: {CONTENT_TYPE}\r\n\
         X-Amz-Date: {DATE}\r\n\
         X-Amz-Target: {target}\r\n\
         Authorization: {AUTHORIZATION}\r\n\
         Content-Length: {}\r\n\
         \r\n\
         {body}",
        body.len(),
    )
    .into_bytes()
}

/// A prepared request with a signature of now that can be verified.
#[allow(clippy::disallowed_methods, reason = "the server goes by the same clock")]
pub fn sign(request: &[u8], credentials: &Credentials) -> Vec<u8> {
    let request = String::from_utf8_lossy(request);
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((&request, ""));
    let target = head.lines().find_map(|line| line.strip_prefix("X-Amz-Target: ")).unwrap_or_default();
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(['-', ':'], "");
    let headers = [
        ("content-type", CONTENT_TYPE.to_owned()),
        ("host", HOST.to_owned()),
        ("x-amz-date", now.clone()),
        ("x-amz-target", target.to_owned()),
    ];
    let signature = authorization(credentials, ("us-east-1", "dynamodb"), "/", &headers, body.as_bytes());
    request.replacen(DATE, &now, 1).replacen(AUTHORIZATION, &signature, 1).into_bytes()
}
