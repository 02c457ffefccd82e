//! The only code that changes an item. Every write, whatever operation it comes from, is a [`Plan`];
//! [`apply`] carries out one or several in one commit:
//!
//! 1. the store locks the items' keys and hands over their rows;
//! 2. each plan's condition is evaluated on the item as it is;
//! 3. the new item is computed and its size checked;
//! 4. all changes are committed together, or none if any plan failed.
//!
//! What always holds: if `apply` fails, nothing was written.

use std::sync::Arc;

use api::{Error, limits};
use bytes::Bytes;
use expression::{Condition, Update, Updated};
use item::Item;
use store::{Key, Store, WriteSet};

use crate::catalog::LiveTable;
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
}

/// What a plan did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub old: Option<Item>,
    pub new: Option<Item>,
}

impl Outcome {
    pub fn write_units(&self) -> f64 {
        let size = |item: &Option<Item>| item.as_ref().map(|item| item.as_ref().size_bytes());
        capacity::write_units(size(&self.old), size(&self.new))
    }
}

/// Carries out one plan.
pub async fn apply(store: &dyn Store, plan: &Plan) -> Result<Outcome, Error> {
    let _writing = plan.table.gate.read().await;
    let mut result = Ok(Outcome::default());
    store
        .update(std::slice::from_ref(&plan.key), &mut |rows| {
            let mut writes = WriteSet::default();
            result = decide(plan, rows[0].clone());
            if let Ok(outcome) = &result {
                record(plan, outcome, &mut writes);
            }
            writes
        })
        .await
        .map_err(fault::of_store)?;
    result
}

/// What the plan makes of the item as it is.
fn decide(plan: &Plan, row: Option<Bytes>) -> Result<Outcome, Error> {
    let old = row.map(Item::from_stored).transpose().map_err(fault::of_data)?;
    if let Some(condition) = &plan.condition
        && !condition.evaluate(old.as_ref().map(Item::as_ref))
    {
        return Err(Error::conditional_check_failed(old.filter(|_| plan.show_failed_item)));
    }
    let new = match &plan.change {
        Change::Put(item) => Some(item.clone()),
        Change::Delete => None,
        Change::Update { update, key_attributes } => updated(update, old.as_ref(), key_attributes)?,
    };
    Ok(Outcome { old, new })
}

fn updated(update: &Update, old: Option<&Item>, key_attributes: &Item) -> Result<Option<Item>, Error> {
    let before = old.unwrap_or(key_attributes).as_ref();
    match update.apply(before, old.is_some()).map_err(|error| Error::validation(error.to_string()))? {
        Updated::Nothing => Ok(None),
        Updated::Item(new) if new.as_ref().size_bytes() > limits::ITEM_BYTES_MAX => {
            Err(Error::item_to_update_too_large())
        }
        Updated::Item(new) => Ok(Some(new)),
    }
}

/// The rows that an outcome writes.
fn record(plan: &Plan, outcome: &Outcome, writes: &mut WriteSet) {
    match (&outcome.old, &outcome.new) {
        (_, Some(new)) => writes.puts.push((plan.key.clone(), new.clone().into_stored())),
        (Some(_), None) => writes.deletes.push(plan.key.clone()),
        (None, None) => {}
    }
}
