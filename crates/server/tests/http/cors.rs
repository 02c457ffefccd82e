use crate::support::{Answer, Post, Running};

fn granted(answer: &Answer) -> Vec<(&str, &str)> {
    let mut granted: Vec<_> = answer
        .headers
        .iter()
        .filter(|(name, _)| name.starts_with("access-control-"))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    granted.sort_unstable();
    granted
}

const ALLOW_ORIGIN: (&str, &str) = ("access-control-allow-origin", "*");
const EXPOSE: (&str, &str) = (
    "access-control-expose-headers",
    "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,x-amz-crc32,Date",
);
const MAX_AGE: (&str, &str) = ("access-control-max-age", "172800");

#[tokio::test]
async fn without_an_origin_the_answer_has_no_cors_headers() {
    let server = Running::start().await;
    for line in ["GET / HTTP/1.1", "POST / HTTP/1.1", "OPTIONS / HTTP/1.1"] {
        assert_eq!(granted(&server.ask(Post::bare(line)).await), [], "{line}");
    }
}

#[tokio::test]
async fn every_answer_to_a_page_of_this_machine_may_be_seen() {
    let server = Running::start().await;
    let origin = |post: Post| post.with("Origin", "http://localhost:3000");
    for request in [
        origin(Post::new("{}")),
        origin(Post::new("fail")),
        origin(Post::new("panic")),
        origin(Post::bare("GET / HTTP/1.1")),
        origin(Post::bare("POST / HTTP/1.1")).with("Access-Control-Request-Method", "dog"),
    ] {
        assert_eq!(granted(&server.ask(request).await), [ALLOW_ORIGIN, EXPOSE]);
    }
}

#[tokio::test]
async fn a_preflight_is_granted_what_it_asks_for() {
    let server = Running::start().await;
    let preflight = Post::bare("OPTIONS / HTTP/1.1").with("Origin", "http://localhost:3000");
    let answer = server.ask(preflight.clone()).await;
    assert_eq!((answer.status, answer.text()), (200, ""));
    assert_eq!(granted(&answer), [ALLOW_ORIGIN, EXPOSE, MAX_AGE]);

    let asking = preflight
        .with("Access-Control-Request-Method", "dog")
        .with("Access-Control-Request-Headers", "cat, meerkat");
    let methods = ("access-control-allow-methods", "dog");
    let headers = ("access-control-allow-headers", "cat, meerkat");
    assert_eq!(granted(&server.ask(asking).await), [headers, methods, ALLOW_ORIGIN, EXPOSE, MAX_AGE]);
}

#[tokio::test]
async fn a_foreign_page_is_refused_and_learns_nothing() {
    let server = Running::start().await;
    for origin in ["http://example.com", "https://localhost.example.com", "null", "file://"] {
        for request in [
            Post::new("{}"),
            Post::new("{}").with("X-Amz-Target", "DynamoDB_20120810.DeleteTable"),
            Post::bare("GET / HTTP/1.1"),
            Post::bare("GET /metrics HTTP/1.1"),
            Post::bare("OPTIONS / HTTP/1.1").with("Access-Control-Request-Method", "POST"),
        ] {
            let answer = server.ask(request.with("Origin", origin)).await;
            assert_eq!((answer.status, granted(&answer)), (403, vec![]), "{origin}");
            assert!(answer.text().contains(&format!("--cors {origin}")), "{}", answer.text());
        }
    }
    assert_eq!(server.runs(), 0, "a foreign page ran an operation");
}

#[tokio::test]
async fn an_origin_that_was_named_is_answered() {
    let server = Running::open_to(&[], &["https://app.example"]).await;
    let answer = server.ask(Post::new("{}").with("Origin", "https://app.example")).await;
    assert_eq!((answer.status, granted(&answer)), (200, vec![ALLOW_ORIGIN, EXPOSE]));
    assert_eq!(server.ask(Post::new("{}").with("Origin", "https://other.example")).await.status, 403);

    let server = Running::open_to(&[], &["*"]).await;
    assert_eq!(server.ask(Post::new("{}").with("Origin", "null")).await.status, 200);
}
