//! Keys in bytes: the partition key alone, raw; or the partition key in CBOR with the raw sort key behind it.

use item::{Item, ItemBuilder, ItemRef, Type, Value, ValueBuf, ValueRef, View};

use crate::cbor::{Malformed, Reader, Writer};
use crate::number;
use crate::value::Unreadable;

/// The names and types of a table's key attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    pub partition: (String, Type),
    pub sort: Option<(String, Type)>,
}

impl KeySchema {
    /// The key attributes, the partition key first.
    pub fn attributes(&self) -> impl Iterator<Item = &(String, Type)> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|(attribute, _)| attribute == name)
    }

    /// The key that some bytes are.
    pub fn read(&self, bytes: &[u8]) -> Result<Item, Unreadable> {
        let mut key = ItemBuilder::default();
        let (name, kind) = &self.partition;
        match &self.sort {
            None => {
                let value = match kind {
                    // A number is written in CBOR also where it is alone.
                    Type::N => in_cbor(*kind, &mut Reader(bytes))?,
                    kind => raw(*kind, bytes)?,
                };
                key.put(name, value.as_ref());
            }
            Some((sort_name, sort_kind)) => {
                let mut reader = Reader(bytes);
                key.put(name, in_cbor(*kind, &mut reader)?.as_ref());
                key.put(sort_name, raw(*sort_kind, reader.0)?.as_ref());
            }
        }
        Ok(key.build())
    }

    /// The key's bytes of an item; none if the item lacks a key attribute.
    pub fn bytes_of(&self, item: ItemRef<'_>) -> Option<Vec<u8>> {
        let partition = item.get(&self.partition.0)?;
        let mut writer = Writer::default();
        match &self.sort {
            None => match partition.view() {
                View::N(number) => number::write(number, &mut writer),
                _ => writer.0.extend_from_slice(content(partition)?),
            },
            Some((name, _)) => {
                crate::value::write(partition, &mut writer);
                let sort = item.get(name)?;
                match sort.view() {
                    View::N(number) => number::write_ordered(number, &mut writer.0),
                    _ => writer.0.extend_from_slice(content(sort)?),
                }
            }
        }
        Some(writer.0)
    }

    /// The key attributes of an item.
    pub fn key_of(&self, item: ItemRef<'_>) -> Item {
        let mut key = ItemBuilder::default();
        for (name, _) in self.attributes() {
            if let Some(value) = item.get(name) {
                key.put(name, value);
            }
        }
        key.build()
    }
}

fn content(value: ValueRef<'_>) -> Option<&[u8]> {
    match value.view() {
        View::S(text) => Some(text.as_bytes()),
        View::B(bytes) => Some(bytes),
        _ => None,
    }
}

fn in_cbor(kind: Type, reader: &mut Reader<'_>) -> Result<ValueBuf, Unreadable> {
    let value = crate::value::read(reader)?;
    match value.as_ref().kind() == kind {
        true => Ok(value),
        false => Err(Malformed("a key attribute has another type than the table says").into()),
    }
}

fn raw(kind: Type, bytes: &[u8]) -> Result<ValueBuf, Unreadable> {
    Ok(match kind {
        Type::S => {
            ValueBuf::from(std::str::from_utf8(bytes).map_err(|_| Malformed("a key attribute is not UTF-8"))?)
        }
        Type::N => ValueBuf::from(number::read_ordered(bytes)?),
        _ => ValueBuf::from(Value::from(bytes)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(partition: Type, sort: Option<Type>) -> KeySchema {
        KeySchema { partition: ("pk".into(), partition), sort: sort.map(|kind| ("sk".into(), kind)) }
    }

    #[test]
    fn keys_have_the_bytes_that_clients_write() {
        let key: Item = [("pk", Value::from("x")), ("sk", Value::from(5))].into_iter().collect();
        let bytes = schema(Type::S, Some(Type::N)).bytes_of(key.as_ref()).unwrap();
        assert_eq!(bytes, [0x61, 0x78, 0xC1, 0x80, 0, 0]);
    }

    #[test]
    fn keys_of_every_type_are_read_as_they_were_written() {
        let values = [Value::from("ü"), Value::from(-12), Value::from(vec![0, 255])];
        for partition in &values {
            let key: Item = [("pk", partition.clone())].into_iter().collect();
            let schema_of_one = schema(partition.kind(), None);
            let bytes = schema_of_one.bytes_of(key.as_ref()).unwrap();
            assert_eq!(schema_of_one.read(&bytes), Ok(key));
            for sort in &values {
                let key: Item = [("pk", partition.clone()), ("sk", sort.clone())].into_iter().collect();
                let schema = schema(partition.kind(), Some(sort.kind()));
                let bytes = schema.bytes_of(key.as_ref()).unwrap();
                assert_eq!(schema.read(&bytes), Ok(key));
            }
        }
    }
}
