use crate::support::{Post, Running, WAIT_MAX, Wire, pass, until};
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
async fn a_body_far_beyond_the_limit_is_refused_and_the_connection_closed() {
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
async fn a_client_that_expects_100_continue_is_refused_before_it_sends() {
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
async fn large_bodies_wait_for_memory_and_are_refused_when_there_is_none() {
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

/// Fills the memory for answers with one that no client reads.
async fn without_memory_for_answers(share_timeout: Duration) -> (Running, Wire) {
    let answer_bytes = 12 * MIB;
    let limits = Limits { answers_bytes_max: answer_bytes, share_timeout, ..Limits::default() };
    let server = Running::with(limits).await;
    let mut holder = server.connect().await;
    holder.send(Post::new(format!("long:{answer_bytes}")).bytes()).await;
    holder.stream.readable().await.unwrap();
    (server, holder)
}

#[tokio::test]
async fn a_request_is_not_run_before_there_is_memory_for_its_answer() {
    let (server, _holder) = without_memory_for_answers(Duration::from_millis(20)).await;
    let refused = server.ask(Post::new("long:100000")).await;
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("#ServiceUnavailable"));
    assert_eq!(server.runs(), 1, "only the first was run");
    assert_eq!(server.ask(Post::new("{}")).await.status, 200, "small answers need no memory");
    assert_eq!(server.ask(Post::new("item:10000")).await.status, 200);
}

#[tokio::test]
async fn an_answer_that_turns_out_large_is_made_again_when_there_is_memory() {
    let (server, mut holder) = without_memory_for_answers(WAIT_MAX).await;
    let mut wire = server.connect().await;
    wire.send(Post::new("item:100000").bytes()).await;
    until("the second is run", async || server.runs() == 2).await;
    assert_eq!(holder.answer().await.status, 200);
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.body.len(), server.runs()), (200, 100_000, 3));
}

#[tokio::test]
async fn two_hundred_clients_that_do_not_read_keep_no_more_answers_than_fit() {
    // More than the buffers of a socket on loopback take.
    let answer_bytes = 12 * MIB;
    let limits = Limits {
        answers_bytes_max: 2 * answer_bytes,
        address_share_percent: 100,
        share_timeout: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = Running::with(limits).await;
    let mut wires = Vec::new();
    for _ in 0..200 {
        let mut wire = server.connect().await;
        wire.send(Post::new(format!("long:{answer_bytes}")).bytes()).await;
        wires.push(wire);
    }
    let mut accepted = Vec::new();
    for wire in wires {
        wire.stream.readable().await.unwrap();
        if !wire.begins_with("HTTP/1.1 503").await {
            accepted.push(wire);
        }
    }
    assert!(accepted.len() >= 2, "{}", accepted.len());
    // No request is waiting any more. A socket takes some of an answer, never all of it: a client that gets all
    // of it now had it kept in memory. The others were disconnected to make room.
    let mut kept = 0;
    for mut wire in accepted {
        kept += usize::from(wire.rest().await > answer_bytes);
    }
    assert!(kept <= 2, "{kept}");
}

#[tokio::test]
async fn a_connection_has_one_answer_on_its_way_at_a_time() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    wire.send(Post::new(format!("long:{}", 12 * MIB)).bytes()).await;
    wire.send(Post::new("{}").bytes()).await;
    wire.stream.readable().await.unwrap();
    pass(Duration::from_millis(50)).await;
    assert_eq!(server.runs(), 1, "the second request waits until the first answer is read");
    assert_eq!(wire.answer().await.body.len(), 12 * MIB);
    assert_eq!(wire.answer().await.status, 200);
}
