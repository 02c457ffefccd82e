//! Any request as code: in a shell, in Python, in JavaScript, in Rust.
//!
//! All four use the low-level clients of the SDKs, which take requests as they are on the wire. So numbers keep all of
//! their digits, and every operation has the same form.

mod cli;
mod javascript;
mod literal;
mod python;
mod rust;

use serde_json::{Map, Value, json};

/// The request in every language.
pub fn all(operation: &str, input: &Value) -> Value {
    let empty = Map::new();
    let members = input.as_object().unwrap_or(&empty);
    json!({
        "cli": cli::command(operation, members),
        "python": python::call(operation, members),
        "javascript": javascript::call(operation, members),
        "rust": rust::call(operation, members),
    })
}

/// `KeyConditionExpression` -> `key_condition_expression`, or with another joint between the words.
fn joined(name: &str, joint: char) -> String {
    let mut joined = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            joined.push(joint);
        }
        joined.push(letter.to_ascii_lowercase());
    }
    joined
}
