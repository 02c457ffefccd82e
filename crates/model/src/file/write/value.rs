//! DynamoDB values -> a text that [`crate::file`] reads as the same value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::{Number, Type, Value};

use super::super::literal::number_json;
use super::layout::{Map, Node, quoted, scalar};

/// `kind` is the declared type of the attribute, by which the reader converts a scalar.
pub fn value(value: &Value, kind: Option<Type>) -> Node {
    let kind = kind.filter(|kind| matches!(kind, Type::S | Type::N | Type::B));
    match value {
        Value::S(text) => match kind {
            Some(Type::S) => Node::Scalar(scalar(text)),
            None => Node::Scalar(untyped(text)),
            Some(_) => typed("S", Node::Scalar(scalar(text))),
        },
        Value::N(number) => match kind {
            Some(Type::S | Type::B) => typed("N", Node::Scalar(number.to_string())),
            _ => Node::Scalar(number.to_string()),
        },
        Value::B(bytes) => match kind {
            Some(Type::B) => Node::Scalar(quoted(&STANDARD.encode(bytes))),
            _ => typed("B", Node::Scalar(quoted(&STANDARD.encode(bytes)))),
        },
        Value::Bool(flag) => Node::Scalar(flag.to_string()),
        Value::Null => Node::Scalar("null".to_owned()),
        Value::L(elements) => Node::List(elements.iter().map(|one| self::value(one, None)).collect()),
        Value::M(entries) => {
            let mut map = Map::new();
            for (name, one) in entries {
                map.put(name, self::value(one, None));
            }
            // A single member that is called like a type would be read as one.
            let mistakable = entries.len() == 1 && entries.keys().all(|name| Type::from_name(name).is_some());
            if mistakable { typed("M", Node::Map(map)) } else { Node::Map(map) }
        }
        Value::Ss(members) => set("SS", members.iter().map(|one| scalar(one))),
        Value::Ns(members) => set("NS", members.iter().map(Number::to_string)),
        Value::Bs(members) => set("BS", members.iter().map(|one| quoted(&STANDARD.encode(one)))),
    }
}

fn typed(tag: &str, node: Node) -> Node {
    let mut map = Map::new();
    map.put(tag, node);
    Node::Map(map)
}

fn set(tag: &str, members: impl Iterator<Item = String>) -> Node {
    typed(tag, Node::List(members.map(Node::Scalar).collect()))
}

/// A text that would be read as another type is quoted.
fn untyped(text: &str) -> String {
    let taken = matches!(text, "true" | "false" | "null") || Number::parse(text).is_ok();
    if taken { quoted(text) } else { scalar(text) }
}

/// Plain JSON, for requests as they are sent.
pub fn json(value: &serde_json::Value) -> Node {
    match value {
        serde_json::Value::String(text) => {
            let taken = matches!(text.as_str(), "true" | "false" | "null") || number_json(text).is_some();
            Node::Scalar(if taken { quoted(text) } else { scalar(text) })
        }
        serde_json::Value::Array(elements) => Node::List(elements.iter().map(json).collect()),
        serde_json::Value::Object(members) => {
            let mut map = Map::new();
            members.iter().for_each(|(name, one)| map.put(name, json(one)));
            Node::Map(map)
        }
        other => Node::Scalar(other.to_string()),
    }
}
