//! The items that proofs run on, made from the templates: each element is an input of BatchWriteItem.

use model::Model;
use model::dynamodb_json::dynamodb_json;
use model::sample::{SampleItem, Scale, key_of, sample};
use serde_json::{Map, Value, json};

use crate::{Aspect, Format, JSON};

/// The most items of one BatchWriteItem.
const BATCH_MAX: usize = api::limits::BATCH_WRITE_REQUESTS_MAX;

pub const FORMAT: Format = Format {
    name: "sample-data",
    title: "items made from the model, as BatchWriteItem takes them",
    syntax: &JSON,
    recognises: |_| false,
    read: None,
    write: Some(|model, _| {
        let items = stored(model);
        items.chunks(BATCH_MAX).map(|batch| json!({ "RequestItems": requests(model, batch) })).collect()
    }),
    // It is data that illustrates a model, not a model, so no aspect is reported as missing.
    holds: &[Aspect::ALL],
};

/// Each key once, because a batch must not name one twice: of two items with the same key the later is kept, as in a
/// table. A table without keys stores nothing.
fn stored(model: &Model) -> Vec<SampleItem> {
    let key = |item: &SampleItem| (item.table, key_of(model, item.table, &item.values));
    let mut stored: Vec<SampleItem> = Vec::new();
    for item in sample(model, Scale::default()).items {
        if model.table(item.table).key.is_some() {
            stored.retain(|earlier| key(earlier) != key(&item));
            stored.push(item);
        }
    }
    stored
}

fn requests(model: &Model, batch: &[SampleItem]) -> Map<String, Value> {
    let mut tables = Map::new();
    for item in batch {
        let values: Map<String, Value> =
            item.values.iter().map(|(name, value)| (name.clone(), dynamodb_json(value))).collect();
        let requests = tables.entry(model.table(item.table).name.value.clone()).or_insert_with(|| json!([]));
        requests
            .as_array_mut()
            .into_iter()
            .for_each(|all| all.push(json!({ "PutRequest": { "Item": values } })));
    }
    tables
}
