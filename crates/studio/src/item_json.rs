//! Between DynamoDB JSON in a document and values.

use item::json::{Jiter, read_item, write_item};
use item::{Item, ValueBuf};
use model::predict::item::Values;
use serde_json::Value;

pub fn item(document: &Value) -> Result<Item, String> {
    let text = document.to_string();
    match read_item(&mut Jiter::new(text.as_bytes())) {
        Ok(Ok(item)) => Ok(item),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("this is not an item in DynamoDB JSON".to_owned()),
    }
}

pub fn values(document: &Value) -> Result<Values, String> {
    Ok(proof::database::values(&item(document)?))
}

pub fn document(item: &Item) -> Value {
    let mut out = Vec::new();
    write_item(item.as_ref(), &mut out);
    serde_json::from_slice(&out).unwrap_or(Value::Null)
}

pub fn of_values(values: &Values) -> Value {
    document(&model::sample::item(values))
}

/// One value, as it stands in an item.
pub fn value(value: &item::Value) -> Value {
    of_values(&[("value".to_owned(), value.clone())].into())["value"].take()
}

/// One value out of its document.
pub fn read_value(document: &Value) -> Result<item::Value, String> {
    let item = values(&serde_json::json!({ "value": document }))?;
    item.into_values().next().ok_or_else(|| "a value is missing".to_owned())
}

/// A placeholder's value.
pub fn of_buffer(buffer: &ValueBuf) -> Value {
    value(&buffer.to_value())
}
