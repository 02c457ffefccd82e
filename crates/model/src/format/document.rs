//! Ways into the documents of other tools, and out again.

use serde_json::{Map, Value};

use crate::model::KeyAttribute;

/// The elements of a list; none of anything else.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// One text, or several in a list.
pub fn texts(value: &Value) -> Vec<&str> {
    value.as_str().into_iter().chain(list(value).filter_map(Value::as_str)).collect()
}

/// The other way round: a single text stands alone, and no text leaves no member.
pub fn put_texts(shape: &mut Value, name: &str, mut texts: Vec<String>) {
    match texts.len() {
        0 => {}
        1 => shape[name] = texts.remove(0).into(),
        _ => shape[name] = texts.into(),
    }
}

/// An id is text to the model, though some write numbers.
pub fn id(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `partition_key` and `sort_key`, one name or several -> `partition` and `sort` with types.
pub fn key_sides<'k>(keys: &Value, kind: impl Fn(&str) -> &'k str) -> Map<String, Value> {
    let side = |(member, side): (&str, &str)| {
        let names = texts(&keys[member]).into_iter();
        let typed: Map<String, Value> = names.map(|name| (name.to_owned(), kind(name).into())).collect();
        (!typed.is_empty()).then_some((side.to_owned(), Value::Object(typed)))
    };
    [("partition_key", "partition"), ("sort_key", "sort")].into_iter().filter_map(side).collect()
}

pub fn put_key_sides(shape: &mut Value, partition: &[KeyAttribute], sort: &[KeyAttribute]) {
    for (name, side) in [("partition_key", partition), ("sort_key", sort)] {
        put_texts(shape, name, side.iter().map(|key| key.name.clone()).collect());
    }
}
