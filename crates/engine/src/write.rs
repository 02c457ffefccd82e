//! The only code that changes an item. Every write, whatever operation it comes from, is a [`Plan`];
//! [`apply`] carries out one, [`apply_all`] several, in one commit:
//!
//! 1. the store locks the items' keys and hands over their rows;
//! 2. each plan's condition is evaluated on the item as it is;
//! 3. the new item is computed, its size and its index keys are checked;
//! 4. the rows of the item and of every index are committed together, or none if any plan failed.
//!
//! What always holds: if a write fails, nothing of it was written.

use std::sync::Arc;

use api::{Error, limits};
use bytes::Bytes;
use expression::{Condition, Update, Updated};
use item::Item;
use store::{Key, Store, WriteSet};

use crate::catalog::LiveTable;
use crate::index::{self, Difference};
use crate::fault;

/// A change of one item, decided but not yet done.
pub struct Plan {
    pub table: Arc<LiveTable>,
    pub key: Key,
    pub change: Change,
    pub condition: Option<Condition>,
    /// Whether an item that fails the condition is shown to the client.
    pub show_failed_item: bool,
}

pub enum Change {
    Put(Item),
    Delete,
    /// The key attributes stand for the item that isn't there yet.
    Update { update: Box<Update>, key_attributes: Item },
    /// Only the condition counts.
    Check,
}

/// What a plan did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub old: Option<Item>,
    pub new: Option<Item>,
    /// What it cost in each index that it changed.
    pub index_units: Vec<(String, f64)>,
}

impl Outcome {
    /// What it cost in the table itself.
    pub fn table_units(&self) -> f64 {
        let size = |item: &Option<Item>| item.as_ref().map(|item| item.as_ref().size_bytes());
        capacity::write_units(size(&self.old), size(&self.new))
    }
}

/// Carries out one plan.
pub async fn apply(store: &dyn Store, plan: &Plan) -> Result<Outcome, Error> {
    let mut result = apply_all(store, std::slice::from_ref(plan)).await?;
    result.pop().expect("one plan, one result")
}

/// Carries out plans for distinct items together: all of them, or none. The outer error is a fault of
/// the store. If any plan fails, the results tell which and why, and the outcomes of the others are
/// what would have been.
pub async fn apply_all(store: &dyn Store, plans: &[Plan]) -> Result<Vec<Result<Outcome, Error>>, Error> {
    let _writing = enter(plans).await;
    let keys: Vec<Key> = plans.iter().map(|plan| plan.key.clone()).collect();
    let mut results = Vec::new();
    store
        .update(&keys, &mut |rows| {
            let mut writes = WriteSet::default();
            results = plans.iter().zip(rows).map(|(plan, row)| decide(plan, row.clone(), &mut writes)).collect();
            if results.iter().all(Result::is_ok) { writes } else { WriteSet::default() }
        })
        .await
        .map_err(fault::of_store)?;
    Ok(results)
}

/// Holds off the clearing of the plans' tables and changes of their indexes. Taken in one order, so
/// that two writes over several tables can't wait for each other.
async fn enter(plans: &[Plan]) -> Vec<tokio::sync::RwLockReadGuard<'_, ()>> {
    let mut tables: Vec<&LiveTable> = plans.iter().map(|plan| &*plan.table).collect();
    tables.sort_by_key(|table| table.space());
    tables.dedup_by_key(|table| table.space());
    let mut guards = Vec::with_capacity(tables.len());
    for table in tables {
        guards.push(table.gate.read().await);
    }
    guards
}

/// What the plan makes of the item as it is; the rows to be written are added to `writes`.
fn decide(plan: &Plan, row: Option<Bytes>, writes: &mut WriteSet) -> Result<Outcome, Error> {
    let old = row.map(Item::from_stored).transpose().map_err(fault::of_data)?;
    if let Some(condition) = &plan.condition
        && !condition.evaluate(old.as_ref().map(Item::as_ref))
    {
        return Err(Error::conditional_check_failed(old.filter(|_| plan.show_failed_item)));
    }
    let new = match &plan.change {
        Change::Check => return Ok(Outcome { new: old.clone(), old, index_units: Vec::new() }),
        Change::Put(item) => {
            index::check(&plan.table, None, item.as_ref(), false)?;
            Some(item.clone())
        }
        Change::Delete => None,
        Change::Update { update, key_attributes } => updated(plan, update, old.as_ref(), key_attributes)?,
    };
    match (&old, &new) {
        (_, Some(new)) => writes.puts.push((plan.key.clone(), new.clone().into_stored())),
        (Some(_), None) => writes.deletes.push(plan.key.clone()),
        (None, None) => {}
    }
    let index_units = index_rows(plan, old.as_ref(), new.as_ref(), writes);
    Ok(Outcome { old, new, index_units })
}

fn updated(
    plan: &Plan,
    update: &Update,
    old: Option<&Item>,
    key_attributes: &Item,
) -> Result<Option<Item>, Error> {
    let before = old.unwrap_or(key_attributes).as_ref();
    let updated = update.apply(before, old.is_some()).map_err(|error| Error::validation(error.to_string()))?;
    let Updated::Item(new) = updated else { return Ok(None) };
    if new.as_ref().size_bytes() > limits::ITEM_BYTES_MAX {
        return Err(Error::item_to_update_too_large());
    }
    index::check(&plan.table, Some(before), new.as_ref(), true)?;
    Ok(Some(new))
}

/// Adds the rows of the table's indexes, and tells what each index that changed costs.
fn index_rows(
    plan: &Plan,
    old: Option<&Item>,
    new: Option<&Item>,
    writes: &mut WriteSet,
) -> Vec<(String, f64)> {
    let mut units = Vec::new();
    for index in plan.table.indexes.iter().filter(|index| index.is_written()) {
        let change = index::difference(&plan.table, index, old.map(Item::as_ref), new.map(Item::as_ref));
        let Difference { put, delete, units: cost } = change;
        writes.puts.extend(put.map(|(key, row)| (key, row.into_stored())));
        writes.deletes.extend(delete);
        if cost > 0.0 {
            units.push((index.name.clone(), cost));
        }
    }
    units
}
