//! Anything that answers DynamoDB's requests: a database in memory, or one behind an address.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::{Error, ErrorKind, Input, Operation, Request};
use engine::{Caller, Enforcement, Engine, Environment, Options};
use serde_json::Value;
use store::memory::MemoryStore;

/// An operation's name and its JSON in, JSON out.
pub trait Endpoint: Send + Sync {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a>;

    /// Whether every read, also an eventually consistent one, sees a write at once.
    fn is_immediate(&self) -> bool;
}

/// Carries out one operation: the input's type says which.
pub async fn call<I: Input<Request = Request>>(
    endpoint: &dyn Endpoint,
    input: I,
) -> Result<I::Output, Error> {
    let request = input.into_request();
    let mut body = Vec::new();
    request.write_json(&mut body);
    I::read_output(&endpoint.send(request.operation().name(), body).await?)
}

/// The same with JSON documents, for operations of which only a few members matter.
pub async fn ask(endpoint: &dyn Endpoint, operation: &str, input: &Value) -> Result<Value, Error> {
    let answer = endpoint.send(operation, input.to_string().into_bytes()).await?;
    if answer.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&answer)
        .map_err(|error| Error::new(ErrorKind::Serialization, format!("{operation}: {error}")))
}

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, Error>> + Send + 'a>>;

/// A separate database in memory, deleted when it is dropped.
pub struct Memory {
    engine: Engine,
    caller: Caller,
}

/// A fixed clock and a counter instead of randomness, so that every run is the same.
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

impl Memory {
    pub async fn open() -> Result<Memory, Error> {
        // A proof is about what requests do and cost, not about how many a table can take per second.
        Memory::with(Enforcement::Off).await
    }

    /// With AWS's limits of throughput. Its clock does not advance, so it admits the requests of one second.
    pub async fn open_limited() -> Result<Memory, Error> {
        Memory::with(Enforcement::Aws).await
    }

    async fn with(capacity: Enforcement) -> Result<Memory, Error> {
        let options = Options { capacity, ..Options::default() };
        let engine = Engine::open_with(Arc::new(MemoryStore::new()), Arc::<Still>::default(), options).await;
        let engine = engine.map_err(|_| Error::internal())?;
        Ok(Memory { engine, caller: Caller::new("000000000000", "us-east-1") })
    }
}

impl Endpoint for Memory {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        Box::pin(async move {
            let operation = Operation::from_target_name(operation).ok_or_else(Error::operation_not_served)?;
            let response = self.engine.call(&self.caller, Request::decode(operation, &body)?).await?;
            let mut answer = Vec::new();
            response.write_json(&mut answer);
            Ok(answer)
        })
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
