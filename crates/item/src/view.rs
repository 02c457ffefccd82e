//! Borrowed views of canonical bytes. They allocate nothing and trust the bytes, which were checked, or written by
//! this crate, before a view of them could be made.

use std::cmp::Ordering;
use std::fmt;

use bytes::Bytes;

use crate::{Item, Number, Type, Value, json, layout};

/// One value, borrowed. Equality is equality of values (the bytes are canonical).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ValueRef<'a>(pub(crate) &'a [u8]);

/// What a [`ValueRef`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListRef<'a>(pub(crate) &'a [u8]);

/// The entries of a map, sorted by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MapRef<'a>(pub(crate) &'a [u8]);

/// An item is a map.
pub type ItemRef<'a> = MapRef<'a>;

impl<'a> ValueRef<'a> {
    pub fn view(self) -> View<'a> {
        let content = layout::content(self.0);
        match self.0[0] {
            layout::S => View::S(text(content)),
            layout::N => View::N(number(content)),
            layout::B => View::B(content),
            layout::NULL => View::Null,
            layout::FALSE => View::Bool(false),
            layout::TRUE => View::Bool(true),
            layout::SS => View::Ss(ListRef(content)),
            layout::NS => View::Ns(ListRef(content)),
            layout::BS => View::Bs(ListRef(content)),
            layout::L => View::L(ListRef(content)),
            layout::M => View::M(MapRef(content)),
            _ => unreachable!("tags are checked when bytes become a value"),
        }
    }

    pub fn kind(self) -> Type {
        layout::kind(self.0[0])
    }

    pub(crate) fn tag(self) -> u8 {
        self.0[0]
    }

    pub fn as_str(self) -> Option<&'a str> {
        (self.kind() == Type::S).then(|| text(self.content()))
    }

    pub fn as_number(self) -> Option<Number> {
        (self.kind() == Type::N).then(|| number(self.content()))
    }

    pub fn as_binary(self) -> Option<&'a [u8]> {
        (self.kind() == Type::B).then(|| self.content())
    }

    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == Type::Bool).then(|| self.0[0] == layout::TRUE)
    }

    pub fn is_null(self) -> bool {
        self.kind() == Type::Null
    }

    /// The elements of an L. For sets see [`ValueRef::as_set`].
    pub fn as_list(self) -> Option<ListRef<'a>> {
        (self.kind() == Type::L).then(|| ListRef(self.content()))
    }

    /// The members of an SS, NS or BS.
    pub fn as_set(self) -> Option<ListRef<'a>> {
        self.kind().is_set().then(|| ListRef(self.content()))
    }

    pub fn as_map(self) -> Option<MapRef<'a>> {
        (self.kind() == Type::M).then(|| MapRef(self.content()))
    }

    /// DynamoDB's order of two strings, two numbers or two binaries; other values have none.
    pub fn partial_cmp_same_type(self, other: ValueRef<'_>) -> Option<Ordering> {
        let ordered = self.kind() == other.kind() && self.kind().is_ordered();
        // A number's bytes are in the order of its values.
        ordered.then(|| self.content().cmp(other.content()))
    }

    /// DynamoDB's size of the value, without its name.
    pub fn size_bytes(self) -> usize {
        const CONTAINER: usize = 3;
        let content = self.content();
        match self.kind() {
            Type::S | Type::B => content.len(),
            Type::N => Number::encoded_size_bytes(content),
            Type::Bool | Type::Null => 1,
            Type::Ss | Type::Ns | Type::Bs => ListRef(content).iter().map(ValueRef::size_bytes).sum(),
            Type::L => {
                CONTAINER + ListRef(content).iter().map(|element| 1 + element.size_bytes()).sum::<usize>()
            }
            Type::M => CONTAINER + MapRef(content).len() + MapRef(content).size_bytes(),
        }
    }

    /// How many levels of values are nested: 1 for a scalar, for a set, and for an empty list or map.
    /// DynamoDB allows 32.
    pub fn depth(self) -> usize {
        match self.view() {
            View::L(elements) => 1 + elements.iter().map(ValueRef::depth).max().unwrap_or(0),
            View::M(map) => 1 + map.depth(),
            _ => 1,
        }
    }

    pub fn to_value(self) -> Value {
        Value::from(self)
    }

    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// A text's or binary's bytes, a number's order-preserving ones, a container's body.
    pub(crate) fn content(self) -> &'a [u8] {
        layout::content(self.0)
    }
}

impl<'a> ListRef<'a> {
    /// Takes time in proportion to the length.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub fn get(self, index: usize) -> Option<ValueRef<'a>> {
        self.iter().nth(index)
    }

    pub fn contains(self, element: ValueRef<'_>) -> bool {
        self.iter().any(|candidate| candidate == element)
    }

    pub fn iter(self) -> impl Iterator<Item = ValueRef<'a>> + 'a {
        layout::walk(self.0).map(ValueRef)
    }
}

impl<'a> MapRef<'a> {
    /// Takes time in proportion to the length.
    pub fn len(self) -> usize {
        self.entries().count()
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub fn get(self, name: &str) -> Option<ValueRef<'a>> {
        self.entries()
            .take_while(|(candidate, _)| *candidate <= name.as_bytes())
            .find(|(candidate, _)| *candidate == name.as_bytes())
            .map(|(_, value)| value)
    }

    pub fn iter(self) -> impl Iterator<Item = (&'a str, ValueRef<'a>)> + 'a {
        self.entries().map(|(name, value)| (text(name), value))
    }

    /// DynamoDB's size of the item: names and values. A map that is a value takes some bytes more.
    pub fn size_bytes(self) -> usize {
        self.entries().map(|(name, value)| name.len() + value.size_bytes()).sum()
    }

    /// The depth of the deepest value; 0 if there are none.
    pub fn depth(self) -> usize {
        self.entries().map(|(_, value)| value.depth()).max().unwrap_or(0)
    }

    pub fn to_item(self) -> Item {
        Item(Bytes::copy_from_slice(self.0))
    }

    /// Names as bytes, which avoids checking each for UTF-8.
    pub(crate) fn entries(self) -> impl Iterator<Item = (&'a [u8], ValueRef<'a>)> + 'a {
        let mut bytes = self.0;
        std::iter::from_fn(move || {
            if bytes.is_empty() {
                return None;
            }
            let (length, width) = layout::read_length(bytes);
            let (name, rest) = bytes[width..].split_at(length);
            let (value, rest) = rest.split_at(layout::value_len(rest));
            bytes = rest;
            Some((name, ValueRef(value)))
        })
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("texts are checked when bytes become a value")
}

fn number(bytes: &[u8]) -> Number {
    Number::decode(bytes).expect("numbers are checked when bytes become a value").0
}

/// As DynamoDB JSON.
impl fmt::Debug for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        json::write_value(*self, &mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

impl fmt::Debug for ListRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// As DynamoDB JSON.
impl fmt::Debug for MapRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        json::write_item(*self, &mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
