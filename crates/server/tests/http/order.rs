//! Which complaint comes first when a request has several faults.

use crate::support::{Post, Running};

const NOT_FOUND: &str = "<UnknownOperationException/>\n";
const UNREADABLE: &str = r#"{"__type":"com.amazon.coral.service#SerializationException"}"#;
const UNKNOWN: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
const NOT_SERVED: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException","message":"Lodestone does not serve this operation; its README tells what is served"}"#;
const NOT_SERVED_BY_AUTO_SCALING: &str = r#"{"__type":"com.amazon.coral.service#UnknownOperationException","Message":"Lodestone does not serve this operation; its README tells what is served"}"#;
const UNSIGNED: &str = r#"{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"}"#;

async fn check(server: &Running, request: Post, status: u16, body: &str) {
    let head = String::from_utf8_lossy(&request.head()).into_owned();
    let answer = server.ask(request).await;
    assert_eq!((answer.status, answer.text()), (status, body), "{head}");
}

#[tokio::test]
async fn what_is_not_a_call_is_not_found() {
    let server = &Running::start().await;
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "dog"] {
        let path = if method == "GET" { "/table" } else { "/" };
        let line = format!("{method} {path} HTTP/1.1");
        check(server, Post::new("not json").line(&line), 404, NOT_FOUND).await;
    }
    check(server, Post::new("{}").line("POST /garbage HTTP/1.1"), 404, NOT_FOUND).await;
    for content_type in ["text/plain", "application/x-amz-json-1.1", "application/jsonx", ""] {
        check(server, Post::new("not json").with("Content-Type", content_type), 404, NOT_FOUND).await;
    }
}

/// DynamoDB finds the protocol by the content type, and answers 404 for any that it does not speak, x-amz-json-1.1
/// among them. Nothing that was seen of it says that it guesses one where none is named. Every SDK names one, and a
/// request that a web page can send without asking first has none of ours: so to guess would open a door, and help no client.
#[tokio::test]
async fn a_call_without_a_content_type_is_not_found() {
    let server = &Running::start().await;
    check(server, Post::new("{}").without("Content-Type"), 404, NOT_FOUND).await;
}

#[tokio::test]
async fn unreadable_json_comes_before_an_unknown_target() {
    let server = &Running::start().await;
    let nested = "[".repeat(200_000);
    for body in ["{", "not json", "{}}", "{\"a\":}", "\"", nested.as_str()] {
        check(server, Post::new(body).without("X-Amz-Target"), 400, UNREADABLE).await;
        check(server, Post::new(body).without("Authorization"), 400, UNREADABLE).await;
    }
    check(server, Post::new([0xFF, b'"']).without("Authorization"), 400, UNREADABLE).await;
}

#[tokio::test]
async fn an_unknown_target_comes_before_the_signature() {
    let server = &Running::start().await;
    for (target, body) in [
        ("", UNKNOWN),
        ("GetItem", UNKNOWN),
        ("DynamoDB_20120810", UNKNOWN),
        ("DynamoDB_20120810.", NOT_SERVED),
        ("DynamoDB_20120810.getitem", NOT_SERVED),
        ("DynamoDB_20120810.BogusOperation", NOT_SERVED),
        ("DynamoDB_20111205.GetItem", UNKNOWN),
        ("DynamoDBStreams_20120810.GetItem", NOT_SERVED),
        ("AnyScaleFrontendService.GetItem", NOT_SERVED_BY_AUTO_SCALING),
        ("GraniteServiceVersion20100801.GetItem", NOT_SERVED),
    ] {
        let post = Post::new("{}").with("X-Amz-Target", target).without("Authorization");
        check(server, post, 400, body).await;
    }
    check(server, Post::new("").without("X-Amz-Target").without("Authorization"), 400, UNKNOWN).await;
}

#[tokio::test]
async fn the_signature_comes_before_an_empty_body() {
    let server = &Running::start().await;
    check(server, Post::new("").without("Authorization"), 400, UNSIGNED).await;
    check(server, Post::new("{}").without("Authorization"), 400, UNSIGNED).await;
}

#[tokio::test]
async fn neighbouring_services_speak_their_own_content_type() {
    let server = &Running::start().await;
    let post = Post::new("{}")
        .with("X-Amz-Target", "AnyScaleFrontendService.RegisterScalableTarget")
        .with("Content-Type", "application/x-amz-json-1.1");
    check(server, post, 400, NOT_SERVED_BY_AUTO_SCALING).await;
}
