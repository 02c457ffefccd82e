//! The engine behind the server: what each says of a request reaches the client as one answer.

use crate::support::{Post, Running};
use engine::{Engine, Environment};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::Store;
use store::fault::{Fault, FaultStore};
use store::memory::MemoryStore;

/// The time never changes, and random numbers count up.
struct Still(AtomicU64);

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        1_800_000_000_000
    }
    fn random(&self) -> u128 {
        self.0.fetch_add(1, Ordering::Relaxed).into()
    }
}

async fn database() -> Running<Engine> {
    on(Arc::new(MemoryStore::new())).await
}

async fn on(store: Arc<dyn Store>) -> Running<Engine> {
    let engine = Engine::open(store, Arc::new(Still(AtomicU64::new(1)))).await.unwrap();
    Running::serving(Arc::new(engine), server::Limits::default()).await
}

fn call(operation: &str, body: &str) -> Post {
    Post::new(body).with("X-Amz-Target", &format!("DynamoDB_20120810.{operation}"))
}

async fn check(server: &Running<Engine>, request: Post, status: u16, part: &str) {
    let answer = server.ask(request).await;
    assert_eq!(answer.status, status, "{}", answer.text());
    assert!(answer.text().contains(part), "{} has no {part}", answer.text());
}

const CREATE: &str = r#"{"TableName": "music", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}"#;

#[tokio::test]
async fn an_item_comes_back_over_the_wire_and_only_to_its_region() {
    let server = &database().await;
    check(server, call("CreateTable", CREATE), 200, r#""TableName":"music""#).await;
    let put = r#"{"TableName": "music", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}}"#;
    check(server, call("PutItem", put), 200, "{}").await;
    let get = r#"{"TableName": "music", "Key": {"pk": {"S": "a"}}}"#;
    check(server, call("GetItem", get), 200, r#""n":{"N":"1"}"#).await;

    let elsewhere = "AWS4-HMAC-SHA256 Credential=k/20261115/eu-west-1/dynamodb/aws4_request, \
                     SignedHeaders=host, Signature=0";
    let get = call("GetItem", get).with("Authorization", elsewhere);
    check(server, get, 400, "ResourceNotFoundException").await;
}

#[tokio::test]
async fn bodies_that_mean_nothing_are_serialization_errors() {
    let server = &database().await;
    let deep = format!(r#"{{"TableName": "t", "Item": {{"a": {}"#, "{\"\":".repeat(200_000));
    for body in ["", "{", "not json", "7", "[]", "{}}", "{\"TableName\": 7}", "\"", deep.as_str()] {
        check(server, call("PutItem", body), 400, "SerializationException").await;
    }
    check(server, call("PutItem", "{}"), 400, "ValidationException").await;
}

#[tokio::test]
async fn figures_for_the_operator_need_no_signature() {
    let server = &database().await;
    let answer = server.ask(Post::bare("GET /metrics HTTP/1.1").with("Host", "localhost")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("# TYPE lodestone_online_index_percentage_progress gauge"));
}

#[tokio::test]
async fn figures_that_cannot_be_read_are_an_error_and_not_an_empty_list() {
    let store = Arc::new(FaultStore::scripted(Arc::new(MemoryStore::new()), []));
    let server = &on(store.clone()).await;
    check(server, call("CreateTable", CREATE), 200, r#""TableName":"music""#).await;
    // The new index waits for reads that fail.
    store.fail_reads(true);
    let index = r#"{"TableName": "music", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}}]}"#;
    check(server, call("UpdateTable", index), 200, "CREATING").await;
    let metrics = Post::bare("GET /metrics HTTP/1.1");
    check(server, metrics.clone(), 500, "an injected fault").await;
    store.fail_reads(false);
    check(server, metrics, 200, "# TYPE lodestone_online_index_percentage_progress gauge").await;
}

#[tokio::test]
async fn a_store_that_refuses_writes_is_unhealthy_and_says_what_to_do() {
    let store = Arc::new(FaultStore::scripted(Arc::new(MemoryStore::new()), []));
    let server = &on(store.clone()).await;
    check(server, call("CreateTable", CREATE), 200, r#""TableName":"music""#).await;
    let health = Post::bare("GET / HTTP/1.1");
    check(server, health.clone(), 200, "healthy: localhost:8000 ").await;

    store.follow([Some(Fault::Poison)]);
    let put = r#"{"TableName": "music", "Item": {"pk": {"S": "a"}}}"#;
    for _ in 0..2 {
        check(server, call("PutItem", put), 500, "Mend the cause, then restart Lodestone").await;
    }
    check(server, health, 503, "unhealthy: writes are refused").await;
    let get = r#"{"TableName": "music", "Key": {"pk": {"S": "a"}}}"#;
    check(server, call("GetItem", get), 200, "{}").await;
}
