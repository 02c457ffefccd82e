use crate::wire::{Post, Running};
use server::Limits;
use std::time::Duration;

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_body_of_16_mib_is_served_and_one_byte_more_is_not() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    let largest = Post::new(vec![b' '; 16 * MIB]);
    let too_large = Post::new(vec![b' '; 16 * MIB + 1]);
    for (request, status) in [
        (largest.clone(), 200),
        (largest.chunked(MIB), 200),
        (too_large.clone(), 413),
        (too_large.chunked(MIB), 413),
        // The rest of a body that was too large is read and forgotten, so the connection goes on.
        (Post::new("{}"), 200),
    ] {
        assert_eq!(wire.ask(request).await.status, status);
    }
}

#[tokio::test]
async fn a_body_past_all_patience_is_refused_and_the_connection_closed() {
    let limits = Limits { body_bytes_max: 1000, discard_bytes_max: 5000, ..Limits::default() };
    let server = Running::with(limits).await;
    for request in [Post::new(vec![b' '; 7000]), Post::new(vec![b' '; 7000]).chunked(500)] {
        let mut wire = server.connect().await;
        let answer = wire.ask(request).await;
        assert_eq!((answer.status, answer.header("Connection")), (413, Some("close")));
        assert!(answer.text().contains("RequestEntityTooLargeException"));
    }
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_before_it_sends() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    let asking = Post::new("").with("Content-Length", "99999999").with("Expect", "100-continue");
    wire.send(asking.head()).await;
    assert_eq!(wire.answer().await.status, 413);

    let mut wire = server.connect().await;
    wire.send(Post::new("").with("Content-Length", "2").with("Expect", "100-continue").head()).await;
    assert_eq!(wire.answer().await.status, 100);
    wire.send("{}").await;
    assert_eq!(wire.answer().await.status, 200);
}

#[tokio::test]
async fn heads_above_16_kib_are_bad_requests() {
    let server = Running::start().await;
    let with_extra = |bytes: usize| {
        Post::new("{}").with("header1", &"x".repeat(bytes / 2)).with("header2", &"y".repeat(bytes / 2))
    };
    assert_eq!(server.ask(with_extra(15_000)).await.status, 200);
    assert_eq!(server.ask(with_extra(16_384)).await.status, 400);
    let long_line = format!("POST /{} HTTP/1.1", "x".repeat(17_000));
    assert_eq!(server.ask(Post::new("{}").line(&long_line)).await.status, 400);
}

#[tokio::test]
async fn endless_heads_are_cut_off() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    wire.send([&b"POST / HTTP/1.1\r\nx: "[..], &vec![b'x'; 40_000]].concat()).await;
    assert_eq!(wire.answer().await.status, 431);
    wire.closed().await;

    let many = (0..200).fold(Post::new("{}"), |post, n| post.with(&format!("x-{n}"), "y"));
    assert_eq!(server.ask(many).await.status, 431);
}

#[tokio::test]
async fn large_bodies_wait_for_room_and_are_told_when_there_is_none() {
    let limits =
        Limits { bodies_bytes_max: 100_000, share_timeout: Duration::from_millis(20), ..Limits::default() };
    let server = Running::with(limits).await;
    let large = |body: &str| Post::new(format!("{body}{}", " ".repeat(80_000)));
    let mut holder = server.connect().await;
    holder.send(large("wait").bytes()).await;
    server.held().await;

    let refused = server.ask(large("{}")).await;
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("#ServiceUnavailable"));
    assert_eq!(server.ask(large("{}").chunked(1000)).await.status, 503);
    assert_eq!(server.ask(Post::new("{}")).await.status, 200, "small bodies need no room");

    server.release(1);
    assert_eq!(holder.answer().await.status, 200);
    assert_eq!(server.ask(large("{}")).await.status, 200);
}
