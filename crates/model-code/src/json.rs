//! Examples as data: the requests as they are sent.

use model::Model;
use model::dynamodb_json::dynamodb_json;
use model::predict::item::Values;
use serde_json::{Map, Value as Json, json};

use crate::sketch::body;
use crate::{Effect, Example, Sending, WrittenItem};

pub fn json(model: &Model, examples: &[Example]) -> Json {
    json!({
        "model": model.name.value,
        "patterns": examples.iter().map(example_json).collect::<Vec<_>>(),
    })
}

fn example_json(example: &Example) -> Json {
    let mut members = Map::new();
    members.insert("pattern".to_owned(), json!(example.pattern));
    members.insert("function".to_owned(), json!(example.function));
    members.insert("description".to_owned(), json!(example.description));
    members.insert("operation".to_owned(), json!(example.operation));
    members.insert("source".to_owned(), json!(example.source));
    match &example.sending {
        Ok(sending) => members.extend(sending_json(sending)),
        Err(why) => members.extend([("unsendable".to_owned(), json!(why))]),
    }
    members.insert("notes".to_owned(), json!(example.notes));
    Json::Object(members)
}

fn sending_json(sending: &Sending) -> Map<String, Json> {
    let given: Map<String, Json> =
        sending.given.iter().map(|(name, value)| (name.to_owned(), dynamodb_json(value))).collect();
    let requests: Vec<Json> = sending.requests.iter().map(body).collect();
    let (name, effect) = match &sending.effect {
        Effect::Finds { keys, .. } => ("finds", keys.iter().map(item_json).collect::<Vec<_>>()),
        Effect::Leaves { items } => ("leaves", items.iter().map(written_json).collect()),
    };
    [("given", json!(given)), ("requests", json!(requests)), (name, json!(effect))]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

fn written_json(written: &WrittenItem) -> Json {
    json!({
        "table": written.table,
        "key": item_json(&written.key),
        "item": written.item.as_ref().map(item_json),
    })
}

fn item_json(values: &Values) -> Json {
    values.iter().map(|(name, value)| (name.clone(), dynamodb_json(value))).collect::<Map<_, _>>().into()
}
