//! A request's placeholders and items, short to write.
use std::collections::BTreeMap;

use expression::{ExpressionError, Placeholders};
use item::{Item, Value, ValueBuf};

pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::map(entries)
}

pub fn list<const N: usize>(elements: [Value; N]) -> Value {
    Value::list(elements)
}

pub fn item<const N: usize>(entries: [(&str, Value); N]) -> Item {
    entries.into_iter().collect()
}

/// A value of every type but L and M, under the placeholders that the tests use.
pub fn values() -> BTreeMap<String, ValueBuf> {
    let values: Vec<(&str, Value)> = vec![
        (":n", Value::from(5)),
        (":zero", Value::from(0)),
        (":one", Value::from(1)),
        (":s", Value::from("abc")),
        (":t", Value::from("abd")),
        (":e", Value::from("")),
        (":b", Value::from(vec![1_u8, 2])),
        (":bool", Value::from(true)),
        (":null", Value::Null),
        (":ss", Value::string_set(["a", "b"])),
        (":ns", Value::number_set([1, 2])),
        (":bs", Value::binary_set([vec![1_u8]])),
        (":l", list([Value::from("x")])),
        (":m", map([("x", Value::from(1))])),
    ];
    values.into_iter().map(|(key, value)| (key.to_owned(), ValueBuf::from(value))).collect()
}

pub fn names() -> BTreeMap<String, String> {
    [("#a", "a"), ("#dot", "a.b"), ("#status", "status")]
        .map(|(key, name)| (key.to_owned(), name.to_owned()))
        .into()
}

/// Hands `parse` the placeholders above; whether all are used is not checked.
pub fn with_placeholders<T>(
    parse: impl FnOnce(&mut Placeholders<'_>) -> Result<T, ExpressionError>,
) -> Result<T, ExpressionError> {
    let (names, values) = (names(), values());
    parse(&mut Placeholders::new(Some(&names), Some(&values)))
}
