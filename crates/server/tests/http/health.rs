use crate::support::{Post, Running, StandIn};
use engine::Health;
use server::Options;
use std::sync::Arc;

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
async fn a_wrong_clock_is_a_second_line() {
    let server = Running::start().await;
    *server.backend.clock_notice.lock().unwrap() = Some("it was set forward by 2days".to_owned());
    let health = server.ask(Post::bare("GET / HTTP/1.1")).await;
    assert_eq!(health.status, 200);
    let lines: Vec<&str> = health.text().lines().collect();
    assert!(lines[0].starts_with("healthy: "), "{lines:?}");
    assert_eq!(lines[1..], ["clock: it was set forward by 2days"]);
}

#[tokio::test]
async fn only_the_root_is_healthy() {
    let server = Running::start().await;
    for path in ["/abc", "/-", "/index.htm", "//"] {
        assert_eq!(server.ask(Post::bare(&format!("GET {path} HTTP/1.1"))).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn what_waits_for_dynamodb_local_gets_its_answer_and_a_failure_as_one() {
    let options = Options { health_of_local: true, ..Options::default() };
    let server = Running::set_up(Arc::new(StandIn::new()), options).await;
    let answer = server.ask(Post::bare("GET / HTTP/1.1")).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("#MissingAuthenticationToken"), "{}", answer.text());
    *server.backend.health.lock().unwrap() = Health::Unhealthy("the disk is gone".to_owned());
    assert_eq!(server.ask(Post::bare("GET / HTTP/1.1")).await.status, 503);
}

#[tokio::test]
async fn accounts_and_regions_have_the_same_tables_if_they_are_shared() {
    let options = Options { is_shared: true, ..Options::default() };
    let server = Running::set_up(Arc::new(StandIn::new()), options).await;
    for scope in ["111122223333/20261115/eu-west-1", "AKIDEXAMPLE/20261115/ap-south-1"] {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={scope}/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
        );
        let answer = server.ask(Post::new("{}").with("Authorization", &authorization)).await;
        assert_eq!((answer.status, answer.text()), (200, "000000000000 us-east-1 GetItem 2"), "{scope}");
    }
}
