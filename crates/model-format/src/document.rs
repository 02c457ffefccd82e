//! Reading parts of other tools' documents, and writing them.

use model::model::KeyAttribute;
use serde_json::{Map, Value};

use crate::Unreadable;

/// The elements of a list; empty for anything else.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The list under this name, which the document must have.
pub fn required_list<'v>(document: &'v Value, name: &str) -> Result<&'v [Value], Unreadable> {
    let list = document[name].as_array();
    list.map(Vec::as_slice).ok_or_else(|| Unreadable(format!("there is no list `{name}`")))
}

/// The text under this name, which `what` must have.
pub fn required_text<'v>(what: &str, value: &'v Value, name: &str) -> Result<&'v str, Unreadable> {
    value[name].as_str().ok_or_else(|| Unreadable(format!("{what} has no `{name}`")))
}

/// One text, or several in a list.
pub fn texts(value: &Value) -> Vec<&str> {
    value.as_str().into_iter().chain(list(value).filter_map(Value::as_str)).collect()
}

/// The inverse: a single text is not put in a list, and without texts there is no member.
pub fn put_texts(shape: &mut Value, name: &str, mut texts: Vec<String>) {
    match texts.len() {
        0 => {}
        1 => shape[name] = texts.remove(0).into(),
        _ => shape[name] = texts.into(),
    }
}

/// An id as text; some tools write numbers.
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
