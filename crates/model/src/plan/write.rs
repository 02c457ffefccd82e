//! A write -> PutItem, UpdateItem or DeleteItem, and what it does to each index.

use super::{Gap, WriteOperation, WritePlan};
use crate::Model;
use crate::model::{
    AttributeChange, Entity, EntityKey, IndexEntry, IndexId, Projection, Table, Write, WriteVerb,
};
use crate::predicate::{Operand, Operator, Predicate, Term};
use crate::template::Template;

/// Whether the item is in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    Out,
    In,
    /// It depends on values that the model does not fix.
    Perhaps,
}

/// What a write does to one index. Moving from one key to another is a delete and an insert.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEffect {
    pub index: IndexId,
    pub before: Membership,
    pub after: Membership,
    pub key_changes: bool,
    pub projected_changes: bool,
}

impl IndexEffect {
    /// Whether an item that may be in the index is not in it afterwards.
    pub fn leaves(&self) -> bool {
        self.after == Membership::Out && self.before != Membership::Out
    }

    /// The most index rows that are written.
    pub fn writes_at_most(&self) -> u64 {
        match (self.before, self.after) {
            (Membership::Out, Membership::Out) => 0,
            (Membership::Out, _) | (_, Membership::Out) => 1,
            _ if self.key_changes => 2,
            _ if self.projected_changes => 1,
            (Membership::In, Membership::In) => 0,
            _ => 1,
        }
    }
}

pub fn plan(model: &Model, write: &Write) -> WritePlan {
    let id = write.entity.value;
    let entity = model.entity(id);
    let table = model.table_of(entity);
    let operation = match write.verb {
        WriteVerb::Create | WriteVerb::Put => WriteOperation::PutItem,
        WriteVerb::Update => WriteOperation::UpdateItem,
        WriteVerb::Delete => WriteOperation::DeleteItem,
        WriteVerb::Check => WriteOperation::ConditionCheck,
    };
    let effects = entity.entries.iter().map(|entry| effect(table, entity, write, entry)).collect();
    WritePlan { operation, table: entity.table, entity: id, effects, gaps: gaps(table, entity, write) }
}

fn gaps(table: &Table, entity: &Entity, write: &Write) -> Vec<Gap> {
    let Some(key) = &entity.key else { return vec![Gap::NoKeys] };
    if matches!(write.verb, WriteVerb::Create | WriteVerb::Put) {
        let lacking = optional_in_key(entity, key);
        let lacking = (!lacking.is_empty()).then_some(Gap::KeyUnknown { attributes: lacking });
        return lacking.into_iter().chain(uniqueness_gap(table, entity, write)).collect();
    }
    let mut gaps = Vec::new();
    let unknown = unknown(write, key.templates());
    if !unknown.is_empty() {
        gaps.push(Gap::KeyUnknown { attributes: unknown });
    }
    let changing: Vec<String> = changed(write)
        .filter(|name| key.templates().any(|template| template.uses(name)))
        .map(str::to_owned)
        .collect();
    if !changing.is_empty() {
        gaps.push(Gap::KeyChanges { attributes: changing });
    }
    gaps.extend(entity.entries.iter().filter_map(|entry| index_gap(table, entity, write, entry)));
    gaps
}

/// Attributes of the key that an item may lack: without them it has no key.
fn optional_in_key(entity: &Entity, key: &EntityKey) -> Vec<String> {
    let names = key.templates().flat_map(Template::attributes);
    let optional = names.filter(|name| entity.attribute(name).is_some_and(|attribute| attribute.optional));
    optional.map(str::to_owned).collect()
}

/// A condition sees only the item with the same key. A new item has no attributes before, so `not exists email`
/// holds whatever other items have.
fn uniqueness_gap(table: &Table, entity: &Entity, write: &Write) -> Option<Gap> {
    let in_key = |name: &str| {
        entity.key_templates().any(|template| template.uses(name))
            || table.key.as_ref().is_some_and(|key| key.names(name))
    };
    // A put may look for an optional attribute of the item that it replaces, as a lock does.
    let of_the_item = |name: &str| {
        let optional = entity.attribute(name).is_some_and(|attribute| attribute.optional);
        name.is_empty() || (write.verb == WriteVerb::Put && optional)
    };
    let terms = write.condition.iter().flat_map(|condition| &condition.terms);
    let mut absent =
        terms.filter(|term| term.operator == Operator::NotExists).map(|term| &term.attribute.value);
    let attribute = absent.find(|name| !in_key(name) && !of_the_item(name))?;
    Some(Gap::NotUnique { attribute: attribute.clone() })
}

/// A writer that changes part of a composed index key must know the rest of it, and all of it if the item enters the
/// index. The database maintains index keys that are plain attributes.
fn index_gap(table: &Table, entity: &Entity, write: &Write, entry: &IndexEntry) -> Option<Gap> {
    if write.verb != WriteVerb::Update || !entry.declared {
        return None;
    }
    let effect = effect(table, entity, write, entry);
    if effect.after == Membership::Out {
        return None;
    }
    let enters = effect.before == Membership::Out;
    let touched =
        entry.templates().filter(|template| enters || changed(write).any(|name| template.uses(name)));
    let attributes = unknown(write, touched);
    (!attributes.is_empty()).then_some(Gap::IndexKeyUnknown { index: entry.index, attributes })
}

fn unknown<'a>(write: &Write, templates: impl Iterator<Item = &'a Template>) -> Vec<String> {
    let known = |name: &str| {
        let named =
            write.by.iter().chain(&write.knows).chain(&write.version).any(|known| known.value == name);
        named || write.set.iter().any(|change| change.attribute.value == name)
    };
    let mut unknown: Vec<String> = Vec::new();
    for name in templates.flat_map(|template| template.attributes()).filter(|name| !known(name)) {
        if !unknown.iter().any(|one| one == name) {
            unknown.push(name.to_owned());
        }
    }
    unknown
}

/// The attributes an update changes.
pub fn changed(write: &Write) -> impl Iterator<Item = &str> {
    let changes = write.set.iter().chain(&write.add).map(|change| &change.attribute);
    changes.chain(&write.remove).chain(&write.version).map(|name| name.value.as_str())
}

fn effect(table: &Table, entity: &Entity, write: &Write, entry: &IndexEntry) -> IndexEffect {
    let when = entity.membership(entry);
    let member = |side| member(write, when.as_ref(), side);
    let (before, after) = match write.verb {
        WriteVerb::Check => (Membership::Out, Membership::Out),
        WriteVerb::Create => (Membership::Out, member(Side::After)),
        WriteVerb::Put => (Membership::Perhaps, member(Side::After)),
        WriteVerb::Delete => (member(Side::Before), Membership::Out),
        WriteVerb::Update => (member(Side::Before), member(Side::After)),
    };
    let (before, after) = unchanged(write, when.as_ref(), before, after);
    let whole_item = matches!(write.verb, WriteVerb::Create | WriteVerb::Put | WriteVerb::Delete);
    let key_changes = changed(write).any(|name| entry.templates().any(|template| template.uses(name)));
    let projected_changes =
        whole_item || changed(write).any(|name| projects(table, entity, entry.index, name));
    IndexEffect { index: entry.index, before, after, key_changes, projected_changes }
}

/// If nothing that membership depends on changes, membership stays the same.
fn unchanged(
    write: &Write,
    when: Option<&Predicate>,
    before: Membership,
    after: Membership,
) -> (Membership, Membership) {
    let depends =
        |name: &str| when.iter().flat_map(|when| &when.terms).any(|term| term.attribute.value == name);
    let moves = changed(write).any(depends);
    match (write.verb, before, after) {
        (WriteVerb::Update, Membership::Perhaps, _) if !moves => (before, before),
        (WriteVerb::Update, _, Membership::Perhaps) if !moves => (before, before),
        _ => (before, after),
    }
}

fn projects(table: &Table, entity: &Entity, index: IndexId, name: &str) -> bool {
    if entity.entry(index).is_some_and(|entry| entry.templates().any(|template| template.uses(name))) {
        return true;
    }
    match &table.index(index).projection.value {
        Projection::All => true,
        Projection::Keys => false,
        Projection::Include(names) => names.iter().any(|one| one.value == name),
    }
}

/// Before or after the write.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// Decides by the value of each attribute in `when`, as far as the write determines it.
fn member(write: &Write, when: Option<&Predicate>, side: Side) -> Membership {
    let Some(when) = when else { return Membership::In };
    let mut all = Membership::In;
    for term in &when.terms {
        match term_holds(write, term, side) {
            Some(true) => {}
            Some(false) => return Membership::Out,
            None => all = Membership::Perhaps,
        }
    }
    all
}

fn term_holds(write: &Write, term: &Term, side: Side) -> Option<bool> {
    let value = match side {
        Side::Before => before_value(write, &term.attribute),
        Side::After => after_value(write, &term.attribute),
    };
    let by_value = || value.and_then(|operand| holds(term, operand));
    match exists(write, &term.attribute, side) {
        Some(false) => Some(term.operator == Operator::NotExists),
        Some(true) if term.operator == Operator::Exists => Some(true),
        Some(true) if term.operator == Operator::NotExists => Some(false),
        _ => by_value(),
    }
}

/// Whether the item has the attribute, if the write determines it: by its condition, or by what it sets and removes.
fn exists(write: &Write, attribute: &str, side: Side) -> Option<bool> {
    let set = write.set.iter().chain(&write.add).any(|change| change.attribute.value == attribute);
    let removed = write.remove.iter().any(|name| name.value == attribute);
    let replaces = matches!(write.verb, WriteVerb::Create | WriteVerb::Put);
    match side {
        Side::After if set => Some(true),
        Side::After if removed => Some(false),
        Side::After if replaces => None,
        Side::Before | Side::After => {
            let terms = write.condition.iter().flat_map(|condition| &condition.terms);
            let named = terms.filter(|term| term.attribute.value == attribute);
            named.map(Term::implies_existence).next()
        }
    }
}

fn holds(term: &Term, operand: &Operand) -> Option<bool> {
    let value = operand.literal()?;
    let same = |other: &Operand| other.literal().map(|other| other == value);
    match term.operator {
        Operator::Equal => same(term.operands.first()?),
        Operator::NotEqual => same(term.operands.first()?).map(|same| !same),
        Operator::In => Some(term.operands.iter().any(|one| same(one) == Some(true))),
        Operator::Exists => Some(true),
        Operator::NotExists => Some(false),
        _ => None,
    }
}

fn change<'w>(write: &'w Write, attribute: &str) -> Option<&'w AttributeChange> {
    write.set.iter().find(|change| change.attribute.value == attribute)
}

/// `OPEN -> SHIPPED` and a condition `status = OPEN` both determine the old value.
pub fn before_value<'w>(write: &'w Write, attribute: &str) -> Option<&'w Operand> {
    let from = change(write, attribute).and_then(|change| change.from.as_ref());
    from.or_else(|| write.condition.as_ref()?.equality(attribute))
}

/// The value of an attribute after the write, if the write determines it.
pub fn after_value<'w>(write: &'w Write, attribute: &str) -> Option<&'w Operand> {
    match change(write, attribute) {
        Some(change) => change.to.as_ref(),
        None if write.verb == WriteVerb::Update => before_value(write, attribute),
        None => None,
    }
}

impl EntityKey {
    /// Partition, then sort.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        std::iter::once(&self.partition).chain(&self.sort)
    }
}
