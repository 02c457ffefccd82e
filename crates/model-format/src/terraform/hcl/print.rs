//! A document as HCL, laid out as `terraform fmt` does.

use serde_json::{Map, Value};

use super::{labels, names_things};
use crate::interpolation::whole;
use crate::terraform::blocks;

/// Blocks that `.tf.json` may have as one object; objects under other names are attributes.
const BLOCKS: [&str; 18] = [
    "attribute",
    "backend",
    "connection",
    "content",
    "dynamic",
    "global_secondary_index",
    "key_schema",
    "lifecycle",
    "local_secondary_index",
    "on_demand_throughput",
    "point_in_time_recovery",
    "provisioner",
    "replica",
    "required_providers",
    "server_side_encryption",
    "timeouts",
    "ttl",
    "warm_throughput",
];

const WIDTH: usize = 100;

pub fn print(document: &Value) -> String {
    let mut out = String::new();
    for (kind, value) in document.as_object().into_iter().flatten() {
        block(&mut out, kind, &quotable(kind), labels(kind), value, 0);
    }
    out
}

/// `kind "label" {`, once for each block there is.
fn block(out: &mut String, kind: &str, head: &str, labels: usize, value: &Value, indent: usize) {
    if let (Some(labels), Value::Object(named)) = (labels.checked_sub(1), value) {
        for (label, value) in named {
            block(out, kind, &format!("{head} {}", quoted(label)), labels, value, indent);
        }
        return;
    }
    for body in blocks(value).filter_map(Value::as_object) {
        if !out.is_empty() && !out.ends_with("{\n") {
            out.push('\n');
        }
        if body.is_empty() {
            line(out, indent, &format!("{head} {{}}"));
            continue;
        }
        line(out, indent, &format!("{head} {{"));
        self::body(out, kind, body, indent + 2);
        line(out, indent, "}");
    }
}

fn line(out: &mut String, indent: usize, text: &str) {
    out.extend(std::iter::repeat_n(' ', indent));
    out.push_str(text);
    out.push('\n');
}

/// Attributes of one line, then longer ones, then blocks.
fn body(out: &mut String, kind: &str, members: &Map<String, Value>, indent: usize) {
    let (nested, attributes): (Vec<_>, Vec<_>) =
        members.iter().partition(|(name, value)| is_block(name, value));
    let printed = attributes.into_iter().map(|(name, value)| {
        let value = if names_things(kind, name) { names(value) } else { expression(value, indent) };
        (quotable(name), value)
    });
    entries(out, printed.collect(), indent);
    for (name, value) in nested {
        block(out, name, &quotable(name), labels(name), value, indent);
    }
}

fn is_block(name: &str, value: &Value) -> bool {
    match value {
        Value::Array(elements) => !elements.is_empty() && elements.iter().all(Value::is_object),
        Value::Object(_) => BLOCKS.contains(&name),
        _ => false,
    }
}

/// `name = value`, with the signs aligned. Entries of several lines are separated by blank lines.
fn entries(out: &mut String, entries: Vec<(String, String)>, indent: usize) {
    let (long, short): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(_, value)| value.contains('\n'));
    let width = short.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in short {
        line(out, indent, &format!("{name:width$} = {value}"));
    }
    for (name, value) in long {
        if !out.is_empty() && !out.ends_with("{\n") {
            out.push('\n');
        }
        line(out, indent, &format!("{name} = {value}"));
    }
}

/// References that serve as names have no quotes.
fn names(value: &Value) -> String {
    match value {
        Value::String(name) => name.clone(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(names).collect::<Vec<_>>().join(", ")),
        other => expression(other, 0),
    }
}

fn expression(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) => whole(text).map_or_else(|| quoted(text), str::to_owned),
        Value::Array(elements) => list(elements, indent),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let mut out = String::from("{\n");
            let printed = members.iter().map(|(name, value)| (key(name), expression(value, indent + 2)));
            entries(&mut out, printed.collect(), indent + 2);
            out.extend(std::iter::repeat_n(' ', indent));
            out.push('}');
            out
        }
        other => other.to_string(),
    }
}

fn list(elements: &[Value], indent: usize) -> String {
    let printed: Vec<String> = elements.iter().map(|element| expression(element, indent + 2)).collect();
    let line = format!("[{}]", printed.join(", "));
    if line.len() + indent <= WIDTH && !line.contains('\n') {
        return line;
    }
    let margin = " ".repeat(indent + 2);
    let lines: String = printed.iter().map(|element| format!("{margin}{element},\n")).collect();
    format!("[\n{lines}{}]", " ".repeat(indent))
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The name of an attribute or block.
fn quotable(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { quoted(name) }
}

/// Quoted if it is a keyword of the language.
fn key(name: &str) -> String {
    let word = ["null", "true", "false", "for", "if", "in"].contains(&name);
    if is_identifier(name) && !word { name.to_owned() } else { quoted(name) }
}

/// Quoted; expressions inside stay as they are.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut depth = 0usize;
    let mut before = [' ', ' '];
    for character in text.chars() {
        let opens = character == '{' && matches!(before, [first, '$' | '%'] if first != before[1]);
        match character {
            '{' if opens || depth > 0 => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match character {
            '"' if depth == 0 => out.push_str("\\\""),
            '\\' if depth == 0 => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
        before = [before[1], character];
    }
    out.push('"');
    out
}
