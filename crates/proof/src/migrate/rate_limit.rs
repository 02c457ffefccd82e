//! Keeps a job to a share of the throughput: of each table and index that it uses, as DescribeTable shows it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use api::{Capacity, ConsumedCapacity};
use serde_json::Value;
use tokio::time::Instant;

/// How much of the database a job may use.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// The part of each table's and index's units per second, up to 1.
    pub share: f64,
    /// Never more write units per second than this.
    pub write_units: f64,
}

/// What a table on demand takes at once, without earlier traffic, if it has no maximum of its own.
const ON_DEMAND_READ_UNITS: f64 = 12_000.0;
const ON_DEMAND_WRITE_UNITS: f64 = 4_000.0;

/// Units per second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    read: f64,
    write: f64,
}

/// A table, or an index of it.
type Resource = (String, Option<String>);

/// Requests take turns. Each takes as long as its units last at the rate of what it uses most, so that however many
/// segments ask, together they use no more than the rate.
pub struct RateLimit {
    rates: BTreeMap<Resource, Rate>,
    next: Cell<Instant>,
    /// How long the last read and the last write took, which the next one will take about.
    read: Cell<Duration>,
    write: Cell<Duration>,
}

/// A request that is on its way.
#[must_use]
pub struct Turn {
    is_read: bool,
    expected: Duration,
}

impl RateLimit {
    /// From the descriptions of the tables that are used.
    pub fn new(allowance: Allowance, tables: &[Value]) -> RateLimit {
        let mut rates = BTreeMap::new();
        for table in tables {
            let name = table["TableName"].as_str().unwrap_or_default().to_owned();
            rates.insert((name.clone(), None), rate(allowance, table, table));
            for index in table["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
                let index_name = index["IndexName"].as_str().unwrap_or_default().to_owned();
                rates.insert((name.clone(), Some(index_name)), rate(allowance, table, index));
            }
        }
        let still = Cell::new(Duration::ZERO);
        RateLimit { rates, next: Cell::new(Instant::now()), read: still.clone(), write: still }
    }

    /// Waits until it is this request's turn.
    pub async fn turn(&self, is_read: bool) -> Turn {
        let expected = self.expected(is_read).get();
        let begin = self.next.get().max(Instant::now());
        self.next.set(begin + expected);
        tokio::time::sleep_until(begin).await;
        Turn { is_read, expected }
    }

    /// Accounts for what the request used. Returns its read and write units.
    pub fn settle<'c>(&self, turn: Turn, used: impl IntoIterator<Item = &'c ConsumedCapacity>) -> (f64, f64) {
        let (mut units, mut took, mut is_known) = ((0.0, 0.0), 0.0_f64, false);
        for used in used {
            is_known = true;
            let name = used.table_name.clone().unwrap_or_default();
            let mut parts: Vec<(Resource, &Capacity)> = Vec::new();
            parts.extend(used.table.as_ref().map(|table| ((name.clone(), None), table)));
            let indexes = used.global_secondary_indexes.iter().flatten();
            parts.extend(indexes.map(|(index, used)| ((name.clone(), Some(index.clone())), used)));
            for (resource, used) in parts {
                let (read, write) = split(turn.is_read, used);
                units = (units.0 + read, units.1 + write);
                if let Some(rate) = self.rates.get(&resource) {
                    took = took.max(read / rate.read).max(write / rate.write);
                }
            }
        }
        if !is_known {
            // A write that was refused used something, too: as much as was expected, and it keeps its turn.
            return units;
        }
        let took = Duration::from_secs_f64(took);
        self.expected(turn.is_read).set(took);
        self.next.set((self.next.get() + took).checked_sub(turn.expected).unwrap_or_else(Instant::now));
        units
    }

    fn expected(&self, is_read: bool) -> &Cell<Duration> {
        if is_read { &self.read } else { &self.write }
    }
}

/// Read and write units of a request. A transaction names both; others are all of one kind.
fn split(is_read: bool, used: &Capacity) -> (f64, f64) {
    let all = used.capacity_units.unwrap_or(0.0);
    match (used.read_capacity_units, used.write_capacity_units, is_read) {
        (None, None, true) => (all, 0.0),
        (None, None, false) => (0.0, all),
        (read, write, _) => (read.unwrap_or(0.0), write.unwrap_or(0.0)),
    }
}

fn rate(allowance: Allowance, table: &Value, resource: &Value) -> Rate {
    let provisioned = |member: &str| resource["ProvisionedThroughput"][member].as_f64();
    let maximum = |member: &str| resource["OnDemandThroughput"][member].as_f64().filter(|units| *units > 0.0);
    let is_on_demand = table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST";
    let (read, write) = match is_on_demand {
        true => (
            maximum("MaxReadRequestUnits").unwrap_or(ON_DEMAND_READ_UNITS),
            maximum("MaxWriteRequestUnits").unwrap_or(ON_DEMAND_WRITE_UNITS),
        ),
        false => (
            provisioned("ReadCapacityUnits").unwrap_or(1.0),
            provisioned("WriteCapacityUnits").unwrap_or(1.0),
        ),
    };
    let part = |units: f64| (units * allowance.share).max(f64::MIN_POSITIVE);
    Rate { read: part(read), write: part(write).min(allowance.write_units) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn used(table: f64, index: f64) -> ConsumedCapacity {
        let capacity = |units| Capacity { capacity_units: Some(units), ..Capacity::default() };
        ConsumedCapacity {
            table_name: Some("T".to_owned()),
            table: Some(capacity(table)),
            global_secondary_indexes: Some([("G".to_owned(), capacity(index))].into()),
            ..ConsumedCapacity::default()
        }
    }

    async fn seconds(limit: &RateLimit, requests: usize, used: ConsumedCapacity) -> f64 {
        let began = Instant::now();
        for _ in 0..requests {
            let turn = limit.turn(false).await;
            limit.settle(turn, [&used]);
        }
        // The units of the last request are paid for before the next.
        let _ = limit.turn(false).await;
        began.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn writes_take_the_time_that_a_share_of_the_scarcest_capacity_takes() {
        let throughput = |units: u64| json!({ "ReadCapacityUnits": 1000, "WriteCapacityUnits": units });
        let index = json!({ "IndexName": "G", "ProvisionedThroughput": throughput(40) });
        let table = json!({ "TableName": "T", "ProvisionedThroughput": throughput(1000),
            "GlobalSecondaryIndexes": [index] });
        let allowance = Allowance { share: 0.25, write_units: 500.0 };
        let limit = || RateLimit::new(allowance, std::slice::from_ref(&table));
        // 250 units of the table each second.
        assert!((seconds(&limit(), 100, used(5.0, 0.0)).await - 2.0).abs() < 0.01);
        // 10 of the index.
        assert!((seconds(&limit(), 100, used(5.0, 1.0)).await - 10.0).abs() < 0.01);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_write_takes_its_turn() {
        let table = json!({ "TableName": "T", "BillingModeSummary": { "BillingMode": "PAY_PER_REQUEST" } });
        let limit = RateLimit::new(Allowance { share: 1.0, write_units: 10.0 }, &[table]);
        let turn = limit.turn(false).await;
        limit.settle(turn, [&used(1.0, 0.0)]);
        let began = Instant::now();
        for _ in 0..10 {
            let turn = limit.turn(false).await;
            limit.settle(turn, []);
        }
        let took = began.elapsed().as_secs_f64();
        assert!((0.9..1.2).contains(&took), "ten writes at ten each second take {took} s");
    }

    #[tokio::test(start_paused = true)]
    async fn segments_share_one_rate_limit() {
        let table = json!({ "TableName": "T", "BillingModeSummary": { "BillingMode": "PAY_PER_REQUEST" } });
        let limit = RateLimit::new(Allowance { share: 1.0, write_units: 100.0 }, &[table]);
        let began = Instant::now();
        let segments = (0..8).map(|_| seconds(&limit, 50, used(1.0, 0.0)));
        futures_util::future::join_all(segments).await;
        let took = began.elapsed().as_secs_f64();
        assert!((3.9..4.2).contains(&took), "400 units at 100 each second take {took} s");
    }
}
