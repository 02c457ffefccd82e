use crate::support::{Post, Running};

#[tokio::test]
async fn a_connection_serves_request_after_request() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    for length in 0..50 {
        let answer = wire.ask(Post::new("x".repeat(length))).await;
        assert_eq!(answer.text(), format!("000000000000 us-east-1 GetItem {length}"));
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    let requests: Vec<u8> = (0..100).flat_map(|length| Post::new("x".repeat(length)).bytes()).collect();
    wire.send(requests).await;
    for length in 0..100 {
        assert!(wire.answer().await.text().ends_with(&format!("GetItem {length}")));
    }
}

#[tokio::test]
async fn a_request_may_arrive_in_any_pieces() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    wire.stream.set_nodelay(true).unwrap();
    for piece in Post::new("{\"a\": 1}").bytes().chunks(7) {
        wire.send(piece).await;
        tokio::task::yield_now().await;
    }
    assert!(wire.answer().await.text().ends_with("GetItem 8"));
    for size in [1, 3, 1000] {
        assert!(wire.ask(Post::new("x".repeat(2000)).chunked(size)).await.text().ends_with("GetItem 2000"));
    }
}

#[tokio::test]
async fn an_error_leaves_the_connection_open() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    for refused in [
        Post::new("fail"),
        Post::new("{}").without("Authorization"),
        Post::new("{").without("X-Amz-Target"),
        Post::new("not packed").with("Content-Encoding", "gzip"),
    ] {
        assert!(wire.ask(refused).await.status >= 400);
        assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
    }
}

#[tokio::test]
async fn a_client_may_ask_to_close() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    assert_eq!(wire.ask(Post::new("{}").with("Connection", "close")).await.status, 200);
    wire.closed().await;

    let mut wire = server.connect().await;
    assert_eq!(wire.ask(Post::new("{}").line("POST / HTTP/1.0")).await.status, 200);
    wire.closed().await;
}

#[tokio::test]
async fn what_is_not_http_is_refused_and_closed() {
    let server = Running::start().await;
    for nonsense in
        ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "POST / HTTP/1.1\r\nno colon\r\n\r\n", "POST / HTTP/9.9\r\n\r\n"]
    {
        let mut wire = server.connect().await;
        wire.send(nonsense).await;
        assert_eq!(wire.answer().await.status, 400, "{nonsense:?}");
        wire.closed().await;
    }
    assert_eq!(server.ask(Post::new("{}")).await.status, 200);
}
