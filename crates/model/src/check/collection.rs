//! How many items of an entity lie under one partition key, by the counts of the file.

use std::collections::BTreeSet;

use crate::Model;
use crate::model::{Entity, EntityId, Place};
use crate::template::{Field, Form};

/// At most so many, or none if the file does not say.
///
/// `20 per Customer` is 20 under a key made of what identifies a customer, and no more if the key has other
/// parts besides; a line item, `5 per Order`, is 100 under it. A count of its own is divided by how many
/// keys there can be.
pub fn items_per_key(model: &Model, place: Place<'_>) -> Option<f64> {
    let mut key: BTreeSet<&str> =
        place.partition().into_iter().flat_map(|(_, template)| template.fields()).filter_map(whole).collect();
    if key.is_empty() {
        return model.items(place.entity_id);
    }
    let mut items = 1.0;
    let mut current = place.entity_id;
    // A chain of `per` is no longer than there are entities.
    for _ in 0..=model.entities.len() {
        let own = identity(model.entity(current));
        if !own.is_empty() && own.is_subset(&key) {
            return Some(items);
        }
        let count = model.entity(current).count.as_ref()?;
        items *= count.most();
        let Some(parent) = count.per else {
            return Some((items / keys(model, current, &key)?).max(1.0));
        };
        // What the parent does not know of the key can only make the collection smaller.
        key = key.intersection(&identity(model.entity(parent))).copied().collect();
        if key.is_empty() {
            return None;
        }
        current = parent;
    }
    None
}

/// The attribute that a field tells all of: a bucket or shard is shared by many values.
pub fn whole(field: &Field) -> Option<&str> {
    match &field.form {
        Form::Attribute(name) | Form::Lower(name) | Form::Descending { attribute: name, .. } => Some(name),
        Form::Bucket { .. } | Form::Shard { .. } | Form::Random { .. } => None,
    }
}

/// The attributes that an entity's primary key is made of.
pub fn identity(entity: &Entity) -> BTreeSet<&str> {
    entity.key_templates().flat_map(|template| template.attributes()).collect()
}

/// How many different keys these attributes give.
fn keys(model: &Model, entity: EntityId, attributes: &BTreeSet<&str>) -> Option<f64> {
    attributes.iter().map(|name| model.entity(entity).attribute(name)?.cardinality()).product()
}
