//! The request that a file has for a pattern (`request`): members as in the API, values in DynamoDB JSON or
//! plain, as in SDKs that convert values.

use api::{Error, Operation, Request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::{Number, Value};
use serde_json::{Map, Value as Json};

use crate::dynamodb_json::dynamodb_json;
use crate::model::Pattern;
use crate::plan::Plan;

/// Members that name the table; a request without any of them is only a part of one.
const SUBJECTS: [&str; 3] = ["TableName", "RequestItems", "TransactItems"];

/// The pattern's own request, if it is complete.
pub fn request(pattern: &Pattern, plan: &Plan) -> Option<Result<Request, Error>> {
    let members = pattern.request.as_ref()?.value.as_object()?;
    let operation = Operation::from_target_name(plan.operation())?;
    SUBJECTS
        .iter()
        .any(|subject| members.contains_key(*subject))
        .then(|| Request::decode(operation, structure(members).to_string().as_bytes()))
}

fn structure(members: &Map<String, Json>) -> Json {
    members.iter().map(|(name, json)| (name.clone(), member(name, json))).collect::<Map<_, _>>().into()
}

fn member(name: &str, json: &Json) -> Json {
    match (name, json) {
        ("Key" | "Item" | "ExpressionAttributeValues" | "ExclusiveStartKey", Json::Object(values)) => {
            typed(values)
        }
        ("Keys", Json::Array(keys)) => {
            keys.iter().map(|key| key.as_object().map_or_else(|| key.clone(), typed)).collect()
        }
        (_, Json::Object(members)) => structure(members),
        (_, Json::Array(elements)) => elements.iter().map(|one| member("", one)).collect(),
        (_, other) => other.clone(),
    }
}

fn typed(values: &Map<String, Json>) -> Json {
    let value = |json: &Json| dynamodb_json(&value_of(json));
    values.iter().map(|(name, json)| (name.clone(), value(json))).collect::<Map<_, _>>().into()
}

/// `{ S: OPEN }` is DynamoDB JSON; a plain value is converted as SDKs do.
pub fn value_of(json: &Json) -> Value {
    let typed = json.as_object().filter(|object| object.len() == 1).and_then(|object| object.iter().next());
    let text = |json: &Json| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let number = |json: &Json| Number::parse(&text(json)).map_or(Value::Null, Value::N);
    let bytes = |json: &Json| STANDARD.decode(text(json)).unwrap_or_default();
    let list = |json: &Json| json.as_array().cloned().unwrap_or_default();
    let texts = |json: &Json| list(json).iter().map(text).collect::<Vec<String>>();
    match (typed.map(|(tag, value)| (tag.as_str(), value)), json) {
        (Some(("S", inner)), _) => Value::S(text(inner)),
        (Some(("N", inner)), _) => number(inner),
        (Some(("BOOL", flag)), _) => Value::Bool(flag.as_bool().unwrap_or_default()),
        (Some(("NULL", _)), _) => Value::Null,
        (Some(("B", inner)), _) => Value::B(bytes(inner)),
        (Some(("L", elements)), _) => Value::L(list(elements).iter().map(value_of).collect()),
        (Some(("M", Json::Object(entries))), _) => map(entries),
        (Some(("SS", elements)), _) => Value::string_set(texts(elements)),
        (Some(("NS", elements)), _) => {
            Value::number_set(texts(elements).iter().filter_map(|text| Number::parse(text).ok()))
        }
        (Some(("BS", elements)), _) => Value::binary_set(list(elements).iter().map(bytes)),
        (_, Json::String(text)) => Value::from(text.as_str()),
        (_, Json::Number(_)) => number(json),
        (_, Json::Bool(flag)) => Value::Bool(*flag),
        (_, Json::Array(elements)) => Value::L(elements.iter().map(value_of).collect()),
        (_, Json::Object(entries)) => map(entries),
        (_, Json::Null) => Value::Null,
    }
}

fn map(entries: &Map<String, Json>) -> Value {
    Value::M(entries.iter().map(|(name, one)| (name.clone(), value_of(one))).collect())
}
