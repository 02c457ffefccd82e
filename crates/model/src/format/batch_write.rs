//! The example data as inputs of BatchWriteItem: a list, each with as many items as one takes. It fills the
//! tables that `create-table` makes.

use api::limits::BATCH_WRITE_REQUESTS_MAX;
use serde_json::{Map, Value, json};

use super::value::{Row, typed};
use super::{Aspect, Format, JSON};
use crate::Model;
use crate::sample::{SampleItem, Scale, key_of, sample};

pub const FORMAT: Format = Format {
    name: "batch-write",
    title: "the example data as inputs of BatchWriteItem, a list",
    syntax: &JSON,
    recognises: |_| false,
    read: None,
    write: Some(|model, _| Value::Array(batches(model))),
    holds: Aspect::ALL,
};

fn batches(model: &Model) -> Vec<Value> {
    let items = stored(model);
    items.chunks(BATCH_WRITE_REQUESTS_MAX).map(|items| batch(model, items)).collect()
}

/// Each key once: of two items with one key the later stays, as in a table.
fn stored(model: &Model) -> Vec<SampleItem> {
    let mut stored: Vec<SampleItem> = Vec::new();
    let key = |item: &SampleItem| (item.table, key_of(model, item.table, &item.values));
    for item in sample(model, Scale::default()).items {
        if model.table(item.table).key.is_some() {
            stored.retain(|earlier| key(earlier) != key(&item));
            stored.push(item);
        }
    }
    stored
}

fn batch(model: &Model, items: &[SampleItem]) -> Value {
    let mut tables: Map<String, Value> = Map::new();
    for item in items {
        let row: Row = item.values.iter().map(|(name, value)| (name.clone(), typed(value))).collect();
        let requests = tables.entry(model.table(item.table).name.value.clone()).or_insert_with(|| json!([]));
        if let Value::Array(requests) = requests {
            requests.push(json!({ "PutRequest": { "Item": row } }));
        }
    }
    json!({ "RequestItems": tables })
}
