//! Prints requests and answers as JSON, straight to bytes. Absent members are left out.

use std::collections::BTreeMap;
use std::io::Write as _;

use item::{Item, ValueBuf};

/// A type that prints itself as one JSON value.
pub(crate) trait Encode {
    fn encode(&self, out: &mut Vec<u8>);

    /// Whether an object leaves out a member with this value.
    fn is_absent(&self) -> bool {
        false
    }
}

/// A JSON object being printed.
pub(crate) struct Object<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Object<'o> {
    /// Opens an object.
    pub fn new(out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        Object { out, first: true }
    }

    /// A member of a structure, unless it is absent.
    pub fn member<T: Encode + ?Sized>(&mut self, name: &'static str, value: &T) {
        if !value.is_absent() {
            self.begin_member(name);
            value.encode(self.out);
        }
    }

    /// The service's own names have no character that JSON escapes.
    fn begin_member(&mut self, name: &'static str) {
        debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// An entry of a map: its key is the client's.
    fn entry<T: Encode>(&mut self, key: &str, value: &T) {
        self.separate();
        key.encode(self.out);
        self.out.push(b':');
        value.encode(self.out);
    }

    fn separate(&mut self) {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// A time, in seconds since 1970.
pub(crate) struct Timestamp(pub f64);

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.encode(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, element) in self.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            element.encode(out);
        }
        out.push(b']');
    }
}

impl<T: Encode> Encode for BTreeMap<String, T> {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut object = Object::new(out);
        for (key, value) in self {
            object.entry(key, value);
        }
        object.end();
    }
}

impl Encode for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Encode for i32 {
    fn encode(&self, out: &mut Vec<u8>) {
        i64::from(*self).encode(out);
    }
}

impl Encode for i64 {
    fn encode(&self, out: &mut Vec<u8>) {
        print(out, format_args!("{self}"));
    }
}

/// Capacity units and other numbers with a fraction, even if it is zero: `1.0`.
impl Encode for f64 {
    fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.is_finite(), "JSON has no infinity");
        print(out, format_args!("{self:?}"));
    }
}

/// To the millisecond, without needless digits: `1731612345.67`.
impl Encode for Timestamp {
    fn encode(&self, out: &mut Vec<u8>) {
        print(out, format_args!("{}", (self.0 * 1000.0).round() / 1000.0));
    }
}

fn print(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a Vec takes every byte");
}

impl Encode for String {
    fn encode(&self, out: &mut Vec<u8>) {
        self.as_str().encode(out);
    }
}

impl Encode for str {
    fn encode(&self, out: &mut Vec<u8>) {
        item::json::write_text(self, out);
    }
}

impl Encode for Item {
    fn encode(&self, out: &mut Vec<u8>) {
        item::json::write_item(self.as_ref(), out);
    }
}

impl Encode for ValueBuf {
    fn encode(&self, out: &mut Vec<u8>) {
        item::json::write_value(self.as_ref(), out);
    }
}
