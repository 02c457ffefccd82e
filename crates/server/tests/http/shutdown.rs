use crate::support::{Post, Running};
use server::{Ended, Limits};
use std::time::Duration;
use tokio::net::TcpStream;

#[tokio::test]
async fn idle_connections_close_and_requests_in_flight_finish() {
    let server = Running::start().await;
    let (address, stand_in) = (server.address, server.backend.clone());
    let mut fresh = server.connect().await;
    let mut idle = server.connect().await;
    assert_eq!(idle.ask(Post::new("{}")).await.status, 200);
    let mut busy = server.connect().await;
    busy.send(Post::new("wait").bytes()).await;
    server.held().await;

    let ended = server.stop();
    fresh.closed().await;
    idle.closed().await;
    assert!(TcpStream::connect(address).await.is_err(), "still accepts");
    stand_in.released.add_permits(1);
    assert_eq!(busy.answer().await.status, 200);
    busy.closed().await;
    assert_eq!(ended.await.unwrap(), Ended { connections_cut: 0 });
}

#[tokio::test]
async fn requests_that_take_too_long_are_cut() {
    let server =
        Running::with(Limits { shutdown_timeout: Duration::from_millis(50), ..Limits::default() }).await;
    let mut busy = server.connect().await;
    busy.send(Post::new("wait").bytes()).await;
    server.held().await;
    assert_eq!(server.stop().await.unwrap(), Ended { connections_cut: 1 });
    busy.closed().await;
}
