//! Data that tries to break a model: numbers of all lengths in keys, texts with common prefixes, and items that
//! differ only in attributes that the key does not contain.

use std::collections::BTreeSet;

use item::Value;
use model::model::{AttributeKind, Entity, EntityId, Read, ReadVerb, Write};
use model::predict::found::whole;
use model::predict::item::Values;
use model::sample::variant::{another, later, variant, variant_but, with};
use model::sample::{SampleItem, key_of};
use model::template::{Bucket, Field, Form, Part, Template, plain_text};
use model::{Model, uniqueness};

use crate::database::address;

/// Items that a query finds together with the first of its kind.
const COMPANIONS: usize = 3;

/// The number of the variant that has expired.
const EXPIRED: usize = 800;
/// The first day of 2025, a year before the first generated item.
const EXPIRED_SECONDS: u64 = 1_735_689_600;
/// Enough digits for numbers without a declared maximum; R14 asks for as many.
const PLENTY_DIGITS: usize = 10;
/// How many ids are tried to find two of the same shard.
const OTHER_IDS_MAX: usize = 2_000;
/// A number with a fraction; padded, it is as long as numbers that are larger.
const HALF: f64 = 12.5;
/// Longer than any key may be.
const KEY_BYTES_TRIED: usize = 4_096;

/// Items to try every pattern on in addition to the ordinary ones. None overwrites another.
pub fn items(model: &Model, data: &[SampleItem]) -> Vec<SampleItem> {
    let mut candidates: Vec<SampleItem> = Vec::new();
    for id in model.entity_ids() {
        let Some(first) = data.iter().find(|item| item.entity == Some(id)) else { continue };
        candidates.extend(numbers(model, id, first));
        candidates.extend(texts(model, id, first));
        candidates.extend(expired(model, id, first));
    }
    for (_, read) in model.patterns.iter().flat_map(|pattern| pattern.reads()) {
        candidates.extend(companions(model, read, data));
    }
    let key = |item: &SampleItem| address(model, item.table, &item.values).0;
    let mut taken: BTreeSet<_> = data.iter().map(key).collect();
    candidates.retain(|item| taken.insert(key(item)));
    candidates
}

/// Items that a query must find together: equal in everything that the reader knows, different in what it sorts by.
fn companions(model: &Model, read: &Read, data: &[SampleItem]) -> Vec<SampleItem> {
    let wanted = |item: &&SampleItem| read.entities.iter().any(|id| Some(id.value) == item.entity);
    match data.iter().find(wanted).filter(|_| read.verb == ReadVerb::Query) {
        Some(first) => siblings(model, read, first, COMPANIONS),
        None => Vec::new(),
    }
}

/// Further items that the read finds with this one, as far as the key has room for them.
pub fn siblings(model: &Model, read: &Read, first: &SampleItem, count: usize) -> Vec<SampleItem> {
    let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    let asked = terms.map(|term| term.attribute.value.as_str());
    let kept: Vec<&str> = read.by.iter().map(|name| name.value.as_str()).chain(asked).collect();
    let later_by = |item: &SampleItem, name: &str, number: usize| {
        let text = later(&plain_text(&item.get(name)?), 3_607 * number as u64)?;
        Some((name.to_owned(), Value::S(text)))
    };
    let sibling = |number: usize| {
        let other = variant_but(model, first, number, &kept)?;
        let ordered = read.order.iter().filter(|order| !kept.contains(&order.attribute.value.as_str()));
        let changes: Vec<_> =
            ordered.filter_map(|order| later_by(&other, &order.attribute, number)).collect();
        Some(if changes.is_empty() { other } else { with(model, &other, changes, number) })
    };
    (1..=count).filter_map(sibling).collect()
}

fn templates(entity: &Entity) -> impl Iterator<Item = &Template> {
    entity.key_templates().chain(entity.entries.iter().flat_map(|entry| entry.templates()))
}

/// 9 and 1000 where a key has a number: as text they sort the wrong way round unless they are padded.
fn numbers(model: &Model, id: EntityId, first: &SampleItem) -> Vec<SampleItem> {
    let entity = model.entity(id);
    let mut items = Vec::new();
    for field in templates(entity).flat_map(Template::fields) {
        let attribute = field.attribute().and_then(|name| entity.attribute(name));
        let Some(attribute) =
            attribute.filter(|one| one.kind == AttributeKind::Number && one.values.is_empty())
        else {
            continue;
        };
        let digits = field.width.or(match field.form {
            Form::Descending { digits, .. } => Some(digits),
            _ => None,
        });
        let widest = digits.map_or(f64::INFINITY, |digits| 10f64.powi(digits.min(15) as i32) - 1.0);
        let largest = attribute.max.unwrap_or(widest);
        // Nothing says that a number without `max` has no more digits than its field.
        let narrow = digits.is_some_and(|digits| digits < PLENTY_DIGITS);
        let is_too_narrow = attribute.max.map_or(narrow, |max| max > widest);
        let wider = if is_too_narrow { widest + 1.0 } else { largest };
        let most = largest.max(wider);
        let least = attribute.min.unwrap_or(0.0);
        let negative = [least, least + 1.0].into_iter().filter(|value| *value < 0.0);
        let candidates =
            [9.0, largest.min(1000.0), largest.min(widest), largest, wider].into_iter().chain(negative);
        let fitting = candidates.filter(|value| value.is_finite() && *value <= most && *value >= least);
        let whole = fitting.map(|value| Value::from(value as i64));
        let has_fractions = entity.has_fractions(attribute) && least <= HALF && HALF <= largest;
        let half = has_fractions.then(|| entity.typed(&attribute.name, &HALF.to_string()));
        for (number, value) in whole.chain(half).enumerate() {
            items.extend(sibling(model, entity, first, &attribute.name, value, 900 + number));
        }
    }
    items
}

/// An item whose time has come, and that is still there.
fn expired(model: &Model, id: EntityId, first: &SampleItem) -> Option<SampleItem> {
    let ttl = &model.table_of(model.entity(id)).ttl.as_ref()?.value;
    first.values.get(ttl)?;
    let other = variant_but(model, first, EXPIRED, &[ttl.as_str()])?;
    Some(with(model, &other, [(ttl.clone(), Value::from(EXPIRED_SECONDS))], EXPIRED))
}

/// Whether the item's time was over before the first generated item was written.
pub fn is_expired(model: &Model, item: &SampleItem) -> bool {
    let ttl = model.table(item.table).ttl.as_ref().and_then(|ttl| item.get(ttl));
    ttl == Some(Value::from(EXPIRED_SECONDS))
}

/// One item of each entity with the longest keys that the file declares.
pub fn longest(model: &Model, data: &[SampleItem]) -> Vec<SampleItem> {
    let mut items = Vec::new();
    for id in model.entity_ids() {
        let entity = model.entity(id);
        let Some(first) = data.iter().find(|item| item.entity == Some(id)) else { continue };
        let in_key = |name: &str| templates(entity).any(|template| template.uses(name));
        let sized = entity.attributes.values().filter(|one| one.is_text() && in_key(&one.name));
        let long = sized.filter_map(|one| {
            let text = plain_text(&first.get(&one.name)?);
            let missing = usize::try_from(one.size?.most()).ok()?.saturating_sub(text.len());
            (missing > 0)
                .then(|| (one.name.clone(), Value::S(text + &"x".repeat(missing.min(KEY_BYTES_TRIED)))))
        });
        let long: Vec<(String, Value)> = long.collect();
        if !long.is_empty() {
            items.push(with(model, first, long, 0));
        }
    }
    items
}

/// The item with another value of one attribute and another identity.
fn sibling(
    model: &Model,
    entity: &Entity,
    first: &SampleItem,
    name: &str,
    value: Value,
    number: usize,
) -> Option<SampleItem> {
    let identifies = entity.key_templates().any(|template| template.uses(name));
    let other = if identifies { first.clone() } else { variant(model, first, number)? };
    Some(with(model, &other, [(name.to_owned(), value)], number))
}

/// Two fields without a separator: the end of one may be the beginning of the next.
fn texts(model: &Model, id: EntityId, first: &SampleItem) -> Vec<SampleItem> {
    let entity = model.entity(id);
    let mut items = Vec::new();
    for pair in templates(entity).flat_map(|template| template.parts.windows(2)) {
        let [Part::Field(one), Part::Field(other)] = pair else { continue };
        let text = |field: &Field| match (&field.form, field.width) {
            (Form::Attribute(name), None) => match first.get(name) {
                Some(Value::S(text)) => Some((name.clone(), text)),
                _ => None,
            },
            _ => None,
        };
        if let (Some((one, left)), Some((other, right))) = (text(one), text(other)) {
            let mut characters = right.chars();
            let moved: String = characters.next().into_iter().collect();
            let rest = characters.as_str();
            if !rest.is_empty() {
                let changes = [(one, Value::S(left + &moved)), (other, Value::from(rest))];
                items.push(with(model, first, changes, 990));
            }
        }
    }
    items
}

/// Two different items of the entity with the same key, if the key allows it.
pub fn twins(model: &Model, id: EntityId, data: &[SampleItem]) -> Option<(SampleItem, SampleItem)> {
    let entity = model.entity(id);
    let first = data.iter().find(|item| item.entity == Some(id))?;
    let distinct = || same_bucket(model, entity, first).or_else(|| same_time(model, entity, first));
    let second =
        few_keys(model, entity, first).or_else(|| if is_counter(model, id) { None } else { distinct() })?;
    let key = |item: &SampleItem| -> Values { key_of(model, item.table, &item.values) };
    (key(first) == key(&second)).then(|| (first.clone(), second))
}

/// Two items of the entity with the same `id` and different keys, if the key is made of more than the `id`.
pub fn doubles(model: &Model, id: EntityId, data: &[SampleItem]) -> Option<(SampleItem, SampleItem)> {
    let entity = model.entity(id);
    let first = data.iter().find(|item| item.entity == Some(id))?;
    let determined = uniqueness::determined(model, id);
    let outside = |name: &&str| !determined.contains(name);
    let names = entity.key_templates().flat_map(Template::attributes).filter(outside);
    let changes = names.map(|name| (name.to_owned(), another(entity, name, first.values.get(name))));
    let second = with(model, first, changes.collect::<Vec<_>>(), 1);
    let key = |item: &SampleItem| -> Values { key_of(model, item.table, &item.values) };
    (key(first) != key(&second)).then(|| (first.clone(), second))
}

/// Fewer keys than items, by what the file declares: two items with one key. Of several children of one parent, the
/// parent's part of the key tells nothing.
fn few_keys(model: &Model, entity: &Entity, first: &SampleItem) -> Option<SampleItem> {
    let count = entity.count.as_ref().filter(|count| count.most() > 1.0)?;
    let parent = count.per.map(|parent| model.entity(parent));
    let of_parent: Vec<&str> =
        parent.into_iter().flat_map(Entity::key_templates).flat_map(Template::attributes).collect();
    let own = entity.key_templates().flat_map(Template::fields);
    let own = own.filter(|field| field.attribute().is_none_or(|name| !of_parent.contains(&name)));
    let keys: Option<f64> = own.map(|field| values_of(entity, field)).product();
    if keys? >= count.most() {
        return None;
    }
    let in_key = |name: &str| entity.key_templates().any(|template| template.uses(name));
    let other = entity.attributes.keys().find(|name| !in_key(name) && first.values.contains_key(*name));
    let change = other.map(|name| (name.clone(), another(entity, name, first.values.get(name))));
    Some(with(model, first, change, 0))
}

/// How many values a field can have, if the file says so.
fn values_of(entity: &Entity, field: &Field) -> Option<f64> {
    match &field.form {
        Form::Random { count } => Some(*count as f64),
        Form::Bucket { .. } => None,
        _ => entity.attribute(field.attribute()?)?.cardinality(),
    }
}

/// Whether writers add to the item, so that one item counts many events.
fn is_counter(model: &Model, id: EntityId) -> bool {
    let adds = |write: &Write| write.entity.value == id && !write.add.is_empty();
    model.patterns.iter().flat_map(|pattern| pattern.writes()).any(|(_, write)| adds(write))
}

/// A key that contains only the hour of a time: two items within that hour.
fn same_bucket(model: &Model, entity: &Entity, first: &SampleItem) -> Option<SampleItem> {
    let fields: Vec<&Field> = entity.key_templates().flat_map(Template::fields).collect();
    let whole =
        |name: &str| fields.iter().any(|field| matches!(&field.form, Form::Attribute(own) if own == name));
    let bucket = fields.iter().find_map(|field| match &field.form {
        Form::Bucket { attribute, unit } if !whole(attribute) => Some((attribute.as_str(), *unit)),
        _ => None,
    });
    let (name, unit) = bucket?;
    let is_timestamp = entity.attribute(name).is_some_and(|one| one.kind == AttributeKind::Timestamp);
    let text = plain_text(&first.get(name)?);
    let other = within(&text, unit).filter(|_| is_timestamp)?;
    Some(with(model, first, [(name.to_owned(), Value::S(other))], 0))
}

/// Another time of the same bucket.
fn within(text: &str, unit: Bucket) -> Option<String> {
    let length = match unit {
        Bucket::Year => 4,
        Bucket::Month => 7,
        Bucket::Day => 10,
        Bucket::Hour => 13,
        Bucket::Minute => 16,
    };
    let other = later(text, 1)?;
    (other.get(..length) == text.get(..length)).then_some(other)
}

/// Items whose keys differ only in their time, although they have ids: two at the same time.
fn same_time(model: &Model, entity: &Entity, first: &SampleItem) -> Option<SampleItem> {
    if entity.count.as_ref().is_some_and(|count| count.most() <= 1.0) {
        return None;
    }
    let fields: Vec<&Field> = entity.key_templates().flat_map(Template::fields).collect();
    let last = fields.last().and_then(|field| entity.attribute(field.attribute()?));
    let own_id = entity.attributes.keys().find(|name| is_own_id(entity, name))?;
    if !last.is_some_and(|one| one.kind.is_time()) || fields.iter().any(|field| whole(field) == Some(own_id))
    {
        return None;
    }
    let id = plain_text(&first.get(own_id)?);
    let key = key_of(model, first.table, &first.values);
    // A shard of the id is in the key: another id falls into the same one soon.
    let mut others = (2..OTHER_IDS_MAX).map(|number| {
        let other = Value::S(format!("{id}-{number}"));
        with(model, first, [(own_id.clone(), other)], 0)
    });
    others.find(|other| key_of(model, other.table, &other.values) == key)
}

/// `eventId` of an `Event`, and of an `OrderEvent`.
fn is_own_id(entity: &Entity, name: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace('_', "");
    plain(name).strip_suffix("id").is_some_and(|stem| !stem.is_empty() && plain(&entity.name).ends_with(stem))
}
