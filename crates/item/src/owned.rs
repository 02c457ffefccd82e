//! Owned canonical bytes.

use bytes::Bytes;

use crate::{Corrupt, ItemRef, Value, ValueRef};

/// One value's canonical bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueBuf(#[allow(dead_code)] Bytes);

impl ValueBuf {
    pub fn as_ref(&self) -> ValueRef<'_> {
        todo!()
    }
}
impl From<&Value> for ValueBuf {
    fn from(_value: &Value) -> ValueBuf {
        todo!()
    }
}
impl From<ValueRef<'_>> for ValueBuf {
    fn from(_value: ValueRef<'_>) -> ValueBuf {
        todo!()
    }
}

/// An item's canonical bytes; cheap to clone. The default is the item without attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Item(#[allow(dead_code)] Bytes);

impl Item {
    /// Checks bytes that come from a store: the one place where stored bytes become an item.
    pub fn from_stored(_bytes: Bytes) -> Result<Item, Corrupt> {
        todo!()
    }
    /// The bytes to store.
    pub fn into_stored(self) -> Bytes {
        todo!()
    }
    pub fn as_ref(&self) -> ItemRef<'_> {
        todo!()
    }
}

/// Collects attributes in any order; of two with one name the later wins.
#[derive(Default)]
pub struct ItemBuilder;

impl ItemBuilder {
    pub fn put(&mut self, _name: &str, _value: ValueRef<'_>) {
        todo!()
    }
    pub fn build(self) -> Item {
        todo!()
    }
}
