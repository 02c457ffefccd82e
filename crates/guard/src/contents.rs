//! What a write stores, against the entity that it is: attributes, and the keys that are made of them.

use std::collections::BTreeSet;

use expression::Update;
use expression::update::{Change, UpdateOperand};
use item::{Item, Type, Value};
use model::Model;
use model::index_keys::{Touched, kept_keys, own_keys};
use model::model::{Attribute, Entity, IndexEntry, KeyAttribute, Table, TableId};
use model::template::{Form, Template, Unrendered, plain_text};

use crate::compare::list;
use crate::key;

/// What is wrong with an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// No entity of the table has such a key.
    UnknownKey {
        keys: Vec<String>,
        templates: Vec<String>,
    },
    Missing {
        entity: String,
        attributes: Vec<String>,
    },
    Type {
        entity: String,
        attribute: String,
        found: Type,
        planned: Type,
    },
    Value {
        entity: String,
        attribute: String,
        found: String,
        planned: Vec<String>,
    },
    /// A key that its own attributes do not give.
    Key {
        entity: String,
        key: String,
        found: String,
        planned: String,
    },
    /// The item belongs into the index and lacks its key.
    MissingIndexKey {
        entity: String,
        index: String,
        key: String,
    },
    /// The item has the key of an index that it does not belong into.
    StrayIndexKey {
        entity: String,
        index: String,
        key: String,
        when: String,
    },
    /// An update changes an attribute, and leaves an index key that is made of it as it was.
    StaleIndexKey {
        entity: String,
        index: String,
        key: String,
        attribute: String,
    },
}

/// The faults of an item as the entity that it fits best.
pub fn of_item(model: &Model, table: TableId, item: &Item) -> Vec<Fault> {
    let entities = model.entities_of(table).map(|(_, entity)| entity);
    let schema = model.table(table).key.as_ref();
    let fits = |entity: &&Entity| {
        let mut keys = schema.into_iter().flat_map(|schema| schema.attributes()).zip(entity.key_templates());
        entity.key.is_some()
            && keys.all(|(key, template)| item.get(&key.name).is_some_and(|value| key::fits(template, value)))
    };
    let judged = entities.filter(fits).map(|entity| faults(model.table(table), entity, item));
    judged.min_by_key(Vec::len).unwrap_or_else(|| vec![unknown_key(model, table, item)])
}

/// The faults that an update of an entity's item has by what it says.
pub fn of_update(table: &Table, entity: &Entity, key: &Item, update: &Update) -> Vec<Fault> {
    let mut touched = Touched::default();
    // What the key tells can't change: ElectroDB writes it with each update as it was.
    let is_fixed = |name: &str| entity.key_templates().any(|template| template.tells(name));
    for action in update.actions().iter().filter(|action| !is_fixed(&action.target.attribute)) {
        let names = match action.change {
            Change::Remove if !action.target.is_nested() => &mut touched.removed,
            _ => &mut touched.set,
        };
        names.insert(action.target.attribute.clone());
    }
    let kept = kept_keys(table, entity, &touched).into_iter().map(|kept| Fault::StaleIndexKey {
        entity: entity.name.value.clone(),
        index: table.index(kept.index).name.value.clone(),
        key: kept.key,
        attribute: kept.attribute,
    });
    let mut faults: Vec<Fault> = kept.collect();
    let is_needed = |name: &&String| entity.attribute(name).is_some_and(is_required);
    let missing: Vec<String> = touched.removed.iter().filter(is_needed).cloned().collect();
    if !missing.is_empty() {
        faults.push(Fault::Missing { entity: entity.name.value.clone(), attributes: missing });
    }
    faults.extend(wrong_index_keys(table, entity, key, update));
    faults
}

fn unknown_key(model: &Model, table: TableId, item: &Item) -> Fault {
    let schema = model.table(table).key.as_ref();
    let names: Vec<&str> =
        schema.into_iter().flat_map(|schema| schema.attributes()).map(|key| key.name.as_str()).collect();
    let values =
        names.iter().map(|name| item.get(name).map_or(String::new(), |value| key::text(value).into_owned()));
    let of = |entity: &Entity| {
        let templates: Vec<String> = entity.key_templates().map(Template::to_string).collect();
        format!("{} ({})", entity.name.value, templates.join(", "))
    };
    Fault::UnknownKey {
        keys: values.collect(),
        templates: model.entities_of(table).map(|(_, entity)| of(entity)).collect(),
    }
}

fn faults(table: &Table, entity: &Entity, item: &Item) -> Vec<Fault> {
    let name = || entity.name.value.clone();
    let mut faults = Vec::new();
    let is_missing = |attribute: &&Attribute| {
        is_required(attribute) && item.get(&attribute.name).is_none() && !is_in_a_key(entity, &attribute.name)
    };
    let missing: Vec<String> =
        entity.attributes.values().filter(is_missing).map(|attribute| attribute.name.clone()).collect();
    if !missing.is_empty() {
        faults.push(Fault::Missing { entity: name(), attributes: missing });
    }
    faults.extend(entity.attributes.values().filter_map(|attribute| value_fault(entity, attribute, item)));
    let keys = table.key.iter().flat_map(|schema| schema.attributes()).zip(entity.key_templates());
    for (key, template) in keys {
        faults.extend(key_fault(entity, key, template, item));
    }
    for entry in &entity.entries {
        index_faults(table, entity, entry, item, &mut faults);
    }
    faults
}

fn is_required(attribute: &Attribute) -> bool {
    attribute.declared && !attribute.optional
}

/// Whether a reader of the item finds the attribute in one of its keys.
fn is_in_a_key(entity: &Entity, name: &str) -> bool {
    let of_indexes = entity.entries.iter().flat_map(IndexEntry::templates);
    entity.key_templates().chain(of_indexes).any(|template| template.uses(name))
}

fn value_fault(entity: &Entity, attribute: &Attribute, item: &Item) -> Option<Fault> {
    let value = item.get(&attribute.name).filter(|_| attribute.declared)?;
    let planned = attribute.kind.stored();
    if value.kind() != planned {
        let is_absence = value.is_null() && attribute.optional;
        return (!is_absence).then(|| Fault::Type {
            entity: entity.name.value.clone(),
            attribute: attribute.name.clone(),
            found: value.kind(),
            planned,
        });
    }
    let text = value.as_str().filter(|_| !attribute.values.is_empty())?;
    (!attribute.values.iter().any(|known| known == text)).then(|| Fault::Value {
        entity: entity.name.value.clone(),
        attribute: attribute.name.clone(),
        found: text.to_owned(),
        planned: attribute.values.clone(),
    })
}

/// A key that differs from what the item's attributes give. A random suffix is anyone's choice, and an attribute that
/// the item does not store apart from its key can't disagree with it.
fn key_fault(entity: &Entity, key: &KeyAttribute, template: &Template, item: &Item) -> Option<Fault> {
    if template.bare() == Some(key.name.as_str()) {
        return None;
    }
    let found = item.get(&key.name)?;
    let rendered = rendered(template, key.kind, |name| item.get(name).map(Value::from))?;
    (rendered != Value::from(found)).then(|| Fault::Key {
        entity: entity.name.value.clone(),
        key: key.name.clone(),
        found: key::text(found).into_owned(),
        planned: plain_text(&rendered),
    })
}

fn rendered(template: &Template, kind: Type, value: impl Fn(&str) -> Option<Value>) -> Option<Value> {
    let is_random = template.fields().any(|field| matches!(field.form, Form::Random { .. }));
    match template.render(kind, value, 0) {
        Ok(rendered) if !is_random => Some(rendered),
        Ok(_) | Err(Unrendered::Missing(_) | Unrendered::Unfit(_)) => None,
    }
}

fn index_faults(table: &Table, entity: &Entity, entry: &IndexEntry, item: &Item, faults: &mut Vec<Fault>) {
    let value = |name: &str| item.get(name).map(Value::from);
    let has_parts = entry.templates().flat_map(Template::attributes).all(|name| item.get(name).is_some());
    let is_member = entry.when.as_ref().is_none_or(|when| when.holds(value)) && has_parts;
    let own: BTreeSet<&str> = own_keys(table, entity, entry.index).collect();
    let keys = table.index(entry.index).key.attributes().zip(entry.templates());
    for (key, template) in keys.filter(|(key, _)| own.contains(key.name.as_str())) {
        let (name, index) = (entity.name.value.clone(), table.index(entry.index).name.value.clone());
        match (item.get(&key.name), is_member, &entry.when) {
            (None, true, _) => {
                faults.push(Fault::MissingIndexKey { entity: name, index, key: key.name.clone() });
            }
            (Some(_), false, Some(when)) if !when.holds(value) => {
                let when = when.to_string();
                faults.push(Fault::StrayIndexKey { entity: name, index, key: key.name.clone(), when });
            }
            (Some(_), ..) => faults.extend(key_fault(entity, key, template, item)),
            (None, false, _) => {}
        }
    }
}

/// Index keys that an update sets to something else than its own values, and those of the item's key, give.
fn wrong_index_keys(table: &Table, entity: &Entity, item: &Item, update: &Update) -> Vec<Fault> {
    let set = |name: &str| {
        let mut actions = update.actions().iter().filter(|action| !action.target.is_nested());
        let action = actions.find(|action| action.target.attribute == name)?;
        match &action.change {
            Change::Set(UpdateOperand::Value(value)) => Some(Value::from(value.as_ref())),
            _ => None,
        }
    };
    let in_key = |name: &str| {
        let mut keys = table.key.iter().flat_map(|schema| schema.attributes()).zip(entity.key_templates());
        keys.find_map(|(key, template)| {
            let text = key::text(item.get(&key.name)?);
            let known = key::known(template, &text);
            let (_, value) = known.into_iter().find(|(known, _)| *known == name)?;
            Some(entity.typed(name, value))
        })
    };
    let touches = |name: &str| update.actions().iter().any(|action| action.target.attribute == name);
    let mut faults = Vec::new();
    for entry in &entity.entries {
        let own: BTreeSet<&str> = own_keys(table, entity, entry.index).collect();
        let keys = table.index(entry.index).key.attributes().zip(entry.templates());
        for (key, template) in keys.filter(|(key, _)| own.contains(key.name.as_str())) {
            // What the update changes in another way than by a value is not known here.
            let value = |name: &str| set(name).or_else(|| if touches(name) { None } else { in_key(name) });
            let (Some(found), Some(planned)) = (set(&key.name), rendered(template, key.kind, value)) else {
                continue;
            };
            if found != planned {
                faults.push(Fault::Key {
                    entity: entity.name.value.clone(),
                    key: key.name.clone(),
                    found: plain_text(&found),
                    planned: plain_text(&planned),
                });
            }
        }
    }
    faults
}

impl Fault {
    /// Whether it is about the key of an index.
    pub fn is_of_index(&self) -> bool {
        matches!(
            self,
            Fault::MissingIndexKey { .. } | Fault::StrayIndexKey { .. } | Fault::StaleIndexKey { .. }
        )
    }

    /// The entity, if one was found.
    pub fn entity(&self) -> Option<&str> {
        match self {
            Fault::UnknownKey { .. } => None,
            Fault::Missing { entity, .. }
            | Fault::Type { entity, .. }
            | Fault::Value { entity, .. }
            | Fault::Key { entity, .. }
            | Fault::MissingIndexKey { entity, .. }
            | Fault::StrayIndexKey { entity, .. }
            | Fault::StaleIndexKey { entity, .. } => Some(entity),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Fault::UnknownKey { keys, .. } => format!("no entity has a key like {}", keys.join(", ")),
            Fault::Missing { entity, attributes } => {
                format!("{entity} is stored without {}, which every one has", list(attributes))
            }
            Fault::Type { entity, attribute, found, planned } => {
                let (found, planned) = (found.name(), planned.name());
                format!("`{attribute}` of {entity} is {found}, and {planned} in the model")
            }
            Fault::Value { entity, attribute, found, .. } => {
                format!("`{attribute}` of {entity} is {found}, which is not one of its values")
            }
            Fault::Key { entity, key, found, planned } => {
                format!("`{key}` of {entity} is {found}, but its attributes give {planned}")
            }
            Fault::MissingIndexKey { entity, index, key } => {
                format!("{entity} lacks `{key}`, so index `{index}` does not have it")
            }
            Fault::StrayIndexKey { entity, index, key, when } => {
                format!("{entity} has `{key}`, but only items with {when} belong into index `{index}`")
            }
            Fault::StaleIndexKey { entity, index, key, attribute } => {
                format!(
                    "the update of {entity} changes `{attribute}` and leaves `{key}` as it was, so index `{index}` is stale"
                )
            }
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Fault::UnknownKey { templates, .. } => {
                format!(
                    "the entities of the table: {}. Correct the key, or add its entity",
                    templates.join("; ")
                )
            }
            Fault::Missing { attributes, .. } => {
                format!("write {}, or declare it `optional: true`", list(attributes))
            }
            Fault::Type { attribute, .. } => format!("correct the type of `{attribute}` in one of the two"),
            Fault::Value { attribute, planned, .. } => {
                format!(
                    "`{attribute}` is one of {}: correct the value, or add it to `values`",
                    planned.join(", ")
                )
            }
            Fault::Key { key, .. } => format!("make `{key}` of the attributes that are written with it"),
            Fault::MissingIndexKey { key, .. } => {
                format!("write `{key}`, or say with `when` which items have it")
            }
            Fault::StrayIndexKey { key, .. } => {
                format!("leave `{key}` out, or correct the `when` of the index")
            }
            Fault::StaleIndexKey { key, .. } => format!("set `{key}` in the same update"),
        }
    }
}
