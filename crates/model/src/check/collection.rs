//! How many items of an entity lie under one partition key, by the counts of the file.

use std::collections::BTreeSet;

use crate::Model;
use crate::model::{Entity, EntityId, Place};

/// None if the file does not say.
///
/// `20 per Customer` is 20 under a key made of what identifies a customer; a line item, `5 per Order`, is
/// 100 under it. A count of its own is divided by how many keys there can be.
pub fn items_per_key(model: &Model, place: Place<'_>) -> Option<f64> {
    let key: BTreeSet<&str> =
        place.partition().iter().flat_map(|(_, template)| template.attributes()).collect();
    let mut items = 1.0;
    let mut current = place.entity_id;
    // A chain of `per` is no longer than there are entities.
    for _ in 0..=model.entities.len() {
        if identity(model.entity(current)) == key {
            return Some(items);
        }
        let count = model.entity(current).count.as_ref()?;
        items *= count.most();
        match count.per {
            Some(parent) if key.is_subset(&identity(model.entity(parent))) => current = parent,
            Some(_) => return None,
            None => return Some((items / keys(model, place.entity_id, &key)?).max(1.0)),
        }
    }
    None
}

/// The attributes that an entity's primary key is made of.
pub fn identity(entity: &Entity) -> BTreeSet<&str> {
    entity.key_templates().flat_map(|template| template.attributes()).collect()
}

/// How many different keys these attributes give.
fn keys(model: &Model, entity: EntityId, attributes: &BTreeSet<&str>) -> Option<f64> {
    attributes.iter().map(|name| model.entity(entity).attribute(name)?.cardinality()).product()
}
