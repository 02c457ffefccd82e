//! BatchGetItem and TransactGetItems, tried: every item by its key, in one request.

use std::collections::BTreeMap;

use api::{
    BatchGetItemInput, Get, KeysAndAttributes, ReturnConsumedCapacity, TransactGetItem, TransactGetItemsInput,
};
use capacity::{ReadMode, read_units};
use item::Item;
use model::Model;
use model::model::{Grouping, Pattern};
use model::plan::{Plan, ReadOperation, StepKind};
use model::predict::Units;
use model::predict::item::{Values, size_bytes};
use model::sample::SampleItem;

use crate::bill::Bill;
use crate::data::distinct;
use crate::database::{Database, item, values};
use crate::fault::Fault;
use crate::given::Given;
use crate::read_request::PlannedRead;
use crate::trial::{Trial, key_of, name_of};

/// The items that the group reads, and the key that each read names.
pub struct Group {
    pub targets: Vec<(SampleItem, Item)>,
    grouping: Grouping,
    consistent: bool,
}

/// Items of the data for each read, each item once.
pub fn choose(model: &Model, pattern: &Pattern, plan: &Plan, data: &[SampleItem]) -> Result<Group, Fault> {
    let mut group = Group { targets: Vec::new(), grouping: pattern.grouping, consistent: false };
    for ((action, read), step) in pattern.reads().zip(&plan.steps) {
        let StepKind::Read(plan) = &step.kind else { return Err(mixed()) };
        if plan.operation != ReadOperation::GetItem {
            return Err(Fault::Gap(format!(
                "a group of reads gets items by their keys; this is a {}",
                plan.operation.name()
            )));
        }
        group.consistent |= plan.consistent;
        let planned = PlannedRead::new(model, read, plan);
        let count = usize::try_from(action.times).unwrap_or(usize::MAX).min(200);
        for target in distinct(model, data, plan.entities[0], count) {
            let mut given = Given::default();
            for name in &read.by {
                given.set(name, target.get(name).ok_or_else(|| Fault::Unknown(format!("`{}`", name.value)))?);
            }
            let key = planned.keys(&given)?.pop().ok_or_else(|| Fault::Unknown("the key".to_owned()))?;
            if !group.targets.iter().any(|(one, other)| one.table == target.table && *other == key) {
                group.targets.push((target, key));
            }
        }
    }
    if group.targets.is_empty() {
        return Err(Fault::NoData("item".to_owned()));
    }
    Ok(group)
}

pub fn mixed() -> Fault {
    Fault::Gap("one request either reads or writes".to_owned())
}

impl Group {
    /// The data, with all targets in it.
    pub fn data(&self, model: &Model, data: &[SampleItem]) -> Vec<SampleItem> {
        let key = |item: &SampleItem| (item.table, key_of(model, item.table, &item.values));
        let mut all = data.to_vec();
        for (target, _) in &self.targets {
            if !all.iter().any(|item| key(item) == key(target)) {
                all.push(target.clone());
            }
        }
        all
    }

    pub async fn run(&self, model: &Model, database: &Database, data: &[SampleItem]) -> Trial {
        let mut trial = Trial { requests: 1, pages: 1, ..Trial::default() };
        let sent = match self.grouping {
            Grouping::Transaction => self.transact(model, database, &mut trial).await,
            _ => self.batch(model, database, &mut trial).await,
        };
        let found = match sent {
            Ok(found) => found,
            Err(fault) => return Trial::failed(fault),
        };
        trial.returned = found.len() as u64;
        trial.examined = trial.returned;
        trial.faults = self.item_faults(model, data, &found);
        if trial.faults.is_empty() {
            trial.predicted = self.predicted(model, data);
            trial.faults = Bill::faults(model, &trial.predicted, &trial.consumed);
        }
        trial
    }

    async fn batch(
        &self,
        model: &Model,
        database: &Database,
        trial: &mut Trial,
    ) -> Result<Vec<Values>, Fault> {
        let mut request_items: BTreeMap<String, KeysAndAttributes> = BTreeMap::new();
        for (target, key) in &self.targets {
            let name = model.table(target.table).name.value.clone();
            let request = request_items.entry(name).or_default();
            request.consistent_read = Some(self.consistent);
            request.keys.push(key.clone());
        }
        let input = BatchGetItemInput {
            request_items,
            return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes),
            ..BatchGetItemInput::default()
        };
        let output = database.call(input).await?;
        for consumed in output.consumed_capacity.iter().flatten() {
            trial.consumed.add_consumed(model, consumed);
        }
        Ok(output.responses.iter().flat_map(BTreeMap::values).flatten().map(values).collect())
    }

    async fn transact(
        &self,
        model: &Model,
        database: &Database,
        trial: &mut Trial,
    ) -> Result<Vec<Values>, Fault> {
        let get = |(target, key): &(SampleItem, Item)| TransactGetItem {
            get: Get {
                table_name: model.table(target.table).name.value.clone(),
                key: key.clone(),
                ..Get::default()
            },
        };
        let input = TransactGetItemsInput {
            transact_items: self.targets.iter().map(get).collect(),
            return_consumed_capacity: Some(ReturnConsumedCapacity::Indexes),
            ..TransactGetItemsInput::default()
        };
        let output = database.call(input).await?;
        for consumed in output.consumed_capacity.iter().flatten() {
            trial.consumed.add_consumed(model, consumed);
        }
        let items = output.responses.into_iter().flatten().filter_map(|response| response.item);
        Ok(items.map(|item| values(&item)).collect())
    }

    /// What lies in the data of what is asked for must come back, as it is.
    fn item_faults(&self, model: &Model, data: &[SampleItem], found: &[Values]) -> Vec<Fault> {
        let present =
            self.targets.iter().filter(|(target, _)| data.iter().any(|item| item.values == target.values));
        let missing: Vec<String> = present
            .filter(|(target, _)| !found.contains(&target.values))
            .map(|(target, _)| name_of(model, target.table, &target.values))
            .collect();
        if missing.is_empty() { Vec::new() } else { vec![Fault::Missing { items: missing }] }
    }

    fn predicted(&self, model: &Model, data: &[SampleItem]) -> Bill {
        let mode = match (self.grouping, self.consistent) {
            (Grouping::Transaction, _) => ReadMode::Transactional,
            (_, true) => ReadMode::Strong,
            (_, false) => ReadMode::Eventual,
        };
        let mut bill = Bill::default();
        for (target, key) in &self.targets {
            let stored = data.iter().find(|one| {
                one.table == target.table && item(&key_of(model, one.table, &one.values)) == *key
            });
            let bytes = stored.map_or(0, |stored| size_bytes(&stored.values));
            bill.add(target.table, Units::of_table(read_units(bytes, mode)));
        }
        bill
    }
}
