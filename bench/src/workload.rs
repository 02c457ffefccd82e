//! What is asked of the contenders: the requests of each workload, and how a right reply looks.
//!
//! A workload's requests are made beforehand. They are walked in a shuffled order that never draws an order
//! twice before all were drawn: so that no write repeats what is stored, and no two transactions in flight
//! want the same order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde_json::Value;

use crate::data::{Data, INDEX, QUERY_ITEMS, TABLE};
use crate::request::encode_as;

pub const BATCH_ITEMS: usize = 25;
const TRANSACTION_ITEMS: usize = 4;
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
    /// What it is called in tables.
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

    /// The name for it on the command line and in the requests' `User-Agent`.
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

    /// Finished requests that together touch every item, in a shuffled order.
    pub fn requests(self, data: Data) -> Requests {
        let bodies = self.bodies(data);
        let agent = self.slug();
        let finished = bodies.iter().map(|body| encode_as(&agent, self.operation(), body)).collect();
        Requests { finished, next: Arc::default() }
    }

    fn bodies(self, data: Data) -> Vec<String> {
        let numbers = || shuffled(data.items());
        // Every order in one edition, then every order in the next.
        let editions = || (1..=EDITIONS).flat_map(|edition| numbers().into_iter().map(move |n| (n, edition)));
        let put = |(number, edition)| data.item(number, edition);
        match self {
            Workload::Get => numbers().iter().map(|&n| get(&data.key(n), false)).collect(),
            Workload::ConsistentGet => numbers().iter().map(|&n| get(&data.key(n), true)).collect(),
            Workload::Query => {
                shuffled(data.customers()).iter().map(|&n| query(&data.customer(n * QUERY_ITEMS))).collect()
            }
            Workload::IndexQuery => {
                shuffled(data.customers()).iter().map(|&n| query_index(&data.product(n))).collect()
            }
            Workload::Put => editions().map(|order| self::put(&put(order))).collect(),
            Workload::ConditionalPut => editions().map(|order| conditional_put(&put(order))).collect(),
            Workload::Update => numbers().iter().map(|&n| update(&data.key(n))).collect(),
            Workload::Transaction => chunks(editions().map(put).collect(), TRANSACTION_ITEMS, transaction),
            Workload::Batch => chunks(editions().map(put).collect(), BATCH_ITEMS, batch),
            Workload::Load => {
                let new = numbers().into_iter().map(|number| data.item(number, 0)).collect();
                chunks(new, BATCH_ITEMS, batch)
            }
        }
    }

    /// Whether a reply says what it must.
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

    /// Called for every reply of status 200, so it does not parse: what is left to do of a batch.
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

/// The requests of a workload and how far they are walked. A clone walks on from the same place.
#[derive(Clone)]
pub struct Requests {
    finished: Arc<[Vec<u8>]>,
    next: Arc<AtomicUsize>,
}

impl Requests {
    pub fn next(&self) -> &[u8] {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        &self.finished[place % self.finished.len()]
    }

    /// Whether each was taken at least once.
    pub fn walked(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.finished.len()
    }

    /// The same requests, walked from the start by somebody else.
    pub fn afresh(&self) -> Requests {
        Requests { finished: self.finished.clone(), next: Arc::default() }
    }
}

/// A `BatchWriteItem` body that puts items.
pub fn batch(items: &[String]) -> String {
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

fn chunks(items: Vec<String>, size: usize, request: fn(&[String]) -> String) -> Vec<String> {
    items.chunks(size).map(request).collect()
}

fn shuffled(count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).collect();
    fastrand::Rng::with_seed(count).shuffle(&mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_json_of_its_operation() {
        let data = Data::new(200);
        for &workload in Workload::value_variants() {
            for body in workload.bodies(data) {
                assert!(serde_json::from_str::<Value>(&body).is_ok(), "{body}");
            }
        }
    }

    #[test]
    fn a_write_is_never_of_what_the_last_write_of_that_item_stored() {
        let data = Data::new(100);
        let bodies = Workload::Put.bodies(data);
        let mut distinct = bodies.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!((bodies.len(), distinct.len()), (200, 200));
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
