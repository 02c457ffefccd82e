//! What makes an item unique: whether its `id` is generated, so that no two items have it, or a value of the outside
//! world, such as a name, which two writers can choose at the same time. Only the table's key keeps the second out.

use std::collections::BTreeSet;

use crate::model::{Attribute, Entity, EntityId, Grouping, Write, WriteVerb};
use crate::predicate::Operator;
use crate::predict::found::identity;
use crate::{Model, Span};

/// Whether a write stores an item only if there is none with its key: `create`, or `put` with `if: not exists`.
pub fn creates(model: &Model, write: &Write) -> bool {
    let table = model.table_of(model.entity(write.entity.value));
    let is_key = |name: &str| table.key.as_ref().is_some_and(|key| key.names(name));
    let is_of_item = |name: &str| name.is_empty() || is_key(name);
    let mut terms = write.condition.iter().flat_map(|condition| &condition.terms);
    let if_new = terms.any(|term| term.operator == Operator::NotExists && is_of_item(&term.attribute.value));
    write.verb == WriteVerb::Create || (write.verb == WriteVerb::Put && if_new)
}

/// Whether `create` relies on the table's key to keep out a second item with the same `id`.
pub fn relies_on_key(model: &Model, id: EntityId) -> bool {
    let entity = model.entity(id);
    let writes = || model.patterns.iter().flat_map(|pattern| pattern.writes());
    let mut created = writes().filter(|(_, write)| write.entity.value == id && creates(model, write));
    let ids = || entity.identity.iter().filter_map(|name| entity.attribute(name));
    !entity.identity.is_empty()
        && created.next().is_some()
        && !ids().any(|attribute| is_generated(model, id, attribute))
}

/// An entity whose items keep an attribute of another entity unique: its key is made of the value, and both are created
/// in one transaction.
pub struct Guard<'m> {
    pub guarded: EntityId,
    pub by: EntityId,
    /// What the key of the guard is made of.
    pub attributes: Vec<&'m str>,
    /// The key of the guard.
    pub span: Span,
}

/// Every guard of the model.
pub fn guards(model: &Model) -> Vec<Guard<'_>> {
    let mut guards: Vec<Guard<'_>> = Vec::new();
    for pattern in model.patterns.iter().filter(|pattern| pattern.grouping == Grouping::Transaction) {
        let created = pattern.writes().filter(|(_, write)| creates(model, write));
        let created: Vec<EntityId> = created.map(|(_, write)| write.entity.value).collect();
        for guarded in &created {
            for by in created.iter().filter(|by| *by != guarded) {
                let known = guards.iter().any(|one| one.guarded == *guarded && one.by == *by);
                guards.extend(guard(model, *guarded, *by).filter(|_| !known));
            }
        }
    }
    guards
}

/// Items that hold the id of the other entity in their key are parts or links of it.
fn guard(model: &Model, guarded: EntityId, by: EntityId) -> Option<Guard<'_>> {
    let (entity, guard) = (model.entity(guarded), model.entity(by));
    let key = guard.key.as_ref()?;
    let (own, attributes) = (identity(entity), identity(guard));
    let is_of_it = attributes.iter().all(|name| entity.attribute(name).is_some());
    let is_part = own.is_subset(&attributes);
    let is_unique_already = attributes.is_subset(&own);
    // Nothing has to keep a generated value unique.
    let generated = |name: &&str| guard.attribute(name).is_some_and(|one| is_generated(model, by, one));
    let is_natural = !attributes.iter().any(generated);
    let free: Vec<&str> = attributes.into_iter().filter(|name| !own.contains(name)).collect();
    (is_of_it && is_natural && !is_part && !is_unique_already).then_some(Guard {
        guarded,
        by,
        attributes: free,
        span: key.span,
    })
}

/// Attributes that have one value for each `id`: its own parts, those that never differ, and what belongs to another
/// entity whose `id` is among them. An order line's order has one customer.
pub fn determined(model: &Model, id: EntityId) -> BTreeSet<&str> {
    let entity = model.entity(id);
    let constant = entity.attributes.values().filter(|attribute| attribute.constant.is_some());
    let own = entity.identity.iter().map(|name| name.value.as_str());
    let mut known: BTreeSet<&str> = own.chain(constant.map(|attribute| attribute.name.as_str())).collect();
    // Each round adds an entity, or is the last.
    for _ in 0..model.entities.len() {
        let before = known.len();
        for other in others(model, id) {
            if other.identity.iter().all(|name| known.contains(name.value.as_str())) {
                known.extend(other.attributes.keys().map(String::as_str));
            }
        }
        if known.len() == before {
            break;
        }
    }
    known
}

fn others(model: &Model, id: EntityId) -> impl Iterator<Item = &Entity> {
    let others = model.entity_ids().filter(move |other| *other != id).map(|other| model.entity(other));
    others.filter(|other| !other.identity.is_empty())
}

/// Whether the writer of a new item draws this value, so that it never repeats.
fn is_generated(model: &Model, id: EntityId, attribute: &Attribute) -> bool {
    let entity = model.entity(id);
    let repeats = match (attribute.cardinality(), model.items(id)) {
        (Some(values), Some(items)) => values < items,
        _ => false,
    };
    let of_another =
        others(model, id).any(|other| other.identity.len() == 1 && other.identity[0].value == attribute.name);
    let never_repeats = attribute.kind.is_unique() || is_own_id(&entity.name, &attribute.name);
    never_repeats && !repeats && !of_another
}

/// `eventId` of an `Event`, and of an `OrderEvent`.
fn is_own_id(entity: &str, attribute: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let name = plain(attribute);
    let stem = name.strip_suffix("id");
    name == "id" || stem.is_some_and(|stem| !stem.is_empty() && plain(entity).ends_with(stem))
}
