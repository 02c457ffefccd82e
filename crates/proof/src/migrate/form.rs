//! The form in which a model stores the items of an entity: how it is recognised, and how it is made.

use item::Value;
use model::Model;
use model::migrate::{Fate, Layout};
use model::model::{Entity, EntityId, KeySchema};
use model::predict::item::Values;
use model::sample::{key_of, rekey};
use model::template::{plain_text, shard};

/// A form in which items of an entity are stored.
#[derive(Clone, Copy)]
pub struct Form<'m> {
    pub model: &'m Model,
    pub id: EntityId,
}

impl<'m> Form<'m> {
    pub fn entity(self) -> &'m Entity {
        self.model.entity(self.id)
    }

    pub fn table(self) -> &'m str {
        &self.model.table_of(self.entity()).name
    }

    /// The item in this form, keys included: a random suffix is drawn from `random`.
    pub fn keyed(self, mut plain: Values, random: usize) -> Values {
        rekey(self.model, self.id, &mut plain, random);
        plain
    }

    pub fn key(self, values: &Values) -> Values {
        key_of(self.model, self.entity().table, values)
    }

    /// The partition attribute of the table.
    pub fn partition(self) -> String {
        let schema = self.model.table_of(self.entity()).key.as_ref();
        schema.and_then(|key| key.partition.first()).map(|key| key.name.clone()).unwrap_or_default()
    }

    /// Whether a stored item has this form: its key is what its own attributes render to.
    pub fn recognises(self, values: &Values) -> bool {
        let schema = self.model.table_of(self.entity()).key.iter().flat_map(KeySchema::attributes);
        schema.zip(self.entity().key_templates()).all(|(key, template)| {
            let rendered = template.render(key.kind, |name| values.get(name).cloned(), 0).ok();
            let random = template.fields().any(|field| field.attribute().is_none());
            match (rendered, values.get(&key.name)) {
                (Some(_), Some(Value::S(stored))) if random => stored.starts_with(template.literal_prefix()),
                (Some(rendered), Some(stored)) => rendered == *stored,
                _ => false,
            }
        })
    }

    /// The stored item without composed keys.
    pub fn plain(self, values: &Values) -> Values {
        let table = self.model.table_of(self.entity());
        let schemas = table.key.iter().chain(table.indexes.iter().map(|index| &index.key));
        let derived = |name: &str| {
            schemas.clone().any(|key| key.names(name)) && self.entity().attribute(name).is_none()
        };
        values
            .iter()
            .filter(|(name, _)| !derived(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Whether the key begins as the key of this form does.
    pub fn resembles(self, values: &Values) -> bool {
        let schema = self.model.table_of(self.entity()).key.iter().flat_map(KeySchema::attributes);
        schema.zip(self.entity().key_templates()).all(|(key, template)| match values.get(&key.name) {
            Some(Value::S(stored)) => stored.starts_with(template.literal_prefix()),
            other => other.is_some(),
        })
    }

    /// What random suffixes of the item's other keys are drawn from: the same each time, and spread over all of them.
    pub fn chance(self, values: &Values) -> usize {
        let key: Vec<String> = self.key(values).values().map(plain_text).collect();
        shard(&key.join("\n"), u64::from(u32::MAX)) as usize
    }
}

/// How the migration treats an entity.
pub fn fate(layout: &Layout, entity: &str) -> Option<Fate> {
    let named = |model: &Model, id: EntityId| model.entity(id).name.value == entity;
    layout.fates.iter().copied().find(|fate| match *fate {
        Fate::Stays { new, .. } | Fate::Moves { new, .. } | Fate::Added { new } => named(&layout.target, new),
        Fate::Removed { old, .. } => named(&layout.old, old),
    })
}

/// The form that the new model has.
pub fn new_form<'m>(layout: &'m Layout, entity: &str) -> Option<Form<'m>> {
    match fate(layout, entity)? {
        Fate::Stays { new, .. } | Fate::Moves { new, .. } | Fate::Added { new } => {
            Some(Form { model: &layout.target, id: new })
        }
        Fate::Removed { .. } => None,
    }
}

/// The form that the old model has.
pub fn old_form<'m>(layout: &'m Layout, entity: &str) -> Option<Form<'m>> {
    match fate(layout, entity)? {
        Fate::Stays { old, .. } | Fate::Moves { old, .. } | Fate::Removed { old, .. } => {
            Some(Form { model: &layout.old, id: old })
        }
        Fate::Added { .. } => None,
    }
}
