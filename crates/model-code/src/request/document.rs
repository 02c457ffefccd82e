//! Documents as literals of a language. Python and JavaScript differ in a few words only.

use serde_json::Value;

use super::escaped;
use crate::literal::{quoted, utf16};

/// The words that differ.
pub struct Words {
    pub yes: &'static str,
    pub no: &'static str,
    pub nothing: &'static str,
    /// Around the base64 of bytes.
    pub bytes: (&'static str, &'static str),
    /// Whether the keys of an object need quotes even if they are plain.
    pub quoted_keys: bool,
}

const LINE_MAX: usize = 92;
const STEP: usize = 4;

/// On one line if it fits, else one member a line.
pub fn literal(value: &Value, words: &Words, indent: usize) -> String {
    let short = inline(value, words);
    if indent + short.len() <= LINE_MAX
        || !(value.is_object() || value.is_array())
        || is_bytes(value).is_some()
    {
        return short;
    }
    let inner = " ".repeat(indent + STEP);
    let end = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            let lines = members.iter().map(|(name, one)| {
                format!("{inner}{}: {},\n", key(name, words), literal(one, words, indent + STEP))
            });
            format!("{{\n{}{end}}}", lines.collect::<String>())
        }
        Value::Array(elements) => {
            let lines =
                elements.iter().map(|one| format!("{inner}{},\n", literal(one, words, indent + STEP)));
            format!("[\n{}{end}]", lines.collect::<String>())
        }
        _ => short,
    }
}

fn inline(value: &Value, words: &Words) -> String {
    if let Some((name, bytes)) = is_bytes(value) {
        let one = |text: &str| format!("{}{}{}", words.bytes.0, string(text), words.bytes.1);
        let inner = match bytes {
            Value::Array(members) => {
                let members: Vec<String> = members.iter().filter_map(Value::as_str).map(one).collect();
                format!("[{}]", members.join(", "))
            }
            other => one(other.as_str().unwrap_or_default()),
        };
        let key = key(name, words);
        return if words.quoted_keys {
            format!("{{{key}: {inner}}}")
        } else {
            format!("{{ {key}: {inner} }}")
        };
    }
    match value {
        Value::Null => words.nothing.to_owned(),
        Value::Bool(true) => words.yes.to_owned(),
        Value::Bool(false) => words.no.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(text),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(|one| inline(one, words)).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, one)| format!("{}: {}", key(name, words), inline(one, words)))
                .collect();
            let members = members.join(", ");
            if words.quoted_keys { format!("{{{members}}}") } else { format!("{{ {members} }}") }
        }
    }
}

/// A binary value or set of them. An attribute called `B` holds an object, and names begin with `#`.
fn is_bytes(value: &Value) -> Option<(&str, &Value)> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, inner) = members.iter().next()?;
    match name.as_str() {
        "B" if inner.is_string() => Some((name, inner)),
        "BS" if inner.is_array() => Some((name, inner)),
        _ => None,
    }
}

fn key(name: &str, words: &Words) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    if plain && !words.quoted_keys { name.to_owned() } else { string(name) }
}

/// In the form that Python and JavaScript share.
fn string(text: &str) -> String {
    quoted(text, |one| escaped(one, utf16))
}
