//! Requests as the AWS clients send them, as prepared bytes.

/// A well-formed signature. Its credential scope chooses the account and the Region.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 \
    Credential=BENCH/20260101/us-east-1/dynamodb/aws4_request, \
    SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
    Signature=0000000000000000000000000000000000000000000000000000000000000000";

/// One call of a DynamoDB operation over HTTP/1.1.
pub fn encode(operation: &str, body: &serde_json::Value) -> Vec<u8> {
    encode_as("bench", operation, &body.to_string())
}

/// Like [`encode`], with a `User-Agent` that names the workload of the call.
pub fn encode_as(agent: &str, operation: &str, body: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\n\
         Host: 127.0.0.1\r\n\
         User-Agent: {agent}\r\n\
         Content-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Date: 20260101T000000Z\r\n\
         X-Amz-Target: DynamoDB_20120810.{operation}\r\n\
         Authorization: {AUTHORIZATION}\r\n\
         Content-Length: {}\r\n\
         \r\n\
         {body}",
        body.len(),
    )
    .into_bytes()
}
