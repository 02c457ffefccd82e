//! Tries BatchGetItem and TransactGetItems: the items in the data are returned.

use std::collections::BTreeMap;

use capacity::{ReadMode, read_units};
use model::Model;
use model::model::Grouping;
use model::predict::Units;
use model::predict::item::{Values, size_bytes};
use model::request::group::Group;
use model::sample::{SampleItem, item, key_of};

use crate::bill::Bill;
use crate::database::{Database, values};
use crate::fault::Fault;
use crate::measured::Measured;
use crate::trial::{Trial, name_of};

/// The data, with all targets of the group in it.
pub fn data(group: &Group, model: &Model, data: &[SampleItem]) -> Vec<SampleItem> {
    let key = |item: &SampleItem| (item.table, key_of(model, item.table, &item.values));
    let mut all = data.to_vec();
    for (target, _) in &group.targets {
        if !all.iter().any(|item| key(item) == key(target)) {
            all.push(target.clone());
        }
    }
    all
}

pub async fn run(group: &Group, model: &Model, database: &Database, data: &[SampleItem]) -> Trial {
    let mut trial = Trial { requests: 1, pages: 1, ..Trial::default() };
    let sent = match group.grouping {
        Grouping::Transaction => transact(group, model, database, &mut trial).await,
        _ => batch(group, model, database, &mut trial).await,
    };
    let found = match sent {
        Ok(found) => found,
        Err(fault) => return Trial::failed(fault),
    };
    trial.returned = found.len() as u64;
    trial.examined = trial.returned;
    trial.faults = item_faults(group, model, data, &found);
    if trial.faults.is_empty() {
        trial.predicted = predicted(group, model, data);
        trial.faults = Bill::faults(model, &trial.predicted, &trial.consumed);
    }
    trial
}

async fn batch(
    group: &Group,
    model: &Model,
    database: &Database,
    trial: &mut Trial,
) -> Result<Vec<Values>, Fault> {
    let output = database.call(group.batch(model).measured()).await?;
    for consumed in output.consumed_capacity.iter().flatten() {
        trial.consumed.add_consumed(model, consumed);
    }
    Ok(output.responses.iter().flat_map(BTreeMap::values).flatten().map(values).collect())
}

async fn transact(
    group: &Group,
    model: &Model,
    database: &Database,
    trial: &mut Trial,
) -> Result<Vec<Values>, Fault> {
    let output = database.call(group.transaction(model).measured()).await?;
    for consumed in output.consumed_capacity.iter().flatten() {
        trial.consumed.add_consumed(model, consumed);
    }
    let items = output.responses.into_iter().flatten().filter_map(|response| response.item);
    Ok(items.map(|item| values(&item)).collect())
}

/// Of the items asked for, those in the data must be returned unchanged.
fn item_faults(group: &Group, model: &Model, data: &[SampleItem], found: &[Values]) -> Vec<Fault> {
    let present =
        group.targets.iter().filter(|(target, _)| data.iter().any(|item| item.values == target.values));
    let missing: Vec<String> = present
        .filter(|(target, _)| !found.contains(&target.values))
        .map(|(target, _)| name_of(model, target.table, &target.values))
        .collect();
    if missing.is_empty() { Vec::new() } else { vec![Fault::Missing { items: missing }] }
}

fn predicted(group: &Group, model: &Model, data: &[SampleItem]) -> Bill {
    let mode = match (group.grouping, group.consistent) {
        (Grouping::Transaction, _) => ReadMode::Transactional,
        (_, true) => ReadMode::Strong,
        (_, false) => ReadMode::Eventual,
    };
    let mut bill = Bill::default();
    for (target, key) in &group.targets {
        let stored = data
            .iter()
            .find(|one| one.table == target.table && item(&key_of(model, one.table, &one.values)) == *key);
        let bytes = stored.map_or(0, |stored| size_bytes(&stored.values));
        bill.add(target.table, Units::of_table(read_units(bytes, mode)));
    }
    bill
}
