//! An owned tree of values: convenient for building and inspecting, too slow for the hot path.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Item, Number, ValueRef, View, layout};

/// One of the ten types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    S,
    N,
    B,
    Bool,
    Null,
    Ss,
    Ns,
    Bs,
    L,
    M,
}

impl Type {
    /// As in DynamoDB JSON: `S`, `BOOL`, `SS`, …
    pub fn name(self) -> &'static str {
        match self {
            Type::S => "S",
            Type::N => "N",
            Type::B => "B",
            Type::Bool => "BOOL",
            Type::Null => "NULL",
            Type::Ss => "SS",
            Type::Ns => "NS",
            Type::Bs => "BS",
            Type::L => "L",
            Type::M => "M",
        }
    }

    /// The inverse of [`Type::name`].
    pub fn from_name(name: &str) -> Option<Type> {
        Some(match name {
            "S" => Type::S,
            "N" => Type::N,
            "B" => Type::B,
            "BOOL" => Type::Bool,
            "NULL" => Type::Null,
            "SS" => Type::Ss,
            "NS" => Type::Ns,
            "BS" => Type::Bs,
            "L" => Type::L,
            "M" => Type::M,
            _ => return None,
        })
    }

    pub fn is_set(self) -> bool {
        self.member().is_some()
    }

    /// Whether values of the type have an order, and so may be keys and be compared.
    pub fn is_ordered(self) -> bool {
        matches!(self, Type::S | Type::N | Type::B)
    }

    /// The type of a set's members.
    pub fn member(self) -> Option<Type> {
        match self {
            Type::Ss => Some(Type::S),
            Type::Ns => Some(Type::N),
            Type::Bs => Some(Type::B),
            _ => None,
        }
    }
}

/// A value as a tree. DynamoDB refuses empty sets, empty names and more than 32 levels. A tree can have them, so code
/// that builds one to be stored must avoid them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    S(String),
    N(Number),
    B(Vec<u8>),
    Bool(bool),
    Null,
    Ss(BTreeSet<String>),
    Ns(BTreeSet<Number>),
    Bs(BTreeSet<Vec<u8>>),
    L(Vec<Value>),
    M(BTreeMap<String, Value>),
}

impl Value {
    pub fn kind(&self) -> Type {
        match self {
            Value::S(_) => Type::S,
            Value::N(_) => Type::N,
            Value::B(_) => Type::B,
            Value::Bool(_) => Type::Bool,
            Value::Null => Type::Null,
            Value::Ss(_) => Type::Ss,
            Value::Ns(_) => Type::Ns,
            Value::Bs(_) => Type::Bs,
            Value::L(_) => Type::L,
            Value::M(_) => Type::M,
        }
    }

    pub fn list(elements: impl IntoIterator<Item = impl Into<Value>>) -> Value {
        Value::L(elements.into_iter().map(Into::into).collect())
    }

    pub fn map(entries: impl IntoIterator<Item = (impl Into<String>, impl Into<Value>)>) -> Value {
        Value::M(entries.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    pub fn string_set(members: impl IntoIterator<Item = impl Into<String>>) -> Value {
        Value::Ss(members.into_iter().map(Into::into).collect())
    }

    pub fn number_set(members: impl IntoIterator<Item = impl Into<Number>>) -> Value {
        Value::Ns(members.into_iter().map(Into::into).collect())
    }

    pub fn binary_set(members: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Value {
        Value::Bs(members.into_iter().map(Into::into).collect())
    }

    /// Appends the canonical bytes. Sets and maps of the tree already have the order of the bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::S(text) => return layout::write_string(text, out),
            Value::N(number) => return layout::write_number(*number, out),
            Value::B(bytes) => return layout::write_binary(bytes, out),
            Value::Bool(value) => return layout::write_bool(*value, out),
            Value::Null => return out.push(layout::NULL),
            _ => {}
        }
        let body = layout::open(layout::container_tag(self.kind()), out);
        match self {
            Value::Ss(members) => members.iter().for_each(|text| layout::write_string(text, out)),
            Value::Ns(members) => members.iter().for_each(|number| layout::write_number(*number, out)),
            Value::Bs(members) => members.iter().for_each(|bytes| layout::write_binary(bytes, out)),
            Value::L(elements) => elements.iter().for_each(|element| element.write(out)),
            Value::M(entries) => entries.iter().for_each(|(name, value)| {
                layout::write_name(name, out);
                value.write(out);
            }),
            _ => unreachable!("scalars are written above"),
        }
        layout::close(body, out);
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Value {
        match value.view() {
            View::S(text) => Value::S(text.to_owned()),
            View::N(number) => Value::N(number),
            View::B(bytes) => Value::B(bytes.to_vec()),
            View::Bool(value) => Value::Bool(value),
            View::Null => Value::Null,
            View::Ss(members) => {
                Value::Ss(members.iter().filter_map(ValueRef::as_str).map(str::to_owned).collect())
            }
            View::Ns(members) => Value::Ns(members.iter().filter_map(ValueRef::as_number).collect()),
            View::Bs(members) => {
                Value::Bs(members.iter().filter_map(ValueRef::as_binary).map(<[u8]>::to_vec).collect())
            }
            View::L(elements) => Value::L(elements.iter().map(Value::from).collect()),
            View::M(map) => {
                Value::M(map.iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect())
            }
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::S(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::S(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::N(number)
    }
}

impl From<i64> for Value {
    fn from(whole: i64) -> Value {
        Value::N(whole.into())
    }
}

impl From<i32> for Value {
    fn from(whole: i32) -> Value {
        Value::N(whole.into())
    }
}

impl From<u64> for Value {
    fn from(whole: u64) -> Value {
        Value::N(whole.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::B(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::B(bytes)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Value {
        Value::L(elements)
    }
}

impl From<BTreeMap<String, Value>> for Value {
    fn from(entries: BTreeMap<String, Value>) -> Value {
        Value::M(entries)
    }
}

impl From<&Item> for Value {
    fn from(item: &Item) -> Value {
        Value::M(item.as_ref().iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    }
}
