//! Model -> schemas.

use item::Type;
use model::Model;
use model::model::{
    Attribute, AttributeKind, Entity, EntityId, Index, IndexKind, KeyAttribute, KeySchema, Place, Projection,
    Table, TableId,
};
use model::predicate::{Operator, Predicate};
use model::template::{Field, Form, Part, Template};
use serde_json::{Map, Value, json};

use crate::javascript::{code, key, pattern};
use crate::{Notes, value};

pub fn write(model: &Model, notes: &mut Notes) -> Value {
    let mut schemas = Map::new();
    for id in model.table_ids() {
        let table = model.table(id);
        match &table.key {
            Some(key) => {
                schemas.insert(table.name.value.clone(), schema(model, id, key, notes));
            }
            None => notes.add(format!(
                "table {} has no keys yet: `lodestone model design` finds them",
                table.name.value
            )),
        }
    }
    json!({ "schemas": schemas })
}

fn schema(model: &Model, id: TableId, key: &KeySchema, notes: &mut Notes) -> Value {
    let table = model.table(id);
    let primary = std::iter::once(("primary".to_owned(), keys(key)));
    let held = table.indexes.iter().filter(|index| is_held(index, notes));
    let indexes: Map<String, Value> =
        primary.chain(held.map(|one| (one.name.value.clone(), index(one)))).collect();
    let models: Map<String, Value> = model
        .entities_of(id)
        .map(|(id, entity)| (entity.name.value.clone(), fields(model, id, notes)))
        .collect();
    json!({ "format": "onetable:1.1.0", "version": "0.0.1", "indexes": indexes, "models": models })
}

fn is_narrow(index: &Index) -> bool {
    index.key.partition.len() < 2 && index.key.sort.len() < 2
}

fn is_held(index: &Index, notes: &mut Notes) -> bool {
    let name = &index.name.value;
    let held = is_narrow(index) && name != "primary";
    if !held {
        notes.add(format!(
            "index {name} is left out: its key has several attributes, or it is called `primary`"
        ));
    }
    held
}

fn keys(key: &KeySchema) -> Value {
    let sides = [("hash", key.partition.first()), ("sort", key.sort.first())];
    let side =
        |(side, key): (&str, Option<&KeyAttribute>)| Some((side.to_owned(), Value::from(key?.name.as_str())));
    sides.into_iter().filter_map(side).collect()
}

fn index(index: &Index) -> Value {
    let mut shape = keys(&index.key);
    if index.kind == IndexKind::Local {
        shape = json!({ "type": "local", "sort": shape["sort"] });
    }
    shape["project"] = match &index.projection.value {
        Projection::All => "all".into(),
        Projection::Keys => "keys".into(),
        Projection::Include(names) => names.iter().map(|name| name.value.as_str()).collect(),
    };
    shape
}

/// The key of the table first, the keys of indexes last.
fn fields(model: &Model, id: EntityId, notes: &mut Notes) -> Value {
    let entity = model.entity(id);
    let table = model.table_of(entity);
    let mut fields = Map::new();
    let places = model.places_of(id);
    let narrow = places.iter().filter(|place| place.index.is_none_or(|(_, index, _)| is_narrow(index)));
    let (own, others): (Vec<&Place<'_>>, Vec<&Place<'_>>) = narrow.partition(|place| place.index.is_none());
    own.into_iter().for_each(|place| add_keys(&mut fields, *place, notes));
    for attribute in entity.attributes.values() {
        fields.entry(attribute.name.clone()).or_insert_with(|| described(table, attribute));
    }
    others.into_iter().for_each(|place| add_keys(&mut fields, *place, notes));
    tell(entity, notes);
    Value::Object(fields)
}

fn add_keys(fields: &mut Map<String, Value>, place: Place<'_>, notes: &mut Notes) {
    let when = place.index.and_then(|(_, _, entry)| entry.when.as_ref());
    for (key, template) in place.partition().into_iter().chain(place.sort()) {
        let is_own = template.bare() == Some(&key.name);
        if !is_own && !fields.contains_key(&key.name) {
            fields.insert(key.name.clone(), key_field(place.entity, key, template, when, notes));
        }
    }
}

fn key_field(
    entity: &Entity,
    key: &KeyAttribute,
    template: &Template,
    when: Option<&Predicate>,
    notes: &mut Notes,
) -> Value {
    let kind = if key.kind == Type::N { "number" } else { "string" };
    let when = when.filter(|when| !is_implied(when, template));
    match value_template(entity, template).filter(|_| when.is_none()) {
        Some(value) => json!({ "type": kind, "value": value }),
        None => made(entity, key, kind, template, when, notes),
    }
}

/// A key that lacks an attribute is not written, which is condition enough.
fn is_implied(when: &Predicate, template: &Template) -> bool {
    when.terms.iter().all(|term| term.operator == Operator::Exists && template.uses(&term.attribute))
}

/// `ORDER#${createdAt}#${line:3:0}`; `None` if OneTable has no notation for it.
fn value_template(entity: &Entity, template: &Template) -> Option<String> {
    let part = |part: &Part| match part {
        Part::Literal(text) => (!text.contains("${")).then(|| text.clone()),
        Part::Field(Field { form: Form::Attribute(name), width: None, .. }) => Some(format!("${{{name}}}")),
        Part::Field(Field { form: Form::Attribute(name), width: Some(width), .. }) => {
            (!value::may_be_negative(entity, name)).then(|| format!("${{{name}:{width}:0}}"))
        }
        Part::Field(_) => None,
    };
    template.parts.iter().map(part).collect()
}

fn made(
    entity: &Entity,
    key: &KeyAttribute,
    kind: &str,
    template: &Template,
    when: Option<&Predicate>,
    notes: &mut Notes,
) -> Value {
    if template.fields().any(|field| matches!(field.form, Form::Random { .. })) {
        notes.add(format!(
            "{}.{}: the random part is drawn whenever an item is written; to read or update, give the key itself",
            entity.name.value, key.name
        ));
    }
    let mut field = json!({ "type": kind, "value": true, "template": template.to_string() });
    let mut needs: Vec<&str> = template.attributes().collect();
    let mut make = key::template(template);
    if let Some(when) = when {
        field["when"] = when.to_string().into();
        let tested = when.terms.iter().filter(|term| term.operator != Operator::NotExists);
        needs.extend(tested.map(|term| term.attribute.value.as_str()));
        make = format!("{} ? {make} : null", key::predicate(when, entity));
    }
    needs.sort_unstable();
    needs.dedup();
    field["needs"] = needs.into();
    field["make"] = code(format!("(item) => {make}"));
    field
}

fn described(table: &Table, attribute: &Attribute) -> Value {
    let ttl = table.ttl.as_ref().is_some_and(|ttl| ttl.value == attribute.name);
    let mut field = match attribute.kind {
        _ if ttl => json!({ "type": "date", "ttl": true }),
        AttributeKind::Number | AttributeKind::Epoch => json!({ "type": "number" }),
        AttributeKind::EpochMillis => json!({ "type": "date" }),
        AttributeKind::Boolean => json!({ "type": "boolean" }),
        AttributeKind::Binary => json!({ "type": "binary" }),
        AttributeKind::StringSet => json!({ "type": "set" }),
        AttributeKind::NumberSet => json!({ "type": "set", "items": { "type": "number" } }),
        AttributeKind::BinarySet => json!({ "type": "set", "items": { "type": "binary" } }),
        AttributeKind::List => json!({ "type": "array" }),
        AttributeKind::Map => json!({ "type": "object" }),
        AttributeKind::String
        | AttributeKind::Timestamp
        | AttributeKind::Date
        | AttributeKind::Uuid
        | AttributeKind::Ulid => json!({ "type": "string" }),
    };
    if let Some(pattern) = pattern::of_kind(attribute.kind) {
        field["validate"] = pattern.into();
    }
    let choices = value::choices(attribute);
    if let Some(constant) = choices.first().filter(|_| attribute.constant.is_some()) {
        field["default"] = constant.clone();
    }
    if !choices.is_empty() {
        field["enum"] = choices.into();
    }
    if !attribute.optional {
        field["required"] = true.into();
    }
    field
}

fn tell(entity: &Entity, notes: &mut Notes) {
    let binary = |attribute: &&Attribute| attribute.kind == AttributeKind::Binary;
    if let Some(attribute) = entity.attributes.values().find(binary) {
        notes.add(format!(
            "{}.{}: OneTable stores a Buffer as base64 text; give it a Uint8Array",
            entity.name.value, attribute.name
        ));
    }
    notes.add("OneTable adds an attribute to every item: `_type`, the entity's name");
}
