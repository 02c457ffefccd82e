//! Canonical bytes to JSON, appended to the reply without a tree in between.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{ItemRef, ListRef, MapRef, Number, ValueRef, layout};

pub fn write_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    let content = value.content();
    match value.tag() {
        layout::S => enclosed(b"{\"S\":", out, |out| write_text_bytes(content, out)),
        layout::N => enclosed(b"{\"N\":", out, |out| write_number(content, out)),
        layout::B => enclosed(b"{\"B\":", out, |out| write_binary(content, out)),
        layout::TRUE => out.extend_from_slice(b"{\"BOOL\":true}"),
        layout::FALSE => out.extend_from_slice(b"{\"BOOL\":false}"),
        layout::NULL => out.extend_from_slice(b"{\"NULL\":true}"),
        layout::SS => enclosed(b"{\"SS\":", out, |out| write_array(content, write_text_bytes, out)),
        layout::NS => enclosed(b"{\"NS\":", out, |out| write_array(content, write_number, out)),
        layout::BS => enclosed(b"{\"BS\":", out, |out| write_array(content, write_binary, out)),
        layout::M => enclosed(b"{\"M\":", out, |out| write_item(MapRef(content), out)),
        _ => enclosed(b"{\"L\":", out, |out| write_list(ListRef(content), out)),
    }
}

fn enclosed(opening: &[u8], out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(opening);
    write(out);
    out.push(b'}');
}

pub fn write_item(item: ItemRef<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (name, value)) in item.entries().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text_bytes(name, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Appends a JSON string.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    write_text_bytes(text.as_bytes(), out);
}

/// Writes a text as bytes, without checking for UTF-8: it was checked when it was read.
fn write_text_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes)
    } else {
        write_escaped(bytes, out)
    }
    out.push(b'"');
}

/// Whether a text needs no escapes. The loop has no early exit, so that the compiler can vectorise it.
fn is_plain(bytes: &[u8]) -> bool {
    !bytes.iter().fold(false, |special, &byte| special | needs_escape(byte))
}

fn needs_escape(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut plain = 0;
    for (index, &byte) in bytes.iter().enumerate().filter(|(_, byte)| needs_escape(**byte)) {
        out.extend_from_slice(&bytes[plain..index]);
        write_escape(byte, out);
        plain = index + 1;
    }
    out.extend_from_slice(&bytes[plain..]);
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

fn write_number(encoded: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    Number::write_encoded_to(encoded, out);
    out.push(b'"');
}

fn write_binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written, Ok(out.len() - start));
    out.push(b'"');
}

/// The members of a set, without their types.
fn write_array(members: &[u8], write: impl Fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) {
    separated(ListRef(members), out, |member, out| write(member.content(), out));
}

fn write_list(elements: ListRef<'_>, out: &mut Vec<u8>) {
    separated(elements, out, write_value);
}

fn separated(values: ListRef<'_>, out: &mut Vec<u8>, write: impl Fn(ValueRef<'_>, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}
