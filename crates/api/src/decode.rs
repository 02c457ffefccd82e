//! Reads JSON into structures, in one pass. Generated functions name the members; the functions here do the
//! reading.
//!
//! Three kinds of fault are kept apart, because DynamoDB reports them at different times:
//! - JSON that does not parse or has the wrong type ends the reading at once: SerializationException;
//! - a broken constraint is noted and reading goes on: all of them are reported together;
//! - an AttributeValue that breaks a rule of its type is left out. The first such fault is kept in the
//!   input's `value_fault`, and the operation's check reports it when its turn comes.
//!
//! A member that is `null` counts as absent. Unknown members are ignored. Of two members with the same name
//! the later wins.
//!
//! Generated code calls these functions hundreds of times, so loops are not generic: a list or map of any
//! type is read by the same one.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use item::json::{Jiter, ShapeError, read_boolean, read_item, read_text, read_value, skip};
use item::{Item, ValueBuf, ValueError};
use jiter::Peek;

use crate::dynamodb::TableName;
use crate::enumeration::Enumeration;
use crate::pattern::Pattern;
use crate::violation::{Constraint, Refuse, Violation, Violations};
use crate::{Error, ErrorKind};

pub(crate) type Decoded<T> = Result<T, Error>;

/// A function that reads one shape.
pub(crate) type Read<T> = fn(&mut Reader<'_>, &Path<'_>) -> Decoded<T>;

/// Reads the body of a request and applies the constraints of its shape.
pub(crate) fn decode<T: Refuse>(body: &[u8], read: Read<T>) -> Result<T, Error> {
    let mut reader = Reader::new(body);
    let input = match read(&mut reader, &Path::ROOT).and_then(|input| reader.finish().map(|()| input)) {
        Ok(input) => input,
        // The JSON ends here already.
        Err(error) if error.is_unreadable() => return Err(error),
        // That the text is not JSON counts for more than a wrong type in front of the broken place.
        Err(_) if !is_json(body) => return Err(unreadable()),
        Err(error) => return Err(error),
    };
    if reader.violations.is_empty() {
        return Ok(input);
    }
    reader.violations.sort();
    Err(input.refuse(reader.violations))
}

/// Reads the body of an answer. A client does not check the constraints of the shapes: it takes what the
/// server sends.
pub(crate) fn answer<T>(body: &[u8], read: Read<T>) -> Result<T, Error> {
    let mut reader = Reader::new(body);
    let output = read(&mut reader, &Path::ROOT)?;
    match reader.value_fault {
        None => Ok(output),
        Some(fault) => Err(serialization(fault.to_string())),
    }
}

/// Whether the whole text is one JSON value.
pub fn is_json(body: &[u8]) -> bool {
    let mut json = Jiter::new(body);
    skip(&mut json).is_ok() && json.finish().is_ok()
}

fn serialization(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Serialization, message)
}

fn unreadable() -> Error {
    Error::unreadable()
}

fn wrong_shape(error: ShapeError) -> Error {
    serialization(error.0)
}

/// The reader's position in the request, as a chain up to the root.
#[derive(Clone, Copy)]
pub(crate) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Member { name: &'static str, index: usize },
    Element(usize),
    Entry(&'p str),
}

impl<'p> Path<'p> {
    const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// The position of a structure's member.
    pub fn member(&'p self, members: &[&'static str], index: usize) -> Path<'p> {
        Path { parent: Some(self), step: Step::Member { name: members[index], index } }
    }

    fn element(&'p self, index: usize) -> Path<'p> {
        Path { parent: Some(self), step: Step::Element(index) }
    }

    fn entry(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Entry(name) }
    }

    fn violation(&self, value: Option<String>, constraint: Constraint) -> Violation {
        let (mut order, mut member) = (Vec::new(), String::new());
        self.describe(&mut order, &mut member);
        Violation { order, member, value, constraint }
    }

    fn describe(&self, order: &mut Vec<usize>, text: &mut String) {
        if let Some(parent) = self.parent {
            parent.describe(order, text);
        }
        if !text.is_empty() {
            text.push('.');
        }
        match self.step {
            Step::Root => {}
            Step::Member { name, index } => {
                order.push(index);
                let (first, rest) = name.split_at(1);
                text.push_str(&first.to_ascii_lowercase());
                text.push_str(rest);
            }
            // Elements are counted from one.
            Step::Element(index) => {
                order.push(index);
                text.push_str(&format!("{}.member", index + 1));
            }
            Step::Entry(name) => text.push_str(&format!("{name}.member")),
        }
    }
}

/// The JSON being read, and the faults to report later.
pub(crate) struct Reader<'j> {
    json: Jiter<'j>,
    violations: Violations,
    value_fault: Option<ValueError>,
}

impl<'j> Reader<'j> {
    fn new(body: &'j [u8]) -> Reader<'j> {
        Reader { json: Jiter::new(body), violations: Violations::default(), value_fault: None }
    }

    /// Begins a structure; its members follow with [`Members::next`]. `class` is its name in Java.
    pub fn structure(&mut self, class: &str, members: &'static [&'static str]) -> Decoded<Members> {
        match self.peek()? {
            Peek::Object => Ok(Members { members, seen: 0, begun: false }),
            Peek::Array => Err(serialization(format!("Unrecognized collection type class {class}"))),
            _ => Err(serialization("Unexpected value type in payload")),
        }
    }

    /// The first fault of a value; it is reported at most once.
    pub fn take_value_fault(&mut self) -> Option<ValueError> {
        self.value_fault.take()
    }

    fn finish(&mut self) -> Decoded<()> {
        self.json.finish().map_err(|_| unreadable())
    }

    fn peek(&mut self) -> Decoded<Peek> {
        self.json.peek().map_err(|_| unreadable())
    }

    /// The error for a JSON value that cannot become the Java number class `target`.
    fn mismatch(&mut self, found: Peek, target: &str) -> Error {
        let found = match found {
            Peek::True => "TRUE_VALUE",
            Peek::False => "FALSE_VALUE",
            Peek::String => "STRING_VALUE",
            Peek::Array => {
                return serialization(format!("Unrecognized collection type class java.lang.{target}"));
            }
            Peek::Object => return serialization("Start of structure or map found where not expected"),
            number => match self.json.known_number_bytes(number) {
                Ok(digits) if digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') => {
                    "NUMBER_VALUE"
                }
                Ok(_) => "DECIMAL_VALUE",
                Err(_) => return unreadable(),
            },
        };
        serialization(format!("{found} cannot be converted to {target}"))
    }

    fn note(&mut self, at: &Path<'_>, value: impl ToString, constraint: Constraint) {
        self.violations.push(at.violation(Some(value.to_string()), constraint));
    }

    fn note_absent(&mut self, at: &Path<'_>) {
        self.violations.push(at.violation(None, Constraint::NotNull));
    }

    fn note_value_fault(&mut self, fault: ValueError) {
        self.value_fault.get_or_insert(fault);
    }
}

/// The members of a structure being read.
pub(crate) struct Members {
    members: &'static [&'static str],
    /// One bit for each member that was present; the largest structure has 30 members.
    seen: u64,
    begun: bool,
}

impl Members {
    /// The next known member that is not null; the reader is before its value.
    pub fn next(&mut self, reader: &mut Reader<'_>) -> Decoded<Option<usize>> {
        loop {
            let name = match std::mem::replace(&mut self.begun, true) {
                false => reader.json.known_object(),
                true => reader.json.next_key(),
            };
            let Some(name) = name.map_err(|_| unreadable())? else { return Ok(None) };
            let index = self.members.iter().position(|member| *member == name);
            let peek = reader.peek()?;
            match index {
                Some(index) if peek != Peek::Null => {
                    self.seen |= 1 << index;
                    return Ok(Some(index));
                }
                _ => skip(&mut reader.json).map_err(wrong_shape)?,
            }
        }
    }

    /// Notes those of the required members that were absent.
    pub fn require(&self, reader: &mut Reader<'_>, at: &Path<'_>, required: &[usize]) {
        for &index in required {
            if self.seen & (1 << index) == 0 {
                reader.note_absent(&at.member(self.members, index));
            }
        }
    }
}

pub(crate) fn string(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<String> {
    read_text(&mut reader.json).map(str::to_owned).map_err(wrong_shape)
}

/// A string with constraints. Its length is counted in characters, not bytes.
pub(crate) fn text(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    length: RangeInclusive<usize>,
    pattern: Option<&Pattern>,
) -> Decoded<String> {
    let text = string(reader, at)?;
    if let Some(pattern) = pattern
        && !(pattern.matches)(&text)
    {
        reader.note(at, &text, Constraint::Pattern(pattern.text));
    }
    note_length(reader, at, text.chars().count(), length, || text.clone());
    Ok(text)
}

fn note_length(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    length: usize,
    allowed: RangeInclusive<usize>,
    value: impl Fn() -> String,
) {
    if length < *allowed.start() {
        reader.note(at, value(), Constraint::LengthMin(*allowed.start()));
    } else if length > *allowed.end() {
        reader.note(at, value(), Constraint::LengthMax(*allowed.end()));
    }
}

/// A table's name or ARN. The facts bound the ARN; the name inside has bounds of its own.
pub(crate) fn table_name(reader: &mut Reader<'_>, at: &Path<'_>) -> Decoded<String> {
    let text = string(reader, at)?;
    if let Err(constraints) = TableName::parse(&text) {
        for constraint in constraints {
            reader.note(at, &text, constraint);
        }
    }
    Ok(text)
}

/// A string out of a fixed set.
pub(crate) fn enumeration<T: Enumeration>(reader: &mut Reader<'_>, at: &Path<'_>) -> Decoded<T> {
    let name = read_text(&mut reader.json).map_err(wrong_shape)?;
    if let Some(value) = T::from_name(name) {
        return Ok(value);
    }
    let name = name.to_owned();
    reader.note(at, name, Constraint::OneOf(T::VALUES));
    Ok(T::default())
}

/// A boolean, or one of the strings that DynamoDB takes for one.
pub(crate) fn boolean(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<bool> {
    read_boolean(&mut reader.json).map_err(wrong_shape)
}

/// A whole number: a fraction is dropped, and a number out of range becomes the nearest in range.
fn whole(reader: &mut Reader<'_>, target: &str) -> Decoded<i64> {
    let peek = reader.peek()?;
    if !peek.is_num() {
        return Err(reader.mismatch(peek, target));
    }
    let digits = reader.json.known_number_bytes(peek).map_err(|_| unreadable())?;
    let digits = std::str::from_utf8(digits).map_err(|_| unreadable())?;
    if let Ok(number) = digits.parse::<i64>() {
        return Ok(number);
    }
    // A float cast saturates and drops the fraction.
    Ok(digits.parse::<f64>().map_err(|_| unreadable())? as i64)
}

pub(crate) fn long(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<i64> {
    whole(reader, "Long")
}

pub(crate) fn long_within(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    range: RangeInclusive<i64>,
) -> Decoded<i64> {
    let number = long(reader, at)?;
    note_range(reader, at, number, range);
    Ok(number)
}

pub(crate) fn integer(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<i32> {
    let number = whole(reader, "Integer")?;
    Ok(number.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
}

pub(crate) fn integer_within(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    range: RangeInclusive<i64>,
) -> Decoded<i32> {
    let number = integer(reader, at)?;
    note_range(reader, at, number.into(), range);
    Ok(number)
}

fn note_range(reader: &mut Reader<'_>, at: &Path<'_>, number: i64, range: RangeInclusive<i64>) {
    if number < *range.start() {
        reader.note(at, number, Constraint::ValueMin(*range.start()));
    } else if number > *range.end() {
        reader.note(at, number, Constraint::ValueMax(*range.end()));
    }
}

pub(crate) fn double(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<f64> {
    let peek = reader.peek()?;
    if !peek.is_num() {
        return Err(reader.mismatch(peek, "Double"));
    }
    reader.json.known_float(peek).map_err(|_| unreadable())
}

#[allow(dead_code, reason = "no served operation takes one yet")]
pub(crate) fn blob(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<Vec<u8>> {
    let refusal = "only base-64-encoded strings are convertible to bytes";
    if reader.peek()? != Peek::String {
        return Err(serialization(refusal));
    }
    let text = read_text(&mut reader.json).map_err(wrong_shape)?;
    STANDARD.decode(text).map_err(|_| serialization(refusal))
}

pub(crate) fn list<T>(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    length: RangeInclusive<usize>,
    read: Read<T>,
) -> Decoded<Vec<T>> {
    let mut elements = Vec::new();
    each_element(reader, at, length, &mut |reader, at| {
        elements.push(read(reader, at)?);
        Ok(())
    })?;
    Ok(elements)
}

pub(crate) fn value_list(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    length: RangeInclusive<usize>,
) -> Decoded<Vec<ValueBuf>> {
    let mut elements = Vec::new();
    each_element(reader, at, length, &mut |reader, at| {
        elements.extend(value(reader, at)?);
        Ok(())
    })?;
    Ok(elements)
}

/// Reads a list, element by element.
fn each_element(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    length: RangeInclusive<usize>,
    read: &mut dyn FnMut(&mut Reader<'_>, &Path<'_>) -> Decoded<()>,
) -> Decoded<()> {
    match reader.peek()? {
        Peek::Array => {}
        Peek::Object => return Err(serialization("Start of structure or map found where not expected")),
        _ => return Err(serialization("Unexpected field type")),
    }
    let start = reader.json.current_index();
    let mut count = 0;
    let mut next = reader.json.known_array().map_err(|_| unreadable())?;
    while let Some(peek) = next {
        let at = at.element(count);
        count += 1;
        if peek == Peek::Null {
            reader.json.known_null().map_err(|_| unreadable())?;
            reader.note_absent(&at);
        } else {
            read(reader, &at)?;
        }
        next = reader.json.array_step().map_err(|_| unreadable())?;
    }
    let sent = reader.json.slice_to_current(start);
    note_length(reader, at, count, length, || String::from_utf8_lossy(sent).into_owned());
    Ok(())
}

pub(crate) fn map<T>(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    length: RangeInclusive<usize>,
    class: &str,
    read: Read<T>,
) -> Decoded<BTreeMap<String, T>> {
    let mut entries = BTreeMap::new();
    each_entry(reader, at, length, class, &mut |reader, key| {
        let value = read(reader, &at.entry(&key))?;
        entries.insert(key, value);
        Ok(entries.len())
    })?;
    Ok(entries)
}

const VALUE_MAP_CLASS: &str =
    "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>";

pub(crate) fn value_map(reader: &mut Reader<'_>, at: &Path<'_>) -> Decoded<BTreeMap<String, ValueBuf>> {
    let mut entries = BTreeMap::new();
    each_entry(reader, at, 0..=usize::MAX, VALUE_MAP_CLASS, &mut |reader, key| {
        if let Some(value) = value(reader, &at.entry(&key))? {
            entries.insert(key, value);
        }
        Ok(entries.len())
    })?;
    Ok(entries)
}

/// Reads a map, entry by entry. `read` returns how many entries there are now. `null` leaves an entry out.
fn each_entry(
    reader: &mut Reader<'_>,
    at: &Path<'_>,
    length: RangeInclusive<usize>,
    class: &str,
    read: &mut dyn FnMut(&mut Reader<'_>, String) -> Decoded<usize>,
) -> Decoded<()> {
    expect_map(reader, class)?;
    let start = reader.json.current_index();
    let mut count = 0;
    let mut name = reader.json.known_object().map_err(|_| unreadable())?.map(str::to_owned);
    while let Some(key) = name {
        if reader.peek()? == Peek::Null {
            reader.json.known_null().map_err(|_| unreadable())?;
        } else {
            count = read(reader, key)?;
        }
        name = reader.json.next_key().map_err(|_| unreadable())?.map(str::to_owned);
    }
    let sent = reader.json.slice_to_current(start);
    note_length(reader, at, count, length, || String::from_utf8_lossy(sent).into_owned());
    Ok(())
}

fn expect_map(reader: &mut Reader<'_>, class: &str) -> Decoded<()> {
    match reader.peek()? {
        Peek::Object => Ok(()),
        Peek::Array => Err(serialization(format!("Unrecognized collection type {class}"))),
        _ => Err(serialization("Unexpected field type")),
    }
}

/// An AttributeValue; none if it breaks a rule of its type, which is kept for later.
pub(crate) fn value(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<Option<ValueBuf>> {
    match read_value(&mut reader.json).map_err(wrong_shape)? {
        Ok(value) => Ok(Some(value)),
        Err(fault) => {
            reader.note_value_fault(fault);
            Ok(None)
        }
    }
}

/// An item; empty if one of its values breaks a rule of its type, which is kept for later.
pub(crate) fn item(reader: &mut Reader<'_>, _at: &Path<'_>) -> Decoded<Item> {
    expect_map(reader, VALUE_MAP_CLASS)?;
    match read_item(&mut reader.json).map_err(wrong_shape)? {
        Ok(item) => Ok(item),
        Err(fault) => {
            reader.note_value_fault(fault);
            Ok(Item::default())
        }
    }
}
