//! Values of sample rows: YAML scalars, lists and mappings -> DynamoDB values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use item::{Number, Type, Value};

use super::reader::Reader;
use super::yaml::{Node, NodeValue, Scalar};
use crate::Spanned;
use crate::model::SampleRow;

/// Rows: a list, or a mapping that names them. `kind` returns the type of an attribute, if it is declared.
pub fn rows(reader: &mut Reader<'_>, node: &Node, kind: impl Fn(&str) -> Option<Type>) -> Vec<SampleRow> {
    match &node.value {
        NodeValue::List(rows) => rows.iter().filter_map(|row| self::row(reader, None, row, &kind)).collect(),
        _ => {
            let entries = reader.named(node, "samples");
            entries.iter().filter_map(|(name, row)| self::row(reader, Some(name), row, &kind)).collect()
        }
    }
}

fn row(
    reader: &mut Reader<'_>,
    name: Option<&Scalar>,
    node: &Node,
    kind: &impl Fn(&str) -> Option<Type>,
) -> Option<SampleRow> {
    let mut fields = reader.fields(node, "a sample row")?;
    let mut values = IndexMap::new();
    for (key, node) in fields.take_rest() {
        if let Some(value) = value(reader, node, kind(&key.text)) {
            values.insert(key.text.clone(), Spanned::new(value, key.span.to(node.span)));
        }
    }
    let name = name.map(|name| Spanned::new(name.text.clone(), name.span));
    Some(SampleRow { name, values, span: node.span })
}

pub fn value(reader: &mut Reader<'_>, node: &Node, kind: Option<Type>) -> Option<Value> {
    match &node.value {
        NodeValue::Scalar(scalar) => scalar_value(reader, scalar, kind),
        NodeValue::List(elements) => {
            Some(Value::L(elements.iter().filter_map(|element| value(reader, element, None)).collect()))
        }
        NodeValue::Map(entries) => match entries.as_slice() {
            [(tag, node)] if Type::from_name(&tag.text).is_some() => typed(reader, &tag.text, node),
            _ => Some(map(reader, entries)),
        },
    }
}

fn map(reader: &mut Reader<'_>, entries: &[(Scalar, Node)]) -> Value {
    let entry = |(name, node): &(Scalar, Node)| Some((name.text.clone(), value(reader, node, None)?));
    Value::M(entries.iter().filter_map(entry).collect())
}

fn scalar_value(reader: &mut Reader<'_>, scalar: &Scalar, kind: Option<Type>) -> Option<Value> {
    let text = scalar.text.as_str();
    match kind {
        Some(Type::S) => return Some(Value::from(text)),
        Some(Type::N) => return number(reader, scalar),
        Some(Type::B) => return binary(reader, scalar),
        _ => {}
    }
    Some(match text {
        _ if scalar.quoted => Value::from(text),
        _ if scalar.is_null() => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Number::parse(text).map_or_else(|_| Value::from(text), Value::N),
    })
}

/// `{ N: 5 }`, `{ SS: [a, b] }`: as DynamoDB JSON writes it.
fn typed(reader: &mut Reader<'_>, tag: &str, node: &Node) -> Option<Value> {
    let kind = Type::from_name(tag)?;
    match (kind, &node.value) {
        (Type::Null, _) => return Some(Value::Null),
        // The members of `M` are names, even if one is called like a type.
        (Type::M, NodeValue::Map(entries)) => return Some(map(reader, entries)),
        _ => {}
    }
    let Some(member) = kind.member() else { return value(reader, node, Some(kind)) };
    let members: Vec<Value> =
        reader.list(node).iter().filter_map(|node| value(reader, node, Some(member))).collect();
    Some(match kind {
        Type::Ns => Value::number_set(members.into_iter().filter_map(|one| match one {
            Value::N(number) => Some(number),
            _ => None,
        })),
        Type::Bs => Value::binary_set(members.into_iter().filter_map(|one| match one {
            Value::B(bytes) => Some(bytes),
            _ => None,
        })),
        _ => Value::string_set(members.into_iter().filter_map(|one| match one {
            Value::S(text) => Some(text),
            _ => None,
        })),
    })
}

fn number(reader: &mut Reader<'_>, scalar: &Scalar) -> Option<Value> {
    let number = Number::parse(&scalar.text).ok();
    if number.is_none() {
        reader.error(scalar.span, format!("`{}` is not a number", scalar.text));
    }
    number.map(Value::N)
}

fn binary(reader: &mut Reader<'_>, scalar: &Scalar) -> Option<Value> {
    let bytes = STANDARD.decode(&scalar.text).ok();
    if bytes.is_none() {
        reader.error(scalar.span, "a binary value is written in Base64");
    }
    bytes.map(Value::B)
}

/// Plain JSON, for requests as they are sent.
pub fn json(node: &Node) -> serde_json::Value {
    tagged_json(node, &|_, value| value)
}

/// Plain JSON, where `tagged` converts a value that has a tag.
pub fn tagged_json(
    node: &Node,
    tagged: &impl Fn(&str, serde_json::Value) -> serde_json::Value,
) -> serde_json::Value {
    let value = match &node.value {
        NodeValue::Scalar(scalar) => scalar_json(scalar),
        NodeValue::List(elements) => elements.iter().map(|element| tagged_json(element, tagged)).collect(),
        NodeValue::Map(entries) => {
            entries.iter().map(|(name, node)| (name.text.clone(), tagged_json(node, tagged))).collect()
        }
    };
    match &node.tag {
        Some(tag) => tagged(tag, value),
        None => value,
    }
}

fn scalar_json(scalar: &Scalar) -> serde_json::Value {
    match scalar.text.as_str() {
        text if scalar.quoted => text.into(),
        _ if scalar.is_null() => serde_json::Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        text => number_json(text).unwrap_or_else(|| text.into()),
    }
}

/// The JSON value of an unquoted text that is not a string. JSON numbers have no leading zeros, so an account
/// number stays a text.
pub fn number_json(text: &str) -> Option<serde_json::Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let looks_like_one = digits.starts_with(|c: char| c.is_ascii_digit());
    let padded = digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit());
    if !looks_like_one || padded {
        return None;
    }
    let signed = text.parse::<i64>().ok().map(Into::into);
    let integer = signed.or_else(|| text.parse::<u64>().ok().map(Into::into));
    integer.or_else(|| text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Into::into))
}
