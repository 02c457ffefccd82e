//! Canonical bytes to JSON, straight into the reply.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{ItemRef, ListRef, ValueRef, View};

pub fn write_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(value.kind().name().as_bytes());
    out.extend_from_slice(b"\":");
    match value.view() {
        View::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        View::Null => out.extend_from_slice(b"true"),
        View::Ss(members) | View::Ns(members) | View::Bs(members) => write_array(members, write_bare, out),
        View::L(elements) => write_array(elements, write_value, out),
        View::M(map) => write_item(map, out),
        View::S(_) | View::N(_) | View::B(_) => write_bare(value, out),
    }
    out.push(b'}');
}

pub fn write_item(item: ItemRef<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (name, value)) in item.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(name, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Appends a JSON string.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut plain = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..index]);
        write_escape(byte, out);
        plain = index + 1;
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]];
            out.extend_from_slice(b"\\u00");
            return out.extend_from_slice(&digits);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// A string, number or binary without its type: as it stands in a set.
fn write_bare(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value.view() {
        View::S(text) => write_text(text, out),
        View::N(number) => {
            out.push(b'"');
            number.write_to(out);
            out.push(b'"');
        }
        View::B(bytes) => {
            out.push(b'"');
            write_base64(bytes, out);
            out.push(b'"');
        }
        _ => unreachable!("sets hold only strings, numbers and binaries"),
    }
}

fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written, Ok(out.len() - start));
}

fn write_array(values: ListRef<'_>, write: impl Fn(ValueRef<'_>, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}
