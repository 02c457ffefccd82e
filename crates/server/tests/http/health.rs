use crate::support::{Post, Running};
use engine::Health;

#[tokio::test]
async fn the_root_says_that_it_is_healthy_by_the_name_it_was_called() {
    let server = Running::open_to(&["dynamodb.eu-west-1.amazonaws.com"], &[]).await;
    for (host, body) in [
        ("localhost:8000", "healthy: localhost:8000 "),
        ("dynamodb.eu-west-1.amazonaws.com", "healthy: dynamodb.eu-west-1.amazonaws.com "),
    ] {
        let answer = server.ask(Post::bare("GET / HTTP/1.1").with("Host", host)).await;
        assert_eq!((answer.status, answer.text()), (200, body));
    }
    let nameless = server.ask(Post::bare("GET / HTTP/1.0").without("Host")).await;
    assert_eq!(nameless.text(), "healthy: dynamodb.us-east-1.amazonaws.com ");
}

#[tokio::test]
async fn every_client_gets_the_reason_why_writes_are_refused() {
    let server = Running::start().await;
    *server.backend.health.lock().unwrap() = Health::Unhealthy("the disk is gone".to_owned());
    let health = server.ask(Post::bare("GET / HTTP/1.1")).await;
    assert_eq!(health.status, 503);
    let way_out = "the disk is gone. Mend the cause, then restart Lodestone";
    assert!(health.text().starts_with(&format!("unhealthy: {way_out}")), "{}", health.text());
    let failed = server.ask(Post::new("break")).await;
    assert_eq!(failed.status, 500);
    assert!(failed.text().contains(&format!("Internal server error: {way_out}")), "{}", failed.text());
    assert_eq!(server.ask(Post::new("{}")).await.status, 200, "what still works is served");

    *server.backend.health.lock().unwrap() = Health::Stalled("the disk is full".to_owned());
    let health = server.ask(Post::bare("GET / HTTP/1.1")).await;
    assert_eq!(health.status, 503);
    assert!(
        health.text().contains("the disk is full. Reads are served, and writes go on"),
        "{}",
        health.text()
    );

    *server.backend.health.lock().unwrap() = Health::Healthy;
    assert_eq!(server.ask(Post::bare("GET / HTTP/1.1")).await.status, 200);
}

#[tokio::test]
async fn only_the_root_is_healthy() {
    let server = Running::start().await;
    for path in ["/abc", "/-", "/index.htm", "//"] {
        assert_eq!(server.ask(Post::bare(&format!("GET {path} HTTP/1.1"))).await.status, 404, "{path}");
    }
}
