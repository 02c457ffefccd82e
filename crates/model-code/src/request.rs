//! Any request as code: in a shell, in Python, in JavaScript, in Rust.
//!
//! All four use the low-level clients of the SDKs, which take requests as they are on the wire. So numbers keep all of
//! their digits, and every operation has the same form.

mod cli;
mod document;
mod javascript;
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

/// Controls, line separators and marks of direction: code must read as it runs. Fewer characters than
/// [`crate::literal::is_unseen`] has: a request is shown as it was sent, also with the highest character at the end of a
/// range.
fn is_unseen(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// A character of a text in quotes, escaped if it can't be seen.
fn escaped(one: char, escape: fn(char) -> String) -> String {
    if is_unseen(one) { escape(one) } else { one.to_string() }
}
