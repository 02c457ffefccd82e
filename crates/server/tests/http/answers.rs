use crate::support::{Answer, Post, Running};

#[tokio::test]
async fn every_answer_carries_dynamodbs_headers() {
    let server = Running::start().await;
    let requests = [
        Post::new("{}"),
        Post::new("fail"),
        Post::new("panic"),
        Post::new("nothing"),
        Post::new("long:20000"),
        Post::new("long:20000").with("Accept-Encoding", "gzip"),
        Post::bare("GET / HTTP/1.1"),
        Post::bare("DELETE / HTTP/1.1"),
    ];
    let mut ids = Vec::new();
    for request in requests {
        let answer = server.ask(request).await;
        assert_eq!(answer.header("Server"), Some("Server"));
        assert_eq!(answer.header("x-amz-crc32"), Some(crc32fast::hash(&answer.body).to_string().as_str()));
        assert_eq!(answer.header("Content-Length"), Some(answer.body.len().to_string().as_str()));
        assert!(answer.header("Date").is_some_and(|date| date.ends_with(" GMT")));
        assert_eq!(answer.header("Connection"), None);
        let id = answer.header("x-amzn-RequestId").unwrap().to_owned();
        assert_eq!(id.len(), 52);
        assert!(!ids.contains(&id), "{id} was given twice");
        ids.push(id);
    }
}

#[tokio::test]
async fn the_answer_has_the_requests_content_type() {
    let server = Running::start().await;
    for (sent, echoed) in [
        ("application/x-amz-json-1.0", "application/x-amz-json-1.0"),
        ("application/json", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("Application/X-Amz-Json-1.0 ;x=y", "application/x-amz-json-1.0"),
    ] {
        for body in ["{}", "fail"] {
            let answer = server.ask(Post::new(body).with("Content-Type", sent)).await;
            assert_eq!(answer.header("Content-Type"), Some(echoed), "{sent}");
        }
    }
}

#[tokio::test]
async fn the_credential_scope_chooses_account_and_region() {
    let server = Running::start().await;
    for (key, region, expected) in [
        ("AKIDEXAMPLE", "us-east-1", "000000000000 us-east-1 GetItem 2"),
        ("123456789012", "eu-west-2", "123456789012 eu-west-2 GetItem 2"),
        ("12345678901", "local", "000000000000 local GetItem 2"),
    ] {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={key}/20261115/{region}/dynamodb/aws4_request,SignedHeaders=host,Signature=0"
        );
        let answer = server.ask(Post::new("{}").with("Authorization", &authorization)).await;
        assert_eq!((answer.status, answer.text()), (200, expected));
    }
}

#[tokio::test]
async fn errors_have_their_status_and_json() {
    let server = Running::start().await;
    let check = |answer: Answer, status: u16, body: &str| {
        assert_eq!((answer.status, answer.text()), (status, body));
    };
    check(
        server.ask(Post::new("fail")).await,
        400,
        r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"it \"failed\""}"#,
    );
    check(
        server.ask(Post::new("break")).await,
        500,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}"#,
    );
}

#[tokio::test]
async fn an_operation_may_answer_nothing() {
    let answer = Running::start().await.ask(Post::new("nothing")).await;
    assert_eq!((answer.status, answer.text(), answer.header("x-amz-crc32")), (200, "", Some("0")));
}

#[tokio::test]
async fn a_panic_is_a_500_and_the_connection_lives_on() {
    let server = Running::start().await;
    let mut wire = server.connect().await;
    for _ in 0..3 {
        let answer = wire.ask(Post::new("panic")).await;
        assert_eq!(answer.status, 500);
        assert!(answer.text().contains("#InternalServerError\",\"message\":\"Internal server error\""));
        assert_eq!(wire.ask(Post::new("{}")).await.status, 200);
    }
}
