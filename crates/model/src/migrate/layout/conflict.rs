//! Whether old and new can coexist: patterns of either model that would find items of the other.

use std::mem::discriminant;

use super::{Fate, Layout};
use crate::model::{EntityId, Model, Pattern};
use crate::plan::{Gap, plan};
use crate::{Span, Spanned};

/// The table or index where such items are found, by the name that both models have for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The pattern that would find them.
    pub pattern: String,
    /// What is wrong then, in words.
    pub problem: String,
    pub table: String,
    pub index: Option<String>,
}

impl Layout {
    /// The first conflict, if any. New entities are only written when everything else is done, and
    /// removed ones can be deleted before: neither is a conflict.
    pub fn conflict(&self) -> Option<Conflict> {
        let seen_by_old = without(&self.both, self.added());
        let seen_by_new = without(&self.both, self.removed());
        let (new, old) = self.both.patterns.split_at(self.target.patterns.len());
        let of_old = self.old.patterns.iter().zip(old);
        let of_new = self.target.patterns.iter().zip(new);
        let of_old = of_old.filter_map(|(own, translated)| new_gap(&self.old, own, &seen_by_old, translated));
        let of_new =
            of_new.filter_map(|(own, translated)| new_gap(&self.target, own, &seen_by_new, translated));
        of_old.chain(of_new).next().map(|conflict| self.shared_name(conflict))
    }

    /// Whether a new pattern would find items of removed entities.
    pub fn removed_are_in_the_way(&self) -> bool {
        let patterns = self.target.patterns.iter().zip(&self.both.patterns);
        let without = without(&self.both, self.removed());
        patterns.into_iter().any(|(own, translated)| {
            new_gap(&self.target, own, &self.both, translated).is_some()
                && new_gap(&self.target, own, &without, translated).is_none()
        })
    }

    /// Old patterns that would find items of new entities.
    pub fn old_patterns_that_find_added(&self) -> Vec<String> {
        let without = without(&self.both, self.added());
        let translated = &self.both.patterns[self.target.patterns.len()..];
        let patterns = self.old.patterns.iter().zip(translated).filter(|(own, translated)| {
            new_gap(&self.old, own, &self.both, translated).is_some()
                && new_gap(&self.old, own, &without, translated).is_none()
        });
        patterns.map(|(own, _)| own.id.value.clone()).collect()
    }

    fn added(&self) -> impl Iterator<Item = EntityId> {
        self.fates.iter().filter_map(|fate| match fate {
            Fate::Added { new } => Some(*new),
            _ => None,
        })
    }

    fn removed(&self) -> impl Iterator<Item = EntityId> {
        self.fates.iter().filter_map(|fate| match fate {
            Fate::Removed { both, .. } => Some(*both),
            _ => None,
        })
    }

    /// The conflict under the name in the file, if it was already renamed.
    fn shared_name(&self, conflict: Conflict) -> Conflict {
        let from = |what: &str, name: &str| {
            let renamed = self.renames.iter().find(|rename| rename.what == what && rename.to == name);
            renamed.map_or_else(|| name.to_owned(), |rename| rename.from.clone())
        };
        let index = conflict.index.map(|index| from("index", &index));
        Conflict { table: from("table", &conflict.table), index, ..conflict }
    }
}

/// The model with these entities out of reach of every pattern.
fn without(model: &Model, entities: impl Iterator<Item = EntityId>) -> Model {
    let mut model = model.clone();
    for id in entities {
        model.entities[id.0].key = None;
        model.entities[id.0].entries.clear();
    }
    model
}

/// The place where the pattern has more gaps in the other model than in its own.
fn new_gap(own: &Model, pattern: &Pattern, other: &Model, translated: &Pattern) -> Option<Conflict> {
    if pattern.external.is_some() {
        return None;
    }
    let planned = plan(own, pattern);
    let source = planned.reads().next()?;
    let table = own.table(source.table);
    let index = source.index.map(|index| table.index(index).name.value.clone());
    let found = match &index {
        Some(index) => {
            let index = Some(Spanned::new(index.clone(), Span::default()));
            plan(other, &Pattern { index, ..translated.clone() })
        }
        None => plan(&tables_alone(other), &Pattern { index: None, ..translated.clone() }),
    };
    let worse = found.gaps().find(|gap| is_worse(gap, planned.gaps()))?;
    let problem = worse.describe(other);
    Some(Conflict { pattern: pattern.id.value.clone(), problem, table: table.name.value.clone(), index })
}

/// Whether none of the gaps that there are anyway is as large.
fn is_worse<'g>(gap: &Gap, mut own: impl Iterator<Item = &'g Gap>) -> bool {
    let strays = |gap: &Gap| match gap {
        Gap::Mixed { entities } => entities.len(),
        _ => 0,
    };
    !own.any(|one| discriminant(one) == discriminant(gap) && strays(one) >= strays(gap))
}

fn tables_alone(model: &Model) -> Model {
    let mut model = model.clone();
    model.tables.iter_mut().for_each(|table| table.indexes.clear());
    model.entities.iter_mut().for_each(|entity| entity.entries.clear());
    model
}
