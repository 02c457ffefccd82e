//! One generated value of an attribute, determined by its name and its number.

use std::time::{Duration, UNIX_EPOCH};

use api::limits::ITEM_BYTES_MAX;
use item::{Number, Value};

use crate::Model;
use crate::model::{Attribute, AttributeKind, Entity};

/// 2026-01-01, the time of the first item.
pub const START_SECONDS: u64 = 1_767_225_600;
/// The time between two items: no divisor of an hour or a day, so that all digits change.
const STEP_SECONDS: u64 = 5_431;
/// The lifetime for TTL attributes if the entity declares none.
const LIFETIME_SECONDS: u64 = 30 * 86_400;
/// The largest number made without `max`.
const NUMBER_MAX: f64 = 99_999.0;

/// The item that the value is for.
#[derive(Clone, Copy)]
pub struct ItemPosition<'a> {
    pub entity: &'a str,
    /// How many items of the entity came before.
    pub order: usize,
    /// How many of its siblings came before.
    pub child: usize,
    /// Whether the primary key contains it: then siblings must differ.
    pub in_key: bool,
}

/// `None` for an optional attribute that this item lacks.
pub fn make(
    model: &Model,
    entity: &Entity,
    attribute: &Attribute,
    position: ItemPosition<'_>,
) -> Option<Value> {
    if attribute.optional && position.order % 3 == 2 {
        return None;
    }
    if let Some(constant) = &attribute.constant {
        return Some(constant.clone());
    }
    if !attribute.values.is_empty() {
        let chosen = attribute.values[position.order % attribute.values.len()].as_str();
        return Some(typed(attribute.kind, chosen));
    }
    let ttl = model.table_of(entity).ttl.as_ref();
    if ttl.is_some_and(|ttl| ttl.value == attribute.name) {
        let lifetime = entity.expires.as_ref().map_or(LIFETIME_SECONDS, |expires| expires.value);
        return Some(Value::from(seconds(position.order).saturating_add(lifetime)));
    }
    Some(of_kind(attribute, distinct(attribute, position)))
}

/// The number of the value: the item's own, or one of the declared number of distinct values.
fn distinct<'a>(attribute: &Attribute, position: ItemPosition<'a>) -> ItemPosition<'a> {
    let most = attribute.distinct.as_ref().map_or(usize::MAX, |most| most.value.max(1.0) as usize);
    ItemPosition { order: position.order % most, ..position }
}

fn typed(kind: AttributeKind, text: &str) -> Value {
    match (kind.stored(), Number::parse(text)) {
        (item::Type::N, Ok(number)) => Value::N(number),
        _ => Value::from(text),
    }
}

fn of_kind(attribute: &Attribute, position: ItemPosition<'_>) -> Value {
    let order = position.order;
    match attribute.kind {
        AttributeKind::String => Value::S(sized(attribute, text(&attribute.name, order))),
        AttributeKind::Number => Value::from(number(attribute, position)),
        AttributeKind::Binary => Value::B(bytes(attribute, position)),
        AttributeKind::Boolean => Value::Bool(order.is_multiple_of(2)),
        AttributeKind::Timestamp => Value::S(iso(order)),
        AttributeKind::Date => Value::S(iso(order)[..10].to_owned()),
        AttributeKind::Epoch => Value::from(seconds(order)),
        AttributeKind::EpochMillis => Value::from(seconds(order) * 1000),
        AttributeKind::Uuid => Value::S(uuid(&attribute.name, order)),
        AttributeKind::Ulid => Value::S(ulid(&attribute.name, order)),
        AttributeKind::StringSet => {
            Value::string_set([text(&attribute.name, order), text(&attribute.name, order + 1)])
        }
        AttributeKind::NumberSet => Value::number_set([Number::from(order as u64 + 1), Number::from(7u64)]),
        AttributeKind::BinarySet => Value::binary_set([bytes(attribute, position)]),
        AttributeKind::List => Value::list([sized(attribute, text(&attribute.name, order))]),
        AttributeKind::Map => Value::map([("value", sized(attribute, text(&attribute.name, order)))]),
    }
}

/// `customer-0001` for `customerId`.
fn text(name: &str, order: usize) -> String {
    let stem = name.strip_suffix("Id").or(name.strip_suffix("ID")).filter(|stem| !stem.is_empty());
    format!("{}-{:04}", stem.unwrap_or(name).to_lowercase(), order + 1)
}

/// Nothing larger than an item is generated, whatever the file declares.
pub fn at_most_an_item(bytes: u64) -> usize {
    bytes.min(ITEM_BYTES_MAX as u64) as usize
}

/// Padded to the declared size.
fn sized(attribute: &Attribute, text: String) -> String {
    let length = attribute.size.map_or(0, |size| at_most_an_item(size.typical));
    let missing = length.saturating_sub(text.len());
    text + &"x".repeat(missing)
}

/// In a key: counted up. Else any number in range, of all lengths.
fn number(attribute: &Attribute, position: ItemPosition<'_>) -> i64 {
    let least = attribute.min.unwrap_or(0.0);
    let most = attribute.max.unwrap_or(least + NUMBER_MAX).max(least);
    if position.in_key {
        let range = (most - least) as usize;
        let first = usize::from(attribute.min.is_none());
        let step = (position.child + first) % range.saturating_add(1);
        return (least as i64).saturating_add_unsigned(step as u64);
    }
    let mut chance = fastrand::Rng::with_seed(seed(&attribute.name, position.order));
    let magnitude = (most - least + 1.0).log10() * chance.f64();
    (least + 10f64.powf(magnitude) - 1.0).clamp(least, most) as i64
}

fn bytes(attribute: &Attribute, position: ItemPosition<'_>) -> Vec<u8> {
    let length = attribute.size.map_or(16, |size| at_most_an_item(size.typical));
    let mut chance = fastrand::Rng::with_seed(seed(position.entity, position.order));
    (0..length).map(|_| chance.u8(..)).collect()
}

fn seconds(order: usize) -> u64 {
    START_SECONDS + order as u64 * STEP_SECONDS
}

fn iso(order: usize) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds(order))).to_string()
}

fn uuid(name: &str, order: usize) -> String {
    let bits = fastrand::Rng::with_seed(seed(name, order)).u128(..);
    let hex = format!("{bits:032x}");
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

/// Ordered by time, as ULIDs are.
fn ulid(name: &str, order: usize) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let time = u128::from(seconds(order) * 1000);
    let chance = fastrand::Rng::with_seed(seed(name, order)).u128(..) & ((1 << 80) - 1);
    let bits = (time << 80) | chance;
    (0..26).rev().map(|digit| char::from(DIGITS[(bits >> (digit * 5)) as usize & 31])).collect()
}

fn seed(name: &str, order: usize) -> u64 {
    u64::from(crc32fast::hash(name.as_bytes())) << 32 | order as u64
}
