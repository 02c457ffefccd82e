//! DynamoDB values -> a text that [`crate::file`] reads as the same value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::{Number, Type, Value};

use super::super::literal::number_json;
use super::layout::{LayoutNode, Map, quoted, scalar};

/// `kind` is the declared type of the attribute, by which the reader converts a scalar.
pub fn value(value: &Value, kind: Option<Type>) -> LayoutNode {
    let kind = kind.filter(|kind| matches!(kind, Type::S | Type::N | Type::B));
    match value {
        Value::S(text) => match kind {
            Some(Type::S) => LayoutNode::Scalar(scalar(text)),
            None => LayoutNode::Scalar(untyped(text)),
            Some(_) => typed("S", LayoutNode::Scalar(scalar(text))),
        },
        Value::N(number) => match kind {
            Some(Type::S | Type::B) => typed("N", LayoutNode::Scalar(number.to_string())),
            _ => LayoutNode::Scalar(number.to_string()),
        },
        Value::B(bytes) => match kind {
            Some(Type::B) => LayoutNode::Scalar(quoted(&STANDARD.encode(bytes))),
            _ => typed("B", LayoutNode::Scalar(quoted(&STANDARD.encode(bytes)))),
        },
        Value::Bool(flag) => LayoutNode::Scalar(flag.to_string()),
        Value::Null => LayoutNode::Scalar("null".to_owned()),
        Value::L(elements) => LayoutNode::List(elements.iter().map(|one| self::value(one, None)).collect()),
        Value::M(entries) => {
            let mut map = Map::new();
            for (name, one) in entries {
                map.put(name, self::value(one, None));
            }
            // A single member that is called like a type would be read as one.
            let mistakable = entries.len() == 1 && entries.keys().all(|name| Type::from_name(name).is_some());
            if mistakable { typed("M", LayoutNode::Map(map)) } else { LayoutNode::Map(map) }
        }
        Value::Ss(members) => set("SS", members.iter().map(|one| scalar(one))),
        Value::Ns(members) => set("NS", members.iter().map(Number::to_string)),
        Value::Bs(members) => set("BS", members.iter().map(|one| quoted(&STANDARD.encode(one)))),
    }
}

fn typed(tag: &str, node: LayoutNode) -> LayoutNode {
    let mut map = Map::new();
    map.put(tag, node);
    LayoutNode::Map(map)
}

fn set(tag: &str, members: impl Iterator<Item = String>) -> LayoutNode {
    typed(tag, LayoutNode::List(members.map(LayoutNode::Scalar).collect()))
}

/// A text that would be read as another type is quoted.
fn untyped(text: &str) -> String {
    let taken = matches!(text, "true" | "false" | "null") || Number::parse(text).is_ok();
    if taken { quoted(text) } else { scalar(text) }
}

/// Plain JSON, for requests as they are sent.
pub fn json(value: &serde_json::Value) -> LayoutNode {
    match value {
        serde_json::Value::String(text) => {
            let taken = matches!(text.as_str(), "true" | "false" | "null") || number_json(text).is_some();
            LayoutNode::Scalar(if taken { quoted(text) } else { scalar(text) })
        }
        serde_json::Value::Array(elements) => LayoutNode::List(elements.iter().map(json).collect()),
        serde_json::Value::Object(members) => {
            let mut map = Map::new();
            members.iter().for_each(|(name, one)| map.put(name, json(one)));
            LayoutNode::Map(map)
        }
        other => LayoutNode::Scalar(other.to_string()),
    }
}
