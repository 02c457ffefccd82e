//! `Host`, and heads that two recipients could read differently.

use crate::support::{Post, Running, pass};
use std::time::Duration;

#[tokio::test]
async fn a_foreign_host_is_refused_with_the_flag_that_allows_it() {
    let server = Running::start().await;
    for (host, name) in [
        ("evil.example", "evil.example"),
        ("dynamodb:8000", "dynamodb"),
        ("host.docker.internal:8000", "host.docker.internal"),
    ] {
        let answer = server.ask(Post::new("{}").with("Host", host)).await;
        assert_eq!(answer.status, 403);
        assert_eq!(answer.header("Content-Type"), Some("application/x-amz-json-1.0"));
        assert!(answer.text().contains("#AccessDeniedException"), "{}", answer.text());
        assert!(answer.text().contains(&format!("--allow-host {name}\"")), "{}", answer.text());
    }
    assert_eq!(server.runs(), 0);
}

#[tokio::test]
async fn names_of_this_machine_are_answered() {
    let server = Running::open_to(&["dynamodb"], &[]).await;
    let bound = server.address.to_string();
    for host in ["localhost", "LocalHost:8000", "127.0.0.1:9", "[::1]:8000", "dynamodb:8000", bound.as_str()]
    {
        assert_eq!(server.ask(Post::new("{}").with("Host", host)).await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn a_request_has_exactly_one_host() {
    let server = Running::start().await;
    let host = "localhost:8000";
    for request in [
        Post::new("{}").without("Host"),
        Post::bare("GET / HTTP/1.1").without("Host"),
        Post::new("{}").and("Host", host),
        Post::new("{}").line("POST / HTTP/1.0").and("Host", host),
    ] {
        assert_eq!(server.ask(request).await.status, 400);
    }
    assert_eq!(server.runs(), 0);
    assert_eq!(server.ask(Post::new("{}").line("POST / HTTP/1.0").without("Host")).await.status, 200);
}

#[tokio::test]
async fn a_bare_line_feed_in_a_head_is_a_bad_request() {
    let server = Running::start().await;
    let request = String::from_utf8(Post::new("{}").bytes()).unwrap();
    let line_ends = request.matches("\r\n").count();
    for bare in 0..line_ends {
        let mut pieces: Vec<String> = request.split("\r\n").map(|line| format!("{line}\r\n")).collect();
        pieces[bare] = pieces[bare].replace("\r\n", "\n");
        let sent = pieces.concat();
        let mut wire = server.connect().await;
        wire.send(sent.strip_suffix("\r\n").unwrap()).await;
        assert_eq!(wire.answer().await.status, 400, "line {bare}");
        wire.closed().await;
    }
    assert_eq!(server.runs(), 0);
}

#[tokio::test]
async fn a_bare_line_feed_is_found_behind_another_request_and_in_any_pieces() {
    let server = Running::start().await;
    let smuggled = "POST / HTTP/1.1\r\nHost: localhost\nContent-Length: 0\r\n\r\n";
    for before in [Post::new("{\n}"), Post::new("{\n\n}").chunked(2), Post::bare("GET / HTTP/1.1")] {
        let mut wire = server.connect().await;
        wire.send([before.bytes(), smuggled.into()].concat()).await;
        assert_eq!(wire.answer().await.status, 200);
        assert_eq!(wire.answer().await.status, 400);
        wire.closed().await;
    }
    for refused in ["POST / HTTP/1.1\r\nHost: localhost\n", "POST / HTTP/1.1\r\nHost: localhost\r\n\n"] {
        let mut wire = server.connect().await;
        wire.stream.set_nodelay(true).unwrap();
        for piece in refused.split_inclusive('\n') {
            wire.send(piece).await;
            pass(Duration::from_millis(5)).await;
        }
        assert_eq!(wire.answer().await.status, 400);
    }
}

#[tokio::test]
async fn bodies_may_hold_line_feeds_of_any_kind() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    let body = "{\n\r\n\n\r\n\r\n}".repeat(5000);
    for request in [Post::new(&body), Post::new(&body).chunked(7), Post::new(&body).chunked(4096)] {
        assert!(wire.ask(request).await.text().ends_with(&format!("GetItem {}", body.len())));
    }
}
