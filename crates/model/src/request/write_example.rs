//! A write pattern on the example data as it is: what it needs exists, what it creates does not.

use item::Value;

use super::Unsendable;
use super::write_case::{Chooser, Touch};
use crate::Model;
use crate::model::{EntityId, Pattern, WriteVerb};
use crate::plan::Plan;
use crate::predict::item::Values;
use crate::sample::variant::{variant, variant_but, with};
use crate::sample::{FILLER, SampleItem, key_of};

/// How many items are tried to find one that meets the conditions.
const ROUNDS_MAX: usize = 40;
/// How many new identities are tried.
const IDENTITIES_MAX: usize = 200;

/// The items that an example writes.
pub struct WriteExample<'m> {
    pub touches: Vec<Touch<'m>>,
    /// Whether the example data meets all conditions.
    pub fits: bool,
}

pub fn choose<'m>(
    model: &'m Model,
    pattern: &'m Pattern,
    plan: &'m Plan,
    data: &[SampleItem],
) -> Result<WriteExample<'m>, Unsendable> {
    let mut best: Option<(usize, Vec<Touch<'m>>)> = None;
    for round in 0..data.len().clamp(1, ROUNDS_MAX) {
        let touches = Chooser::new(model, data, round).case(pattern, plan)?.touches;
        let missing = touches.iter().filter(|touch| !is_there(touch, data)).count();
        if best.as_ref().is_none_or(|(fewest, _)| missing < *fewest) {
            best = Some((missing, touches));
        }
        if missing == 0 {
            break;
        }
    }
    let (missing, touches) = best.unwrap_or_default();
    Ok(WriteExample { touches: new_identities(model, data, touches), fits: missing == 0 })
}

/// Whether the item that the write needs is in the data.
fn is_there(touch: &Touch<'_>, data: &[SampleItem]) -> bool {
    let Some(old) = touch.old.as_ref().map(unfilled) else { return true };
    data.iter().any(|item| item.table == touch.table && unfilled(&item.values) == old)
}

fn unfilled(values: &Values) -> Values {
    let mut values = values.clone();
    values.remove(FILLER);
    values
}

/// Gives created items an identity that no item has. Related items stay related: an order's new id is also that of
/// its lines.
fn new_identities<'m>(model: &Model, data: &[SampleItem], touches: Vec<Touch<'m>>) -> Vec<Touch<'m>> {
    let mut renamed: Vec<(String, Value, Value)> = Vec::new();
    let beside: Vec<(EntityId, Values)> =
        touches.iter().filter_map(|touch| Some((touch.entity, touch.old.clone()?))).collect();
    let touched: Vec<EntityId> = touches.iter().map(|touch| touch.entity).collect();
    let create = |mut touch: Touch<'m>| {
        let Some(values) = touch.new.clone().filter(|_| touch.write.verb == WriteVerb::Create) else {
            return touch;
        };
        let item =
            SampleItem { table: touch.table, entity: Some(touch.entity), name: None, values, parent: None };
        let item = follow(model, item, &renamed);
        // Several items of an entity that share all of their key would be one.
        let is_only = touched.iter().filter(|entity| **entity == touch.entity).count() == 1;
        let shared = if is_only { shared(model, touch.entity, &beside) } else { Vec::new() };
        let new = unused(model, data, &item, &shared);
        for (name, value) in &item.values {
            let attribute = model.entity(touch.entity).attribute(name);
            if let Some(other) = new.values.get(name).filter(|other| *other != value && attribute.is_some()) {
                renamed.push((name.clone(), value.clone(), other.clone()));
            }
        }
        touch.new = Some(new.values);
        touch
    };
    touches.into_iter().map(create).collect()
}

/// The item with the new values that other items of the request got.
fn follow(model: &Model, item: SampleItem, renamed: &[(String, Value, Value)]) -> SampleItem {
    let changes: Vec<(String, Value)> = renamed
        .iter()
        .filter(|(name, old, _)| item.values.get(name) == Some(old))
        .map(|(name, _, new)| (name.clone(), new.clone()))
        .collect();
    if changes.is_empty() { item } else { with(model, &item, changes, 0) }
}

/// The parts of the entity's key that items of other entities in the request have, too: a like is of the photo that
/// counts it.
fn shared(model: &Model, entity: EntityId, beside: &[(EntityId, Values)]) -> Vec<(String, Value)> {
    let names = model.entity(entity).key_templates().flat_map(|template| template.attributes());
    let of_others = names.filter_map(|name| {
        let mut others = beside.iter().filter(|(other, _)| *other != entity);
        let value = others.find_map(|(_, values)| values.get(name))?;
        Some((name.to_owned(), value.clone()))
    });
    of_others.collect()
}

/// The item with what it shares, or else as it is, if that key is free; else with another identity.
fn unused(model: &Model, data: &[SampleItem], item: &SampleItem, shared: &[(String, Value)]) -> SampleItem {
    let key = |item: &SampleItem| key_of(model, item.table, &item.values);
    let is_free =
        |item: &SampleItem| !data.iter().any(|stored| stored.table == item.table && key(stored) == key(item));
    let kept: Vec<&str> = shared.iter().map(|(name, _)| name.as_str()).collect();
    let sharing = with(model, item, shared.iter().cloned(), 0);
    let beside = (1..=IDENTITIES_MAX).filter_map(|number| variant_but(model, &sharing, number, &kept));
    let others = (1..=IDENTITIES_MAX).filter_map(|number| variant(model, item, number));
    // With nothing shared these are the item itself and the others, in this order.
    let mut all =
        std::iter::once(sharing.clone()).chain(beside).chain(std::iter::once(item.clone())).chain(others);
    all.find(is_free).unwrap_or_else(|| item.clone())
}
