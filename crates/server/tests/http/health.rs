use crate::wire::{Post, Running};

#[tokio::test]
async fn the_root_says_that_it_is_healthy_by_the_name_it_was_called() {
    let server = Running::start().await;
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
async fn only_the_root_is_healthy() {
    let server = Running::start().await;
    for path in ["/abc", "/-", "/index.htm", "//"] {
        assert_eq!(server.ask(Post::bare(&format!("GET {path} HTTP/1.1"))).await.status, 404, "{path}");
    }
}
