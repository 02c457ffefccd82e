use crate::wire::{Post, Running, Wire};
use server::Limits;
use std::time::Duration;

#[tokio::test]
async fn no_more_connections_are_served_than_there_are_slots() {
    let server = Running::with(Limits { connections_max: 8, ..Limits::default() }).await;
    let mut wires: Vec<Wire> = Vec::new();
    for _ in 0..32 {
        let mut wire = server.connect().await;
        wire.send(Post::new("wait").bytes()).await;
        wires.push(wire);
    }
    for _ in 0..8 {
        server.held().await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
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
