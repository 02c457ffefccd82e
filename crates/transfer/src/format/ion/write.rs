//! Canonical bytes to Ion text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use item::{ItemRef, ListRef, Number, Type, ValueRef, View};

use super::super::{Change, WRITE_TIMESTAMP};
use super::{VERSION_MARKER, annotation};

pub fn write_item(item: ItemRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(VERSION_MARKER);
    out.extend_from_slice(b" {Item:");
    write_struct(item, out);
    out.push(b'}');
}

pub fn write_change(change: &Change<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(VERSION_MARKER);
    let micros = change.write_timestamp_micros;
    out.extend_from_slice(format!(" {{Metadata:{{{WRITE_TIMESTAMP}:{micros}.}},Keys:").as_bytes());
    write_struct(change.keys, out);
    for (name, image) in [(",OldImage:", change.old_image), (",NewImage:", change.new_image)] {
        if let Some(image) = image {
            out.extend_from_slice(name.as_bytes());
            write_struct(image, out);
        }
    }
    out.push(b'}');
}

fn write_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value.view() {
        View::S(text) => write_quoted(text, b'"', out),
        View::N(number) => write_number(number, out),
        View::B(bytes) => out.extend_from_slice(format!("{{{{{}}}}}", STANDARD.encode(bytes)).as_bytes()),
        View::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        View::Null => out.extend_from_slice(b"null"),
        View::Ss(members) => write_set(Type::Ss, members, out),
        View::Ns(members) => write_set(Type::Ns, members, out),
        View::Bs(members) => write_set(Type::Bs, members, out),
        View::L(elements) => write_list(elements, out),
        View::M(map) => write_struct(map, out),
    }
}

fn write_set(kind: Type, members: ListRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(annotation(kind).as_bytes());
    out.extend_from_slice(b"::");
    write_list(members, out);
}

fn write_list(elements: ListRef<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(element, out);
    }
    out.push(b']');
}

fn write_struct(map: ItemRef<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (name, value)) in map.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match is_identifier(name) {
            true => out.extend_from_slice(name.as_bytes()),
            false => write_quoted(name, b'\'', out),
        }
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Whether a name needs no quotes. A dollar sign and digits are the number of a symbol.
fn is_identifier(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    name.bytes().all(word)
        && !name.bytes().next().is_none_or(|first| first.is_ascii_digit())
        && !matches!(name, "null" | "true" | "false" | "nan")
        && !name.strip_prefix('$').is_some_and(number)
}

fn write_quoted(text: &str, quote: u8, out: &mut Vec<u8>) {
    out.push(quote);
    for &byte in text.as_bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ if byte == quote => out.extend_from_slice(&[b'\\', quote]),
            0..b' ' | 0x7F => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(quote);
}

/// A decimal. Its digits have no zeros at the end: 600 is `6d2`. A fraction that begins with more than five zeros has an
/// exponent too.
fn write_number(number: Number, out: &mut Vec<u8>) {
    const ZEROS_MAX: usize = 5;
    let plain = number.to_string();
    let text = match plain.split_once('.') {
        None if plain == "0" => "0.".to_owned(),
        None => match plain.trim_end_matches('0') {
            digits if digits.len() == plain.len() => format!("{digits}."),
            digits => format!("{digits}d{}", plain.len() - digits.len()),
        },
        Some((whole @ ("0" | "-0"), fraction)) => {
            let digits = fraction.trim_start_matches('0');
            match fraction.len() - digits.len() {
                ..=ZEROS_MAX => plain,
                _ => format!("{}{digits}d-{}", whole.trim_end_matches('0'), fraction.len()),
            }
        }
        Some(_) => plain,
    };
    out.extend_from_slice(text.as_bytes());
}
