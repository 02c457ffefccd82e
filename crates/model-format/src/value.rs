//! Rows and values of a model, as other tools write them. The other direction needs no code: a model file accepts
//! DynamoDB JSON.

use item::{Type, Value};
use model::dynamodb_json::{Row, dynamodb_json};
use model::model::{Attribute, Entity, SampleRow, Table};
use model::template::{self, Part, Template};
use serde_json::Value as Json;

pub fn row(row: &SampleRow) -> Row {
    row.values.iter().map(|(name, value)| (name.clone(), dynamodb_json(&value.value))).collect()
}

/// A row of an entity has its attributes; the keys are rendered.
pub fn keyed_row(table: &Table, entity: &Entity, sample: &SampleRow) -> Row {
    let value = |name: &str| sample.values.get(name).map(|value| value.value.clone());
    let keys = table.key.iter().flat_map(|schema| schema.attributes().zip(entity.key_templates()));
    let rendered = keys.filter_map(|(key, template)| {
        Some((key.name.clone(), dynamodb_json(&template.render(key.kind, value, 0).ok()?)))
    });
    rendered.chain(row(sample)).collect()
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

/// The values an attribute can have, as plain JSON; empty if any.
pub fn choices(attribute: &Attribute) -> Vec<Json> {
    match &attribute.constant {
        Some(constant) => plain(constant).into_iter().collect(),
        None => attribute.values.iter().map(|text| choice(attribute, text)).collect(),
    }
}

fn choice(attribute: &Attribute, text: &str) -> Json {
    let number = || serde_json::from_str::<Json>(text).ok().filter(Json::is_number);
    match attribute.kind.stored() {
        Type::N => number().unwrap_or_else(|| text.into()),
        _ => text.into(),
    }
}

/// Text, numbers and booleans; `None` for anything else.
fn plain(value: &Value) -> Option<Json> {
    match value {
        Value::S(text) => Some(text.as_str().into()),
        Value::N(number) => serde_json::from_str(&number.to_string()).ok(),
        Value::Bool(flag) => Some((*flag).into()),
        _ => None,
    }
}

/// Whether padding has to handle a sign.
pub fn may_be_negative(entity: &Entity, attribute: &str) -> bool {
    entity.attribute(attribute).and_then(|one| one.min).is_some_and(|least| least < 0.0)
}
