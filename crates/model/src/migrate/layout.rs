//! What the change means for stored data.
//!
//! Neither a table's key nor an index can be changed, only created again; and an attribute can't hold the old and
//! the new key at once. So everything that would have to change in place gets another name, and the database goes
//! through three models: the old one, [`Layout::both`], in which everything old and everything new exists,
//! and [`Layout::target`], the new one with its final names.
//!
//! Whether old and new can coexist is not guessed: the patterns of both models are planned against
//! the model of both. If a pattern would find items of the other model there, an index, or the table, must be
//! created again.

mod both;
mod conflict;
mod derived;
mod rename;
mod replaced;

use std::collections::BTreeMap;

use crate::model::{Entity, EntityId, Model, Table};
use crate::template::Template;
use replaced::Replaced;

pub use derived::{Derived, composed};
pub use rename::Rename;

/// The three models of a migration, and what happens to each entity.
#[derive(Clone, Debug)]
pub struct Layout {
    pub old: Model,
    /// The new model with the names that it gets in the database.
    pub target: Model,
    /// Old and new together. Its entities and patterns are those of `target`, then those that only the old
    /// model has; so ids of `target` are valid here.
    pub both: Model,
    /// In the order of the target's entities, then those that are removed.
    pub fates: Vec<Fate>,
    pub renames: Vec<Rename>,
}

/// What happens to the items of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Same table, same key: at most, further attributes are written.
    Stays {
        old: EntityId,
        new: EntityId,
    },
    /// Another table or key: each item is copied. `both` is the old form in the model of both.
    Moves {
        old: EntityId,
        new: EntityId,
        both: EntityId,
    },
    Added {
        new: EntityId,
    },
    Removed {
        old: EntityId,
        both: EntityId,
    },
}

impl Layout {
    pub fn between(old: &Model, new: &Model) -> Layout {
        let mut replaced = Replaced::forced(old, new);
        // Each round adds a table or index to create again, so there are at most as many rounds as tables and indexes.
        loop {
            let layout = Layout::with(old, new, &replaced);
            match layout.conflict() {
                Some(conflict) if replaced.resolve(old, new, &conflict) => {}
                _ => return layout,
            }
        }
    }

    fn with(old: &Model, new: &Model, replaced: &Replaced) -> Layout {
        let (target, renames) = rename::target(old, new, replaced);
        let (both, fates) = both::both(old, new, &target);
        Layout { old: old.clone(), target, both, fates, renames }
    }

    /// Whether an old table is in the target too.
    pub fn survives(&self, old_table: &str) -> bool {
        table_named(&self.target, old_table).is_some()
    }

    /// The entities whose items are copied.
    pub fn moves(&self) -> impl Iterator<Item = Fate> {
        self.fates.iter().copied().filter(|fate| matches!(fate, Fate::Moves { .. }))
    }

    /// Key attributes that the new form of an entity has and the old one has not; none for items that are copied,
    /// which have all their keys from the start.
    pub fn gained(&self, fate: Fate) -> Vec<Derived> {
        let Fate::Stays { old, new } = fate else { return Vec::new() };
        let (had, has) = (self.composed_old(old), self.composed_target(new));
        has.into_values().filter(|one| !had.contains_key(&one.attribute)).collect()
    }

    /// The reverse.
    pub fn lost(&self, fate: Fate) -> Vec<Derived> {
        let Fate::Stays { old, new } = fate else { return Vec::new() };
        let (had, has) = (self.composed_old(old), self.composed_target(new));
        had.into_values().filter(|one| !has.contains_key(&one.attribute)).collect()
    }

    fn composed_old(&self, id: EntityId) -> BTreeMap<String, Derived> {
        composed(&self.old, self.old.entity(id))
    }

    fn composed_target(&self, id: EntityId) -> BTreeMap<String, Derived> {
        composed(&self.target, self.target.entity(id))
    }
}

pub fn table_named<'m>(model: &'m Model, name: &str) -> Option<&'m Table> {
    model.tables.iter().find(|table| table.name.value == name)
}

/// The table key, as the file writes it.
pub fn keys_of(entity: &Entity) -> Vec<String> {
    entity.key_templates().map(Template::to_string).collect()
}
