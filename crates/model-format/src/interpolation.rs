//! `${…}` in the texts of templates, as far as it is known without deploying anything.

use serde_json::Value;

/// The text with the known values put in. A text that is only `${…}` becomes the value itself, null if
/// it is not known; in a longer text unknown values are left out, together with their separators.
pub fn interpolate(text: &str, known: &impl Fn(&str) -> Option<Value>) -> Value {
    if let Some(inner) = whole(text) {
        return known(inner).unwrap_or(Value::Null);
    }
    let mut out = String::new();
    let mut left_out = false;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        // `$${` is an escaped `${`.
        if let Some(before) = before.strip_suffix('$') {
            out = out + before + "${";
            rest = after;
            continue;
        }
        let Some(end) = end_of(after) else { break };
        out.push_str(before);
        match known(after[..end].trim()) {
            Some(value) => out.push_str(&plain(&value)),
            None => left_out = true,
        }
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    if left_out { out.trim_matches(['-', '_', '.', '/']).into() } else { out.into() }
}

/// `${name}` -> `name`.
pub fn whole(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("${")?;
    let end = end_of(rest)?;
    (end + 1 == rest.len()).then(|| rest[..end].trim())
}

/// The position of the closing brace.
fn end_of(rest: &str) -> Option<usize> {
    let mut depth = 1;
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Converts numbers and booleans that a template has in quotes.
pub fn unquoted(value: &Value) -> Value {
    let is_one_of = |words: [&str; 3]| {
        value.as_str().is_some_and(|text| words.iter().any(|word| text.eq_ignore_ascii_case(word)))
    };
    match value.as_str() {
        _ if is_one_of(["true", "yes", "on"]) => true.into(),
        _ if is_one_of(["false", "no", "off"]) => false.into(),
        Some(text) => text.parse::<u64>().map_or_else(|_| value.clone(), Value::from),
        None => value.clone(),
    }
}
