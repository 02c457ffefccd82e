//! Templates as YAML, with the short forms of functions (`!Ref`, `!Sub`, `!GetAtt`).

use layout::{LayoutNode, Map};
use model::file::{self, layout};
use serde_json::{Value, json};

use crate::{Syntax, Unreadable};

pub const YAML: Syntax = Syntax { parse, print };

/// JSON is YAML too.
fn parse(text: &str) -> Result<Value, Unreadable> {
    if let Ok(document) = serde_json::from_str(text) {
        return Ok(document);
    }
    file::foreign_json(text, long_form).map_err(|problems| {
        let messages: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
        Unreadable(format!("this is no template: {}", messages.join("; ")))
    })
}

/// `!Sub text` -> `{ Fn::Sub: text }`.
fn long_form(tag: &str, value: Value) -> Value {
    let value = match value {
        Value::Number(number) => number.to_string().into(),
        other => other,
    };
    match (tag, value.as_str().and_then(|text| text.split_once('.'))) {
        ("Ref" | "Condition", _) => json!({ tag: value }),
        ("GetAtt", Some((resource, attribute))) => json!({ "Fn::GetAtt": [resource, attribute] }),
        _ => json!({ format!("Fn::{tag}"): value }),
    }
}

fn print(document: &Value) -> String {
    match document {
        Value::Object(_) => layout::document(&map(document)),
        other => format!("{other}\n"),
    }
}

fn map(object: &Value) -> Map {
    let mut map = Map::open();
    for (name, value) in object.as_object().into_iter().flatten() {
        map.put_as(scalar(name), node(value));
    }
    map
}

fn node(value: &Value) -> LayoutNode {
    match value {
        Value::String(text) => LayoutNode::Scalar(scalar(text)),
        Value::Array(elements) => LayoutNode::List(elements.iter().map(node).collect()),
        Value::Object(_) => short_form(value).map_or_else(|| LayoutNode::Map(map(value)), LayoutNode::Scalar),
        other => LayoutNode::Scalar(other.to_string()),
    }
}

/// Only with a text as argument, which can't have a tag of its own.
fn short_form(object: &Value) -> Option<String> {
    let (name, value) = object.as_object().filter(|members| members.len() == 1)?.iter().next()?;
    match (name.as_str(), value) {
        ("Ref" | "Fn::Sub" | "Fn::ImportValue", Value::String(text)) => {
            Some(format!("!{} {}", name.trim_start_matches("Fn::"), scalar(text)))
        }
        ("Fn::GetAtt", Value::Array(path)) => match path.as_slice() {
            [Value::String(resource), Value::String(attribute)] if !resource.contains('.') => {
                Some(format!("!GetAtt {}", scalar(&format!("{resource}.{attribute}"))))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Unquoted only if YAML 1.1 reads it as text too, because that is what CloudFormation uses.
fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_-./: ".contains(c);
    let plain = first && text.chars().all(harmless) && !text.contains(": ") && !text.ends_with([':', ' ']);
    let word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if plain && !word { text.to_owned() } else { layout::quoted(text) }
}
