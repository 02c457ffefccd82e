//! The model in which everything old and everything new exists: what writers maintain during the migration.

use super::{Fate, keys_of};
use crate::model::{ActionKind, Entity, EntityId, IndexEntry, IndexId, Model, Pattern, Table, TableId};

/// The suffix of an old entity whose new form has the same name.
const OLD: &str = " (old)";

/// Maps ids of the old model to ids in the model of both.
struct Map<'m> {
    old: &'m Model,
    tables: Vec<(TableId, Vec<IndexId>)>,
    entities: Vec<EntityId>,
}

pub fn both(old: &Model, new: &Model, target: &Model) -> (Model, Vec<Fate>) {
    let mut both = target.clone();
    let tables = old.tables.iter().map(|table| add_table(&mut both, table)).collect();
    let fates = fates(old, new, target);
    let mut map = Map { old, tables, entities: vec![EntityId(0); old.entities.len()] };
    for fate in &fates {
        match *fate {
            Fate::Stays { old, new } => map.entities[old.0] = new,
            Fate::Moves { old, both, .. } | Fate::Removed { old, both } => map.entities[old.0] = both,
            Fate::Added { .. } => {}
        }
    }
    for fate in &fates {
        match *fate {
            Fate::Stays { old: id, new } => map.extend(id, &mut both.entities[new.0]),
            Fate::Moves { old: id, .. } | Fate::Removed { old: id, .. } => {
                let entity = map.entity(id, matches!(fate, Fate::Moves { .. }));
                both.entities.push(entity);
            }
            Fate::Added { .. } => {}
        }
    }
    both.patterns.extend(old.patterns.iter().map(|pattern| map.pattern(pattern)));
    (both, fates)
}

/// Entities of the target in order, then those that are removed. Old forms get their ids in the same order.
fn fates(old: &Model, new: &Model, target: &Model) -> Vec<Fate> {
    let mut next = target.entities.len();
    let mut place = || {
        next += 1;
        EntityId(next - 1)
    };
    let mut fates = Vec::new();
    for id in target.entity_ids() {
        let entity = target.entity(id);
        let Some(earlier) = old.entity_named(&entity.name) else {
            fates.push(Fate::Added { new: id });
            continue;
        };
        let was = old.entity(earlier);
        let stays = old.table_of(was).name.value == target.table_of(entity).name.value
            && keys_of(was) == keys_of(entity);
        fates.push(match stays {
            true => Fate::Stays { old: earlier, new: id },
            false => Fate::Moves { old: earlier, new: id, both: place() },
        });
    }
    let gone = old.entity_ids().filter(|id| new.entity_named(&old.entity(*id).name).is_none());
    fates.extend(gone.map(|old| Fate::Removed { old, both: place() }));
    fates
}

/// The table of the same name gets the old one's further indexes; else the old table is added.
fn add_table(both: &mut Model, table: &Table) -> (TableId, Vec<IndexId>) {
    let same = both.tables.iter().position(|one| one.name.value == table.name.value);
    let id = TableId(same.unwrap_or_else(|| {
        both.tables.push(Table { indexes: Vec::new(), samples: Vec::new(), ..table.clone() });
        both.tables.len() - 1
    }));
    let indexes = table.indexes.iter().map(|index| {
        both.table(id).index_named(&index.name).unwrap_or_else(|| {
            both.tables[id.0].indexes.push(index.clone());
            IndexId(both.table(id).indexes.len() - 1)
        })
    });
    let indexes = indexes.collect();
    (id, indexes)
}

impl Map<'_> {
    /// An old entity, with the ids of the model of both.
    fn entity(&self, id: EntityId, renamed: bool) -> Entity {
        let mut entity = self.old.entity(id).clone();
        if renamed {
            entity.name.value.push_str(OLD);
        }
        entity.entries = entity.entries.iter().map(|entry| self.entry(entity.table, entry)).collect();
        entity.table = self.tables[entity.table.0].0;
        if let Some(count) = &mut entity.count {
            count.value.per = count.value.per.map(|parent| self.entities[parent.0]);
        }
        for copy in entity.attributes.values_mut().filter_map(|attribute| attribute.copy_of.as_mut()) {
            copy.value.entity = self.entities[copy.value.entity.0];
        }
        entity
    }

    fn entry(&self, table: TableId, entry: &IndexEntry) -> IndexEntry {
        IndexEntry { index: self.tables[table.0].1[entry.index.0], ..entry.clone() }
    }

    /// Adds what only the old form of an entity has.
    fn extend(&self, id: EntityId, entity: &mut Entity) {
        let was = self.entity(id, false);
        for entry in was.entries {
            if entity.entry(entry.index).is_none() {
                entity.entries.push(entry);
            }
        }
        for (name, attribute) in was.attributes {
            entity.attributes.entry(name).or_insert(attribute);
        }
    }

    fn pattern(&self, pattern: &Pattern) -> Pattern {
        let mut pattern = pattern.clone();
        for action in &mut pattern.actions {
            match &mut action.kind {
                ActionKind::Read(read) => {
                    read.entities.iter_mut().for_each(|id| id.value = self.entities[id.value.0]);
                }
                ActionKind::Write(write) => write.entity.value = self.entities[write.entity.value.0],
            }
        }
        pattern
    }
}
