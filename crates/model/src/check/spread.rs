//! What a shard can be computed from: an attribute that differs between the items of one partition key.

use crate::model::Place;
use crate::template::{Form, Template};

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
    let values = |name: &str| match place.entity.attribute(name) {
        Some(attribute) => attribute.cardinality().unwrap_or(f64::INFINITY),
        None => f64::INFINITY,
    };
    // Of several equal ones the first.
    candidates.fold(None, |best: Option<&str>, name| match best {
        Some(best) if values(best) >= values(name) => Some(best),
        _ => Some(name),
    })
}
