//! Connections to a whole engine in memory: what a client of DAX sends, and what others send.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use api::{CreateTableInput, Error, Input};
use async_trait::async_trait;
use engine::{Caller, Engine};
use host::{MemoryRows, Namespace};
use store::memory::MemoryStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::Semaphore;

use super::*;
use crate::cache::CacheOptions;
use crate::outside::{Database, Done};

struct Clock(AtomicU64);

impl host::Environment for Clock {
    fn now_ms(&self) -> u64 {
        1_794_878_400_000
    }
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

struct OfEngine(Engine);

#[async_trait]
impl Database for OfEngine {
    async fn call(&self, namespace: &Namespace, request: api::Request) -> Result<api::Response, Error> {
        self.0.call(&Caller::new(namespace.account.clone(), namespace.region.clone()), request).await
    }
}

/// Lets everybody in but those whose key is `stranger`, and notes what they do.
#[derive(Default)]
struct Everybody(Arc<parking_lot::Mutex<Vec<String>>>);

impl Gate for Everybody {
    fn admit(&self, claim: &Claim) -> Result<Arc<dyn Session>, Error> {
        match claim.access_key.as_str() {
            "stranger" => Err(Error::new(ErrorKind::UnrecognizedClient, "who are you?")),
            _ => Ok(Arc::new(Anybody(Namespace { account: "1".into(), region: "r".into() }, self.0.clone()))),
        }
    }
}

struct Anybody(Namespace, Arc<parking_lot::Mutex<Vec<String>>>);

impl Session for Anybody {
    fn namespace(&self) -> &Namespace {
        &self.0
    }
    fn authorize(&self, action: &str) -> Result<(), Error> {
        assert!(action.starts_with("dax:"));
        Ok(())
    }
    fn done(&self, done: &Done<'_>) {
        let outcome = match done.outcome {
            Some(Ok(())) => "ok",
            Some(Err(error)) => error.kind.name(),
            None => "cut off",
        };
        let found = format!("{}+{}-", done.item_hits + done.page_hits, done.item_misses + done.page_misses);
        self.1.lock().push(format!("{} {:?} {outcome} {found}", done.operation, done.tables));
        assert_eq!(done.connections, 1);
    }
}

/// A cache in front of an engine with one table: `Table`, with a partition key `pk` (S) and a sort key `sk` (N).
async fn shared() -> Arc<Shared> {
    shared_with(Everybody::default()).await
}

async fn shared_with(gate: Everybody) -> Arc<Shared> {
    let clock = Arc::new(Clock(AtomicU64::new(1)));
    let engine = Engine::open(Arc::new(MemoryStore::default()), clock.clone()).await.unwrap();
    let text = r#"{"TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}"#;
    let request = api::Request::decode(api::Operation::CreateTable, text.as_bytes()).unwrap();
    let response = engine.call(&Caller::new("1", "r"), request).await.unwrap();
    assert!(CreateTableInput::output(response).is_some());
    let options = CacheOptions { item_ttl_ms: 1000, query_ttl_ms: 1000, bytes_max: 1 << 20 };
    let rows = Arc::new(MemoryRows::default());
    let service = Arc::new(Service::new(Arc::new(OfEngine(engine)), rows, clock, options));
    let limits = Limits::default();
    let memory = Arc::new(Semaphore::new(limits.memory_bytes_max / UNIT_BYTES));
    Arc::new(Shared { service, gate: Arc::new(gate), limits, memory, open: Gauge::default() })
}

/// Sends some bytes, and returns what came back and how the connection ended.
async fn converse(shared: &Arc<Shared>, bytes: &[u8]) -> (Vec<u8>, Ended) {
    let (mut client, server) = duplex(1 << 20);
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 8111));
    let addresses = Addresses { from: here, reached: here, is_encrypted: false };
    let shared = shared.clone();
    let serving =
        tokio::spawn(async move { serve(server, &shared, addresses, &AtomicBool::new(true)).await });
    // The server may hang up before it read everything.
    let _ = client.write_all(bytes).await;
    let _ = client.shutdown().await;
    let mut answers = Vec::new();
    client.read_to_end(&mut answers).await.unwrap();
    (answers, serving.await.expect("nothing panics"))
}

fn greeting(writer: &mut Writer) {
    writer.text(MAGIC);
    writer.int(0);
    writer.bytes(&[7; 16]);
    writer.map(1);
    writer.text("UserAgent");
    writer.text("test");
    writer.int(0);
}

fn call(writer: &mut Writer, method: Method, arguments: impl FnOnce(&mut Writer)) {
    writer.int(SERVICE);
    writer.int(method.number());
    arguments(writer);
}

fn authorize(writer: &mut Writer, key: &str) {
    call(writer, Method::AuthorizeConnection, |writer| {
        writer.text(key);
        writer.text("00");
        writer.bytes(b"AWS4-HMAC-SHA256\n20260101T000000Z\n20260101/r/dax/aws4_request\n00");
        writer.null();
        writer.null();
    });
}

/// The key `x`, 5.
const KEY: [u8; 6] = [0x61, 0x78, 0xC1, 0x80, 0, 0];

/// A client's usual requests: names, a put with a condition, a get, an update, a query, batches, transactions.
fn conversation() -> Vec<u8> {
    let writer = &mut Writer::default();
    greeting(writer);
    authorize(writer, "anybody");
    call(writer, Method::Endpoints, |_| {});
    call(writer, Method::DefineKeySchema, |writer| writer.bytes(b"Table"));
    call(writer, Method::DefineAttributeListId, |writer| {
        writer.array(1);
        writer.text("v");
    });
    let not_there = [0x83, 0x01, 0x82, 0x0C, 0x82, 0x12, 0x62, 0x70, 0x6B, 0x80];
    call(writer, Method::PutItem, |writer| {
        writer.bytes(b"Table");
        writer.bytes(&KEY);
        writer.nested(|writer| writer.int(1));
        writer.open_map();
        writer.int(4);
        writer.bytes(&not_there);
        writer.end();
    });
    call(writer, Method::GetItem, |writer| {
        writer.bytes(b"Table");
        writer.bytes(&KEY);
        writer.null();
    });
    call(writer, Method::UpdateItem, |writer| {
        writer.bytes(b"Table");
        writer.bytes(&KEY);
        writer.open_map();
        writer.int(7);
        writer.int(5);
        writer.int(8);
        // [1, [[SET, [path, "v"], [variable, 0]]], ["new"]]
        writer.nested(|writer| {
            writer.array(3);
            writer.int(1);
            writer.array(1);
            writer.array(3);
            writer.int(19);
            writer.array(2);
            writer.int(18);
            writer.text("v");
            writer.array(2);
            writer.int(17);
            writer.int(0);
            writer.array(1);
            writer.text("new");
        });
        writer.end();
    });
    call(writer, Method::Query, |writer| {
        writer.bytes(b"Table");
        writer.nested(|writer| {
            writer.array(3);
            writer.int(1);
            writer.array(3);
            writer.int(0);
            writer.array(2);
            writer.int(18);
            writer.text("pk");
            writer.array(2);
            writer.int(17);
            writer.int(0);
            writer.array(1);
            writer.text("x");
        });
        writer.null();
    });
    call(writer, Method::BatchGetItem, |writer| {
        writer.map(1);
        writer.text("Table");
        writer.array(3);
        writer.bool(false);
        writer.null();
        writer.array(1);
        writer.bytes(&KEY);
        writer.null();
    });
    call(writer, Method::TransactWriteItems, |writer| {
        writer.array(1);
        writer.int(7);
        writer.array(1);
        writer.bytes(b"Table");
        writer.array(1);
        writer.bytes(&KEY);
        (0..5).for_each(|_| writer.null());
        writer.null();
    });
    call(writer, Method::Scan, |writer| {
        writer.bytes(b"Table");
        writer.null();
    });
    std::mem::take(&mut writer.0)
}

/// The answers to [`conversation`], one after the other.
fn check_answers(answers: &[u8]) {
    let reader = &mut Reader(answers);
    let success = |reader: &mut Reader<'_>| assert_eq!(reader.skip(), Ok(&[0x80][..]));
    success(reader);
    let endpoints = reader.skip().unwrap();
    assert!(endpoints.windows(5).any(|window| window == [0x44, 127, 0, 0, 1]));
    success(reader);
    assert_eq!(reader.skip(), Ok(&b"\xA2\x62pk\x61S\x62sk\x61N"[..]));
    success(reader);
    reader.int().unwrap();
    success(reader); // put
    assert_eq!(reader.skip(), Ok(&[0xBF, 0xFF][..]));
    success(reader); // get: an item without attributes but its key
    assert_eq!(reader.skip(), Ok(&[0xBF, 0x00, 0x41, 0x01, 0xFF][..]));
    success(reader); // update: the new value, by its place in a list of names
    assert!(reader.skip().unwrap().ends_with(b"\xA1\x00\x63new\xFF"));
    success(reader); // query
    let page = reader.skip().unwrap();
    assert!(
        page.windows(KEY.len()).any(|window| window == KEY) && page.windows(3).any(|window| window == b"new")
    );
    success(reader); // batch: responses and unprocessed keys, then capacities
    assert!(reader.skip().unwrap().windows(3).any(|window| window == b"new"));
    assert_eq!(reader.skip(), Ok(&[0x80][..]));
    success(reader); // transaction
    assert_eq!(reader.skip(), Ok(&[0x83, 0xF6, 0x80, 0xBF, 0xFF][..]));
    success(reader); // scan: nothing, after the delete
    assert_eq!(reader.skip(), Ok(&[0xBF, 0x07, 0x80, 0x08, 0x00, 0x0A, 0x00, 0xFF][..]));
    assert!(reader.is_empty());
}

#[tokio::test]
async fn a_client_gets_answers_in_turn() {
    let shared = shared().await;
    let (answers, ended) = converse(&shared, &conversation()).await;
    assert!(matches!(ended, Ended::ByClient), "{ended}");
    check_answers(&answers);
    let metrics = shared.service.metrics();
    assert_eq!((metrics.item_cache_hits, metrics.item_cache_misses), (1, 1));
    assert_eq!((metrics.requests, metrics.failed_requests), (10, 0));
}

#[tokio::test]
async fn every_request_is_reported_with_what_it_found() {
    let gate = Everybody::default();
    let reported = gate.0.clone();
    let shared = shared_with(gate).await;
    let mut writer = Writer::default();
    greeting(&mut writer);
    authorize(&mut writer, "anybody");
    let get = |writer: &mut Writer, table: &[u8]| {
        call(writer, Method::GetItem, |writer| {
            writer.bytes(table);
            writer.bytes(&KEY);
            writer.null();
        });
    };
    get(&mut writer, b"Table");
    get(&mut writer, b"Table");
    get(&mut writer, b"Nowhere");
    converse(&shared, &writer.0).await;
    let expected = [
        "GetItem [\"Table\"] ok 0+1-",
        "GetItem [\"Table\"] ok 1+0-",
        "GetItem [\"Nowhere\"] ResourceNotFoundException 0+0-",
    ];
    assert_eq!(*reported.lock(), expected);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_sent_ends_its_own_connection_at_most() {
    let shared = shared().await;
    let usual = conversation();
    let start = {
        let mut writer = Writer::default();
        greeting(&mut writer);
        authorize(&mut writer, "anybody");
        writer.0.len()
    };
    let mut random = fastrand::Rng::with_seed(20_260_101);
    for _ in 0..3000 {
        let mut bytes = usual.clone();
        for _ in 0..random.usize(1..8) {
            if bytes.len() < start + 2 {
                break;
            }
            let place = random.usize(start..bytes.len());
            match random.u8(..5) {
                0 => bytes[place] = random.u8(..),
                1 => bytes[place] ^= 1 << random.u8(..8),
                2 => bytes.insert(place, random.u8(..)),
                3 => {
                    bytes.remove(place);
                }
                _ => bytes.truncate(place.max(start + 1)),
            }
        }
        converse(&shared, &bytes).await;
    }
    for _ in 0..3000 {
        let mut bytes = usual[..start].to_vec();
        // A method, so that some of what follows is looked at.
        let method = Method::ALL[random.usize(..Method::ALL.len())];
        let mut writer = Writer(std::mem::take(&mut bytes));
        call(&mut writer, method, |writer| {
            (0..random.usize(..64)).for_each(|_| writer.0.push(random.u8(..)));
        });
        converse(&shared, &writer.0).await;
    }
    assert_eq!(shared.memory.available_permits(), shared.limits.memory_bytes_max / UNIT_BYTES);
    let fresh = self::shared().await;
    check_answers(&converse(&fresh, &usual).await.0);
}

#[tokio::test]
async fn a_request_that_promises_too_much_is_refused_before_it_is_there() {
    let shared = shared().await;
    let mut writer = Writer::default();
    greeting(&mut writer);
    authorize(&mut writer, "anybody");
    call(&mut writer, Method::GetItem, |writer| writer.0.extend([0x5A, 0x7F, 0xFF, 0xFF, 0xFF]));
    let (answers, ended) = converse(&shared, &writer.0).await;
    assert!(matches!(ended, Ended::Malformed(Malformed("the request is too large"))), "{ended}");
    assert!(String::from_utf8_lossy(&answers).contains("ValidationException"));
}

#[tokio::test]
async fn who_is_not_known_is_asked_to_authorize() {
    let shared = shared().await;
    for (key, expected) in
        [(None, "MissingAuthenticationTokenException"), (Some("stranger"), "UnrecognizedClient")]
    {
        let mut writer = Writer::default();
        greeting(&mut writer);
        if let Some(key) = key {
            authorize(&mut writer, key);
        }
        call(&mut writer, Method::Endpoints, |_| {});
        let (answers, _) = converse(&shared, &writer.0).await;
        assert_eq!(answers[..7], [0x84, 4, 23, 0x18, 31, 0x18, 33]);
        assert!(String::from_utf8_lossy(&answers).contains(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_disconnected() {
    let shared = shared().await;
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 8111));
    let addresses = Addresses { from: here, reached: here, is_encrypted: false };
    let mut greeted = Writer::default();
    greeting(&mut greeted);
    let mut half = Writer(greeted.0.clone());
    call(&mut half, Method::GetItem, |writer| writer.bytes(b"Table"));
    for (bytes, within) in [(vec![], 11), (greeted.0, 181), (half.0, 121)] {
        let (mut client, server) = duplex(1 << 16);
        client.write_all(&bytes).await.unwrap();
        let rests = AtomicBool::new(true);
        let serving = serve(server, &shared, addresses, &rests);
        let ended = timeout(Duration::from_secs(within), serving).await.expect("a disconnect");
        assert!(matches!(ended, Ended::Timeout(_)), "{ended}");
    }
}
