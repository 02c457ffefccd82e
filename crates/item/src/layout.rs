//! The canonical bytes of values: how they are laid out, walked, put in order and checked.
//! `docs/item-bytes.md` draws them.
//!
//! Invariants of the bytes inside an [`Item`](crate::Item) or a [`ValueBuf`](crate::ValueBuf):
//! - lengths are in bounds and as short as they can be, texts are UTF-8, numbers are canonical;
//! - a map's names and a set's members are in ascending order of their bytes, none twice.
//!
//! Bytes are read from JSON, built from values, or taken from a store; only those of a store are
//! [checked](check_entries). Code that walks bytes may then index into them without further checks.

use crate::{Corrupt, Number, Type};

pub(crate) const S: u8 = 1;
pub(crate) const N: u8 = 2;
pub(crate) const B: u8 = 3;
pub(crate) const NULL: u8 = 4;
pub(crate) const FALSE: u8 = 5;
pub(crate) const TRUE: u8 = 6;
pub(crate) const SS: u8 = 7;
pub(crate) const NS: u8 = 8;
pub(crate) const BS: u8 = 9;
pub(crate) const L: u8 = 10;
pub(crate) const M: u8 = 11;

/// A top-level value is level 1; a member of a list or map is one level below it.
pub(crate) const LEVELS_MAX: usize = 32;
pub(crate) const NAME_BYTES_MAX: usize = 65_535;

pub(crate) fn kind(tag: u8) -> Type {
    match tag {
        S => Type::S,
        N => Type::N,
        B => Type::B,
        NULL => Type::Null,
        FALSE | TRUE => Type::Bool,
        SS => Type::Ss,
        NS => Type::Ns,
        BS => Type::Bs,
        L => Type::L,
        M => Type::M,
        _ => unreachable!("tags are checked when bytes become a value"),
    }
}

/// The tag of a list, map or set.
pub(crate) fn container_tag(kind: Type) -> u8 {
    match kind {
        Type::Ss => SS,
        Type::Ns => NS,
        Type::Bs => BS,
        Type::L => L,
        Type::M => M,
        _ => unreachable!("{} is no container", kind.name()),
    }
}

/// Appends a length: seven bits per byte, lowest first, the highest bit set on all but the last.
pub(crate) fn write_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// The length at the start of `bytes`, and how many bytes it takes.
pub(crate) fn read_length(bytes: &[u8]) -> (usize, usize) {
    let (mut length, mut shift, mut index) = (0, 0, 0);
    loop {
        let byte = bytes[index];
        length |= usize::from(byte & 0x7F) << shift;
        index += 1;
        if byte < 0x80 {
            return (length, index);
        }
        shift += 7;
    }
}

/// How many bytes the value at the start of `bytes` takes.
pub(crate) fn value_len(bytes: &[u8]) -> usize {
    match bytes[0] {
        NULL | FALSE | TRUE => 1,
        N => 1 + Number::encoded_len(&bytes[1..]),
        _ => {
            let (length, width) = read_length(&bytes[1..]);
            1 + width + length
        }
    }
}

/// The bytes of a value that are compared: a text, a binary, a number's bytes, a container's body.
pub(crate) fn content(value: &[u8]) -> &[u8] {
    match value[0] {
        NULL | FALSE | TRUE => &[],
        N => &value[1..],
        _ => &value[1 + read_length(&value[1..]).1..],
    }
}

pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(S);
    write_length(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn write_binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(B);
    write_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

pub(crate) fn write_number(number: Number, out: &mut Vec<u8>) {
    out.push(N);
    number.encode(out);
}

pub(crate) fn write_bool(value: bool, out: &mut Vec<u8>) {
    out.push(if value { TRUE } else { FALSE });
}

pub(crate) fn write_name(name: &str, out: &mut Vec<u8>) {
    write_length(name.len(), out);
    out.extend_from_slice(name.as_bytes());
}

/// Begins a container and returns where its body begins, for [`close`].
pub(crate) fn open(tag: u8, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[tag, 0]);
    out.len()
}

/// Ends a container whose body is everything appended since [`open`]. One byte was reserved for the length. If the
/// length needs more, the body is moved, which is cheaper than wide lengths in every stored item.
pub(crate) fn close(body: usize, out: &mut Vec<u8>) {
    let mut length = out.len() - body;
    let mut place = body - 1;
    let more = (length.max(1).ilog2() / 7) as usize;
    if more > 0 {
        let end = out.len();
        out.resize(end + more, 0);
        out.copy_within(body..end, body + more);
    }
    for _ in 0..more {
        out[place] = length as u8 | 0x80;
        length >>= 7;
        place += 1;
    }
    out[place] = length as u8;
}

/// One entry of a map: where it and its name are in the bytes.
struct Entry {
    start: usize,
    name: std::ops::Range<usize>,
    end: usize,
}

/// Sorts the entries from `body` on by name. Of entries with the same name the last is kept.
pub(crate) fn sort_entries(body: usize, out: &mut Vec<u8>) {
    let mut entries = Vec::new();
    let mut start = body;
    while start < out.len() {
        let (length, width) = read_length(&out[start..]);
        let name = start + width..start + width + length;
        let end = name.end + value_len(&out[name.end..]);
        entries.push(Entry { start, name, end });
        start = end;
    }
    entries.sort_by(|a, b| out[a.name.clone()].cmp(&out[b.name.clone()]));
    let mut sorted = Vec::with_capacity(out.len() - body);
    for (index, entry) in entries.iter().enumerate() {
        let last =
            entries.get(index + 1).is_none_or(|next| out[next.name.clone()] != out[entry.name.clone()]);
        if last {
            sorted.extend_from_slice(&out[entry.start..entry.end]);
        }
    }
    out.truncate(body);
    out.extend_from_slice(&sorted);
}

/// Two members of a set are equal.
#[derive(Debug)]
pub(crate) struct Duplicate;

/// Sorts the members from `body` on. If two are equal, all stay as they were.
pub(crate) fn sort_members(body: usize, out: &mut Vec<u8>) -> Result<(), Duplicate> {
    if walk(&out[body..]).is_sorted_by(|a, b| content(a) < content(b)) {
        return Ok(());
    }
    let mut members: Vec<&[u8]> = walk(&out[body..]).collect();
    members.sort_by(|a, b| content(a).cmp(content(b)));
    if members.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Duplicate);
    }
    let sorted = members.concat();
    out.truncate(body);
    out.extend_from_slice(&sorted);
    Ok(())
}

/// The values that follow each other in `bytes`.
pub(crate) fn walk(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let (value, rest) = bytes.split_at(value_len(bytes));
        bytes = rest;
        Some(value)
    })
}

/// Checks the entries of a map whose values are at `level`.
pub(crate) fn check_entries(mut bytes: &[u8], level: usize) -> Result<(), Corrupt> {
    let mut previous: &[u8] = &[];
    while !bytes.is_empty() {
        let (name, rest) = check_block(bytes)?;
        check_text(name)?;
        if name.len() > NAME_BYTES_MAX {
            return Err(Corrupt("an attribute name is too long"));
        }
        // `previous` begins empty, so an empty name is refused here too.
        if name <= previous {
            return Err(Corrupt("attribute names are not in ascending order"));
        }
        previous = name;
        bytes = check_value(rest, level)?;
    }
    Ok(())
}

/// Checks the value at the start of `bytes` and returns what follows it.
pub(crate) fn check_value(bytes: &[u8], level: usize) -> Result<&[u8], Corrupt> {
    if level > LEVELS_MAX {
        return Err(Corrupt("values are nested too deeply"));
    }
    let (&tag, rest) = bytes.split_first().ok_or(Corrupt("a value is missing"))?;
    match tag {
        NULL | FALSE | TRUE => return Ok(rest),
        N => {
            let (_, width) = Number::decode(rest).ok_or(Corrupt("a number is not canonical"))?;
            return Ok(&rest[width..]);
        }
        _ => {}
    }
    let (body, rest) = check_block(rest)?;
    match tag {
        S => check_text(body)?,
        B => {}
        SS => check_members(body, S)?,
        NS => check_members(body, N)?,
        BS => check_members(body, B)?,
        L => {
            let mut elements = body;
            while !elements.is_empty() {
                elements = check_value(elements, level + 1)?;
            }
        }
        M => check_entries(body, level + 1)?,
        _ => return Err(Corrupt("a value has an unknown tag")),
    }
    Ok(rest)
}

fn check_members(mut bytes: &[u8], tag: u8) -> Result<(), Corrupt> {
    if bytes.is_empty() {
        return Err(Corrupt("a set is empty"));
    }
    let mut previous: Option<&[u8]> = None;
    while !bytes.is_empty() {
        if bytes[0] != tag {
            return Err(Corrupt("a set has a member of another type"));
        }
        let rest = check_value(bytes, LEVELS_MAX)?;
        let member = content(&bytes[..bytes.len() - rest.len()]);
        if previous.is_some_and(|previous| member <= previous) {
            return Err(Corrupt("members of a set are not in ascending order"));
        }
        previous = Some(member);
        bytes = rest;
    }
    Ok(())
}

/// A length and that many bytes; returns them and what follows.
fn check_block(bytes: &[u8]) -> Result<(&[u8], &[u8]), Corrupt> {
    let (mut length, mut shift) = (0usize, 0);
    for (index, &byte) in bytes.iter().enumerate() {
        if shift > 28 {
            return Err(Corrupt("a length has too many bytes"));
        }
        let bits = usize::from(byte & 0x7F);
        length |= bits.checked_shl(shift).ok_or(Corrupt("a length has too many bytes"))?;
        shift += 7;
        if byte < 0x80 {
            if byte == 0 && index > 0 {
                return Err(Corrupt("a length is not the shortest possible"));
            }
            return bytes[index + 1..].split_at_checked(length).ok_or(Corrupt("a length is out of bounds"));
        }
    }
    Err(Corrupt("a length is cut off"))
}

fn check_text(bytes: &[u8]) -> Result<(), Corrupt> {
    std::str::from_utf8(bytes).map(drop).map_err(|_| Corrupt("a text is not UTF-8"))
}
