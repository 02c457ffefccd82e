//! Model -> entities.

use item::Type;
use model::Model;
use model::model::{
    Attribute, AttributeKind, Entity, EntityId, Index, IndexId, KeyAttribute, Place, Projection,
};
use model::plan::{ReadPlan, plan};
use model::template::{Field, Form, Part, Template};
use serde_json::{Map, Value, json};

use super::PRIMARY;
use crate::javascript::{code, key, pattern};
use crate::{Notes, value};

pub fn write(model: &Model, notes: &mut Notes) -> Value {
    let collections = collections(model, notes);
    let mut entities = Map::new();
    for (id, entity) in model.entity_ids().map(|id| (id, model.entity(id))) {
        match &entity.key {
            Some(_) => {
                entities.insert(entity.name.value.clone(), schema(model, id, &collections, notes));
            }
            None => notes
                .add(format!("{} has no keys yet: `lodestone model design` finds them", entity.name.value)),
        }
    }
    notes.add("ElectroDB adds two attributes to every item: `__edb_e__` and `__edb_v__`");
    json!({ "entities": entities })
}

/// An entity in the table or in an index, and the collection that reads it there.
struct Collection {
    entity: EntityId,
    index: Option<IndexId>,
    name: String,
}

/// Patterns that read several entities at once.
fn collections(model: &Model, notes: &mut Notes) -> Vec<Collection> {
    let mut found: Vec<Collection> = Vec::new();
    for pattern in &model.patterns {
        for read in plan(model, pattern).reads().filter(|read| read.entities.len() > 1) {
            let taken = |id: &EntityId| found.iter().any(|one| one.entity == *id && one.index == read.index);
            if read.entities.iter().any(taken) || !can_collect(model, read) {
                notes.add(format!("pattern {} becomes no collection", pattern.id.value));
                continue;
            }
            let member = |entity: &EntityId| Collection {
                entity: *entity,
                index: read.index,
                name: pattern.id.value.clone(),
            };
            found.extend(read.entities.iter().map(member));
        }
    }
    found
}

/// Whether all have one partition template, a sort key, and one projection.
fn can_collect(model: &Model, read: &ReadPlan) -> bool {
    let places = read.entities.iter().flat_map(|id| model.places_of(*id));
    let places: Vec<Place<'_>> = places.filter(|place| place.index_id() == read.index).collect();
    let partition = |place: &Place<'_>| -> Vec<String> {
        place.partition().into_iter().map(|(_, template)| template.to_string()).collect()
    };
    let first = places.first().map(partition);
    places.iter().all(|place| Some(partition(place)) == first && !place.sort().is_empty() && is_whole(place))
}

fn is_whole(place: &Place<'_>) -> bool {
    place.index.is_none_or(|(_, index, _)| projection(index, place.entity).is_none())
}

fn schema(model: &Model, id: EntityId, collections: &[Collection], notes: &mut Notes) -> Value {
    let entity = model.entity(id);
    let mut parts = Parts::new(entity);
    let mut indexes = Map::new();
    for place in model.places_of(id) {
        let name = place.index.map_or(PRIMARY, |(_, index, _)| index.name.value.as_str());
        // An index may have the name of the table's own access.
        let name = if indexes.contains_key(name) { format!("{name}Index") } else { name.to_owned() };
        let collection = collections.iter().find(|one| one.entity == id && one.index == place.index_id());
        if let Some(shape) = index_shape(place, collection, &mut parts, notes) {
            indexes.insert(name, shape);
        }
    }
    let mut attributes: Map<String, Value> =
        entity.attributes.values().map(|one| (one.name.clone(), described(one, &parts))).collect();
    attributes.extend(parts.made);
    json!({
        "table": model.table_of(entity).name.value,
        "model": { "entity": entity.name.value, "version": "1", "service": model.name.value },
        "attributes": attributes,
        "indexes": indexes,
    })
}

fn index_shape(
    place: Place<'_>,
    collection: Option<&Collection>,
    parts: &mut Parts<'_>,
    notes: &mut Notes,
) -> Option<Value> {
    let entry = place.index.map(|(_, _, entry)| entry);
    let mut shape = Map::new();
    if let Some((_, index, _)) = place.index {
        shape.insert("index".to_owned(), index.name.value.as_str().into());
        if let Some(projection) = projection(index, place.entity) {
            shape.insert("projection".to_owned(), projection);
        }
    }
    if let Some(collection) = collection {
        shape.insert("collection".to_owned(), collection.name.as_str().into());
    }
    let wide = place.schema.partition.len() > 1 || place.schema.sort.len() > 1;
    if wide {
        shape.insert("type".to_owned(), "composite".into());
    } else if let Some(when) = entry.and_then(|entry| entry.when.as_ref()) {
        shape.insert("when".to_owned(), when.to_string().into());
        shape.insert(
            "condition".to_owned(),
            code(format!("(item) => {}", key::predicate(when, place.entity))),
        );
        tell_sparse(place, notes);
    }
    let sparse = entry.is_some_and(|entry| entry.when.is_some());
    let mut used: Vec<String> = Vec::new();
    for (side, keys) in [("pk", place.partition()), ("sk", place.sort())] {
        let Some((key, template)) = keys.first() else { continue };
        let shaped = match wide {
            true => composite(&keys, place, notes)?,
            false => key_shape(key, template, sparse, &mut used, parts, notes),
        };
        shape.insert(side.to_owned(), shaped);
    }
    Some(Value::Object(shape))
}

fn tell_sparse(place: Place<'_>, notes: &mut Notes) {
    notes.add(format!(
        "{}, {}: an update that enters or leaves the index has to give all its composites (`composite({{…}})`)",
        place.entity.name.value,
        place.name()
    ));
}

/// Several attributes can be a key as they are; ElectroDB can't express other multi-attribute keys.
fn composite(keys: &[(&KeyAttribute, &Template)], place: Place<'_>, notes: &mut Notes) -> Option<Value> {
    let bare = keys.iter().all(|(key, template)| template.bare() == Some(&key.name));
    if !bare {
        notes.add(format!(
            "{}, {}: it is left out, because a key of several attributes can't have templates",
            place.entity.name.value,
            place.name()
        ));
        return None;
    }
    let names: Vec<&str> = keys.iter().map(|(key, _)| key.name.as_str()).collect();
    Some(json!({ "composite": names }))
}

fn key_shape(
    key: &KeyAttribute,
    template: &Template,
    sparse: bool,
    used: &mut Vec<String>,
    parts: &mut Parts<'_>,
    notes: &mut Notes,
) -> Value {
    if key.kind == Type::B
        || template.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains("${")))
    {
        notes.add(format!("key {}: binary keys, and keys with `${{` in them, can't be said", key.name));
    }
    // An attribute may be on both sides of a key only if the sort key consists of it alone.
    let several = template.fields().count() > 1;
    let repeated = |name: &str| several && used.iter().any(|one| one == name);
    let mut composite: Vec<String> = Vec::new();
    let mut text = String::new();
    for part in &template.parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Field(field) => {
                let name = parts.name(field, key.kind, sparse, &repeated);
                text.push_str(&format!("${{{name}}}"));
                composite.push(name);
            }
        }
    }
    let mut shape = json!({ "field": key.name, "composite": composite, "template": text, "casing": "none" });
    // A single number would be stored as a number.
    if key.kind == Type::S && template.bare().is_some_and(|name| parts.is_number(name)) {
        shape["cast"] = "string".into();
    }
    used.extend(composite);
    shape
}

/// `None` if everything is projected. Attributes of other entities are left out.
fn projection(index: &Index, entity: &Entity) -> Option<Value> {
    match &index.projection.value {
        Projection::All => None,
        Projection::Keys => Some("keys_only".into()),
        Projection::Include(names) => {
            let known = names.iter().map(|name| name.value.as_str());
            let known: Vec<&str> = known.filter(|name| entity.attributes.contains_key(*name)).collect();
            Some(if known.is_empty() { "keys_only".into() } else { known.into() })
        }
    }
}

/// What key templates consist of: attributes, and hidden attributes composed of them.
struct Parts<'m> {
    entity: &'m Entity,
    /// ElectroDB pads an attribute in the same way in all keys: as at its first use.
    padding: Vec<(String, Option<usize>)>,
    made: Map<String, Value>,
}

impl<'m> Parts<'m> {
    fn new(entity: &'m Entity) -> Parts<'m> {
        let mut padding: Vec<(String, Option<usize>)> = Vec::new();
        let entries = entity.entries.iter().flat_map(|entry| entry.templates());
        for field in entity.key_templates().chain(entries).flat_map(Template::fields) {
            if let Form::Attribute(name) = &field.form
                && !padding.iter().any(|(known, _)| known == name)
            {
                let width = field.width.filter(|_| !value::may_be_negative(entity, name));
                padding.push((name.clone(), width));
            }
        }
        Parts { entity, padding, made: Map::new() }
    }

    fn padding(&self, attribute: &str) -> Option<usize> {
        self.padding.iter().find(|(name, _)| name == attribute).and_then(|(_, width)| *width)
    }

    fn is_number(&self, attribute: &str) -> bool {
        self.entity.attribute(attribute).is_some_and(|one| one.kind.stored() == Type::N)
    }

    /// The attribute for one part of a key.
    fn name(&mut self, field: &Field, kind: Type, sparse: bool, repeated: &dyn Fn(&str) -> bool) -> String {
        let optional =
            |name: &str| sparse && self.entity.attribute(name).is_some_and(|attribute| attribute.optional);
        match &field.form {
            Form::Attribute(name)
                if (kind != Type::S || field.width == self.padding(name))
                    && !repeated(name)
                    && !optional(name) =>
            {
                name.clone()
            }
            _ => self.make(field, sparse),
        }
    }

    fn make(&mut self, field: &Field, sparse: bool) -> String {
        let template = field.to_string();
        let known = self.made.iter().find(|(_, one)| one["template"] == template);
        if let Some((name, _)) = known {
            return name.clone();
        }
        let name = self.free(&wanted(field));
        self.made.insert(name.clone(), made(field, &template, sparse));
        name
    }

    fn free(&self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let taken = |name: &String| self.entity.attributes.contains_key(name) || self.made.contains_key(name);
        names.find(|name| !taken(name)).unwrap_or_default()
    }
}

fn wanted(field: &Field) -> String {
    let suffix = match &field.form {
        Form::Attribute(_) => "Part",
        Form::Lower(_) => "Lower",
        Form::Bucket { unit, .. } => match unit.name() {
            "year" => "Year",
            "month" => "Month",
            "day" => "Day",
            "hour" => "Hour",
            _ => "Minute",
        },
        Form::Descending { .. } => "Descending",
        Form::Shard { .. } => "Shard",
        Form::Random { .. } => return "shard".to_owned(),
    };
    format!("{}{suffix}", field.attribute().unwrap_or_default())
}

/// In a sparse index every part of a key must have a value, or ElectroDB does not evaluate the condition.
fn made(field: &Field, template: &str, sparse: bool) -> Value {
    let part = key::text(field);
    match field.attribute() {
        Some(attribute) => {
            let value = key::attribute(attribute);
            let absent = if sparse { "\"\"" } else { "undefined" };
            let set = format!("(_, item) => ({value} === undefined ? {absent} : {part})");
            json!({
                "type": "string",
                "hidden": true,
                "watch": [attribute],
                "template": template,
                "set": code(set),
            })
        }
        None => json!({
            "type": "string",
            "hidden": true,
            "template": template,
            "default": code(format!("() => {part}")),
        }),
    }
}

fn described(attribute: &Attribute, parts: &Parts<'_>) -> Value {
    let mut shape = match attribute.kind {
        AttributeKind::Number | AttributeKind::Epoch | AttributeKind::EpochMillis => {
            json!({ "type": "number" })
        }
        AttributeKind::Boolean => json!({ "type": "boolean" }),
        AttributeKind::StringSet => json!({ "type": "set", "items": "string" }),
        AttributeKind::NumberSet => json!({ "type": "set", "items": "number" }),
        AttributeKind::List => json!({ "type": "list", "items": { "type": "any" } }),
        AttributeKind::Map | AttributeKind::Binary | AttributeKind::BinarySet => json!({ "type": "any" }),
        AttributeKind::String
        | AttributeKind::Timestamp
        | AttributeKind::Date
        | AttributeKind::Uuid
        | AttributeKind::Ulid => json!({ "type": "string" }),
    };
    let choices = value::choices(attribute);
    if !choices.is_empty() && choices.iter().all(Value::is_string) {
        shape["type"] = choices.clone().into();
    }
    if let Some(constant) = choices.first().filter(|_| attribute.constant.is_some()) {
        shape["default"] = constant.clone();
    }
    if !attribute.optional {
        shape["required"] = true.into();
    }
    if let Some(width) = parts.padding(&attribute.name) {
        shape["padding"] = json!({ "length": width, "char": "0" });
    }
    if let Some(pattern) = pattern::of_kind(attribute.kind) {
        shape["validate"] = code(pattern);
    }
    shape
}
