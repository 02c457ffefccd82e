//! Order-preserving, prefix-free key bytes: comparing them as bytes compares the values, and the
//! bytes of one value are never a prefix of another's, so that several can stand in a row.

use crate::ValueRef;

/// Appends the key bytes of a scalar (S, N or B). Other types are a caller's mistake and panic.
pub fn encode(_value: ValueRef<'_>, _out: &mut Vec<u8>) {
    todo!()
}

/// Appends the part that the key bytes of every S or B value beginning with `value` share.
pub fn encode_prefix(_value: ValueRef<'_>, _out: &mut Vec<u8>) {
    todo!()
}

/// The smallest bytes behind everything that begins with `prefix`; `None` if there are none.
pub fn after_prefix(_prefix: &[u8]) -> Option<Vec<u8>> {
    todo!()
}
