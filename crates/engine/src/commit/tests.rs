//! What holds for a write of any origin. What clients see is tested by behaviour, through the operations.

use std::sync::{Arc, LazyLock};

use api::{Operation, Request};
use expression::Condition;
use futures_util::FutureExt;
use item::{Item, Value};
use serde_json::json;
use store::fault::{Fault, FaultStore};
use store::memory::MemoryStore;
use store::{Consistency, WriteSet};

use super::companion;
use super::decide::Question;
use super::{apply as apply_for, *};
use crate::base::origin::Origin;
use crate::throughput::admission::{Headroom, Target};
use crate::{Caller, Enforcement, Engine, Environment, Options};

/// A clock that does not move.
struct Still;

impl Environment for Still {
    fn now_ms(&self) -> u64 {
        1_800_000_000_000
    }

    fn random(&self) -> u128 {
        0
    }
}

/// A database with two tables: `Table` has 1 write unit a second and, on the string `g`, a local index and a
/// global one; `Plain` is on demand and has no indexes.
async fn database() -> Engine {
    let options = Options { capacity: Enforcement::Declared, ..Options::default() };
    let engine = Engine::open_with(Arc::new(MemoryStore::new()), Arc::new(Still), options).await.unwrap();
    create_tables(&engine).await;
    engine
}

async fn create_tables(engine: &Engine) {
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    let input = json!({
        "TableName": "Table", "KeySchema": [key("p", "HASH"), key("s", "RANGE")],
        "AttributeDefinitions": (["p", "s", "g"].map(attribute)), "ProvisionedThroughput": units,
        "LocalSecondaryIndexes": [{
            "IndexName": "Local", "KeySchema": [key("p", "HASH"), key("g", "RANGE")],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "GlobalSecondaryIndexes": [{
            "IndexName": "Global", "KeySchema": [key("g", "HASH")], "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": units,
        }],
    });
    let plain = json!({
        "TableName": "Plain", "KeySchema": [key("p", "HASH")], "AttributeDefinitions": [attribute("p")],
        "BillingMode": "PAY_PER_REQUEST",
    });
    for input in [input, plain] {
        let request = Request::decode(Operation::CreateTable, input.to_string().as_bytes()).unwrap();
        engine.call(&caller(), request).await.unwrap();
    }
}

async fn apply(engine: &Engine, plan: &mut Plan) -> Result<Outcome, WriteError> {
    apply_for(engine, Operation::PutItem, plan).await
}

fn caller() -> Caller {
    Caller::new("123456789012", "us-east-1")
}

fn item(p: &str, attributes: impl IntoIterator<Item = (&'static str, Value)>) -> Item {
    let key = [("p", Value::S(p.to_owned())), ("s", Value::S("1".to_owned()))];
    key.into_iter().chain(attributes).collect()
}

fn text(bytes: usize) -> Value {
    Value::S("v".repeat(bytes))
}

fn put(engine: &Engine, origin: Origin, item: Item) -> Plan {
    put_into(engine, "Table", origin, item)
}

fn put_into(engine: &Engine, table: &str, origin: Origin, item: Item) -> Plan {
    let table = engine.table(&caller(), table).unwrap();
    let key = table.key_of_item(item.as_ref()).unwrap();
    Plan { origin, ..Plan::of_client(table, key, Change::Put(item)) }
}

#[tokio::test]
async fn no_origin_may_write_an_item_over_400_kb() {
    let engine = database().await;
    for origin in Origin::ALL {
        let mut plan = put(&engine, origin, item("a", [("v", text(409_600))]));
        let refused = apply(&engine, &mut plan).await;
        assert!(
            matches!(refused, Err(WriteError::Refused(Refusal::ItemTooLarge))),
            "{origin:?}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn only_restores_and_replicas_may_write_a_wrong_index_key() {
    let engine = database().await;
    for origin in Origin::ALL {
        let mut plan = put(&engine, origin, item("a", [("g", Value::Bool(true))]));
        let refused = apply(&engine, &mut plan).await;
        if matches!(origin, Origin::Restore | Origin::Replica) {
            assert!(refused.is_ok_and(|outcome| outcome.indexes.is_empty()), "it is in no index");
            continue;
        }
        assert!(matches!(refused, Err(WriteError::Refused(Refusal::IndexKey(_)))), "{origin:?}: {refused:?}");
    }
}

#[tokio::test]
async fn only_clients_and_replicas_use_throughput() {
    let engine = database().await;
    for origin in Origin::ALL.into_iter().filter(|origin| !matches!(origin, Origin::Client | Origin::Replica))
    {
        for number in 0..5 {
            let mut plan = put(&engine, origin, item(&format!("{number}"), [("v", text(102_000))]));
            apply(&engine, &mut plan).await.unwrap();
        }
    }
    // 300 units were saved up.
    for number in 0..3 {
        let mut plan = put(&engine, Origin::Client, item(&format!("{number}"), [("v", text(102_000))]));
        apply(&engine, &mut plan).await.unwrap();
    }
    for origin in [Origin::Client, Origin::Replica] {
        let refused = apply(&engine, &mut put(&engine, origin, item("a", []))).await;
        assert!(matches!(refused, Err(WriteError::Refused(Refusal::Throttled(_)))), "{refused:?}");
    }
}

#[tokio::test]
async fn conditions_are_those_of_clients_expiry_and_bulk_puts() {
    let engine = database().await;
    for origin in Origin::ALL {
        let exists = Condition::AttributeExists(expression::Path::of_attribute("p"));
        let mut plan = put(&engine, origin, item("a", [])).on_condition(Some(exists), false);
        let refused = matches!(origin, Origin::Client | Origin::Expiry | Origin::BulkPut);
        assert_eq!(apply(&engine, &mut plan).await.is_err(), refused, "{origin:?}");
        let mut delete = Plan {
            change: Change::Delete { key_attributes: item("a", []) },
            ..put(&engine, Origin::Client, item("a", []))
        };
        apply(&engine, &mut delete).await.unwrap();
    }
}

#[tokio::test]
async fn only_clients_are_refused_while_a_transaction_is_under_way() {
    let engine = database().await;
    let key = put(&engine, Origin::Client, item("a", [])).key;
    let _under_way = engine.transactions.begin(vec![key], None).unwrap();
    for origin in Origin::ALL {
        let refused = apply(&engine, &mut put(&engine, origin, item("a", []))).await;
        assert_eq!(refused.is_err(), origin == Origin::Client, "{origin:?}: {refused:?}");
    }
}

/// The contract of a store's `Decide`: it may be called again, and the last answer is committed.
#[tokio::test]
async fn a_decision_made_again_is_the_same() {
    let engine = database().await;
    let plans: Vec<Plan> = ["a", "b"].map(|p| put(&engine, Origin::Client, item(p, [("g", text(3))]))).into();
    let companions = companion::of(&plans, None, &engine, || 0);
    let reservation = engine.usage.reserve([(&**plans[0].table, Target::of_key(&plans[0].key), 1.0)]);
    let (headroom, bytes_max) = (reservation.headroom(), usize::MAX);
    let question = Question { plans: &plans, companions: &companions, headroom, factor: 1.0, bytes_max };
    let rows = vec![None; 4];
    let [first, second] = [question.decide(&rows), question.decide(&rows)];
    assert_eq!(first.writes.puts, second.writes.puts);
    // Two items, each with a row in two indexes, and the sizes of two collections.
    assert_eq!(first.writes.puts.len(), 8);
    assert_eq!(format!("{:?}", first.results), format!("{:?}", second.results));
}

#[tokio::test]
async fn only_tables_with_local_indexes_have_collections() {
    let engine = database().await;
    for (table, companions) in [("Table", 1), ("Plain", 0)] {
        let plan = put_into(&engine, table, Origin::Client, item("a", []));
        assert_eq!(companion::of(&[plan], None, &engine, || 0).len(), companions, "{table}");
    }
}

#[tokio::test]
async fn one_refusal_leaves_nothing_to_write() {
    let engine = database().await;
    let plans = [
        put(&engine, Origin::Import, item("a", [])),
        put(&engine, Origin::Import, item("b", [("v", text(409_600))])),
    ];
    let question = question(&plans, usize::MAX);
    let decision = question.decide(&[None, None]);
    assert!(decision.writes.is_empty());
    let results = decision.results.unwrap();
    assert!(results[0].is_ok() && results[1].is_err());
}

#[tokio::test]
async fn a_companion_that_cannot_be_read_fails_the_write() {
    let engine = database().await;
    let mut plan = put(&engine, Origin::Client, item("a", []));
    let companions = companion::of(std::slice::from_ref(&plan), None, &engine, || 0);
    let size = companions[0].keys()[0].clone();
    drop(companions);
    let damage = || WriteSet { puts: vec![(size.clone(), "?".into())], ..WriteSet::default() };
    engine.store.update(std::slice::from_ref(&size), &mut |_| damage()).await.unwrap();
    let failed = apply(&engine, &mut plan).await;
    assert!(matches!(failed, Err(WriteError::Failed(Failure::Store(StoreError::Corrupt(_))))), "{failed:?}");
    let rows = engine.store.get(std::slice::from_ref(&plan.key), Consistency::Latest).await.unwrap();
    assert_eq!(rows, [None], "nothing of it was written");
}

/// A decision about puts of rows that are not there, with as much throughput as they need.
fn question(plans: &[Plan], bytes_max: usize) -> Question<'_> {
    static HEADROOM: LazyLock<Headroom> = LazyLock::new(Headroom::default);
    Question { plans, companions: &[], headroom: &HEADROOM, factor: 1.0, bytes_max }
}

fn large_puts(engine: &Engine, items: usize, bytes: usize) -> Vec<Plan> {
    let large = |number: usize| {
        let (value, group) = (text(bytes), text(3));
        put(engine, Origin::Import, item(&format!("{number}"), [("g", group), ("v", value)]))
    };
    (0..items).map(large).collect()
}

#[tokio::test]
async fn an_index_that_has_whole_items_shares_their_bytes() {
    let engine = database().await;
    let plans = large_puts(&engine, 1, 1000);
    let question = question(&plans, usize::MAX);
    let writes = question.decide(&[None]).writes;
    let addresses: Vec<_> = writes.puts.iter().map(|(_, row)| row.as_ptr()).collect();
    assert_eq!(addresses, [addresses[0]; 3], "the item and its rows in two indexes");
}

#[tokio::test]
async fn writes_that_need_not_be_one_commit_are_divided_if_they_are_large() {
    let engine = database().await;
    assert_eq!(next_commit(&large_puts(&engine, 25, 10_000)), 25);
    // Each makes rows of 900 KB, and a commit has 4 MiB.
    let mut plans = large_puts(&engine, 10, 300_000);
    assert_eq!(next_commit(&plans), 4);
    assert_eq!(next_commit(&plans[..1]), 1);
    let results = apply_each(&engine, None, &mut plans).await.unwrap();
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 10);
    for plan in &plans {
        let rows = engine.store.get(std::slice::from_ref(&plan.key), Consistency::Latest).await.unwrap();
        assert!(rows[0].is_some(), "it is written once");
    }
}

#[tokio::test]
async fn a_failure_between_the_commits_of_a_batch_is_that_of_the_items_to_come() {
    let store = Arc::new(FaultStore::scripted(Arc::new(MemoryStore::new()), []));
    let engine = Engine::open(store.clone(), Arc::new(Still)).await.unwrap();
    create_tables(&engine).await;
    let mut plans = large_puts(&engine, 10, 300_000);
    store.follow([None, Some(Fault::BeforeCommit)]);
    let results = apply_each(&engine, None, &mut plans).await.unwrap();
    let written: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(written, [[true; 4].as_slice(), &[false; 6]].concat());
    for (plan, is_written) in plans.iter().zip(written) {
        let rows = engine.store.get(std::slice::from_ref(&plan.key), Consistency::Latest).await.unwrap();
        assert_eq!(rows[0].is_some(), is_written);
    }
}

#[tokio::test]
async fn large_commits_share_one_budget_and_small_ones_pass_by() {
    let engine = database().await;
    let large = row_bytes(&large_puts(&engine, 15, 300_000));
    let held = engine.budget.take(large).await;
    let mut second = std::pin::pin!(engine.budget.take(large));
    assert!((&mut second).now_or_never().is_none(), "together they have more than 16 MiB");
    let small = row_bytes(&large_puts(&engine, 1, 100));
    assert!(engine.budget.take(small).now_or_never().is_some());
    drop(held);
    second.await;
}

#[tokio::test]
async fn a_large_commit_waits_for_room_outside_the_gate() {
    let engine = database().await;
    let held = engine.budget.take(usize::MAX).await;
    let mut plan = large_puts(&engine, 1, 300_000).remove(0);
    let gate = plan.table.gate.clone();
    let mut large = std::pin::pin!(apply(&engine, &mut plan));
    assert!((&mut large).now_or_never().is_none(), "it waits for room");
    assert!(gate.try_write_owned().is_ok(), "it keeps no change of the table waiting");
    drop(held);
    large.await.unwrap();
}

async fn call(engine: &Engine, operation: Operation, input: serde_json::Value) -> Result<(), api::Error> {
    let request = Request::decode(operation, input.to_string().as_bytes()).unwrap();
    engine.call(&caller(), request).await.map(drop)
}

/// Sets a small attribute of an item.
fn small_update(table: &str, p: usize) -> serde_json::Value {
    json!({
        "TableName": table, "Key": {"p": {"S": p.to_string()}}, "UpdateExpression": "SET x = :x",
        "ExpressionAttributeValues": {":x": {"S": "x"}},
    })
}

/// Puts items of this size into a table.
async fn fill(engine: &Engine, table: &str, items: usize, bytes: usize) {
    for number in 0..items {
        let large = item(&number.to_string(), [("v", text(bytes))]);
        apply(engine, &mut put_into(engine, table, Origin::Import, large)).await.unwrap();
    }
}

async fn has_small_attribute(engine: &Engine, table: &str, p: usize) -> bool {
    let plan = put_into(engine, table, Origin::Client, item(&p.to_string(), []));
    let rows = engine.store.get(&[plan.key], Consistency::Latest).await.unwrap();
    rows[0].clone().is_some_and(|row| Item::trusted(row).get("x").is_some())
}

#[tokio::test]
async fn updates_of_large_items_take_their_room_too() {
    let engine = database().await;
    fill(&engine, "Plain", 1, 300_000).await;
    let held = engine.budget.take(usize::MAX).await;
    let mut update = std::pin::pin!(call(&engine, Operation::UpdateItem, small_update("Plain", 0)));
    assert!((&mut update).now_or_never().is_none(), "it waits for room");
    assert!(!has_small_attribute(&engine, "Plain", 0).await, "nothing of it is written");
    call(&engine, Operation::UpdateItem, small_update("Plain", 7)).await.unwrap();
    assert!(has_small_attribute(&engine, "Plain", 7).await, "an update of a small item passes by");
    drop(held);
    update.await.unwrap();
    assert!(has_small_attribute(&engine, "Plain", 0).await);
}

#[tokio::test]
async fn deletions_whose_old_images_are_recorded_take_their_room_too() {
    let engine = database().await;
    fill(&engine, "Plain", 1, 300_000).await;
    let stream = json!({"StreamEnabled": true, "StreamViewType": "OLD_IMAGE"});
    call(&engine, Operation::UpdateTable, json!({"TableName": "Plain", "StreamSpecification": stream}))
        .await
        .unwrap();
    let held = engine.budget.take(usize::MAX).await;
    let delete = json!({"TableName": "Plain", "Key": {"p": {"S": "0"}}});
    let mut delete = std::pin::pin!(call(&engine, Operation::DeleteItem, delete));
    assert!((&mut delete).now_or_never().is_none(), "it waits for room");
    drop(held);
    delete.await.unwrap();
}

#[tokio::test]
async fn what_the_rows_take_is_measured_when_it_is_more_than_the_commit_may_have() {
    let engine = database().await;
    let mut plans = large_puts(&engine, 10, 100_000);
    let decision = question(&plans, 900_000).decide(&vec![None; 10]);
    let Err(companion::Stop::TooLarge { bytes }) = decision.results else { panic!("it has 3 MB") };
    assert!((3_000_000..3_010_000).contains(&bytes), "{bytes}");
    assert_eq!(bytes, row_bytes(&plans), "of puts it is known before");
    assert!(decision.writes.is_empty());
    plans.truncate(2);
    assert!(question(&plans, 900_000).decide(&[None, None]).results.is_ok());
}

#[tokio::test]
async fn updates_that_need_not_be_one_commit_are_divided_if_their_items_are_large() {
    let engine = database().await;
    fill(&engine, "Plain", 25, 390_000).await;
    let statement = |p: usize| json!({"Statement": format!("UPDATE Plain SET x='x' WHERE p='{p}'")});
    let statements: Vec<_> = (0..25).map(statement).collect();
    // All together have 10 MB.
    let held = engine.budget.take(12 << 20).await;
    call(&engine, Operation::BatchExecuteStatement, json!({"Statements": statements})).await.unwrap();
    drop(held);
    for p in 0..25 {
        assert!(has_small_attribute(&engine, "Plain", p).await, "{p}");
    }
}

#[tokio::test]
async fn a_transaction_of_updates_that_would_take_all_memory_is_refused_and_its_halves_are_not() {
    let engine = database().await;
    let index = |number: usize| {
        json!({
            "IndexName": format!("Index{number}"), "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        })
    };
    let wide = json!({
        "TableName": "Wide", "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexes": [index(1), index(2), index(3)],
    });
    call(&engine, Operation::CreateTable, wide).await.unwrap();
    fill(&engine, "Wide", 100, 400_000).await;
    let transaction = |items: std::ops::Range<usize>| {
        let actions: Vec<_> = items.map(|p| json!({"Update": small_update("Wide", p)})).collect();
        call(&engine, Operation::TransactWriteItems, json!({"TransactItems": actions}))
    };
    let refused = transaction(0..100).await.unwrap_err();
    assert_eq!(refused.kind, api::ErrorKind::Validation);
    assert!(
        refused.message.starts_with("Transaction is too large: its items, with their rows"),
        "{refused:?}"
    );
    assert!(refused.message.ends_with("one transaction can have 134217728. Divide it into several"));
    assert!(!has_small_attribute(&engine, "Wide", 0).await, "nothing of it is written");
    for half in [0..50, 50..100] {
        transaction(half).await.unwrap();
    }
    assert!(has_small_attribute(&engine, "Wide", 99).await);
}
