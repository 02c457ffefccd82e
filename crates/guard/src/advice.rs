//! What to add to a model for a request that it does not know: the pattern that `model learn` would find.

use model::Model;
use model::learn::pattern_of;
use model::learn::shape::KeyNames;
use serde_json::{Map, Value};

/// The line of a model file; `None` if the request is no pattern that a file can have.
pub fn pattern(model: &Model, operation: &str, body: &[u8]) -> Option<String> {
    let input: Value = serde_json::from_slice(body).ok()?;
    let (name, fields) = pattern_of(model, key_names(model), operation, &input)?;
    Some(format!("{name}: {}", flow(&fields)))
}

fn key_names(model: &Model) -> KeyNames {
    let names = |table: &model::model::Table| {
        let indexes = table.indexes.iter().map(|index| &index.key);
        let keys = table.key.iter().chain(indexes).flat_map(|key| key.attributes());
        keys.map(|key| key.name.clone()).collect()
    };
    model.tables.iter().map(|table| (table.name.value.clone(), names(table))).collect()
}

/// YAML on one line. Words need no quotes.
fn flow(fields: &Map<String, Value>) -> String {
    let members: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}: {}", flow_value(value))).collect();
    format!("{{ {} }}", members.join(", "))
}

fn flow_value(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        Value::Array(all) => format!("[{}]", all.iter().map(flow_value).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => flow(fields),
        other => other.to_string(),
    }
}

fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '=' | '>' | '<');
    let begins_well = text.starts_with(|c: char| c.is_alphabetic());
    match begins_well && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}
