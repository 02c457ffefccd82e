//! Values -> DynamoDB JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::{Number, Value};
use serde_json::{Map, Value as Json, json};

/// Attributes by name, in DynamoDB JSON.
pub type Row = Map<String, Json>;

/// A value with its type, as requests have it.
pub fn dynamodb_json(value: &Value) -> Json {
    match value {
        Value::S(text) => json!({ "S": text }),
        Value::N(number) => json!({ "N": number.to_string() }),
        Value::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
        Value::Bool(flag) => json!({ "BOOL": flag }),
        Value::Null => json!({ "NULL": true }),
        Value::Ss(members) => json!({ "SS": members }),
        Value::Ns(members) => json!({ "NS": members.iter().map(Number::to_string).collect::<Vec<_>>() }),
        Value::Bs(members) => {
            json!({ "BS": members.iter().map(|one| STANDARD.encode(one)).collect::<Vec<_>>() })
        }
        Value::L(elements) => json!({ "L": elements.iter().map(dynamodb_json).collect::<Vec<_>>() }),
        Value::M(entries) => {
            let entries: Row =
                entries.iter().map(|(name, value)| (name.clone(), dynamodb_json(value))).collect();
            json!({ "M": entries })
        }
    }
}
