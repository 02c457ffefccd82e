//! Writes: the operation, the item's key, the condition, what changes.

use expression::Condition;
use expression::update::{Change, UpdateOperand};
use item::Value;
use model::index_keys::own_keys;
use model::model::{AttributeChange, Entity, Table, Write, WriteVerb};
use model::plan::{WriteOperation, WritePlan};
use model::predicate::Operand;
use model::template::plain_text;

use super::read::fits_key;
use super::{Difference, Differences, Planned};
use crate::request::AskedWrite;

/// Ends early if the first difference is enough.
pub fn compare(
    planned: &Planned<'_>,
    (write, plan): (&Write, &WritePlan),
    asked: &AskedWrite<'_>,
    differences: &mut Differences,
) -> Option<()> {
    if asked.operation != plan.operation {
        let (asked, planned) = (asked.operation.name(), plan.operation.name());
        differences.add(|| Difference::Operation { asked, planned })?;
    }
    let (table, entity) = (planned.table(), planned.model.entity(plan.entity));
    if !table.key.as_ref().is_some_and(|key| entity.key.is_some() && fits_key(entity, key, asked.item)) {
        differences.add(|| Difference::Key { entities: vec![entity.name.value.clone()] })?;
    }
    compare_condition(table, write, asked, differences)?;
    match asked.operation {
        WriteOperation::UpdateItem => compare_changes(table, entity, write, asked, differences),
        _ => Some(()),
    }
}

fn compare_condition(
    table: &Table,
    write: &Write,
    asked: &AskedWrite<'_>,
    differences: &mut Differences,
) -> Option<()> {
    let is_key = |name: &str| table.key.as_ref().is_some_and(|key| key.names(name));
    let condition = asked.condition.as_ref();
    if write.verb == WriteVerb::Create && !condition.is_some_and(|one| says_absent(one, &is_key)) {
        differences.add(|| Difference::MayReplace)?;
    }
    let has = |name: &str| condition.is_some_and(|one| one.top_level_names().any(|other| other == name));
    // A version says more than the value that it was read with.
    let is_unlocked = |_: &&AttributeChange| write.version.is_none();
    let of_changes = write.set.iter().filter(|change| change.from.is_some()).filter(is_unlocked);
    let of_changes = of_changes.map(|change| &change.attribute);
    let terms = write.condition.iter().flat_map(|condition| &condition.terms).map(|term| &term.attribute);
    let wanted = terms.chain(of_changes).chain(&write.version);
    let mut missing: Vec<String> = wanted
        .map(|name| name.value.as_str())
        .filter(|name| if name.is_empty() { condition.is_none() } else { !has(name) })
        .map(str::to_owned)
        .collect();
    if write.verb == WriteVerb::Create {
        // `not exists` of the whole item is the create's own condition.
        missing.retain(|name| !name.is_empty());
    }
    if missing.is_empty() {
        return Some(());
    }
    missing.retain(|name| !name.is_empty());
    missing.sort();
    missing.dedup();
    differences.add(|| Difference::Condition { attributes: missing })
}

/// Whether the condition holds only if there is no such item.
fn says_absent(condition: &Condition, is_key: &impl Fn(&str) -> bool) -> bool {
    match condition {
        Condition::And(terms) => terms.iter().any(|term| says_absent(term, is_key)),
        Condition::AttributeNotExists(path) => is_key(&path.attribute),
        Condition::Not(inner) => {
            matches!(&**inner, Condition::AttributeExists(path) if is_key(&path.attribute))
        }
        _ => false,
    }
}

fn compare_changes(
    table: &Table,
    entity: &Entity,
    write: &Write,
    asked: &AskedWrite<'_>,
    differences: &mut Differences,
) -> Option<()> {
    let mut changed: Vec<&str> = model::plan::changed(write).collect();
    changed.sort_unstable();
    let actions = || asked.update.iter().flat_map(|update| update.actions());
    let mut further: Vec<String> = actions()
        .map(|action| action.target.attribute.as_str())
        .filter(|name| !changed.contains(name) && !is_implied(table, entity, name))
        .map(str::to_owned)
        .collect();
    if !further.is_empty() {
        further.sort();
        further.dedup();
        differences.add(|| Difference::Changes { attributes: further })?;
    }
    let is_left = |name: &&&str| {
        let is_optional = entity.attribute(name).is_some_and(|attribute| attribute.optional);
        !is_optional && !actions().any(|action| action.target.attribute == ***name)
    };
    let left: Vec<String> = changed.iter().filter(is_left).map(|name| (*name).to_owned()).collect();
    if !left.is_empty() {
        differences.add(|| Difference::LeavesAlone { attributes: left })?;
    }
    for change in &write.set {
        let (name, planned) = (&change.attribute.value, change.to.as_ref().and_then(Operand::literal));
        let set = actions().find(|action| action.target.attribute == *name && !action.target.is_nested());
        let (Some(planned), Some(Change::Set(UpdateOperand::Value(value)))) =
            (planned, set.map(|one| &one.change))
        else {
            continue;
        };
        if plain_text(&Value::from(value.as_ref())) != planned {
            let (attribute, planned) = (name.clone(), planned.to_owned());
            differences.add(|| Difference::NewValue { attribute, planned })?;
        }
    }
    Some(())
}

/// What an update may write without the pattern saying so: keys of indexes, what the item's key gives, and the kind of
/// the item, which libraries write each time.
fn is_implied(table: &Table, entity: &Entity, name: &str) -> bool {
    let is_index_key =
        || entity.entries.iter().any(|entry| own_keys(table, entity, entry.index).any(|key| key == name));
    let in_key = || entity.key_templates().any(|template| template.uses(name));
    let is_constant = || entity.attribute(name).is_some_and(|attribute| attribute.constant.is_some());
    name.starts_with("__edb_") || in_key() || is_constant() || is_index_key()
}
