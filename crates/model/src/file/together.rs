//! Which optional attributes an item has all of or none of, by what the file's writes do.

use crate::model::{Attribute, Entity, EntityId, Pattern, Write};

/// What the writes of an entity do to an attribute: for each write, whether it sets it and whether it removes it.
type History = Vec<(bool, bool)>;

/// Groups of optional attributes that every write sets or removes together, and that at least one sets.
pub fn together(id: EntityId, entity: &Entity, patterns: &[Pattern]) -> Vec<Vec<String>> {
    let writes = patterns.iter().flat_map(|pattern| pattern.writes()).map(|(_, write)| write);
    let writes: Vec<&Write> = writes.filter(|write| write.entity.value == id).collect();
    let mut groups: Vec<(Option<f64>, History, Vec<String>)> = Vec::new();
    for attribute in entity.attributes.values().filter(|attribute| attribute.optional) {
        let history = history(attribute, &writes);
        if !history.iter().any(|(sets, _)| *sets) {
            continue;
        }
        match groups.iter_mut().find(|(share, own, _)| *share == attribute.present && *own == history) {
            Some((_, _, group)) => group.push(attribute.name.clone()),
            None => groups.push((attribute.present, history, vec![attribute.name.clone()])),
        }
    }
    groups.into_iter().map(|(_, _, group)| group).filter(|group| group.len() > 1).collect()
}

fn history(attribute: &Attribute, writes: &[&Write]) -> History {
    let sets = |write: &Write| {
        let mut changes = write.set.iter().chain(&write.add);
        changes.any(|change| change.attribute.value == attribute.name)
    };
    let removes = |write: &Write| write.remove.iter().any(|name| name.value == attribute.name);
    writes.iter().map(|write| (sets(write), removes(write))).collect()
}
