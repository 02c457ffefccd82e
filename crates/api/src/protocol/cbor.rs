//! CBOR, as Smithy's RPC v2 uses it: structures are maps, times are seconds with tag 1.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ciborium::Value as Cbor;
use serde_json::{Map, Number, Value as Json};

use super::Shape;

/// Deeper than any shape, and far from the end of the stack.
const DEPTH_MAX: usize = 32;
const EPOCH_TIME: u64 = 1;

/// Reads a body into JSON; none if it isn't CBOR that a request can consist of. No body at all is an empty
/// structure.
pub(crate) fn to_json(body: &[u8]) -> Option<Json> {
    if body.is_empty() {
        return Some(Json::Object(Map::new()));
    }
    let mut rest = body;
    let value = ciborium::de::from_reader_with_recursion_limit(&mut rest, DEPTH_MAX).ok()?;
    if rest.is_empty() { json(value) } else { None }
}

fn json(value: Cbor) -> Option<Json> {
    Some(match value {
        Cbor::Null => Json::Null,
        Cbor::Bool(flag) => Json::Bool(flag),
        Cbor::Integer(number) => match i64::try_from(number) {
            Ok(number) => Json::from(number),
            Err(_) => Json::Number(Number::from_f64(i128::from(number) as f64)?),
        },
        Cbor::Float(number) => Json::Number(Number::from_f64(number)?),
        Cbor::Text(text) => Json::String(text),
        Cbor::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
        Cbor::Tag(EPOCH_TIME, time) => json(*time).filter(Json::is_number)?,
        Cbor::Array(elements) => Json::Array(elements.into_iter().map(json).collect::<Option<_>>()?),
        Cbor::Map(entries) => {
            let entry = |(name, value): (Cbor, Cbor)| Some((name.into_text().ok()?, json(value)?));
            Json::Object(entries.into_iter().map(entry).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// The bytes of an answer. Doubles and times are of eight bytes even if they are whole.
pub(crate) fn from_json(json: &Json, shape: Option<&Shape>) -> Vec<u8> {
    let mut body = Vec::new();
    ciborium::into_writer(&cbor(json, shape), &mut body).expect("a Vec takes every byte");
    body
}

fn cbor(json: &Json, shape: Option<&Shape>) -> Cbor {
    match (json, shape) {
        (Json::Null, _) => Cbor::Null,
        (Json::Bool(flag), _) => Cbor::Bool(*flag),
        (Json::Number(number), Some(Shape::Double)) => Cbor::Float(number.as_f64().unwrap_or_default()),
        (Json::Number(number), Some(Shape::Timestamp)) => {
            Cbor::Tag(EPOCH_TIME, Box::new(Cbor::Float(number.as_f64().unwrap_or_default())))
        }
        (Json::Number(number), _) => match number.as_i64() {
            Some(number) => Cbor::Integer(number.into()),
            None => Cbor::Float(number.as_f64().unwrap_or_default()),
        },
        (Json::String(text), _) => Cbor::Text(text.clone()),
        (Json::Array(elements), shape) => {
            let element = match shape {
                Some(Shape::List(element)) => Some(*element),
                _ => None,
            };
            Cbor::Array(elements.iter().map(|value| cbor(value, element)).collect())
        }
        (Json::Object(members), shape) => {
            let member = |name: &str| shape.and_then(|shape| shape.member(name));
            let entry =
                |(name, value): (&String, &Json)| (Cbor::Text(name.clone()), cbor(value, member(name)));
            Cbor::Map(members.iter().map(entry).collect())
        }
    }
}
