//! A dry run says what the write right after it does: the same units of the table and of each index, or the same error.
//! It leaves no trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::{Response, TransactWriteItemsOutput};
use engine::{DryRun, Enforcement, Observer, PartUsed, RequestDone, RowChange};
use serde_json::{Value, json};

use crate::database::{Database, Failure, on_every_store};

/// `Table` (p, s) with the global indexes `ByG` (g), which includes `x`, and `ByN` (n, a number), which has keys only, and
/// the local index `ByL` (p, l), which has everything.
async fn with_indexes(database: &Database) {
    let definition = |(name, kind): (&str, &str)| json!({"AttributeName": name, "AttributeType": kind});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let index = |name: &str, keys: Value, projection: Value| json!({"IndexName": name, "KeySchema": keys, "Projection": projection});
    database
        .ok(
            "CreateTable",
            json!({
                "TableName": "Table", "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [key("p", "HASH"), key("s", "RANGE")],
                "AttributeDefinitions":
                    ([("p", "S"), ("s", "S"), ("g", "S"), ("n", "N"), ("l", "S")].map(definition)),
                "GlobalSecondaryIndexes": [
                    index("ByG", json!([key("g", "HASH")]), json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]})),
                    index("ByN", json!([key("n", "HASH")]), json!({"ProjectionType": "KEYS_ONLY"})),
                ],
                "LocalSecondaryIndexes": [
                    index("ByL", json!([key("p", "HASH"), key("l", "RANGE")]), json!({"ProjectionType": "ALL"})),
                ],
            }),
        )
        .await;
}

fn key(p: &str) -> Value {
    json!({"p": {"S": p}, "s": {"S": "1"}})
}

/// An item with more string attributes.
fn item(p: &str, attributes: &[(&str, &str)]) -> Value {
    let mut item = key(p);
    for (name, value) in attributes {
        item[*name] = json!({"S": value});
    }
    item
}

fn put(item: &Value) -> Value {
    json!({"TableName": "Table", "Item": item})
}

fn update(p: &str, expression: &str, values: Value) -> Value {
    let mut update = json!({"TableName": "Table", "Key": key(p), "UpdateExpression": expression});
    if !values.is_null() {
        update["ExpressionAttributeValues"] = values;
    }
    update
}

fn delete(p: &str) -> Value {
    json!({"TableName": "Table", "Key": key(p)})
}

/// The ConsumedCapacity of each table, as an answer has it.
fn shown(dry_run: &DryRun) -> Value {
    let consumed_capacity = Some(dry_run.consumed_capacity.clone());
    let output = TransactWriteItemsOutput { consumed_capacity, ..TransactWriteItemsOutput::default() };
    let mut json = Vec::new();
    Response::TransactWriteItems(Box::new(output)).write_json(&mut json);
    serde_json::from_slice::<Value>(&json).unwrap()["ConsumedCapacity"].take()
}

/// Runs dry, then writes, and compares the two.
async fn check(database: &Database, operation: &str, mut input: Value) -> Result<DryRun, Failure> {
    input["ReturnConsumedCapacity"] = json!("INDEXES");
    let dry_run = database.dry_run(operation, input.clone()).await;
    let answer = database.call(operation, input.clone()).await;
    match (&dry_run, answer) {
        (Ok(dry_run), Ok(mut answer)) => {
            let consumed = answer["ConsumedCapacity"].take();
            let consumed = if consumed.is_array() { consumed } else { json!([consumed]) };
            assert_eq!(shown(dry_run), consumed, "{operation} {input}");
        }
        (Err(foreseen), Err(failure)) => assert_eq!(*foreseen, failure, "{operation} {input}"),
        (dry_run, answer) => panic!("{operation} {input}: {dry_run:?}, and then {answer:?}"),
    }
    dry_run
}

/// What happens in each index.
fn changes(dry_run: &DryRun) -> Vec<(&str, &'static str)> {
    let named = |change: &RowChange| match change {
        RowChange::None => "nothing",
        RowChange::Enter(_) => "put",
        RowChange::Leave(_) => "delete",
        RowChange::Replace { .. } => "update",
        RowChange::Move { .. } => "move",
    };
    dry_run.index_changes.iter().map(|one| (one.index.as_str(), named(&one.change))).collect()
}

on_every_store! {
    async fn a_dry_run_has_the_units_of_the_write_that_follows(database) {
        with_indexes(database).await;
        let long = "x".repeat(2500);
        let cases = [
            ("PutItem", put(&item("a", &[])), vec![]),
            ("PutItem", put(&item("a", &[("g", "k"), ("l", "1")])), vec![("ByL", "put"), ("ByG", "put")]),
            ("UpdateItem", update("a", "SET y = :y", json!({":y": {"S": long}})), vec![("ByL", "update")]),
            ("UpdateItem", update("a", "SET x = :x", json!({":x": {"S": long}})), vec![("ByL", "update"), ("ByG", "update")]),
            ("UpdateItem", update("a", "SET n = :n", json!({":n": {"N": "7"}})), vec![("ByL", "update"), ("ByN", "put")]),
            ("UpdateItem", update("a", "SET g = :g REMOVE y", json!({":g": {"S": "m"}})), vec![("ByL", "update"), ("ByG", "move")]),
            ("UpdateItem", update("a", "REMOVE n, l", Value::Null), vec![("ByL", "delete"), ("ByN", "delete")]),
            ("PutItem", put(&item("a", &[("g", "m"), ("x", &long)])), vec![]),
            ("DeleteItem", delete("a"), vec![("ByG", "delete")]),
            ("DeleteItem", delete("a"), vec![]),
            ("UpdateItem", update("a", "SET g = :g", json!({":g": {"S": "new"}})), vec![("ByG", "put")]),
        ];
        for (operation, input, expected) in cases {
            let dry_run = check(database, operation, input.clone()).await.unwrap();
            assert_eq!(changes(&dry_run), expected, "{operation} {input}");
        }
    }

    async fn a_transaction_costs_twice_as_much_in_each_of_its_tables(database) {
        with_indexes(database).await;
        database.with_table("Other").await;
        database.put(item("moves", &[("g", "k")])).await;
        database.put(item("goes", &[("g", "k"), ("l", "1")])).await;
        let transaction = json!({"TransactItems": [
            {"Put": put(&item("comes", &[("g", "k"), ("x", &"x".repeat(3000))]))},
            {"Update": update("moves", "SET g = :g", json!({":g": {"S": "m"}}))},
            {"Delete": delete("goes")},
            {"ConditionCheck": {"TableName": "Table", "Key": key("none"), "ConditionExpression": "attribute_not_exists(p)"}},
            {"Put": {"TableName": "Other", "Item": item("a", &[])}},
        ]});
        let dry_run = check(database, "TransactWriteItems", transaction).await.unwrap();
        assert_eq!(dry_run.consumed_capacity.len(), 2);
        assert_eq!(dry_run.consumed_capacity[1].capacity_units, Some(2.0));
        assert_eq!(changes(&dry_run), [("ByG", "put"), ("ByG", "move"), ("ByL", "delete"), ("ByG", "delete")]);
        assert!(dry_run.index_changes.iter().all(|change| change.table == "Table"));
    }

    async fn a_dry_run_is_refused_as_the_write_is(database) {
        with_indexes(database).await;
        let stored = item("a", &[("x", "theirs")]);
        database.put(stored.clone()).await;
        let mut stale = update("a", "SET x = :x", json!({":x": {"S": "mine"}, ":was": {"S": "read"}}));
        stale["ConditionExpression"] = json!("x = :was");
        stale["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
        let failure = check(database, "UpdateItem", stale.clone()).await.unwrap_err();
        assert_eq!((failure.name.as_str(), failure.item), ("ConditionalCheckFailedException", Some(stored.clone())));

        let both = json!({"TransactItems": [{"Put": put(&item("b", &[]))}, {"Update": stale}]});
        let failure = check(database, "TransactWriteItems", both).await.unwrap_err();
        assert_eq!(failure.name, "TransactionCanceledException");
        assert_eq!((&failure.reasons[0]["Code"], &failure.reasons[1]["Item"]), (&json!("None"), &stored));

        let mut wrong_type = key("a");
        wrong_type["n"] = json!({"S": "no number"});
        for (operation, input) in [
            ("PutItem", put(&wrong_type)),
            ("PutItem", put(&item("a", &[("v", &"v".repeat(410_000))]))),
            ("UpdateItem", update("a", "SET v = missing", Value::Null)),
            ("UpdateItem", update("a", "SET p = :p", json!({":p": {"S": "b"}}))),
            ("DeleteItem", json!({"TableName": "Table", "Key": {"p": {"S": "a"}}})),
            ("DeleteItem", json!({"TableName": "Missing", "Key": key("a")})),
            ("TransactWriteItems", json!({"TransactItems": [{"Put": put(&key("a"))}, {"Delete": delete("a")}]})),
        ] {
            check(database, operation, input).await.unwrap_err();
        }
        let failure = database.dry_run("GetItem", delete("a")).await.unwrap_err();
        assert_eq!((failure.name.as_str(), failure.message.as_str()), ("ValidationException", "GetItem has no dry run"));
    }
}

/// The next of a series of numbers that look random.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// An item of one of five keys, with any of the index keys and up to 6 KB of other attributes.
fn random_item(p: usize, state: &mut u64) -> Value {
    let mut item = key(&p.to_string());
    for (name, kind) in [("g", "S"), ("n", "N"), ("l", "S")] {
        if next(state).is_multiple_of(2) {
            item[name] = json!({kind: (next(state) % 3).to_string()});
        }
    }
    for name in ["x", "y"] {
        if next(state).is_multiple_of(2) {
            item[name] = json!({"S": "v".repeat(next(state) % 3000)});
        }
    }
    item
}

/// A write of one kind, in the members of TransactWriteItems.
fn random_write(p: usize, state: &mut u64) -> (&'static str, Value) {
    let item = random_item(p, state);
    match next(state) % 5 {
        0 | 1 => ("Put", put(&item)),
        2 => ("Delete", delete(&p.to_string())),
        3 => ("Update", update(&p.to_string(), "REMOVE g, x", Value::Null)),
        _ => {
            let (g, n) = (next(state) % 3, next(state) % 3);
            let values = json!({":g": {"S": g.to_string()}, ":n": {"N": n.to_string()}});
            ("Update", update(&p.to_string(), "SET g = :g, n = :n REMOVE l", values))
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_has_the_units_of_any_write() {
    let database = &Database::in_memory().await;
    with_indexes(database).await;
    let state = &mut 30;
    for _ in 0..500 {
        let count = 1 + next(state) % 3;
        let first = next(state) % 5;
        let mut writes: Vec<_> = (0..count).map(|n| random_write((first + n) % 5, state)).collect();
        let is_transaction = count > 1 || next(state).is_multiple_of(4);
        let dry_run = match writes.pop() {
            Some((kind, write)) if !is_transaction => check(database, &format!("{kind}Item"), write).await,
            last => {
                let writes = writes.into_iter().chain(last).map(|(kind, write)| json!({kind: write}));
                let transaction = json!({"TransactItems": writes.collect::<Vec<_>>()});
                check(database, "TransactWriteItems", transaction).await
            }
        };
        dry_run.unwrap();
    }
    assert!(database.engine.verify().await.unwrap().reports.is_empty());
}

/// Counts the reports of requests and of used throughput.
#[derive(Default)]
struct Reports(AtomicU64);

impl Observer for Reports {
    fn part(&self, _: &PartUsed<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn request(&self, _: &RequestDone<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_leaves_no_row_no_record_and_no_metric() {
    let database = Database::in_memory().await;
    with_indexes(&database).await;
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    let answer =
        database.ok("UpdateTable", json!({"TableName": "Table", "StreamSpecification": stream})).await;
    database.put(item("a", &[("g", "k"), ("v", "1")])).await;
    let described =
        async || database.ok("DescribeTable", json!({"TableName": "Table"})).await["Table"].take();
    let arn = answer["TableDescription"]["LatestStreamArn"].as_str().unwrap();
    let records = async || crate::streams::records(&database, arn).await;
    let before = (database.count_rows(0..=100).await, described().await, records().await);
    assert_eq!(before.2.len(), 1);

    let reports = Arc::new(Reports::default());
    database.engine.usage().observe(reports.clone());
    let mut failing = delete("a");
    failing["ConditionExpression"] = json!("attribute_not_exists(p)");
    for (operation, input, succeeds) in [
        ("PutItem", put(&item("b", &[("g", "k")])), true),
        ("UpdateItem", update("a", "REMOVE g", Value::Null), true),
        ("DeleteItem", delete("a"), true),
        ("DeleteItem", failing.clone(), false),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put(&key("b"))}], "ClientRequestToken": "once"}),
            true,
        ),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": put(&key("b"))}, {"Delete": failing}]}),
            false,
        ),
    ] {
        let dry_run = database.dry_run(operation, input.clone()).await;
        assert_eq!(dry_run.is_ok(), succeeds, "{operation} {input}: {dry_run:?}");
    }
    assert_eq!(reports.0.load(Ordering::Relaxed), 0, "nothing is reported");
    let after = (database.count_rows(0..=100).await, described().await, records().await);
    assert_eq!(after, before);
    database.put(item("b", &[])).await;
    assert!(reports.0.load(Ordering::Relaxed) > 0, "a write is reported");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_uses_no_throughput_and_needs_none() {
    let mut admitted = Vec::new();
    for dry_runs in [0, 50] {
        let database = Database::with_capacity(Enforcement::Declared).await;
        database
            .ok(
                "CreateTable",
                json!({
                    "TableName": "Table", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
                    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                }),
            )
            .await;
        let input = put(&json!({"p": {"S": "a"}, "v": {"S": "v".repeat(50_000)}}));
        for _ in 0..dry_runs {
            database.dry_run("PutItem", input.clone()).await.unwrap();
        }
        let mut count = 0;
        while database.call("PutItem", input.clone()).await.is_ok() {
            count += 1;
        }
        assert_eq!(
            database.dry_run("PutItem", input).await.unwrap().consumed_capacity[0].capacity_units,
            Some(49.0),
            "a table without throughput has a price"
        );
        admitted.push(count);
    }
    assert_eq!(admitted[0], admitted[1], "dry runs before the writes take nothing from them");
}
