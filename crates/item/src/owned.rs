//! Owned canonical bytes and their builders.

use std::fmt;

use bytes::Bytes;

use crate::{Corrupt, ItemRef, MapRef, Number, Type, Value, ValueRef, layout};

/// One value's canonical bytes; cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ValueBuf(pub(crate) Bytes);

impl ValueBuf {
    /// Checks bytes that come from a store.
    pub fn from_stored(bytes: Bytes) -> Result<ValueBuf, Corrupt> {
        match layout::check_value(&bytes, 1)? {
            [] => Ok(ValueBuf(bytes)),
            _ => Err(Corrupt("bytes follow the value")),
        }
    }

    /// The bytes to store.
    pub fn into_stored(self) -> Bytes {
        debug_assert_eq!(layout::check_value(&self.0, 1).map(<[u8]>::len), Ok(0));
        self.0
    }

    pub fn as_ref(&self) -> ValueRef<'_> {
        ValueRef(&self.0)
    }

    pub fn to_value(&self) -> Value {
        self.as_ref().to_value()
    }
}

impl From<&Value> for ValueBuf {
    fn from(value: &Value) -> ValueBuf {
        let mut out = Vec::new();
        value.write(&mut out);
        ValueBuf(out.into())
    }
}

impl From<Value> for ValueBuf {
    fn from(value: Value) -> ValueBuf {
        ValueBuf::from(&value)
    }
}

impl From<ValueRef<'_>> for ValueBuf {
    fn from(value: ValueRef<'_>) -> ValueBuf {
        ValueBuf(Bytes::copy_from_slice(value.as_bytes()))
    }
}

impl From<MapRef<'_>> for ValueBuf {
    fn from(map: MapRef<'_>) -> ValueBuf {
        let mut out = Vec::with_capacity(map.0.len() + 4);
        let body = layout::open(layout::M, &mut out);
        out.extend_from_slice(map.0);
        layout::close(body, &mut out);
        ValueBuf(out.into())
    }
}

impl From<Number> for ValueBuf {
    fn from(number: Number) -> ValueBuf {
        let mut out = Vec::new();
        layout::write_number(number, &mut out);
        ValueBuf(out.into())
    }
}

impl From<&str> for ValueBuf {
    fn from(text: &str) -> ValueBuf {
        let mut out = Vec::with_capacity(text.len() + 4);
        layout::write_string(text, &mut out);
        ValueBuf(out.into())
    }
}

impl From<bool> for ValueBuf {
    fn from(value: bool) -> ValueBuf {
        ValueBuf(Bytes::from_static(if value { &[layout::TRUE] } else { &[layout::FALSE] }))
    }
}

/// As DynamoDB JSON.
impl fmt::Debug for ValueBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// An item's canonical bytes; cheap to clone. The default is the item without attributes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Item(pub(crate) Bytes);

impl Item {
    /// Takes bytes from a store without checking them: the store has checksums of its own, and checking again takes
    /// as long as printing. If the bytes are not an item, its views panic, which fails that one request.
    pub fn trusted(bytes: Bytes) -> Item {
        Item(bytes)
    }

    /// Checks the bytes first: for bytes that can't be trusted, and to look for damage.
    pub fn from_stored(bytes: Bytes) -> Result<Item, Corrupt> {
        layout::check_entries(&bytes, 1)?;
        Ok(Item(bytes))
    }

    /// The bytes to store.
    pub fn into_stored(self) -> Bytes {
        debug_assert_eq!(layout::check_entries(&self.0, 1), Ok(()));
        self.0
    }

    pub fn as_ref(&self) -> ItemRef<'_> {
        MapRef(&self.0)
    }

    pub fn get(&self, name: &str) -> Option<ValueRef<'_>> {
        self.as_ref().get(name)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn size_bytes(&self) -> usize {
        self.as_ref().size_bytes()
    }

    /// How many bytes [`into_stored`](Item::into_stored) returns. Unlike DynamoDB's size, it is known without a walk.
    pub fn stored_size_bytes(&self) -> usize {
        self.0.len()
    }
}

impl<Name: AsRef<str>, V: Into<Value>> FromIterator<(Name, V)> for Item {
    fn from_iter<Entries: IntoIterator<Item = (Name, V)>>(entries: Entries) -> Item {
        let mut builder = ItemBuilder::default();
        for (name, value) in entries {
            builder.put(name.as_ref(), ValueBuf::from(value.into()).as_ref());
        }
        builder.build()
    }
}

/// As DynamoDB JSON.
impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// Collects attributes in any order; of two with the same name the later one is kept.
#[derive(Clone, Debug, Default)]
pub struct ItemBuilder {
    entries: Vec<u8>,
    order: NameOrder,
}

impl ItemBuilder {
    pub fn put(&mut self, name: &str, value: ValueRef<'_>) {
        let start = self.entries.len();
        layout::write_name(name, &mut self.entries);
        self.order.note(start, &self.entries);
        self.entries.extend_from_slice(value.as_bytes());
    }

    pub fn build(mut self) -> Item {
        if !self.order.ascending() {
            layout::sort_entries(0, &mut self.entries);
        }
        Item(self.entries.into())
    }

    /// The attributes as a value of type M.
    pub fn build_map(self) -> ValueBuf {
        ValueBuf::from(self.build().as_ref())
    }
}

/// Watches the names of a map as they are appended, so that only maps out of order are sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameOrder {
    previous: Option<std::ops::Range<usize>>,
    disorder: bool,
}

impl NameOrder {
    /// A length and a name were appended at `start`.
    pub(crate) fn note(&mut self, start: usize, out: &[u8]) {
        let (length, width) = layout::read_length(&out[start..]);
        let name = start + width..start + width + length;
        self.disorder |= self.previous.take().is_some_and(|previous| out[previous] >= out[name.clone()]);
        self.previous = Some(name);
    }

    pub(crate) fn ascending(&self) -> bool {
        !self.disorder
    }
}

/// Collects the elements of a list.
#[derive(Clone, Debug)]
pub struct ListBuilder(Vec<u8>, usize);

impl Default for ListBuilder {
    fn default() -> ListBuilder {
        let mut out = Vec::new();
        let body = layout::open(layout::L, &mut out);
        ListBuilder(out, body)
    }
}

impl ListBuilder {
    pub fn push(&mut self, element: ValueRef<'_>) {
        self.0.extend_from_slice(element.as_bytes());
    }

    pub fn build(mut self) -> ValueBuf {
        layout::close(self.1, &mut self.0);
        ValueBuf(self.0.into())
    }
}

/// Collects the members of a set of one type in any order; equal members count once.
#[derive(Clone, Debug)]
pub struct SetBuilder<'a> {
    kind: Type,
    members: Vec<ValueRef<'a>>,
}

impl<'a> SetBuilder<'a> {
    /// `kind` is SS, NS or BS. Panics on other types, which are a bug of the caller.
    pub fn new(kind: Type) -> SetBuilder<'a> {
        assert!(kind.is_set(), "{} is no set", kind.name());
        SetBuilder { kind, members: Vec::new() }
    }

    /// `member` is of the set's element type. Panics on other types, which are a bug of the caller.
    pub fn insert(&mut self, member: ValueRef<'a>) {
        assert_eq!(Some(member.kind()), self.kind.member(), "in a set of type {}", self.kind.name());
        self.members.push(member);
    }

    /// `None` if there are no members: DynamoDB has no empty sets.
    pub fn build(mut self) -> Option<ValueBuf> {
        if self.members.is_empty() {
            return None;
        }
        self.members.sort_by(|a, b| a.content().cmp(b.content()));
        self.members.dedup();
        let mut out = Vec::new();
        let body = layout::open(layout::container_tag(self.kind), &mut out);
        self.members.iter().for_each(|member| out.extend_from_slice(member.as_bytes()));
        layout::close(body, &mut out);
        Some(ValueBuf(out.into()))
    }
}
