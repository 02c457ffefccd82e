//! What a shard can be computed from: an attribute that differs between the items of one partition key.

use super::Subject;
use crate::model::{Place, ReadVerb};
use crate::template::{Form, Template};

/// How many shards are enough for nearly every key.
pub const SHARDS: u64 = 10;

/// What spreads the items of one key, without its braces: `shard(orderId, 10)`.
pub struct Spread {
    pub field: String,
    pub count: u64,
}

/// Spreads the items of one key over that many shards. If what tells them apart has fewer values than that, the writer
/// draws a shard where no pattern asks for a single item, and the values decide how many shards there are elsewhere. `None`
/// if nothing spreads them.
pub fn shard(subject: &Subject<'_>, place: Place<'_>, wanted: u64) -> Option<Spread> {
    let name = differing(place)?;
    let few = wanted.min(values(place, name) as u64);
    let (field, count) = match few < wanted {
        false => (format!("shard({name}, {wanted})"), wanted),
        true if may_draw(subject, place) => (format!("random({wanted})"), wanted),
        true => (format!("shard({name}, {few})"), few),
    };
    (count > 1).then_some(Spread { field, count })
}

/// Whether a shard that the writer draws is found again: in an index that no pattern asks for a single item.
fn may_draw(subject: &Subject<'_>, place: Place<'_>) -> bool {
    let gets = |index| {
        let here =
            subject.reads().filter(|one| one.plan.index == Some(index) && one.plan.table == place.table_id);
        here.into_iter().any(|one| one.read.verb == ReadVerb::Get)
    };
    place.index_id().is_some_and(|index| !gets(index))
}

/// How many values an attribute has; infinite if that is not known.
pub fn values(place: Place<'_>, name: &str) -> f64 {
    let attribute = place.entity.attribute(name);
    attribute.and_then(|attribute| attribute.cardinality()).unwrap_or(f64::INFINITY)
}

/// An attribute by which the items of one partition key can be spread: a part of what identifies them that the key does
/// not hold, and that has many values. `None` if a key has but one item.
pub fn differing(place: Place<'_>) -> Option<&str> {
    let partition = place.partition();
    let here = partition.iter().flat_map(|(_, template)| template.fields());
    let here: Vec<&str> = here
        .filter_map(|field| match &field.form {
            Form::Attribute(name) | Form::Lower(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let declared = place.entity.identity.iter().map(|name| name.value.as_str());
    let in_key: Vec<&str> = place.entity.key_templates().flat_map(Template::attributes).collect();
    let candidates = declared.chain(in_key.into_iter().rev()).filter(|name| !here.contains(name));
    // Of several equal ones the first.
    candidates.fold(None, |best: Option<&str>, name| match best {
        Some(best) if values(place, best) >= values(place, name) => Some(best),
        _ => Some(name),
    })
}
