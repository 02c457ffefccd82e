//! What is asked of the servers: four operations on one table of orders, items of about 500 bytes.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::request::encode;

const TABLE: &str = "Bench";
/// 200 × 20 items of 500 bytes are 2 MB: enough to miss the processor's nearer caches, quick to load.
const PARTITIONS: usize = 200;
const ITEMS_PER_PARTITION: usize = 20;
const LOADERS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    GetItem,
    PutItem,
    UpdateItem,
    Query,
}

impl Operation {
    pub const ALL: [Operation; 4] =
        [Operation::GetItem, Operation::PutItem, Operation::UpdateItem, Operation::Query];

    pub fn name(self) -> &'static str {
        match self {
            Operation::GetItem => "GetItem",
            Operation::PutItem => "PutItem",
            Operation::UpdateItem => "UpdateItem",
            Operation::Query => "Query",
        }
    }

    /// Finished requests that together touch every item.
    pub fn requests(self) -> Arc<[Vec<u8>]> {
        let bodies: Vec<Value> = match self {
            Operation::GetItem => keys().map(|key| json!({"TableName": TABLE, "Key": key})).collect(),
            Operation::PutItem => items().map(|item| json!({"TableName": TABLE, "Item": item})).collect(),
            Operation::UpdateItem => keys().map(increment).collect(),
            Operation::Query => (0..PARTITIONS).map(query).collect(),
        };
        bodies.iter().map(|body| encode(self.name(), body)).collect()
    }
}

/// Creates the table and fills it.
pub async fn load(address: SocketAddr) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    let (status, body) = connection.exchange(&encode("CreateTable", &table())).await?;
    ensure!(status == 200, "CreateTable: {status} {}", String::from_utf8_lossy(body));
    wait_until_active(&mut connection).await?;

    let requests = Operation::PutItem.requests();
    let mut loaders = tokio::task::JoinSet::new();
    for loader in 0..LOADERS {
        let requests = requests.clone();
        loaders.spawn(async move {
            let mut connection = Connection::open(address).await?;
            for request in requests.iter().skip(loader).step_by(LOADERS) {
                let (status, body) = connection.exchange(request).await?;
                ensure!(status == 200, "PutItem: {status} {}", String::from_utf8_lossy(body));
            }
            Ok(())
        });
    }
    loaders.join_all().await.into_iter().collect()
}

/// A new table may be CREATING for a moment.
async fn wait_until_active(connection: &mut Connection) -> Result<()> {
    let describe = encode("DescribeTable", &json!({"TableName": TABLE}));
    for _ in 0..200 {
        let (_, body) = connection.exchange(&describe).await?;
        let reply: Value = serde_json::from_slice(body)?;
        if reply["Table"]["TableStatus"] == "ACTIVE" {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    anyhow::bail!("the table did not become ACTIVE within five seconds")
}

fn table() -> Value {
    json!({
        "TableName": TABLE,
        "AttributeDefinitions": [
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "order", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "order", "KeyType": "RANGE"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

fn positions() -> impl Iterator<Item = (usize, usize)> {
    (0..PARTITIONS).flat_map(|partition| (0..ITEMS_PER_PARTITION).map(move |order| (partition, order)))
}

fn key(partition: usize, order: usize) -> Value {
    json!({"customer": {"S": customer(partition)}, "order": {"S": format!("ORDER#{order:06}")}})
}

fn customer(partition: usize) -> String {
    format!("CUSTOMER#{partition:06}")
}

fn keys() -> impl Iterator<Item = Value> {
    positions().map(|(partition, order)| key(partition, order))
}

fn items() -> impl Iterator<Item = Value> {
    positions().map(|(partition, order)| {
        let mut item = key(partition, order);
        item["state"] = json!({"S": "SHIPPED"});
        item["amount"] = json!({"N": format!("{}.{:02}", 10 + order, partition % 100)});
        item["placed"] = json!({"N": format!("{}", 1_767_225_600 + partition * 60 + order)});
        item["gift"] = json!({"BOOL": order % 2 == 0});
        item["tags"] = json!({"SS": ["fragile", "priority"]});
        item["address"] = json!({"M": {
            "street": {"S": format!("{partition} Long Street")},
            "city": {"S": "Harbour Town"},
        }});
        item["note"] = json!({"S": "n".repeat(320)});
        item
    })
}

fn increment(key: Value) -> Value {
    json!({
        "TableName": TABLE,
        "Key": key,
        "UpdateExpression": "SET amount = amount + :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    })
}

fn query(partition: usize) -> Value {
    json!({
        "TableName": TABLE,
        "KeyConditionExpression": "customer = :customer",
        "ExpressionAttributeValues": {":customer": {"S": customer(partition)}},
    })
}
