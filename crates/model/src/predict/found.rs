//! How many items there are: found by a read, or under one partition key. Calculated from the counts, values and
//! relations that the file declares.

use std::collections::BTreeSet;

use crate::Model;
use crate::model::{Count, Entity, EntityId, Place, Read};
use crate::predicate::{Operand, Operator, Term};
use crate::predict::typical::member_share;
use crate::template::{Field, Form, Template};

/// Items of one entity that the key condition finds; those that filters drop are read too. `None` if the
/// file does not declare how many there are.
pub fn examined(model: &Model, read: &Read, entity: EntityId, filtered: &[&str]) -> Option<f64> {
    examined_of(model, read, entity, filtered, |count| count.typical)
}

/// The same with the largest counts that the file declares.
pub fn examined_at_most(model: &Model, read: &Read, entity: EntityId) -> Option<f64> {
    examined_of(model, read, entity, &[], Count::most)
}

/// The same if there are as many items as `counted` says of what the file declares.
fn examined_of(
    model: &Model,
    read: &Read,
    entity: EntityId,
    filtered: &[&str],
    counted: fn(&Count) -> f64,
) -> Option<f64> {
    let known = known(read).into_iter().filter(|(name, _)| !filtered.contains(name));
    let known: Vec<_> = known.filter(|(name, _)| model.entity(entity).attribute(name).is_some()).collect();
    if identifies(model.entity(entity), &known) {
        return Some(1.0);
    }
    let count = model.entity(entity).count.as_ref()?;
    let parent = known_parent(model, entity, &known, counted);
    let of_one_parent = |name: &str| match &parent {
        Some((_, identity)) => identity.contains(name),
        None => count.per.is_some_and(|parent| owner(model, name) == Some(parent)),
    };
    let found = match (&parent, known.iter().any(|(name, _)| of_one_parent(name))) {
        (Some((found, _)), _) => *found,
        (None, true) => counted(count),
        (None, false) if count.per.is_none() => counted(count),
        (None, false) => model.items(entity)? / count.typical.max(f64::MIN_POSITIVE) * counted(count),
    };
    let found = found * having(model.entity(entity), read, &known, filtered);
    let others = known.iter().filter(|(name, _)| !of_one_parent(name));
    let found =
        others.fold(found, |found, (name, literal)| found * share(model, entity, name, *literal, found));
    Some(found * among(model, entity, read, filtered, found))
}

/// How many items belong to the nearest parent (by `per`) whose whole key is known, and what that key is made of.
fn known_parent<'m>(
    model: &'m Model,
    entity: EntityId,
    known: &[(&str, Option<&str>)],
    counted: fn(&Count) -> f64,
) -> Option<(f64, BTreeSet<&'m str>)> {
    let known: BTreeSet<&str> = known.iter().map(|(name, _)| *name).collect();
    let (mut items, mut current) = (1.0, entity);
    // A chain of `per` is no longer than there are entities.
    for _ in 0..=model.entities.len() {
        let count = model.entity(current).count.as_ref()?;
        items *= counted(count);
        current = count.per?;
        let parent = model.entity(current);
        if is_identified(parent, &known) {
            return Some((items, identifying(parent)));
        }
    }
    None
}

/// The share of items that have the optional attributes which the read knows, or asks for with `exists`.
fn having(entity: &Entity, read: &Read, known: &[(&str, Option<&str>)], filtered: &[&str]) -> f64 {
    let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    let exists = terms.filter(|term| term.operator == Operator::Exists);
    let names = exists.map(|term| term.attribute.value.as_str()).filter(|name| !filtered.contains(name));
    let names: BTreeSet<&str> = names.chain(known.iter().map(|(name, _)| *name)).collect();
    names.into_iter().filter_map(|name| entity.attribute(name)?.present).product()
}

/// The share of items that have one of the values which the read asks for with `in`.
fn among(model: &Model, id: EntityId, read: &Read, filtered: &[&str], found: f64) -> f64 {
    let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    let is_asked = |name: &str| model.entity(id).attribute(name).is_some() && !filtered.contains(&name);
    let terms = terms.filter(|term| term.operator == Operator::In && is_asked(&term.attribute));
    let of = |term: &Term| {
        let each = term.operands.iter().map(|one| share(model, id, &term.attribute, one.literal(), found));
        each.sum::<f64>().min(1.0)
    };
    terms.map(of).product()
}

/// Attributes fixed to one value, with the value if the file has it.
fn known(read: &Read) -> Vec<(&str, Option<&str>)> {
    let by = read.by.iter().map(|name| (name.value.as_str(), None));
    let terms = read.conditions.iter().flat_map(|conditions| &conditions.terms);
    let equal = terms.filter(|term| term.operator == Operator::Equal);
    let equal = equal.map(|term| {
        let literal = term.operands.first().and_then(Operand::literal);
        (term.attribute.value.as_str(), literal)
    });
    by.chain(equal).collect()
}

/// Whether they make up the whole primary key.
fn identifies(entity: &Entity, known: &[(&str, Option<&str>)]) -> bool {
    let known: BTreeSet<&str> = known.iter().map(|(name, _)| *name).collect();
    entity.key.is_some() && is_identified(entity, &known)
}

/// Whether the values of these attributes belong to one item: by the key, or by the declared `id`.
fn is_identified(entity: &Entity, known: &BTreeSet<&str>) -> bool {
    let own = identity(entity);
    let by_id = || entity.identity.iter().all(|name| known.contains(name.value.as_str()));
    (!own.is_empty() && own.is_subset(known)) || (!entity.identity.is_empty() && by_id())
}

/// What the key of an entity is made of, and its declared `id`.
fn identifying(entity: &Entity) -> BTreeSet<&str> {
    identity(entity).into_iter().chain(entity.identity.iter().map(|name| name.value.as_str())).collect()
}

/// The share of `found` items that have one value of an attribute. If nothing is declared, each item is assumed to
/// have a value of its own, because it is looked up by it.
fn share(model: &Model, id: EntityId, name: &str, literal: Option<&str>, found: f64) -> f64 {
    let attribute = model.entity(id).attribute(name);
    let declared = attribute.and_then(|attribute| {
        let of_value = literal.and_then(|literal| attribute.share_of(literal));
        of_value.or_else(|| attribute.cardinality().map(|values| 1.0 / values.max(1.0)))
    });
    let related = || owner(model, name).filter(|owner| *owner != id).and_then(|owner| model.items(owner));
    declared.or_else(|| related().map(|items| 1.0 / items.max(1.0))).unwrap_or(1.0 / found.max(1.0))
}

/// The entity that an attribute names: `Order` for `orderId`, else the one with the shortest key that needs it.
fn owner(model: &Model, attribute: &str) -> Option<EntityId> {
    let plain = |text: &str| text.to_lowercase().replace('_', "");
    let named = |id: &EntityId| plain(attribute) == format!("{}id", plain(&model.entity(*id).name));
    let key = |id: &EntityId| identity(model.entity(*id));
    model.entity_ids().find(named).or_else(|| {
        model.entity_ids().filter(|id| key(id).contains(attribute)).min_by_key(|id| key(id).len())
    })
}

/// The most items of an entity under one partition key; `None` if not declared. Unlike for reads nothing is assumed
/// here, because rules must not report a guess.
///
/// `20 per Customer` is 20 under a key made of what identifies a customer, and no more if the key has
/// further parts; a line item, `5 per Order`, is 100 under it. A count of its own is divided by how many
/// keys there can be.
///
/// An index that only some items are in holds their share.
pub fn items_per_key(model: &Model, place: Place<'_>) -> Option<f64> {
    let share = place.index.map_or(1.0, |(_, _, entry)| member_share(model, place.entity_id, entry));
    let items = all_items_per_key(model, place)?;
    Some(if share < 1.0 { (items * share).max(1.0) } else { items })
}

fn all_items_per_key(model: &Model, place: Place<'_>) -> Option<f64> {
    let mut key: BTreeSet<&str> =
        place.partition().into_iter().flat_map(|(_, template)| template.fields()).filter_map(whole).collect();
    if key.is_empty() {
        return model.items(place.entity_id);
    }
    let mut items = 1.0;
    let mut current = place.entity_id;
    // A chain of `per` is no longer than there are entities.
    for _ in 0..=model.entities.len() {
        if is_identified(model.entity(current), &key) {
            return Some(items);
        }
        let count = model.entity(current).count.as_ref()?;
        items *= count.most();
        let Some(parent) = count.per else {
            return Some((items / keys(model, current, &key)?).max(1.0));
        };
        // The parts of the key that the parent does not have can only make the collection smaller.
        key = key.intersection(&identifying(model.entity(parent))).copied().collect();
        if key.is_empty() {
            return None;
        }
        current = parent;
    }
    None
}

/// The attribute that a field holds completely: a bucket or shard is shared by many values.
pub fn whole(field: &Field) -> Option<&str> {
    match &field.form {
        Form::Attribute(name) | Form::Lower(name) | Form::Descending { attribute: name, .. } => Some(name),
        Form::Bucket { .. } | Form::Shard { .. } | Form::Random { .. } => None,
    }
}

/// The attributes that an entity's primary key is made of.
pub fn identity(entity: &Entity) -> BTreeSet<&str> {
    entity.key_templates().flat_map(Template::attributes).collect()
}

/// How many different keys these attributes have.
fn keys(model: &Model, entity: EntityId, attributes: &BTreeSet<&str>) -> Option<f64> {
    attributes.iter().map(|name| model.entity(entity).attribute(name)?.cardinality()).product()
}
