//! Items derived from items: with another identity, or with other attributes.

use std::time::{Duration, UNIX_EPOCH};

use item::{Number, Value};

use super::{SampleItem, refill, rekey};
use crate::Model;
use crate::model::{AttributeKind, Entity, EntityId, ReadVerb};
use crate::template::{Field, Form, plain_text};

const YEAR_10000_SECONDS: u64 = 253_402_300_800;

/// The item with other attributes. Its keys are rendered again, its size stays.
pub fn with(
    model: &Model,
    item: &SampleItem,
    changes: impl IntoIterator<Item = (String, Value)>,
    random: usize,
) -> SampleItem {
    let mut changed = item.clone();
    changed.name = None;
    changed.values.extend(changes);
    if let Some(id) = item.entity {
        rekey(model, id, &mut changed.values, random);
        refill(model.entity(id), &mut changed.values);
    }
    changed
}

/// The item with another identity; `None` if the key has no room for one.
pub fn variant(model: &Model, item: &SampleItem, number: usize) -> Option<SampleItem> {
    variant_but(model, item, number, &[])
}

/// The same, but these attributes stay as they are.
pub fn variant_but(model: &Model, item: &SampleItem, number: usize, kept: &[&str]) -> Option<SampleItem> {
    let entity = model.entity(item.entity?);
    let (name, value) = identity(entity).into_iter().find_map(|field| {
        let name = field.attribute().filter(|name| !kept.contains(name))?;
        let value = varied(entity, field, &item.get(name)?, number)?;
        Some((name.to_owned(), value))
    })?;
    let others = looked_up(model, item.entity?).into_iter().filter(|one| *one != name && !kept.contains(one));
    let others = others.filter_map(|one| match item.get(one)? {
        Value::S(text) => Some((one.to_owned(), Value::S(format!("{text}-{number}")))),
        _ => None,
    });
    let changes: Vec<(String, Value)> = others.chain([(name.clone(), value)]).collect();
    Some(with(model, item, changes, number))
}

/// Attributes by which a pattern asks for one item, and that are in no primary key: each item has another value, as far
/// as the file says nothing else.
fn looked_up(model: &Model, id: EntityId) -> Vec<&str> {
    let entity = model.entity(id);
    let gets = model.patterns.iter().flat_map(|pattern| pattern.reads()).map(|(_, read)| read);
    let gets = gets.filter(|read| read.verb == ReadVerb::Get && read.limit.is_none());
    let gets = gets.filter(|read| read.entities.iter().any(|one| one.value == id));
    let names = gets.flat_map(|read| &read.by).map(|name| name.value.as_str());
    let is_free = |name: &&str| {
        let attribute = entity.attribute(name);
        let is_plain = attribute.is_some_and(|one| one.cardinality().is_none() && !one.kind.is_time());
        is_plain && !entity.key_templates().any(|template| template.uses(name))
    };
    let mut names: Vec<&str> = names.filter(is_free).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The fields that identify items of the entity, the most specific first: from the end of the key.
fn identity(entity: &Entity) -> Vec<&Field> {
    let mut fields: Vec<&Field> = entity.key_templates().flat_map(|template| template.fields()).collect();
    fields.reverse();
    fields
}

/// Another value of a key attribute; `number` says which.
fn varied(entity: &Entity, field: &Field, value: &Value, number: usize) -> Option<Value> {
    let attribute = entity.attribute(field.attribute()?)?;
    if attribute.constant.is_some() || !attribute.values.is_empty() {
        return None;
    }
    let step = match field.form {
        Form::Bucket { unit, .. } => unit.seconds(),
        Form::Shard { .. } | Form::Random { .. } => return None,
        _ => 1,
    };
    match (attribute.kind, value) {
        (AttributeKind::Timestamp, Value::S(text)) => later(text, step * number as u64).map(Value::S),
        (AttributeKind::Date, Value::S(text)) => {
            let start = format!("{text}T00:00:00Z");
            later(&start, 86_400 * number as u64).map(|text| Value::S(text[..10].to_owned()))
        }
        (AttributeKind::Uuid | AttributeKind::Ulid, Value::S(text)) => {
            Some(Value::S(renumbered(text, number)))
        }
        (_, Value::S(text)) => Some(Value::S(format!("{text}-{number}"))),
        (_, Value::N(old)) => {
            let next = old.to_string().parse::<i64>().ok()?.checked_add(10 + number as i64)?;
            let wide_enough = field.width.is_none_or(|width| next.to_string().len() <= width);
            let fits = wide_enough && attribute.max.is_none_or(|max| next as f64 <= max);
            fits.then(|| Value::from(next))
        }
        (_, Value::B(bytes)) => Some(Value::B([bytes.as_slice(), &number.to_be_bytes()].concat())),
        _ => None,
    }
}

/// The same with other last digits, and of the same length.
fn renumbered(text: &str, number: usize) -> String {
    let digits = format!("{number:04}");
    let kept = text.chars().count().saturating_sub(digits.len());
    text.chars().take(kept).chain(digits.chars()).collect()
}

/// A timestamp this many seconds later.
pub fn later(text: &str, seconds: u64) -> Option<String> {
    let time = humantime::parse_rfc3339(text).ok()?.checked_add(Duration::from_secs(seconds))?;
    // Years of five digits have no such text.
    let since_1970 = time.duration_since(UNIX_EPOCH).ok()?;
    if since_1970.as_secs() >= YEAR_10000_SECONDS {
        return None;
    }
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

/// A different value for any attribute.
pub fn another(entity: &Entity, name: &str, value: Option<&Value>) -> Value {
    let Some(attribute) = entity.attribute(name) else { return Value::from("changed") };
    if let Some(position) = value.and_then(|value| position_of(&attribute.values, value)) {
        let next = &attribute.values[(position + 1) % attribute.values.len()];
        return entity.typed(name, next);
    }
    match (attribute.kind, value) {
        (AttributeKind::Timestamp, Some(Value::S(text))) => {
            Value::S(later(text, 3_601).unwrap_or_else(|| format!("{text}Z")))
        }
        (AttributeKind::Date, _) => Value::from("2027-02-03"),
        (AttributeKind::Boolean, Some(Value::Bool(flag))) => Value::Bool(!flag),
        (_, Some(Value::S(text))) => Value::S(turned(text)),
        (_, Some(Value::N(number))) => Value::N(other_number(attribute.max, number)),
        (_, Some(Value::L(list))) => Value::L(list.iter().cloned().chain([Value::from("changed")]).collect()),
        (_, Some(other)) => other.clone(),
        (kind, None) => match kind.stored() {
            item::Type::N => Value::from(7),
            item::Type::Bool => Value::Bool(true),
            _ => Value::from("changed"),
        },
    }
}

fn position_of(values: &[String], value: &Value) -> Option<usize> {
    let text = plain_text(value);
    values.iter().position(|one| *one == text)
}

/// Of the same length, so that sizes stay as declared.
fn turned(text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    if let Some(last) = characters.last_mut() {
        *last = if *last == 'y' { 'z' } else { 'y' };
    }
    characters.into_iter().collect()
}

fn other_number(max: Option<f64>, number: &Number) -> Number {
    let old = number.to_string().parse::<f64>().unwrap_or(0.0);
    let next = if max.is_some_and(|max| old + 1.0 > max) { old - 1.0 } else { old + 1.0 };
    Number::parse(&format!("{}", next.trunc())).unwrap_or(*number)
}

/// As many distinct items of an entity as asked for: those of the data, then new ones.
pub fn distinct(model: &Model, data: &[SampleItem], entity: EntityId, count: usize) -> Vec<SampleItem> {
    let own: Vec<&SampleItem> = data.iter().filter(|item| item.entity == Some(entity)).collect();
    let mut items: Vec<SampleItem> = own.iter().take(count).map(|item| (*item).clone()).collect();
    let Some(first) = own.first() else { return items };
    for number in 1..=count {
        if items.len() == count {
            break;
        }
        items.extend(variant(model, first, number + 50));
    }
    items
}
