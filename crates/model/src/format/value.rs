//! Rows of a model -> DynamoDB JSON. The other way nothing is needed: a model file takes DynamoDB JSON as it
//! is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::{Number, Value};
use serde_json::{Map, Value as Json, json};

use crate::model::{Entity, SampleRow, Table};
use crate::template::{self, Part, Template};

/// Attributes by name, in DynamoDB JSON.
pub type Row = Map<String, Json>;

pub fn row(row: &SampleRow) -> Row {
    row.values.iter().map(|(name, value)| (name.clone(), typed(&value.value))).collect()
}

/// A row of an entity says its attributes; its keys are rendered.
pub fn keyed_row(table: &Table, entity: &Entity, sample: &SampleRow) -> Row {
    let value = |name: &str| sample.values.get(name).map(|value| value.value.clone());
    let keys = table.key.iter().flat_map(|schema| schema.attributes().zip(entity.key_templates()));
    let rendered = keys.filter_map(|(key, template)| {
        Some((key.name.clone(), typed(&template.render(key.kind, value, 0).ok()?)))
    });
    rendered.chain(row(sample)).collect()
}

pub fn typed(value: &Value) -> Json {
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
        Value::L(elements) => json!({ "L": elements.iter().map(typed).collect::<Vec<_>>() }),
        Value::M(entries) => {
            let entries: Row = entries.iter().map(|(name, value)| (name.clone(), typed(value))).collect();
            json!({ "M": entries })
        }
    }
}

/// Whether a literal row has the key of an entity's items.
pub fn is_of(table: &Table, entity: &Entity, row: &SampleRow) -> bool {
    let Some(schema) = &table.key else { return false };
    let mut keys = schema.attributes().zip(entity.key_templates());
    keys.all(|(key, template)| match row.values.get(&key.name).map(|value| &value.value) {
        Some(Value::S(text)) => {
            let literal = Template { parts: vec![Part::Literal(text.clone())], span: template.span };
            template.bare().is_some() || template::may_equal(&literal, template)
        }
        Some(_) => template.bare().is_some(),
        None => false,
    })
}
