//! What AWS does beyond a table's own limits, met by requests in simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use engine::{Access, Ending, Enforcement, Observer, PartUsed, RequestDone};
use serde_json::{Value, json};

use crate::database::{Database, Failure};

/// Keys of which no two are in the same sixty-fourth of all hashes.
const KEYS: usize = 64;

/// What requests reported.
#[derive(Default)]
struct Seen {
    parts: Mutex<Vec<String>>,
    requests: Mutex<Vec<String>>,
    hashes: Mutex<BTreeMap<String, u64>>,
}

impl Observer for Seen {
    fn part(&self, part: &PartUsed<'_>) {
        let place = part.index_name().unwrap_or(part.table_name()).to_owned();
        let access = if part.access == Access::Read { "read" } else { "write" };
        let limit = part.limit.map_or(String::new(), |limit| format!(" {}", limit.as_str()));
        let refused = if part.is_refused { " refused" } else { "" };
        let mut key = Vec::new();
        if let Some(item) = part.key() {
            item::json::write_item(item.as_ref(), &mut key);
        }
        let key: Value = serde_json::from_slice(&key).unwrap_or_default();
        if let (Some(p), Some(hash)) = (key["p"]["S"].as_str(), part.key_hash) {
            self.hashes.lock().unwrap().insert(p.to_owned(), hash);
        }
        self.parts.lock().unwrap().push(format!("{place} {access} {}{limit}{refused} {key}", part.units));
    }

    fn request(&self, request: &RequestDone<'_>) {
        let returned = request.returned_items.map_or(String::new(), |count| format!(" {count}"));
        let (operation, ending) = (request.operation, request.ending);
        let ending = if ending == Ending::Served { String::new() } else { format!(" {ending:?}") };
        self.requests
            .lock()
            .unwrap()
            .push(format!("{operation:?} {}{returned}{ending}", request.table_name()));
    }
}

fn key(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "1"}})
}

async fn table(database: &Database, throughput: Value) {
    let mut input = json!({
        "TableName": "Table",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "p", "AttributeType": "S"}, {"AttributeName": "s", "AttributeType": "S"},
        ],
    });
    input.as_object_mut().unwrap().extend(throughput.as_object().unwrap().clone());
    database.ok("CreateTable", input).await;
}

fn provisioned(read: u64, write: u64) -> Value {
    json!({"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}})
}

fn on_demand() -> Value {
    json!({"BillingMode": "PAY_PER_REQUEST"})
}

/// A database as AWS throttles it, with items of 100 write units and 25 read units under keys that are spread
/// evenly over the hashes, in the order of their hashes. Nothing is used of its throughput.
async fn database(throughput: Value) -> (Database, Vec<String>) {
    let database = Database::with_capacity(Enforcement::Aws).await;
    table(&database, throughput).await;
    let seen = Arc::new(Seen::default());
    database.engine.usage().observe(seen.clone());
    let mut keys: BTreeMap<u64, String> = BTreeMap::new();
    for number in 0.. {
        let name = format!("key {number}");
        let _ = database.call("DeleteItem", json!({"TableName": "Table", "Key": key(&name)})).await;
        let hash = seen.hashes.lock().unwrap()[&name];
        keys.entry(hash / (u64::MAX / KEYS as u64 + 1)).or_insert(name);
        if keys.len() == KEYS {
            break;
        }
        database.pass_ms(1);
    }
    for name in keys.values() {
        database.pass_ms(60_000);
        database.put(json!({"p": {"S": name}, "s": {"S": "1"}, "v": {"S": "v".repeat(102_000)}})).await;
    }
    database.pass_ms(3_600_000);
    (database, keys.into_values().collect())
}

/// How many requests were served and throttled, and why.
#[derive(Debug, Default)]
struct Tally {
    served: usize,
    throttled: usize,
    reasons: BTreeSet<String>,
}

impl Tally {
    fn add(&mut self, result: Result<Value, Failure>) {
        match result {
            Ok(_) => self.served += 1,
            Err(failure) => {
                self.throttled += 1;
                let reasons = failure.throttling.as_array().unwrap_or_else(|| panic!("{failure:?}"));
                self.reasons.extend(reasons.iter().map(|it| it["reason"].as_str().unwrap().to_owned()));
            }
        }
    }

    fn reasons(&self) -> Vec<&str> {
        self.reasons.iter().map(String::as_str).collect()
    }
}

/// Uses 100 write units of a key's item.
async fn write(database: &Database, name: &str) -> Result<Value, Failure> {
    let update = json!({"n": {"Action": "PUT", "Value": {"N": "1"}}});
    database
        .call("UpdateItem", json!({"TableName": "Table", "Key": key(name), "AttributeUpdates": update}))
        .await
}

/// Uses 25 read units of a key's item.
async fn read(database: &Database, name: &str) -> Result<Value, Failure> {
    let input = json!({
        "TableName": "Table", "KeyConditionExpression": "p = :p", "Select": "COUNT", "ConsistentRead": true,
        "ExpressionAttributeValues": {":p": {"S": name}},
    });
    database.call("Query", input).await
}

/// Reads all keys in turn, for some seconds, `a_second` times per second.
async fn read_evenly(database: &Database, keys: &[String], a_second: usize, seconds: usize) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..seconds {
        for number in 0..a_second {
            tally.add(read(database, &keys[number % KEYS]).await);
        }
        database.pass_ms(1_000);
    }
    tally
}

#[tokio::test]
async fn a_key_is_throttled_at_1000_writes_while_its_table_is_at_40_percent() {
    let (database, keys) = database(provisioned(100, 4_000)).await;
    let (mut hot, mut others) = (Tally::default(), Tally::default());
    for second in 0..60 {
        // 1,600 of 4,000 units: 12 requests for the hot key and 4 for others, far from it.
        for _ in 0..12 {
            hot.add(write(&database, &keys[0]).await);
        }
        for number in 0..4 {
            others.add(write(&database, &keys[32 + (second + number * 8) % 32]).await);
        }
        database.pass_ms(1_000);
    }
    assert_eq!((others.served, others.throttled), (240, 0));
    assert_eq!(hot.reasons(), ["TableWriteKeyRangeThroughputExceeded"]);
    assert_eq!((hot.served, hot.throttled), (600, 120), "10 requests of 100 units each second");
}

#[tokio::test]
async fn five_minutes_are_saved_up_and_not_one_unit_more() {
    let (database, keys) = database(provisioned(100, 2)).await;
    for idle_ms in [0, 300_000, 3_600_000] {
        database.pass_ms(idle_ms);
        let mut tally = Tally::default();
        // 600 units are six requests.
        for number in 0..10 {
            tally.add(write(&database, &keys[number * 6]).await);
        }
        assert_eq!((tally.served, tally.throttled), (6, 4), "after {idle_ms} ms");
        assert_eq!(tally.reasons(), ["TableWriteProvisionedThroughputExceeded"]);
        database.pass_ms(300_000);
    }
}

#[tokio::test]
async fn an_uneven_table_is_served_up_to_what_its_partitions_sustain() {
    let (database, keys) = database(provisioned(100, 4_000)).await;
    // All traffic is for one eighth of the hashes. Its even share would be 500 units.
    let mut tally = Tally::default();
    for _ in 0..10 {
        for number in 0..10 {
            tally.add(write(&database, &keys[number % 8]).await);
        }
        database.pass_ms(1_000);
    }
    assert_eq!((tally.served, tally.throttled), (100, 0), "{tally:?}");
    // Two seconds' worth in one second is too much for it.
    for number in 0..20 {
        tally.add(write(&database, &keys[number % 8]).await);
    }
    assert_eq!((tally.served, tally.throttled), (110, 10));
    assert_eq!(tally.reasons(), ["TableWriteKeyRangeThroughputExceeded"]);
}

#[tokio::test]
async fn an_on_demand_table_doubles_its_peak_in_half_an_hour_and_not_before() {
    let (database, keys) = database(on_demand()).await;
    // A tenfold spike on 12,000 units: one second's worth is served.
    let spike = read_evenly(&database, &keys, 4_800, 1).await;
    assert_eq!(spike.reasons(), ["TableReadKeyRangeThroughputExceeded"]);
    assert_eq!(spike.served, 480);
    // A minute at 11,200 units is a new peak.
    database.pass_ms(120_000 - database.engine.usage().now().ms % 60_000);
    let peak = read_evenly(&database, &keys, 448, 60).await;
    assert_eq!(peak.throttled, 0, "{peak:?}");
    let early = read_evenly(&database, &keys, 896, 2).await;
    assert!(early.throttled > 700, "{early:?}");
    database.pass_ms(31 * 60_000);
    let doubled = read_evenly(&database, &keys, 896, 5).await;
    assert_eq!(doubled.throttled, 0, "{doubled:?}");
    let beyond = read_evenly(&database, &keys, 1_792, 2).await;
    assert!(beyond.throttled > 1_000, "{beyond:?}");
}

#[tokio::test]
async fn in_shadow_all_is_served_and_what_aws_would_refuse_is_reported() {
    let database = Database::with_capacity(Enforcement::Shadow).await;
    table(&database, provisioned(1, 1)).await;
    let seen = Arc::new(Seen::default());
    database.engine.usage().observe(seen.clone());
    database.put(json!({"p": {"S": "a"}, "s": {"S": "1"}, "v": {"S": "v".repeat(390_000)}})).await;
    database.put(key("b")).await;
    assert_eq!(
        *seen.parts.lock().unwrap(),
        [
            r#"Table write 381 {"p":{"S":"a"},"s":{"S":"1"}}"#,
            r#"Table write 1 ProvisionedThroughputExceeded {"p":{"S":"b"},"s":{"S":"1"}}"#,
        ]
    );
}

#[tokio::test]
async fn every_request_reports_what_it_used_and_how_it_ended() {
    let database = Database::with_capacity(Enforcement::Declared).await;
    database.with_table("Table").await;
    let index = json!({
        "IndexName": "byG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    });
    let definitions = json!([{"AttributeName": "g", "AttributeType": "S"}]);
    let update = json!({"TableName": "Table", "AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": index}]});
    database.ok("UpdateTable", update).await;
    database.until("byG", Some("ACTIVE")).await;
    let seen = Arc::new(Seen::default());
    database.engine.usage().observe(seen.clone());
    let item = json!({"p": {"S": "a"}, "s": {"S": "1"}, "g": {"S": "x"}});
    let put = |condition: &str| json!({"TableName": "Table", "Item": item, "ConditionExpression": condition});
    let query = json!({
        "TableName": "Table", "IndexName": "byG", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "x"}},
    });
    let check = json!({"ConditionCheck": {"TableName": "Table", "Key": key("a"), "ConditionExpression": "attribute_exists(p)"}});
    let maximum = json!({"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 1});
    let requests = [
        ("PutItem", put("attribute_not_exists(p)")),
        ("PutItem", put("attribute_not_exists(p)")),
        ("GetItem", json!({"TableName": "Table", "Key": key("none")})),
        ("Query", query),
        ("Scan", json!({"TableName": "Table"})),
        ("TransactWriteItems", json!({"TransactItems": [check]})),
        ("ExecuteStatement", json!({"Statement": "DELETE FROM \"Table\" WHERE p = 'b' AND s = '1'"})),
        ("UpdateTable", json!({"TableName": "Table", "OnDemandThroughput": maximum})),
        ("BatchGetItem", json!({"RequestItems": {"Table": {"Keys": [key("a")], "ConsistentRead": true}}})),
        ("BatchGetItem", json!({"RequestItems": {"Table": {"Keys": [key("a")]}}})),
    ];
    for (operation, input) in requests {
        let _ = database.call(operation, input).await;
    }
    let a = r#"{"p":{"S":"a"},"s":{"S":"1"}}"#;
    assert_eq!(
        *seen.parts.lock().unwrap(),
        [
            format!("Table write 1 {a}"),
            r#"byG write 1 {"g":{"S":"x"}}"#.to_owned(),
            format!("Table write 1 {a}"),
            r#"Table read 0.5 {"p":{"S":"none"},"s":{"S":"1"}}"#.to_owned(),
            r#"byG read 0.5 {"g":{"S":"x"}}"#.to_owned(),
            "Table read 2 null".to_owned(),
            format!("Table write 2 {a}"),
            r#"Table write 1 {"p":{"S":"b"},"s":{"S":"1"}}"#.to_owned(),
            format!("Table read 1 {a}"),
            format!("Table read 0 MaxOnDemandThroughputExceeded refused {a}"),
        ]
    );
    assert_eq!(
        *seen.requests.lock().unwrap(),
        [
            "PutItem Table",
            "PutItem Table ConditionFailed",
            "GetItem Table 0",
            "Query Table 1",
            "Scan Table 1",
            "TransactWriteItems Table",
            "ExecuteStatement Table",
            "BatchGetItem Table",
            "BatchGetItem Table Throttled",
        ]
    );
}
