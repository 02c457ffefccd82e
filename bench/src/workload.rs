//! The requests of each workload, and what a correct reply is.
//!
//! A request follows from its position in the walk. The walk jumps about and touches every item once before it
//! touches one again, so that no write repeats what is stored, and no two transactions in flight touch the
//! same item.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde_json::Value;

use crate::data::{Data, INDEX, QUERY_ITEMS, TABLE};
use crate::protocol::Protocol;
use crate::request::encode_as;

const BATCH_ITEMS: u64 = 25;
const TRANSACTION_ITEMS: u64 = 4;
/// Writing these in turn changes an order each time.
const EDITIONS: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Workload {
    /// BatchWriteItem of 25 new items into an empty table
    Load,
    /// GetItem
    Get,
    /// GetItem with a consistent read
    ConsistentGet,
    /// Query of the 20 items of a partition
    Query,
    /// Query of 20 items through the index
    IndexQuery,
    /// PutItem, replacing an item and its index row
    Put,
    /// PutItem on a condition that holds
    ConditionalPut,
    /// UpdateItem that adds to a number
    Update,
    /// TransactWriteItems of 4 puts
    Transaction,
    /// BatchWriteItem of 25 puts
    Batch,
}

impl Workload {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Workload::Load => "load in batches of 25",
            Workload::Get => "get",
            Workload::ConsistentGet => "consistent get",
            Workload::Query => "query of 20",
            Workload::IndexQuery => "index query of 20",
            Workload::Put => "put",
            Workload::ConditionalPut => "conditional put",
            Workload::Update => "update",
            Workload::Transaction => "transaction of 4 puts",
            Workload::Batch => "batch of 25 puts",
        }
    }

    /// Its name on the command line and in the requests' `User-Agent`.
    pub fn slug(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn operation(self) -> &'static str {
        match self {
            Workload::Get | Workload::ConsistentGet => "GetItem",
            Workload::Query | Workload::IndexQuery => "Query",
            Workload::Put | Workload::ConditionalPut => "PutItem",
            Workload::Update => "UpdateItem",
            Workload::Transaction => "TransactWriteItems",
            Workload::Load | Workload::Batch => "BatchWriteItem",
        }
    }

    /// How many items one request touches.
    fn size(self) -> u64 {
        match self {
            Workload::Load | Workload::Batch => BATCH_ITEMS,
            Workload::Transaction => TRANSACTION_ITEMS,
            Workload::Query | Workload::IndexQuery => QUERY_ITEMS,
            _ => 1,
        }
    }

    /// The number of requests after which every item was touched once.
    fn lap(self, data: Data) -> u64 {
        data.items() / self.size()
    }

    /// What the request at a place is about.
    pub fn touched(self, data: Data, place: u64) -> Touched {
        let (lap, place) = (place / self.lap(data), place % self.lap(data));
        let places = (place * self.size()..).take(self.size() as usize);
        Touched {
            number: stride(place, self.lap(data)),
            edition: self as u64 * EDITIONS + lap % EDITIONS,
            numbers: places.map(|place| stride(place, data.items())).collect(),
        }
    }

    /// The request at a place of the walk.
    pub fn request(self, data: Data, place: u64) -> Vec<u8> {
        encode_as(&self.slug(), self.operation(), &self.body(data, place))
    }

    fn body(self, data: Data, place: u64) -> String {
        let Touched { number, edition, numbers } = self.touched(data, place);
        let items = || numbers.iter().map(|&number| data.item(number, edition)).collect::<Vec<_>>();
        match self {
            Workload::Get => get(&data.key(number), false),
            Workload::ConsistentGet => get(&data.key(number), true),
            Workload::Query => query(&data.customer(number * QUERY_ITEMS)),
            Workload::IndexQuery => query_index(&data.product(number)),
            Workload::Put => put(&data.item(number, edition)),
            Workload::ConditionalPut => conditional_put(&data.item(number, edition)),
            Workload::Update => update(&data.key(number)),
            Workload::Transaction => transaction(&items()),
            Workload::Load | Workload::Batch => batch(&items()),
        }
    }

    /// How many items a correct reply has; `None` if it has none.
    pub fn items_read(self) -> Option<usize> {
        match self {
            Workload::Get | Workload::ConsistentGet => Some(1),
            Workload::Query | Workload::IndexQuery => Some(QUERY_ITEMS as usize),
            _ => None,
        }
    }

    /// Whether a reply of DynamoDB is correct.
    pub fn check(self, status: u16, body: &[u8]) -> Result<()> {
        ensure!(status == 200, "{status}: {}", String::from_utf8_lossy(body));
        let reply: Value = serde_json::from_slice(body)?;
        match self {
            Workload::Get | Workload::ConsistentGet => {
                let attributes = reply["Item"].as_object().map_or(0, serde_json::Map::len);
                ensure!(attributes == 10, "an item of {attributes} attributes instead of 10");
            }
            Workload::Query | Workload::IndexQuery => {
                let items = reply["Items"].as_array().map_or(0, Vec::len);
                ensure!(items as u64 == QUERY_ITEMS, "{items} items instead of {QUERY_ITEMS}");
            }
            Workload::Load | Workload::Batch => {
                ensure!(unprocessed(&reply).is_none(), "items of the batch were left unprocessed");
            }
            Workload::Put | Workload::ConditionalPut | Workload::Update | Workload::Transaction => {}
        }
        Ok(())
    }

    /// The unprocessed rest of a batch. Called for every reply of status 200, so it does not parse JSON.
    pub fn left_over(self, body: &[u8]) -> Option<Vec<u8>> {
        let batch = matches!(self, Workload::Load | Workload::Batch);
        if !batch || body.ends_with(br#""UnprocessedItems":{}}"#) {
            return None;
        }
        let reply: Value = serde_json::from_slice(body).ok()?;
        let again = serde_json::json!({"RequestItems": unprocessed(&reply)?});
        Some(encode_as(&self.slug(), self.operation(), &again.to_string()))
    }
}

/// What a request is about.
pub struct Touched {
    /// The order, or the customer or product for a query.
    pub number: u64,
    /// Another than in the lap before, and than in any other workload.
    pub edition: u64,
    /// The orders, for a request that writes several.
    pub numbers: Vec<u64>,
}

/// Where requests come from. Clones share their position.
pub trait Source: Clone + Send + Sync + 'static {
    fn next(&self) -> (Workload, Cow<'_, [u8]>);

    /// Whether every item was touched.
    fn is_walked(&self) -> bool;
}

/// The requests of a workload and the position in its walk.
#[derive(Clone)]
pub struct Requests {
    protocol: Protocol,
    workload: Workload,
    data: Data,
    finished: Arc<[Vec<u8>]>,
    next: Arc<AtomicU64>,
}

impl Requests {
    /// Made one by one when they are sent: for tables so large that their requests would fill the memory.
    pub fn of(workload: Workload, data: Data) -> Requests {
        let protocol = Protocol::DynamoDb;
        Requests { protocol, workload, data, finished: Arc::default(), next: Arc::default() }
    }

    /// Made in advance; none if the protocol has no counterpart of the workload.
    pub fn finished(protocol: Protocol, workload: Workload, data: Data) -> Requests {
        let places = 0..EDITIONS * workload.lap(data);
        let finished = places.filter_map(|place| protocol.request(workload, data, place)).collect();
        Requests { protocol, finished, ..Requests::of(workload, data) }
    }

    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How many items were touched so far; some may count several times.
    pub fn items_touched(&self) -> u64 {
        self.next.load(Ordering::Relaxed) * self.workload.size()
    }

    /// The same requests with a position of their own, at the start.
    pub fn restarted(&self) -> Requests {
        Requests { next: Arc::default(), ..self.clone() }
    }
}

impl Source for Requests {
    fn next(&self) -> (Workload, Cow<'_, [u8]>) {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let request = match self.finished.len() as u64 {
            0 => self.workload.request(self.data, place).into(),
            count => self.finished[(place % count) as usize].as_slice().into(),
        };
        (self.workload, request)
    }

    fn is_walked(&self) -> bool {
        self.items_touched() >= self.data.items()
    }
}

/// Several workloads in turn.
#[derive(Clone)]
pub struct Mix {
    turns: Arc<[Requests]>,
    next: Arc<AtomicUsize>,
}

impl Mix {
    /// A workload that is named twice is sent twice as often.
    pub fn of(workloads: &[Workload], data: Data) -> Mix {
        let turns = workloads.iter().map(|&workload| Requests::of(workload, data)).collect();
        Mix { turns, next: Arc::default() }
    }
}

impl Source for Mix {
    fn next(&self) -> (Workload, Cow<'_, [u8]>) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.turns.len();
        self.turns[turn].next()
    }

    fn is_walked(&self) -> bool {
        self.turns.iter().all(Source::is_walked)
    }
}

/// A `BatchWriteItem` body that puts items.
fn batch(items: &[String]) -> String {
    let puts: Vec<String> =
        items.iter().map(|item| format!(r#"{{"PutRequest":{{"Item":{item}}}}}"#)).collect();
    format!(r#"{{"RequestItems":{{"{TABLE}":[{}]}}}}"#, puts.join(","))
}

fn unprocessed(reply: &Value) -> Option<&Value> {
    reply.get("UnprocessedItems").filter(|left| left.as_object().is_some_and(|left| !left.is_empty()))
}

fn get(key: &str, consistent: bool) -> String {
    let consistent = if consistent { r#","ConsistentRead":true"# } else { "" };
    format!(r#"{{"TableName":"{TABLE}","Key":{key}{consistent}}}"#)
}

fn query(customer: &str) -> String {
    format!(
        r#"{{"TableName":"{TABLE}","KeyConditionExpression":"customer = :customer","ExpressionAttributeValues":{{":customer":{{"S":"{customer}"}}}}}}"#
    )
}

fn query_index(product: &str) -> String {
    format!(
        r#"{{"TableName":"{TABLE}","IndexName":"{INDEX}","KeyConditionExpression":"product = :product","ExpressionAttributeValues":{{":product":{{"S":"{product}"}}}}}}"#
    )
}

fn put(item: &str) -> String {
    format!(r#"{{"TableName":"{TABLE}","Item":{item}}}"#)
}

fn conditional_put(item: &str) -> String {
    format!(
        r##"{{"TableName":"{TABLE}","Item":{item},"ConditionExpression":"attribute_exists(customer) AND #state = :shipped","ExpressionAttributeNames":{{"#state":"state"}},"ExpressionAttributeValues":{{":shipped":{{"S":"SHIPPED"}}}}}}"##
    )
}

fn update(key: &str) -> String {
    format!(
        r#"{{"TableName":"{TABLE}","Key":{key},"UpdateExpression":"SET amount = amount + :one","ExpressionAttributeValues":{{":one":{{"N":"1"}}}}}}"#
    )
}

/// Without a client request token: with one, a repeated request would be answered without being done.
fn transaction(items: &[String]) -> String {
    let puts: Vec<String> =
        items.iter().map(|item| format!(r#"{{"Put":{{"TableName":"{TABLE}","Item":{item}}}}}"#)).collect();
    format!(r#"{{"TransactItems":[{}]}}"#, puts.join(","))
}

/// Jumps about in `0..count`: positions in that range map to each number once.
fn stride(place: u64, count: u64) -> u64 {
    /// A prime, and so without a common divisor with any count but its own multiples.
    const STEP: u64 = 7_368_787;
    place * STEP % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_json() {
        for &workload in Workload::value_variants() {
            let body = workload.body(Data::new(200), 3);
            assert!(serde_json::from_str::<Value>(&body).is_ok(), "{body}");
        }
    }

    #[test]
    fn a_lap_writes_every_item_once_and_the_next_lap_something_else() {
        let data = Data::new(300);
        for workload in [Workload::Put, Workload::Transaction, Workload::Batch] {
            let written = |lap: u64| {
                let places = lap * workload.lap(data)..(lap + 1) * workload.lap(data);
                let bodies: String = places.map(|place| workload.body(data, place)).collect();
                let mut items: Vec<String> =
                    bodies.split(r#"{"customer""#).skip(1).map(|item| item[..190].to_owned()).collect();
                items.sort();
                items.dedup();
                items
            };
            let (first, second) = (written(0), written(1));
            assert_eq!(first.len(), 300, "{workload:?}");
            assert!(first.iter().zip(&second).all(|(first, second)| first != second), "{workload:?}");
        }
    }

    #[test]
    fn finished_requests_are_those_that_would_be_made() {
        let data = Data::new(100);
        let made = Requests::of(Workload::Put, data);
        let finished = Requests::finished(Protocol::DynamoDb, Workload::Put, data);
        assert!((0..2 * data.items()).all(|_| made.next() == finished.next()));
        assert!(finished.is_walked() && !finished.restarted().is_walked());
    }

    #[test]
    fn what_a_batch_left_unprocessed_is_sent_again() {
        let left = br#"{"UnprocessedItems":{"Orders":[{"PutRequest":{"Item":{}}}]}}"#;
        let again = String::from_utf8(Workload::Batch.left_over(left).unwrap()).unwrap();
        assert!(again.ends_with(r#"{"RequestItems":{"Orders":[{"PutRequest":{"Item":{}}}]}}"#), "{again}");
        assert!(Workload::Batch.check(200, left).is_err());

        for done in [&br#"{"UnprocessedItems":{}}"#[..], br#"{ "UnprocessedItems": {} }"#, b"{}"] {
            assert_eq!(Workload::Batch.left_over(done), None);
            assert!(Workload::Batch.check(200, done).is_ok());
        }
    }

    #[test]
    fn a_reply_that_lacks_items_is_wrong() {
        assert!(Workload::Query.check(200, br#"{"Items":[],"Count":0}"#).is_err());
        assert!(Workload::Get.check(200, b"{}").is_err());
        assert!(Workload::Put.check(200, b"{}").is_ok());
        assert!(Workload::Put.check(400, b"{}").is_err());
    }
}
