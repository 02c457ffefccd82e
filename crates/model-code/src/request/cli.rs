//! The AWS CLI, in a shell.

use serde_json::{Map, Value};

use super::is_unseen;
use crate::cli::{is_plain, unquote};
use crate::name::joined;

pub fn command(operation: &str, members: &Map<String, Value>) -> String {
    let mut parts = vec![format!("aws dynamodb {}", joined(operation, '-'))];
    for (name, value) in members {
        let option = joined(name, '-');
        match (name.as_str(), value) {
            // The CLI follows pages by itself: this asks for one page of this size.
            ("Limit", Value::Number(limit)) if pages(operation) => {
                parts.push(format!("--page-size {limit} --max-items {limit}"));
            }
            // The CLI has its own tokens for pages, but takes a whole request in JSON as it is.
            ("ExclusiveStartKey", _) if pages(operation) => return whole(operation, members),
            (_, Value::Bool(true)) => parts.push(format!("--{option}")),
            (_, Value::Bool(false)) => parts.push(format!("--no-{option}")),
            (_, value) => parts.push(format!("--{option} {}", argument(value))),
        }
    }
    parts.join(" \\\n    ")
}

fn pages(operation: &str) -> bool {
    matches!(operation, "Query" | "Scan")
}

fn whole(operation: &str, members: &Map<String, Value>) -> String {
    let input = Value::Object(members.clone()).to_string();
    format!("aws dynamodb {} --no-paginate --cli-input-json {}", joined(operation, '-'), word(&input))
}

fn argument(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        Value::Number(number) => number.to_string(),
        document => word(&document.to_string()),
    }
}

/// One word of the shell.
fn word(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    if text.chars().any(is_unseen) {
        return format!("$'{}'", text.chars().map(escaped).collect::<String>());
    }
    format!("'{}'", unquote(text))
}

/// Inside of `$'…'`, as bash and zsh have it.
fn escaped(one: char) -> String {
    match one {
        '\'' => "\\'".to_owned(),
        '\\' => "\\\\".to_owned(),
        one if is_unseen(one) => {
            let mut bytes = [0; 4];
            one.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        one => one.to_string(),
    }
}
