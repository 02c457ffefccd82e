//! Data -> text, short things on one line.

use serde_json::Value;

use super::{RAW, as_code};

const LINE_MAX: usize = 100;

pub fn print(value: &Value, indent: usize) -> String {
    let line = on_one_line(value);
    if indent + line.len() <= LINE_MAX && !line.contains('\n') {
        return line;
    }
    let inner = indent + 2;
    let lines: Vec<String> = match value {
        _ if as_code(value).is_some() => return line,
        Value::Object(members) => {
            members.iter().map(|(name, value)| member(name, value, |value| print(value, inner))).collect()
        }
        Value::Array(elements) => elements.iter().map(|element| print(element, inner)).collect(),
        _ => return line,
    };
    let (begin, end) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    let (outer_space, space) = (" ".repeat(indent), " ".repeat(inner));
    let body: String = lines.iter().map(|line| format!("{space}{line},\n")).collect();
    format!("{begin}\n{body}{outer_space}{end}")
}

fn on_one_line(value: &Value) -> String {
    match value {
        _ if as_code(value).is_some() => as_code(value).unwrap_or_default().to_owned(),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| member(name, value, on_one_line)).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(on_one_line).collect();
            format!("[{}]", elements.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn member(name: &str, value: &Value, print: impl Fn(&Value) -> String) -> String {
    match as_code(value).filter(|_| name.starts_with(RAW)) {
        Some(code) => code.to_owned(),
        None => format!("{}: {}", property(name), print(value)),
    }
}

fn property(name: &str) -> String {
    match name {
        // Without brackets it would be the object's prototype.
        "__proto__" => "[\"__proto__\"]".to_owned(),
        name if is_identifier(name) => name.to_owned(),
        name => Value::from(name).to_string(),
    }
}

pub fn is_identifier(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}
