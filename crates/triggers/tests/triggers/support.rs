//! What the tests share: records, deliveries and a stream in memory.

pub mod database;
pub mod host;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use triggers::{Backoff, Delivery, Entry, Filters, Invocation, Outcome, Poller, Position};

pub const STREAM: &str =
    "arn:aws:dynamodb:us-east-1:123456789012:table/Orders/stream/2026-11-17T00:00:00.000";
pub const FUNCTION: &str = "arn:aws:lambda:us-east-1:123456789012:function:f";
/// 2026-11-17T01:20:00Z
pub const START_MS: u64 = 1_794_878_400_000;

/// Longer than any condition takes on a busy machine: a test that waits this long has failed.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until it is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(TIMEOUT, looking).await.unwrap_or_else(|_| panic!("it never happens that {what}"));
}

/// A delivery with Lambda's defaults, and one lane.
pub fn delivery() -> Delivery {
    Delivery {
        uuid: "0a1b2c3d-0000-4000-8000-000000000001".to_owned(),
        stream_arn: STREAM.to_owned(),
        function_arn: FUNCTION.to_owned(),
        batch_size: 100,
        batching_window_ms: 0,
        lanes: 1,
        record_age_ms_max: Duration::from_secs(24 * 60 * 60).as_millis() as u64,
        retries_max: None,
        bisects: false,
        reports_item_failures: false,
        tumbling_window_ms: None,
        filters: Filters::default(),
        backoff: Backoff::default(),
    }
}

/// The record with this number, of this partition key, written at this time.
pub fn record_at(number: u64, key: u64, created_ms: u64) -> Entry {
    let json = json!({"eventName": "INSERT", "key": key,
                      "dynamodb": {"SequenceNumber": sequence_number(number)}});
    Entry {
        sequence_number: sequence_number(number),
        created_ms,
        key_hash: key,
        json: Bytes::from(json.to_string()),
    }
}

pub fn record(number: u64) -> Entry {
    record_at(number, 0, START_MS)
}

pub fn records(numbers: impl IntoIterator<Item = u64>) -> Vec<Entry> {
    numbers.into_iter().map(record).collect()
}

pub fn sequence_number(number: u64) -> String {
    format!("{number:021}")
}

/// The numbers of the records in an event.
pub fn numbers_of(event: &[u8]) -> Vec<u64> {
    let event: Value = serde_json::from_slice(event).expect("an event is JSON");
    let records = event["Records"].as_array().expect("an event has records");
    let number = |record: &Value| record["dynamodb"]["SequenceNumber"].as_str().map(|text| text.parse());
    records.iter().map(|record| number(record).expect("a number").expect("digits")).collect()
}

/// The answer that reports these records as failed.
pub fn item_failures(numbers: &[u64]) -> Outcome {
    let failures = numbers.iter().map(|number| json!({"itemIdentifier": sequence_number(*number)}));
    answer(json!({"batchItemFailures": failures.collect::<Vec<_>>()}))
}

pub fn answer(answer: Value) -> Outcome {
    Outcome::Answer(answer.to_string().into())
}

pub fn function_error() -> Outcome {
    Outcome::FunctionError("it failed".to_owned())
}

pub fn unreachable() -> Outcome {
    Outcome::Unreachable { reason: "Connection refused".to_owned(), throttled: false }
}

/// A poller with a clock that tests move by hand.
pub struct Bench {
    pub poller: Poller,
    pub now_ms: u64,
    pub failures: Vec<triggers::Failure>,
    pub wake_at_ms: Option<u64>,
}

impl Bench {
    pub fn new(delivery: Delivery) -> Bench {
        Bench::at(delivery, Position::default())
    }

    pub fn at(delivery: Delivery, position: Position) -> Bench {
        let poller = Poller::new(Arc::new(delivery), "shard-1", position, START_MS);
        Bench { poller, now_ms: START_MS, failures: Vec::new(), wake_at_ms: None }
    }

    pub fn offer(&mut self, entries: Vec<Entry>) {
        self.poller.offer(entries, self.now_ms);
    }

    /// What the poller calls now.
    pub fn calls(&mut self) -> Vec<Invocation> {
        let step = self.poller.step(self.now_ms);
        self.failures.extend(step.failures);
        self.wake_at_ms = step.wake_at_ms;
        step.invocations
    }

    /// The records of the only call that is due; empty if none is.
    pub fn call(&mut self) -> Vec<u64> {
        let calls = self.calls();
        assert!(calls.len() <= 1, "{calls:?}");
        calls.first().map(|call| numbers_of(&call.event)).unwrap_or_default()
    }

    pub fn finish(&mut self, outcome: &Outcome) {
        self.poller.finish(0, outcome, self.now_ms);
    }

    /// Moves the clock to the time that the poller asked for, and calls.
    pub fn call_later(&mut self) -> Vec<u64> {
        self.now_ms = self.wake_at_ms.expect("the poller waits for a time");
        self.call()
    }

    /// The number of the record at the position.
    pub fn position(&mut self) -> Option<u64> {
        let position = self.poller.take_position()?.sequence_number?;
        Some(position.parse().expect("digits"))
    }
}
