//! Order-preserving, prefix-free key bytes. Comparing them as bytes compares the values. The bytes of one value are
//! never a prefix of another's, so several can be concatenated.
//!
//! Numbers have such bytes already. Strings and binaries end in 0x00; a 0x00 inside becomes 0x01 0x01
//! and a 0x01 becomes 0x01 0x02, so that the end sorts below everything that could follow. The type is
//! not written: a key attribute has one type, and values of different types are never compared.

use crate::{Type, ValueRef};

const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;

/// Appends the key bytes of a scalar (S, N or B). Panics on other types, which are a bug of the caller.
pub fn encode(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value.kind() {
        Type::N => out.extend_from_slice(value.content()),
        Type::S | Type::B => {
            escape(value.content(), out);
            out.push(END);
        }
        other => panic!("a key holds S, N or B, not {}", other.name()),
    }
}

/// Appends the bytes that the keys of all S or B values beginning with `value` share. Panics on other types, which
/// are a bug of the caller.
pub fn encode_prefix(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value.kind() {
        Type::S | Type::B => escape(value.content(), out),
        other => panic!("only S and B have prefixes, not {}", other.name()),
    }
}

/// The smallest bytes above everything that begins with `prefix`; `None` if there are none.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 1);
    for &byte in bytes {
        match byte {
            END | ESCAPE => out.extend_from_slice(&[ESCAPE, byte + 1]),
            _ => out.push(byte),
        }
    }
}
