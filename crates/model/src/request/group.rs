//! BatchGetItem and TransactGetItems: every item by its key, in one request.

use std::collections::BTreeMap;

use api::{BatchGetItemInput, Get, KeysAndAttributes, TransactGetItem, TransactGetItemsInput};
use item::Item;

use super::{Given, PlannedRead, Unsendable};
use crate::Model;
use crate::model::{Grouping, Pattern};
use crate::plan::{ActionPlan, Plan, ReadOperation};
use crate::sample::SampleItem;
use crate::sample::variant::distinct;

/// More items of one action than any request takes.
const TIMES_MAX: usize = 200;

/// The items that the group reads, and the key that each read names.
pub struct Group {
    pub targets: Vec<(SampleItem, Item)>,
    pub grouping: Grouping,
    pub consistent: bool,
}

/// Items of the data for each read, each item once.
pub fn choose(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    data: &[SampleItem],
) -> Result<Group, Unsendable> {
    let mut group = Group { targets: Vec::new(), grouping: pattern.grouping, consistent: false };
    for ((action, read), step) in pattern.reads().zip(&plan.steps) {
        let ActionPlan::Read(plan) = &step.kind else { return Err(Unsendable::mixed()) };
        if plan.operation != ReadOperation::GetItem {
            return Err(Unsendable::Impossible(format!(
                "a group of reads gets items by their keys; this is a {}",
                plan.operation.name()
            )));
        }
        group.consistent |= plan.consistent;
        let planned = PlannedRead::new(model, read, plan);
        let count = usize::try_from(action.times).unwrap_or(usize::MAX).min(TIMES_MAX);
        for target in distinct(model, data, plan.entities[0], count) {
            let mut given = Given::default();
            for name in &read.by {
                given.set(name, target.get(name).ok_or_else(|| Unsendable::unknown(&name.value))?);
            }
            let key = planned.keys(&given)?.pop();
            let key = key.ok_or_else(|| Unsendable::Unknown("the key".to_owned()))?;
            if !group.targets.iter().any(|(one, other)| one.table == target.table && *other == key) {
                group.targets.push((target, key));
            }
        }
    }
    if group.targets.is_empty() {
        return Err(Unsendable::NoData("item".to_owned()));
    }
    Ok(group)
}

impl Group {
    pub fn batch(&self, model: &Model) -> BatchGetItemInput {
        let mut request_items: BTreeMap<String, KeysAndAttributes> = BTreeMap::new();
        for (target, key) in &self.targets {
            let name = model.table(target.table).name.value.clone();
            let request = request_items.entry(name).or_default();
            request.consistent_read = self.consistent.then_some(true);
            request.keys.push(key.clone());
        }
        BatchGetItemInput { request_items, ..BatchGetItemInput::default() }
    }

    pub fn transaction(&self, model: &Model) -> TransactGetItemsInput {
        let get = |(target, key): &(SampleItem, Item)| TransactGetItem {
            get: Get {
                table_name: model.table(target.table).name.value.clone(),
                key: key.clone(),
                ..Get::default()
            },
        };
        TransactGetItemsInput {
            transact_items: self.targets.iter().map(get).collect(),
            ..TransactGetItemsInput::default()
        }
    }
}
