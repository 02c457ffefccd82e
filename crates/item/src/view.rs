//! Borrowed views of canonical bytes.

use crate::{Number, Type, Value};

/// One value, borrowed. Equality is equality of values (the bytes are canonical).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueRef<'a>(#[allow(dead_code)] &'a [u8]);

/// What a [`ValueRef`] holds.
pub enum View<'a> {
    S(&'a str),
    N(Number),
    B(&'a [u8]),
    Bool(bool),
    Null,
    Ss(ListRef<'a>),
    Ns(ListRef<'a>),
    Bs(ListRef<'a>),
    L(ListRef<'a>),
    M(MapRef<'a>),
}

/// The elements of a list or a set; a set's are sorted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ListRef<'a>(#[allow(dead_code)] &'a [u8]);

/// The entries of a map, sorted by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MapRef<'a>(#[allow(dead_code)] &'a [u8]);

/// An item is a map.
pub type ItemRef<'a> = MapRef<'a>;

impl<'a> ValueRef<'a> {
    pub fn view(self) -> View<'a> {
        todo!()
    }
    pub fn kind(self) -> Type {
        todo!()
    }
    /// DynamoDB's size of the value, without its name.
    pub fn size_bytes(self) -> usize {
        todo!()
    }
    /// How many levels of lists and maps lie inside; a scalar has 1.
    pub fn depth(self) -> usize {
        todo!()
    }
    pub fn to_value(self) -> Value {
        todo!()
    }
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl<'a> ListRef<'a> {
    pub fn len(self) -> usize {
        todo!()
    }
    pub fn is_empty(self) -> bool {
        todo!()
    }
    pub fn get(self, _index: usize) -> Option<ValueRef<'a>> {
        todo!()
    }
    pub fn iter(self) -> impl Iterator<Item = ValueRef<'a>> + 'a {
        std::iter::empty()
    }
}

impl<'a> MapRef<'a> {
    pub fn len(self) -> usize {
        todo!()
    }
    pub fn is_empty(self) -> bool {
        todo!()
    }
    pub fn get(self, _name: &str) -> Option<ValueRef<'a>> {
        todo!()
    }
    pub fn iter(self) -> impl Iterator<Item = (&'a str, ValueRef<'a>)> + 'a {
        std::iter::empty()
    }
    /// DynamoDB's size of the item: names and values.
    pub fn size_bytes(self) -> usize {
        todo!()
    }
    pub fn to_item(self) -> crate::Item {
        todo!()
    }
}
