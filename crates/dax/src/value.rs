//! Attribute values in CBOR, to and from canonical item bytes.

use item::{
    ItemBuilder, ItemRef, ListBuilder, SetBuilder, Type, Value, ValueBuf, ValueError, ValueRef, View,
};

use crate::cbor::{Head, Malformed, Reader, Writer};
use crate::number::{self, Unfit};

const TAG_STRING_SET: u64 = 3321;
const TAG_NUMBER_SET: u64 = 3322;
const TAG_BINARY_SET: u64 = 3323;

/// DynamoDB's nesting limit.
const LEVELS_MAX: usize = 32;
const NAME_BYTES_MAX: usize = 65_535;

/// Why bytes are not a value that can be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    Malformed(Malformed),
    /// The client's value, which breaks one of DynamoDB's rules.
    Refused(ValueError),
}

impl From<Malformed> for Unreadable {
    fn from(malformed: Malformed) -> Unreadable {
        Unreadable::Malformed(malformed)
    }
}

impl From<Unfit> for Unreadable {
    fn from(unfit: Unfit) -> Unreadable {
        match unfit {
            Unfit::Malformed(malformed) => Unreadable::Malformed(malformed),
            Unfit::Refused(error) => Unreadable::Refused(error.into()),
        }
    }
}

impl From<ValueError> for Unreadable {
    fn from(error: ValueError) -> Unreadable {
        Unreadable::Refused(error)
    }
}

/// Appends a value.
pub fn write(value: ValueRef<'_>, writer: &mut Writer) {
    match value.view() {
        View::S(text) => writer.text(text),
        View::N(number) => number::write(number, writer),
        View::B(bytes) => writer.bytes(bytes),
        View::Bool(value) => writer.bool(value),
        View::Null => writer.null(),
        View::Ss(members) | View::Ns(members) | View::Bs(members) => {
            writer.tag(match value.kind() {
                Type::Ss => TAG_STRING_SET,
                Type::Ns => TAG_NUMBER_SET,
                _ => TAG_BINARY_SET,
            });
            writer.array(members.len());
            members.iter().for_each(|member| write(member, writer));
        }
        View::L(elements) => {
            writer.array(elements.len());
            elements.iter().for_each(|element| write(element, writer));
        }
        View::M(map) => {
            writer.map(map.len());
            for (name, value) in map.iter() {
                writer.text(name);
                write(value, writer);
            }
        }
    }
}

/// Appends names and values in a map that a break ends.
pub fn write_entries(item: ItemRef<'_>, writer: &mut Writer) {
    writer.open_map();
    for (name, value) in item.iter() {
        writer.text(name);
        write(value, writer);
    }
    writer.end();
}

/// Reads a value.
pub fn read(reader: &mut Reader<'_>) -> Result<ValueBuf, Unreadable> {
    read_level(reader, 1)
}

/// Reads a map of names and values.
pub fn read_entries(reader: &mut Reader<'_>) -> Result<item::Item, Unreadable> {
    let mut entries = ItemBuilder::default();
    let mut left = reader.map()?;
    while reader.more(&mut left)? {
        let name = name(reader)?;
        entries.put(name, read_level(reader, 1)?.as_ref());
    }
    Ok(entries.build())
}

fn read_level(reader: &mut Reader<'_>, level: usize) -> Result<ValueBuf, Unreadable> {
    if level > LEVELS_MAX {
        return Err(ValueError::Nesting.into());
    }
    Ok(match reader.head()? {
        Head::Text(length) => ValueBuf::from(reader.utf8(length)?),
        Head::Bytes(length) => ValueBuf::from(Value::from(reader.take(length)?)),
        Head::Bool(value) => ValueBuf::from(value),
        Head::Null => ValueBuf::from(Value::Null),
        Head::Tag(TAG_STRING_SET) => read_set(Type::Ss, reader)?,
        Head::Tag(TAG_NUMBER_SET) => read_set(Type::Ns, reader)?,
        Head::Tag(TAG_BINARY_SET) => read_set(Type::Bs, reader)?,
        Head::Array(length) => {
            let mut elements = ListBuilder::default();
            let mut left = Reader::left(length);
            while reader.more(&mut left)? {
                elements.push(read_level(reader, level + 1)?.as_ref());
            }
            elements.build()
        }
        Head::Map(length) => {
            let mut entries = ItemBuilder::default();
            let mut left = Reader::left(length);
            while reader.more(&mut left)? {
                let name = name(reader)?;
                entries.put(name, read_level(reader, level + 1)?.as_ref());
            }
            entries.build_map()
        }
        head => ValueBuf::from(number::read(head, reader)?),
    })
}

fn name<'b>(reader: &mut Reader<'b>) -> Result<&'b str, Unreadable> {
    let name = reader.text()?;
    check_name(name)?;
    Ok(name)
}

/// Checks the name of an attribute.
pub fn check_name(name: &str) -> Result<(), ValueError> {
    match name.len() {
        0 => Err(ValueError::EmptyName),
        1..=NAME_BYTES_MAX => Ok(()),
        _ => Err(ValueError::LongName),
    }
}

fn read_set(kind: Type, reader: &mut Reader<'_>) -> Result<ValueBuf, Unreadable> {
    let mut members = Vec::new();
    let mut left = reader.array()?;
    while reader.more(&mut left)? {
        let member = read_level(reader, 1)?;
        if Some(member.as_ref().kind()) != kind.member() {
            return Err(Malformed("the members of a set are of one type").into());
        }
        members.push(member);
    }
    let mut set = SetBuilder::new(kind);
    members.iter().for_each(|member| set.insert(member.as_ref()));
    let Some(built) = set.build() else { return Err(ValueError::EmptySet(kind).into()) };
    if built.as_ref().as_set().is_some_and(|set| set.len() < members.len()) {
        let members = members.iter().map(|member| printed(member.as_ref())).collect::<Vec<_>>().join(", ");
        return Err(ValueError::Duplicates { kind, members }.into());
    }
    Ok(built)
}

/// A member as DynamoDB's message shows it.
fn printed(member: ValueRef<'_>) -> String {
    match member.view() {
        View::S(text) => text.to_owned(),
        // A binary is printed in base64, as JSON has it: {"B":"…"}.
        _ => format!("{member:?}").split('"').nth(3).unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Value) {
        let value = ValueBuf::from(value);
        let mut writer = Writer::default();
        write(value.as_ref(), &mut writer);
        let mut reader = Reader(&writer.0);
        assert_eq!(read(&mut reader), Ok(value));
        assert!(reader.is_empty());
    }

    #[test]
    fn every_type_is_read_as_it_was_written() {
        check(Value::from("text"));
        check(Value::from(-17));
        check(Value::from(vec![0, 1, 255]));
        check(Value::from(true));
        check(Value::Null);
        check(Value::string_set(["a", "b"]));
        check(Value::number_set([1, 2, 300]));
        check(Value::binary_set([vec![1], vec![2]]));
        check(Value::list([Value::from(1), Value::list(Vec::<Value>::new())]));
        check(Value::map([("a", Value::from("b")), ("c", Value::map([("d", 1)]))]));
    }

    #[test]
    fn rules_of_values_are_checked() {
        let refused = |bytes: &[u8]| match read(&mut Reader(bytes)) {
            Err(Unreadable::Refused(error)) => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(&[0xD9, 0x0C, 0xF9, 0x80]), ValueError::EmptySet(Type::Ss));
        assert_eq!(
            refused(&[0xD9, 0x0C, 0xFB, 0x82, 0x41, 1, 0x41, 1]),
            ValueError::Duplicates { kind: Type::Bs, members: "AQ==, AQ==".into() }
        );
        assert_eq!(refused(&[0x81; 40]), ValueError::Nesting);
        assert_eq!(refused(&[0xA1, 0x60, 0x01]), ValueError::EmptyName);
        assert!(matches!(read(&mut Reader(&[0xD9, 0x0C, 0xF9, 0x81, 1])), Err(Unreadable::Malformed(_))));
    }
}
