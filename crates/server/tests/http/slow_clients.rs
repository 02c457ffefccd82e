//! Clients that take their time, and when they are disconnected for others that wait. The limits here are short and
//! the waits real.

use crate::support::{Post, Running, pass};
use server::Limits;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_client_that_never_says_anything_is_let_go() {
    let server = Running::with(Limits { head_timeout: SHORT, ..Limits::default() }).await;
    server.connect().await.closed().await;
}

#[tokio::test]
async fn a_head_that_trickles_in_is_let_go() {
    let server = Running::with(Limits { head_timeout: SHORT, ..Limits::default() }).await;
    for requests_before in [0, 2] {
        let mut began = Instant::now();
        let mut wire = server.connect().await;
        for _ in 0..requests_before {
            assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
            began = Instant::now();
        }
        let head = Post::new("{}").head();
        for byte in &head {
            pass(SHORT / 20).await;
            if tokio::io::AsyncWriteExt::write_all(&mut wire.stream, &[*byte]).await.is_err() {
                break;
            }
        }
        wire.closed().await;
        assert!(began.elapsed() >= SHORT, "cut off too early");
    }
}

#[tokio::test]
async fn a_connection_rests_longer_between_requests_than_within_a_head() {
    let limits = Limits { head_timeout: SHORT, ..Limits::default() };
    let server = Running::with(limits.clone()).await;
    let mut wire = server.connect().await;
    for _ in 0..2 {
        assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
        pass(2 * SHORT).await;
    }
    assert_eq!(wire.ask(Post::new("{}")).await.status, 200);

    let server = Running::with(Limits { idle_timeout: 5 * SHORT, ..limits }).await;
    let mut wire = server.connect().await;
    let began = Instant::now();
    assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
    wire.closed().await;
    assert!(began.elapsed() >= 5 * SHORT, "let go too early");
}

#[tokio::test]
async fn the_rest_after_a_long_request_is_timed() {
    let limits = Limits { head_timeout: SHORT, idle_timeout: 2 * SHORT, ..Limits::default() };
    let server = Running::with(limits).await;
    let mut wire = server.connect().await;
    wire.send(Post::new("wait").bytes()).await;
    server.held().await;
    pass(5 * SHORT).await;
    server.release(1);
    assert_eq!(wire.answer().await.status, 200);
    wire.closed().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_request_timeout() {
    let server = Running::with(Limits { body_timeout: SHORT, ..Limits::default() }).await;
    for (request, rest) in [(Post::new("{}"), 1), (Post::new("{}").chunked(1), 3)] {
        let mut wire = server.connect().await;
        let bytes = request.bytes();
        wire.send(&bytes[..bytes.len() - rest]).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.header("Connection")), (408, Some("close")));
        wire.closed().await;
    }
}

#[tokio::test]
async fn a_request_that_is_worked_on_has_no_deadline() {
    let limits = Limits {
        head_timeout: SHORT,
        idle_timeout: SHORT,
        body_timeout: SHORT,
        write_timeout: SHORT,
        ..Limits::default()
    };
    let server = Running::with(limits).await;
    let mut wire = server.connect().await;
    wire.send(Post::new("wait").bytes()).await;
    server.held().await;
    pass(3 * SHORT).await;
    server.release(1);
    assert_eq!(wire.answer().await.status, 200);
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_gives_its_memory_back() {
    let answer_bytes = 12 * 1024 * 1024;
    let limits = Limits { write_timeout: 5 * SHORT, answers_bytes_max: answer_bytes, ..Limits::default() };
    let server = Running::with(limits).await;
    let long = Post::new(format!("long:{answer_bytes}"));
    let mut idle = server.connect().await;
    idle.send(long.bytes()).await;
    // The first answer holds all the room there is until its client is given up.
    let answer = server.ask(long).await;
    assert_eq!((answer.status, answer.body.len()), (200, answer_bytes));
}

/// All timeouts at their defaults, so that nothing but another's need ends a connection here.
fn two_connections() -> Limits {
    Limits { connections_max: 2, address_share_percent: 100, ..Limits::default() }
}

#[tokio::test]
async fn an_idle_connection_makes_way_for_a_new_one() {
    let server = Running::with(two_connections()).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    assert_eq!(first.ask(Post::new("{}")).await.status, 200);
    assert_eq!(second.ask(Post::new("{}")).await.status, 200);
    assert_eq!(first.ask(Post::new("{}")).await.status, 200);

    let mut third = server.connect().await;
    assert_eq!(third.ask(Post::new("{}")).await.status, 200);
    second.closed().await;
    assert_eq!(first.ask(Post::new("{}")).await.status, 200, "the one that rested longest had to go");
}

#[tokio::test]
async fn silent_connections_and_unfinished_requests_make_way_for_a_new_one() {
    let server = Running::with(two_connections()).await;
    let mut silent = server.connect().await;
    let mut unfinished = server.connect().await;
    let request = Post::new("{}").bytes();
    unfinished.send(&request[..request.len() - 1]).await;
    for _ in 0..2 {
        let mut new = server.connect().await;
        new.send(Post::new("wait").bytes()).await;
        server.held().await;
        server.release(1);
        assert_eq!(new.answer().await.status, 200);
        std::mem::forget(new);
    }
    silent.closed().await;
    unfinished.closed().await;
}

#[tokio::test]
async fn a_request_that_is_worked_on_is_never_ended_for_a_new_one() {
    let server = Running::with(two_connections()).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    for wire in [&mut first, &mut second] {
        wire.send(Post::new("wait").bytes()).await;
        server.held().await;
    }
    let mut third = server.connect().await;
    third.send(Post::new("{}").bytes()).await;
    pass(3 * SHORT).await;
    assert_eq!(server.runs(), 2);
    server.release(2);
    assert_eq!(first.answer().await.status, 200);
    assert_eq!(second.answer().await.status, 200);
    assert_eq!(third.answer().await.status, 200);
}

const LARGE: usize = 100_000;

#[tokio::test]
async fn a_large_body_that_was_only_announced_takes_no_memory() {
    let server = Running::with(Limits { bodies_bytes_max: LARGE, ..Limits::default() }).await;
    let mut promising = Vec::new();
    for _ in 0..20 {
        let mut wire = server.connect().await;
        wire.send([Post::new(vec![b' '; LARGE]).head(), b"{".to_vec()].concat()).await;
        promising.push(wire);
    }
    assert_eq!(server.ask(Post::new(vec![b' '; LARGE])).await.status, 200);
}

#[tokio::test]
async fn a_client_that_stops_in_a_large_body_loses_its_memory_to_one_that_waits() {
    let server = Running::with(Limits { bodies_bytes_max: LARGE, ..Limits::default() }).await;
    let mut stopped = server.connect().await;
    let body = Post::new(vec![b' '; LARGE]);
    let bytes = body.bytes();
    stopped.send(&bytes[..bytes.len() - 1]).await;
    assert_eq!(server.ask(body).await.status, 200);
    stopped.closed().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_loses_its_memory_to_one_that_waits() {
    let answer_bytes = 12 * 1024 * 1024;
    let server = Running::with(Limits { answers_bytes_max: answer_bytes, ..Limits::default() }).await;
    let long = Post::new(format!("long:{answer_bytes}"));
    let mut idle = server.connect().await;
    idle.send(long.bytes()).await;
    let answer = server.ask(long).await;
    assert_eq!((answer.status, answer.body.len()), (200, answer_bytes));
}
