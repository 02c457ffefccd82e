//! The friendly, owned form of a value: for building and inspecting, not for the hot path.

use std::collections::{BTreeMap, BTreeSet};

use crate::Number;

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
    /// As it stands in DynamoDB JSON: `S`, `BOOL`, `SS`, …
    pub fn name(self) -> &'static str {
        todo!()
    }
    /// The inverse of [`Type::name`].
    pub fn from_name(_name: &str) -> Option<Type> {
        todo!()
    }
}

/// A value as a tree.
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
