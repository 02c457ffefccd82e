//! Clients that take their time. The limits here are short and the waits real.

use crate::wire::{Post, Running};
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
        let mut wire = server.connect().await;
        for _ in 0..requests_before {
            assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
        }
        let began = Instant::now();
        let head = Post::new("{}").head();
        for byte in &head {
            tokio::time::sleep(SHORT / 20).await;
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
    let limits = Limits { head_timeout: SHORT, idle_timeout: 12 * SHORT, ..Limits::default() };
    let server = Running::with(limits).await;
    let mut wire = server.connect().await;
    for _ in 0..2 {
        assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
        tokio::time::sleep(2 * SHORT).await;
    }
    assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
    let began = Instant::now();
    wire.closed().await;
    assert!(began.elapsed() >= 10 * SHORT, "let go too early");
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
async fn nobody_hurries_a_request_that_is_being_answered() {
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
    tokio::time::sleep(3 * SHORT).await;
    server.release(1);
    assert_eq!(wire.answer().await.status, 200);
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_gives_its_memory_back() {
    let answer_bytes = 12 * 1024 * 1024;
    let limits = Limits { write_timeout: 5 * SHORT, bodies_bytes_max: answer_bytes, ..Limits::default() };
    let server = Running::with(limits).await;
    let long = Post::new(format!("long:{answer_bytes}"));
    let mut idle = server.connect().await;
    idle.send(long.bytes()).await;
    // The first answer holds all the room there is until its client is given up.
    let answer = server.ask(long).await;
    assert_eq!((answer.status, answer.body.len()), (200, answer_bytes));
}
