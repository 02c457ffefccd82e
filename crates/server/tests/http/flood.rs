use crate::support::{Post, Running, Wire, pass};
use server::Limits;
use std::time::Duration;

#[tokio::test]
async fn no_more_connections_are_served_than_there_are_slots() {
    let server =
        Running::with(Limits { connections_max: 8, address_share_percent: 100, ..Limits::default() }).await;
    let mut wires: Vec<Wire> = Vec::new();
    for _ in 0..32 {
        let mut wire = server.connect().await;
        wire.send(Post::new("wait").bytes()).await;
        wires.push(wire);
    }
    for _ in 0..8 {
        server.held().await;
    }
    pass(Duration::from_millis(50)).await;
    assert_eq!(server.backend.arrived.available_permits(), 0, "a ninth connection was served");

    // Those that waited get their turn when others leave.
    server.release(32);
    for mut wire in wires {
        assert_eq!(wire.answer().await.status, 200);
    }
}

#[tokio::test]
async fn a_flood_of_silent_connections_passes() {
    let limits = Limits { connections_max: 16, head_timeout: Duration::from_millis(50), ..Limits::default() };
    let server = Running::with(limits).await;
    let mut silent = Vec::new();
    for _ in 0..64 {
        silent.push(server.connect().await);
    }
    assert_eq!(server.ask(Post::new("{}")).await.status, 200);
}

#[tokio::test]
async fn one_address_replaces_its_own_connections_when_it_has_too_many() {
    let limits = Limits { connections_max: 4, address_share_percent: 50, ..Limits::default() };
    let server = Running::with(limits).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    assert_eq!(first.ask(Post::new("{}")).await.status, 200);
    second.send(Post::new("wait").bytes()).await;
    server.held().await;
    let mut third = server.connect().await;
    assert_eq!(third.ask(Post::new("{}")).await.status, 200);
    first.closed().await;

    // Connections that are worked on are never replaced, so one more is refused.
    third.send(Post::new("wait").bytes()).await;
    server.held().await;
    server.connect().await.closed().await;
    server.release(2);
    assert_eq!(second.answer().await.status, 200);
    assert_eq!(third.answer().await.status, 200);
}

#[tokio::test]
async fn requests_beyond_the_bound_are_asked_to_try_again() {
    let limits = Limits { requests_max: 2, ..Limits::default() };
    let server = Running::with(limits).await;
    let mut first = server.connect().await;
    first.send(Post::new("wait").bytes()).await;
    server.held().await;
    let refused = server.ask(Post::new("{}")).await;
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")));
    assert!(refused.text().contains("#ServiceUnavailable"), "{}", refused.text());
    server.release(1);
    assert_eq!(first.answer().await.status, 200);
    // The bound is free again once the answer is written.
    for _ in 0..100 {
        assert_eq!(first.ask(Post::new("{}")).await.status, 200);
    }
}
