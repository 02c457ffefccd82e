//! A studio on a database in memory, and requests to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use engine::{Engine, Environment};
use http::{HeaderMap, Request, Response, StatusCode};
use serde_json::{Value, json};
use store::memory::MemoryStore;
use studio::{Options, Studio, Watch};

/// The time never changes, and random numbers count up.
#[derive(Default)]
struct Still(AtomicU64);

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        1_767_225_600_000
    }

    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// What every client's request is said to have used.
pub const UNITS_EACH: f64 = 1.5;

pub struct Desk {
    studio: Studio,
    pub engine: Arc<Engine>,
    watch: Arc<Watch>,
}

pub async fn desk() -> Desk {
    desk_with(Options::default()).await
}

pub async fn desk_with(options: Options) -> Desk {
    let engine = Engine::open(Arc::new(MemoryStore::new()), Arc::<Still>::default()).await;
    let engine = Arc::new(engine.expect("memory opens"));
    let watch = Arc::<Watch>::default();
    Desk { studio: Studio::new(engine.clone(), options, watch.clone()), engine, watch }
}

/// What our own page sends.
pub fn own(path: &str) -> http::request::Builder {
    Request::post(format!("/studio/api/{path}"))
        .header("host", "127.0.0.1:8000")
        .header("origin", "http://127.0.0.1:8000")
        .header("sec-fetch-site", "same-origin")
        .header("content-type", "application/json")
        .header("x-lodestone-studio", "1")
}

impl Desk {
    /// Sends a request as a client of the server does, and not as a page of the studio.
    pub async fn client(&self, operation: &str, input: &Value) -> Value {
        let answer = self.ask(&format!("call/{operation}"), input).await;
        let (body, answered) = (input.to_string(), answer.to_string());
        self.watch.note(
            ("000000000000", "us-east-1"),
            operation,
            body.as_bytes(),
            Some(answered.as_bytes()),
            UNITS_EACH,
        );
        answer
    }

    pub async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.studio.answer(request).await
    }

    pub async fn get(&self, path: &str) -> Response<Bytes> {
        let request = Request::get(path).header("host", "localhost:8000").header("accept-encoding", "gzip");
        self.answer(request.body(Bytes::new()).expect("a request")).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = own(path).body(Bytes::from(body.to_string())).expect("a request");
        let response = self.answer(request).await;
        (response.status(), serde_json::from_slice(response.body()).expect("the door answers with JSON"))
    }

    /// The answer of a command that must work.
    pub async fn ask(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.post(path, body).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer
    }

    /// `app` with keys PK and SK, an index on status that holds the total, and one on nothing but keys.
    pub async fn with_orders(self) -> Desk {
        let key = |hash: &str, range: &str| json!([{ "AttributeName": hash, "KeyType": "HASH" }, { "AttributeName": range, "KeyType": "RANGE" }]);
        let attributes =
            ["PK", "SK", "status", "open"].map(|name| json!({ "AttributeName": name, "AttributeType": "S" }));
        let table = json!({
            "TableName": "app",
            "KeySchema": key("PK", "SK"),
            "AttributeDefinitions": attributes,
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [
                { "IndexName": "byStatus", "KeySchema": key("status", "SK"),
                  "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"] } },
                { "IndexName": "open", "KeySchema": key("open", "SK"), "Projection": { "ProjectionType": "KEYS_ONLY" } },
            ],
        });
        self.ask("call/CreateTable", &table).await;
        for number in 1..=3 {
            self.ask("call/PutItem", &json!({ "TableName": "app", "Item": order(number, "OPEN") })).await;
        }
        self
    }

    /// The text of one of the studio's examples.
    pub async fn example(&self, name: &str) -> String {
        let answer = self.ask("examples", &json!({})).await;
        let examples = answer["examples"].as_array().expect("a list");
        let example = examples.iter().find(|one| one["name"] == name).expect("the example");
        example["text"].as_str().expect("text").to_owned()
    }

    pub async fn item(&self, key: &Value) -> Value {
        self.ask("call/GetItem", &json!({ "TableName": "app", "Key": key })).await["Item"].take()
    }
}

pub fn order(number: u32, status: &str) -> Value {
    json!({
        "PK": { "S": "CUST#a" }, "SK": { "S": format!("ORDER#{number}") },
        "status": { "S": status }, "open": { "S": "yes" }, "total": { "N": "149" },
    })
}

pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().expect("headers are text"))
}
