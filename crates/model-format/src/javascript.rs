//! JavaScript, as far as it is data: an object literal, or a module whose constants are literals.
//!
//! What is not data (a function, a name, a regular expression) is carried as text, `{ "$code": "…" }`, and
//! printed as it was read. For a member that is not `name: value` (a method, a spread) the whole text becomes the
//! name, after three dots.

pub mod expression;
pub mod key;
pub mod pattern;
mod read;
mod write;

use serde_json::{Value, json};

use crate::Notes;

pub use read::{Call, calls, parse};
pub use write::print;

const CODE: &str = "$code";
const RAW: &str = "...";

/// Code as a value of a document.
pub fn code(text: impl Into<String>) -> Value {
    json!({ CODE: text.into() })
}

/// The text, if the value is code.
pub fn as_code(value: &Value) -> Option<&str> {
    value.get(CODE)?.as_str()
}

/// Notes which parts of a document are code, except members that are known to be.
pub fn note_code(document: &Value, known: &[&str], notes: &mut Notes) {
    let mut found = Vec::new();
    collect(document, String::new(), known, &mut found);
    for path in found {
        notes.add(format!("{path} is code: it is kept and put back on export, but not read"));
    }
}

fn collect(value: &Value, path: String, known: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(_) if as_code(value).is_some() => found.push(path),
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
                let dot = if path.is_empty() { "" } else { "." };
                collect(member, format!("{path}{dot}{name}"), known, found);
            }
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| collect(element, path.clone(), known, found));
        }
        _ => {}
    }
}
