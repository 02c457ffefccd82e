//! JSON to canonical bytes.
//!
//! Values are appended to one buffer as they are read. A map or set is sorted when it ends, and only if it came out
//! of order. There are two kinds of faults:
//! - JSON of another shape ends the reading at once, because DynamoDB checks shapes first.
//! - A value that breaks a rule is recorded, only the first one, and a null is written in its place, so
//!   that the bytes stay well formed while the shape of the rest is checked.
//!
//! Recursion is bounded: values nested deeper than DynamoDB allows are [skipped](skip), and skipping has a stack of
//! its own.

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};
use jiter::{Jiter, JiterError, Peek};

use crate::layout::{self, LEVELS_MAX, NAME_BYTES_MAX};
use crate::owned::NameOrder;
use crate::{Item, Number, Type, ValueBuf, ValueError};

/// JSON that does not have the shape of an AttributeValue: DynamoDB's SerializationException. For a text that is no
/// JSON at all the message is empty, as DynamoDB sends none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(pub String);

impl From<JiterError> for ShapeError {
    fn from(_: JiterError) -> ShapeError {
        ShapeError(String::new())
    }
}

/// Reads one AttributeValue. The outer error ends the request. The caller reports the inner one later, because
/// DynamoDB checks the request's other members first.
pub fn read_value(json: &mut Jiter<'_>) -> Result<Result<ValueBuf, ValueError>, ShapeError> {
    let mut reader = Reader::default();
    let peek = json.peek()?;
    reader.value(json, peek, 1)?;
    Ok(reader.finish().map(|bytes| ValueBuf(bytes.into())))
}

/// Reads a map of AttributeValues, as in `Item` and `Key`.
pub fn read_item(json: &mut Jiter<'_>) -> Result<Result<Item, ValueError>, ShapeError> {
    let mut reader = Reader::default();
    let peek = json.peek()?;
    reader.entries(json, peek, 1)?;
    Ok(reader.finish().map(|bytes| Item(bytes.into())))
}

/// Reads a JSON string where DynamoDB expects a String.
pub fn read_text<'json>(json: &'json mut Jiter<'_>) -> Result<&'json str, ShapeError> {
    match json.peek()? {
        Peek::String => Ok(json.known_str()?),
        peek => Err(mismatch(json, peek, Expected::String)?),
    }
}

/// Reads a boolean, or one of the strings that DynamoDB accepts as one.
pub fn read_boolean(json: &mut Jiter<'_>) -> Result<bool, ShapeError> {
    const YES: [&str; 5] = ["true", "t", "yes", "y", "1"];
    const NO: [&str; 5] = ["false", "f", "no", "n", "0"];
    let peek = json.peek()?;
    match peek {
        Peek::True | Peek::False => Ok(json.known_bool(peek)?),
        Peek::String => {
            let text = json.known_str()?;
            let is = |word: &&str| word.eq_ignore_ascii_case(text);
            match (YES.iter().any(is), NO.iter().any(is)) {
                (true, _) => Ok(true),
                (_, true) => Ok(false),
                _ => Err(ShapeError("STRING_VALUE cannot be converted to Boolean".to_owned())),
            }
        }
        _ => Err(mismatch(json, peek, Expected::Boolean)?),
    }
}

/// Skips one JSON value of any depth. (jiter's own skipping stops at 200 levels.)
pub fn skip(json: &mut Jiter<'_>) -> Result<(), ShapeError> {
    // True for each object that is open, false for each array: bounded by the length of the body.
    let mut open: Vec<bool> = Vec::new();
    loop {
        let peek = json.peek()?;
        let opened = match peek {
            Peek::Array => json.known_array()?.map(|_| false),
            Peek::Object => json.known_object()?.map(|_| true),
            _ => {
                json.known_skip(peek)?;
                None
            }
        };
        open.extend(opened);
        if opened.is_some() {
            continue;
        }
        // The value has ended, and with it every container that has no further members.
        loop {
            let more = match open.last() {
                None => return Ok(()),
                Some(true) => json.next_key()?.is_some(),
                Some(false) => json.array_step()?.is_some(),
            };
            if more {
                break;
            }
            open.pop();
        }
    }
}

#[derive(Default)]
struct Reader {
    out: Vec<u8>,
    error: Option<ValueError>,
}

impl Reader {
    fn finish(self) -> Result<Vec<u8>, ValueError> {
        match self.error {
            None => Ok(self.out),
            Some(error) => Err(error),
        }
    }

    fn note(&mut self, error: ValueError) {
        self.error.get_or_insert(error);
    }

    /// Records the fault and writes a null in place of the value.
    fn refuse(&mut self, error: ValueError) {
        self.note(error);
        self.out.push(layout::NULL);
    }

    /// An AttributeValue: an object with exactly one known member that is not null.
    fn value(&mut self, json: &mut Jiter<'_>, peek: Peek, level: usize) -> Result<(), ShapeError> {
        if level > LEVELS_MAX {
            self.refuse(ValueError::Nesting);
            return skip(json);
        }
        if peek == Peek::Null {
            json.known_null()?;
            self.refuse(ValueError::NoType);
            return Ok(());
        }
        if peek != Peek::Object {
            return Err(mismatch(json, peek, Expected::AttributeValue)?);
        }
        let start = self.out.len();
        let mut found: Option<Type> = None;
        let mut many = false;
        let mut member = json.known_object()?.map(Type::from_name);
        while let Some(kind) = member {
            match (kind, json.peek()?) {
                (_, Peek::Null) => json.known_null()?,
                (None, _) => skip(json)?,
                (Some(kind), peek) => {
                    many |= found.is_some_and(|found| found != kind);
                    found = Some(kind);
                    self.out.truncate(start);
                    self.content(json, peek, kind, level)?;
                }
            }
            member = json.next_key()?.map(Type::from_name);
        }
        match found {
            None => self.refuse(ValueError::NoType),
            Some(_) if many => self.note(ValueError::ManyTypes),
            Some(_) => {}
        }
        Ok(())
    }

    /// The value that follows the name of its type.
    fn content(
        &mut self,
        json: &mut Jiter<'_>,
        peek: Peek,
        kind: Type,
        level: usize,
    ) -> Result<(), ShapeError> {
        match kind {
            Type::S | Type::N | Type::B => self.scalar(json, kind)?,
            Type::Bool => layout::write_bool(read_boolean(json)?, &mut self.out),
            Type::Null if read_boolean(json)? => self.out.push(layout::NULL),
            Type::Null => self.refuse(ValueError::NullNotTrue),
            Type::Ss | Type::Ns | Type::Bs => self.set(json, peek, kind)?,
            Type::L => self.list(json, peek, level)?,
            Type::M => {
                let body = layout::open(layout::M, &mut self.out);
                self.entries(json, peek, level + 1)?;
                layout::close(body, &mut self.out);
            }
        }
        Ok(())
    }

    fn scalar(&mut self, json: &mut Jiter<'_>, kind: Type) -> Result<(), ShapeError> {
        match kind {
            Type::N => match Number::parse(read_text(json)?) {
                Ok(number) => layout::write_number(number, &mut self.out),
                Err(error) => self.refuse(error.into()),
            },
            Type::B => match json.peek()? {
                Peek::String => read_base64(json.known_str()?, &mut self.out)?,
                peek => return Err(mismatch(json, peek, Expected::Binary)?),
            },
            _ => layout::write_string(read_text(json)?, &mut self.out),
        }
        Ok(())
    }

    fn set(&mut self, json: &mut Jiter<'_>, peek: Peek, kind: Type) -> Result<(), ShapeError> {
        if peek != Peek::Array {
            return Err(mismatch(json, peek, Expected::List)?);
        }
        let body = layout::open(layout::container_tag(kind), &mut self.out);
        let mut next = json.known_array()?;
        while next.is_some() {
            self.scalar(json, kind.member().unwrap_or(kind))?;
            next = json.array_step()?;
        }
        // A refused member was replaced by a null, which can't be sorted among the others.
        if self.error.is_none() {
            if self.out.len() == body {
                self.note(ValueError::EmptySet(kind));
            } else if layout::sort_members(body, &mut self.out).is_err() {
                let members = printed_members(&self.out[body..], kind);
                self.note(ValueError::Duplicates { kind, members });
            }
        }
        layout::close(body, &mut self.out);
        Ok(())
    }

    fn list(&mut self, json: &mut Jiter<'_>, peek: Peek, level: usize) -> Result<(), ShapeError> {
        if peek != Peek::Array {
            return Err(mismatch(json, peek, Expected::List)?);
        }
        let body = layout::open(layout::L, &mut self.out);
        let mut next = json.known_array()?;
        while let Some(peek) = next {
            self.value(json, peek, level + 1)?;
            next = json.array_step()?;
        }
        layout::close(body, &mut self.out);
        Ok(())
    }

    /// Names and AttributeValues; `level` is that of the values.
    fn entries(&mut self, json: &mut Jiter<'_>, peek: Peek, level: usize) -> Result<(), ShapeError> {
        if peek != Peek::Object {
            return Err(mismatch(json, peek, Expected::Map)?);
        }
        let body = self.out.len();
        let mut order = NameOrder::default();
        let mut name = json.known_object()?;
        while let Some(text) = name {
            let start = self.out.len();
            layout::write_name(text, &mut self.out);
            order.note(start, &self.out);
            match text.len() {
                0 => self.note(ValueError::EmptyName),
                length if length > NAME_BYTES_MAX => self.note(ValueError::LongName),
                _ => {}
            }
            let peek = json.peek()?;
            self.value(json, peek, level)?;
            name = json.next_key()?;
        }
        if !order.ascending() {
            layout::sort_entries(body, &mut self.out);
        }
        Ok(())
    }
}

/// The members of a set as DynamoDB prints them: strings as they are, binaries in base64. (Number sets
/// are not printed.)
fn printed_members(body: &[u8], kind: Type) -> String {
    let print = |member: &[u8]| match kind {
        Type::Bs => STANDARD.encode(layout::content(member)),
        _ => String::from_utf8_lossy(layout::content(member)).into_owned(),
    };
    layout::walk(body).map(print).collect::<Vec<_>>().join(", ")
}

fn read_base64(text: &str, out: &mut Vec<u8>) -> Result<(), ShapeError> {
    if !text.len().is_multiple_of(4) {
        let length = text.len();
        return Err(ShapeError(format!(
            "Base64 encoded length is expected a multiple of 4 bytes but found: {length}"
        )));
    }
    let padding = text.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
    let length = text.len() / 4 * 3 - padding;
    out.push(layout::B);
    layout::write_length(length, out);
    let start = out.len();
    STANDARD.decode_vec(text, out).map_err(|error| {
        ShapeError(match error {
            DecodeError::InvalidByte(_, byte) => {
                format!("Invalid base 64 character: '{}'", char::from(byte))
            }
            _ => "Invalid last non-pad Base64 character dectected".to_owned(),
        })
    })?;
    debug_assert_eq!(out.len() - start, length);
    Ok(())
}

/// What DynamoDB expects where a value of another type is.
#[derive(Clone, Copy)]
enum Expected {
    String,
    Boolean,
    Binary,
    List,
    Map,
    AttributeValue,
}

/// DynamoDB's message for a JSON value of the wrong type. Its texts come from a Java deserializer and name Java's
/// types. A text that is no JSON is another error.
fn mismatch(json: &mut Jiter<'_>, peek: Peek, expected: Expected) -> Result<ShapeError, ShapeError> {
    let token = token(json, peek)?;
    let text = match (expected, peek) {
        (Expected::List | Expected::String | Expected::Boolean | Expected::Binary, Peek::Object) => {
            "Start of structure or map found where not expected".to_owned()
        }
        (Expected::Map, Peek::Array) => format!(
            "Unrecognized collection type java.util.Map<java.lang.String, {JAVA_PACKAGE}.AttributeValue>"
        ),
        (_, Peek::Array) => format!("Unrecognized collection type class {}", expected.java_type()),
        (Expected::List | Expected::Map, _) => "Unexpected field type".to_owned(),
        (Expected::AttributeValue, _) => "Unexpected value type in payload".to_owned(),
        (Expected::Binary, _) => "only base-64-encoded strings are convertible to bytes".to_owned(),
        (Expected::String | Expected::Boolean, _) => {
            format!("{token} cannot be converted to {}", expected.short_name())
        }
    };
    Ok(ShapeError(text))
}

const JAVA_PACKAGE: &str = "com.amazonaws.dynamodb.v20120810";

impl Expected {
    fn short_name(self) -> &'static str {
        match self {
            Expected::Boolean => "Boolean",
            _ => "String",
        }
    }

    fn java_type(self) -> String {
        match self {
            Expected::Boolean => "java.lang.Boolean".to_owned(),
            Expected::Binary => "java.nio.ByteBuffer".to_owned(),
            Expected::AttributeValue => format!("{JAVA_PACKAGE}.AttributeValue"),
            _ => "java.lang.String".to_owned(),
        }
    }
}

/// The token by DynamoDB's name.
fn token(json: &mut Jiter<'_>, peek: Peek) -> Result<&'static str, ShapeError> {
    Ok(match peek {
        Peek::True => "TRUE_VALUE",
        Peek::False => "FALSE_VALUE",
        Peek::Null => "NULL_VALUE",
        Peek::String => "STRING_VALUE",
        Peek::Array => "START_ARRAY",
        Peek::Object => "START_OBJECT",
        _ => {
            let digits = json.known_number_bytes(peek)?;
            let whole = digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
            if whole { "NUMBER_VALUE" } else { "DECIMAL_VALUE" }
        }
    })
}
