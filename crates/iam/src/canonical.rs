//! The canonical request: what a signature covers, in the one form that client and server both derive.

use http::HeaderMap;
use http::header::HOST;
use http::request::Parts;

/// Appends the canonical request. `signed_headers` are sorted and in lower case; `host` stands for the header if it is
/// given.
pub fn write(head: &Parts, signed_headers: &[&str], host: Option<&str>, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(head.method.as_str().as_bytes());
    out.push(b'\n');
    path(head.uri.path(), out);
    out.push(b'\n');
    query(head.uri.query().unwrap_or_default(), out);
    out.push(b'\n');
    for name in signed_headers {
        out.extend_from_slice(name.as_bytes());
        out.push(b':');
        match (*name, host) {
            ("host", Some(host)) => out.extend_from_slice(host.as_bytes()),
            // HTTP/2 has it in the URI.
            ("host", None) if !head.headers.contains_key(HOST) => {
                let authority = head.uri.authority().map_or("", |authority| authority.as_str());
                out.extend_from_slice(authority.as_bytes());
            }
            _ => values(&head.headers, name, out),
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    for (index, name) in signed_headers.iter().enumerate() {
        if index > 0 {
            out.push(b';');
        }
        out.extend_from_slice(name.as_bytes());
    }
    out.push(b'\n');
    out.extend_from_slice(payload);
}

/// All values of a header: trimmed, with single blanks inside, joined by commas.
fn values(headers: &HeaderMap, name: &str, out: &mut Vec<u8>) {
    for (index, value) in headers.get_all(name).iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        if !value.as_bytes().iter().any(is_blank) {
            out.extend_from_slice(value.as_bytes());
            continue;
        }
        let mut words = value.as_bytes().split(is_blank).filter(|it| !it.is_empty());
        if let Some(first) = words.next() {
            out.extend_from_slice(first);
        }
        for word in words {
            out.push(b' ');
            out.extend_from_slice(word);
        }
    }
}

/// The path without empty and dot segments, each segment encoded once more than it was sent.
fn path(path: &str, out: &mut Vec<u8>) {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    for segment in &segments {
        out.push(b'/');
        encode(segment.as_bytes(), out);
    }
    if segments.is_empty() || path.ends_with('/') {
        out.push(b'/');
    }
}

/// The parameters in the order of their names and values. The signature itself is none of them.
fn query(query: &str, out: &mut Vec<u8>) {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name != "X-Amz-Signature" {
            pairs.push((recoded(name), recoded(value)));
        }
    }
    pairs.sort();
    for (index, (name, value)) in pairs.iter().enumerate() {
        if index > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(name);
        out.push(b'=');
        out.extend_from_slice(value);
    }
}

/// Percent-encoded in the one way that signatures use, however it was sent.
fn recoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    encode(&unescape(text), &mut out);
    out
}

/// Percent-decodes. What is not an escape stands for itself.
pub fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|byte| (*byte as char).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    bytes
}

fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(byte);
        } else {
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}
