//! What identifies an item of an entity. The table's key has to contain it.

use crate::Model;
use crate::model::{ActionKind, AttributeKind, Entity, EntityId, ReadVerb, Write, WriteVerb};

/// As declared; else an attribute named after the entity (`orderId` of an Order); else the attributes by which
/// patterns find one item; else the keys it had; else an attribute whose values never repeat.
pub fn identity(model: &Model, id: EntityId) -> Option<Vec<String>> {
    let entity = model.entity(id);
    if !entity.identity.is_empty() {
        return Some(entity.identity.iter().map(|name| name.value.clone()).collect());
    }
    named_like(entity)
        .map(|name| vec![name])
        .or_else(|| found_by(model, id))
        .or_else(|| keyed_by(entity))
        .or_else(|| never_repeats(entity).map(|name| vec![name]))
}

fn named_like(entity: &Entity) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let own = format!("{}id", plain(&entity.name.value));
    let names = || entity.attributes.keys();
    names().find(|name| plain(name) == own).or_else(|| names().find(|name| plain(name) == "id")).cloned()
}

/// The fewest attributes by which a get, update, delete or check finds one item and which no update changes.
fn found_by(model: &Model, id: EntityId) -> Option<Vec<String>> {
    let actions = model.patterns.iter().flat_map(|pattern| &pattern.actions);
    let by = actions.filter_map(|action| match &action.kind {
        ActionKind::Read(read) => {
            let one = read.verb == ReadVerb::Get && read.entities.len() == 1 && read.entities[0].value == id;
            one.then_some(&read.by)
        }
        ActionKind::Write(write) => (write.entity.value == id && finds(write)).then_some(&write.by),
    });
    let by = by.map(|names| names.iter().map(|name| name.value.clone()).collect::<Vec<_>>());
    by.filter(|names| !names.is_empty() && !names.iter().any(|name| changes(model, id, name)))
        .min_by_key(Vec::len)
}

fn keyed_by(entity: &Entity) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in entity.key_templates().flat_map(|template| template.attributes()) {
        if !names.iter().any(|one| one == name) {
            names.push(name.to_owned());
        }
    }
    (!names.is_empty()).then_some(names)
}

fn never_repeats(entity: &Entity) -> Option<String> {
    let unique = |kind| matches!(kind, AttributeKind::Uuid | AttributeKind::Ulid);
    entity.attributes.values().find(|attribute| unique(attribute.kind)).map(|found| found.name.clone())
}

/// Whether the write needs an existing item.
pub fn finds(write: &Write) -> bool {
    matches!(write.verb, WriteVerb::Update | WriteVerb::Delete | WriteVerb::Check)
}

/// Whether an update changes the attribute.
pub fn changes(model: &Model, id: EntityId, name: &str) -> bool {
    let writes = model.patterns.iter().flat_map(|pattern| pattern.writes());
    let updates = writes.filter(|(_, write)| write.entity.value == id && write.verb == WriteVerb::Update);
    updates.into_iter().any(|(_, write)| crate::plan::changed(write).any(|changed| changed == name))
}
