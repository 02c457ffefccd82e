//! Money moves between few accounts from many sides at once. However the transfers meet, no reader ever sees a
//! sum that isn't the sum of the beginning, no transfer counts in part or twice, and no simple write that
//! succeeded is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};

use crate::database::{Database, Failure};

const ACCOUNTS: u64 = 4;
const BALANCE: i64 = 100;
const CLIENTS: u64 = 16;
const ROUNDS: u64 = 40;

fn key(account: u64) -> Value {
    json!({"p": {"S": account.to_string()}, "s": {"S": "1"}})
}

/// A repeatable choice (SplitMix64).
fn choice(seed: u64, below: u64) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)) % below
}

async fn prepare(database: &Database) {
    database.with_table("Table").await;
    for account in 0..ACCOUNTS {
        let mut item = key(account);
        item["balance"] = json!({"N": BALANCE.to_string()});
        item["touched"] = json!({"N": "0"});
        database.put(item).await;
    }
}

fn transfer(token: u64, from: u64, to: u64, amount: u64) -> Value {
    let amount = json!({":amount": {"N": amount.to_string()}});
    json!({
        "ClientRequestToken": token.to_string(),
        "TransactItems": [
            {"Update": {
                "TableName": "Table", "Key": key(from), "UpdateExpression": "SET balance = balance - :amount",
                "ConditionExpression": "balance >= :amount", "ExpressionAttributeValues": amount,
            }},
            {"Update": {
                "TableName": "Table", "Key": key(to), "UpdateExpression": "SET balance = balance + :amount",
                "ExpressionAttributeValues": amount,
            }},
        ],
    })
}

/// What may come of meeting others; anything else is a fault of ours.
fn assert_is_expected(failure: &Failure) {
    let expected = match failure.name.as_str() {
        "TransactionConflictException" | "TransactionInProgressException" => true,
        "TransactionCanceledException" => failure.reasons.as_array().unwrap().iter().all(|reason| {
            ["None", "ConditionalCheckFailed", "TransactionConflict"]
                .contains(&reason["Code"].as_str().unwrap())
        }),
        _ => false,
    };
    assert!(expected, "{failure:?}");
}

fn number(item: &Value, name: &str) -> i64 {
    item[name]["N"].as_str().unwrap().parse().unwrap()
}

async fn sum(database: &Database) -> Result<i64, Failure> {
    let gets: Vec<Value> =
        (0..ACCOUNTS).map(|account| json!({"Get": {"TableName": "Table", "Key": key(account)}})).collect();
    let answer = database.call("TransactGetItems", json!({"TransactItems": gets})).await?;
    let responses = answer["Responses"].as_array().unwrap();
    Ok(responses.iter().map(|response| number(&response["Item"], "balance")).sum())
}

async fn client(database: Arc<Database>, client: u64, touches: Arc<AtomicI64>) {
    for round in 0..ROUNDS {
        let seed = client * ROUNDS + round;
        let from = choice(seed, ACCOUNTS);
        let to = (from + 1 + choice(seed + 1_000_000, ACCOUNTS - 1)) % ACCOUNTS;
        let request = transfer(seed, from, to, 1 + choice(seed + 2_000_000, 50));
        // Sent twice, as by a client that missed the answer: it counts once.
        for _ in 0..2 {
            if let Err(failure) = database.call("TransactWriteItems", request.clone()).await {
                assert_is_expected(&failure);
            }
        }
        let touch = json!({
            "TableName": "Table", "Key": key(to), "UpdateExpression": "ADD touched :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        });
        match database.call("UpdateItem", touch).await {
            Ok(_) => drop(touches.fetch_add(1, Ordering::Relaxed)),
            Err(failure) => assert_is_expected(&failure),
        }
        match sum(&database).await {
            Ok(sum) => assert_eq!(sum, BALANCE * ACCOUNTS as i64),
            Err(failure) => assert_is_expected(&failure),
        }
    }
}

async fn transfers_keep_the_sum(database: Database) {
    prepare(&database).await;
    let (database, touches) = (Arc::new(database), Arc::new(AtomicI64::new(0)));
    let clients: Vec<_> =
        (0..CLIENTS).map(|number| tokio::spawn(client(database.clone(), number, touches.clone()))).collect();
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(sum(&database).await, Ok(BALANCE * ACCOUNTS as i64));
    let mut touched = 0;
    let mut moved = false;
    for account in 0..ACCOUNTS {
        let item = database.get(key(account)).await;
        assert!(number(&item, "balance") >= 0, "a condition was not held: {item}");
        touched += number(&item, "touched");
        moved |= number(&item, "balance") != BALANCE;
    }
    assert_eq!(touched, touches.load(Ordering::Relaxed));
    assert!(moved, "some transfer succeeded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfers_keep_the_sum_in_memory() {
    transfers_keep_the_sum(Database::in_memory().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfers_keep_the_sum_on_lsm() {
    transfers_keep_the_sum(Database::on_lsm().await).await;
}
