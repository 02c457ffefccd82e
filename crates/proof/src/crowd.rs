//! A query among as many items as the file declares, typically and at most. With the few items of ordinary data a limit
//! cuts nothing off.

use std::collections::BTreeSet;

use api::{QueryInput, limits};
use model::lost::may_lose;
use model::meaning;
use model::model::EntityId;
use model::plan::ReadOperation;
use model::predict::found::{examined, examined_at_most};
use model::predict::item::{Values, size_bytes};
use model::request::{Given, PlannedRead, given};
use model::sample::{SampleItem, key_of};

use crate::adversary::siblings;
use crate::certificate::Finding;
use crate::database::{Database, address, values};
use crate::experiment::Experiment;
use crate::fault::Fault;
use crate::trial::name_of;

/// Ordinary data has as many items of one partition.
const ORDINARY: usize = 6;
/// At most this many items are loaded.
const ITEMS_MAX: usize = 1_500;
/// Without a limit nothing is cut off, and more items show nothing new.
const UNLIMITED_MAX: usize = 200;
/// How many of them are shown.
const SHOWN: usize = 2;

/// The first thing that goes wrong, with the typical number of items or with the largest.
pub async fn findings(read: PlannedRead<'_>, data: &[SampleItem]) -> Option<Finding> {
    if read.plan.operation != ReadOperation::Query || read.plan.fan_out != 1 {
        return None;
    }
    let first = data.iter().find(|item| item.entity == read.plan.entities.first().copied())?;
    let given = given::tries(read.model, read.read, std::slice::from_ref(first)).into_iter().next()?;
    let returns = read.read.returns.as_ref().map(|returns| returns.value);
    let typical = |id| examined(read.model, read.read, id, &[]).or(returns.map(|one| one.typical));
    let most = |id| {
        let declared = returns.map(|one| one.max.unwrap_or(one.typical));
        examined_at_most(read.model, read.read, id).or(declared)
    };
    let mut tried = Vec::new();
    for items in [crowd(read, data, &given, typical), crowd(read, data, &given, most)] {
        if items.len() <= ORDINARY || tried.contains(&items.len()) {
            continue;
        }
        tried.push(items.len());
        if let Some(fault) = fault(read, &items, &given).await {
            let table = &read.table().name.value;
            let data = items.iter().take(SHOWN).map(|item| (table.clone(), item.values.clone())).collect();
            return Some(Finding { fault, given, data, more: items.len() - SHOWN });
        }
    }
    None
}

/// This many items of each entity that the read finds.
fn crowd(
    read: PlannedRead<'_>,
    data: &[SampleItem],
    given: &Given,
    count: impl Fn(EntityId) -> Option<f64>,
) -> Vec<SampleItem> {
    let found = meaning::examined(read.model, read.read, data, given);
    let mut items = Vec::new();
    let mut taken = BTreeSet::new();
    for id in &read.plan.entities {
        let Some(one) = found.iter().map(|at| &data[*at]).find(|item| item.entity == Some(*id)) else {
            continue;
        };
        let page = limits::PAGE_BYTES_MAX / size_bytes(&one.values).max(1);
        let room = match read.limit {
            Some(limit) => usize::try_from(limit).unwrap_or(ITEMS_MAX).saturating_add(2).min(ITEMS_MAX),
            None => UNLIMITED_MAX.min(page / read.plan.entities.len()),
        };
        let wanted = (count(*id).unwrap_or(1.0).ceil().max(1.0) as usize).min(room.max(1));
        items.push(one.clone());
        items.extend(siblings(read.model, read.read, one, wanted - 1));
    }
    // The first may itself be one that was derived from another.
    items.retain(|item| taken.insert(address(read.model, item.table, &item.values).0));
    items
}

async fn fault(read: PlannedRead<'_>, items: &[SampleItem], given: &Given) -> Option<Fault> {
    let database = Database::open(read.model).await.ok()?;
    let experiment = Experiment::Read { read, given: given.clone() };
    let faults = experiment.run(read.model, &database, items).await.faults;
    // `page.rs` reports these.
    let found = faults.into_iter().find(|fault| !matches!(fault, Fault::Pages { .. }));
    match found {
        Some(fault) => Some(fault),
        None if read.read.paged.as_ref().is_some_and(|paged| paged.value) => {
            at_page_edges(read, &database, items, given).await
        }
        None => lost(read, &database, items, given).await,
    }
}

/// An entity of which items are wanted and none comes back.
async fn lost(
    read: PlannedRead<'_>,
    database: &Database,
    items: &[SampleItem],
    given: &Given,
) -> Option<Fault> {
    let limit = read.limit.filter(|_| may_lose(read.read, read.plan))?;
    let found = crate::read::fetch(read, database, given).await.ok()?;
    let table = read.plan.table;
    let keys: Vec<Values> = found.iter().map(|values| key_of(read.model, table, values)).collect();
    let came = |item: &SampleItem| keys.contains(&key_of(read.model, table, &item.values));
    let wanted = meaning::wanted(read.model, read.read, items, given);
    let of = |id: EntityId| wanted.iter().map(|at| &items[*at]).filter(move |item| item.entity == Some(id));
    let is_lost = |id: &&EntityId| of(**id).next().is_some() && !of(**id).any(came);
    let id = read.plan.entities.iter().find(is_lost)?;
    Some(Fault::Lost { entity: read.model.entity(*id).name.value.clone(), limit, items: wanted.len() })
}

/// Each item comes once, although pages end between them.
async fn at_page_edges(
    read: PlannedRead<'_>,
    database: &Database,
    items: &[SampleItem],
    given: &Given,
) -> Option<Fault> {
    let table = read.plan.table;
    let key = |values: &Values| key_of(read.model, table, values);
    let mut query: QueryInput = read.queries(given).ok()?.into_iter().next()?;
    let mut came: Vec<Values> = Vec::new();
    // A page has one item at least, or is the last.
    for _ in 0..=items.len() {
        let page = database.call(query.clone()).await.ok()?;
        came.extend(page.items.unwrap_or_default().iter().map(|item| key(&values(item))));
        query.exclusive_start_key = page.last_evaluated_key;
        if query.exclusive_start_key.is_none() {
            break;
        }
    }
    let wanted = meaning::wanted(read.model, read.read, items, given);
    let wanted: Vec<Values> = wanted.into_iter().map(|at| key(&items[at].values)).collect();
    let name = |key: &Values| name_of(read.model, table, key);
    let missing: Vec<String> = wanted.iter().filter(|key| !came.contains(key)).map(name).collect();
    let twice = |key: &&Values| came.iter().filter(|one| one == key).count() > 1;
    let unwanted: Vec<String> = came.iter().filter(twice).map(name).collect();
    match (missing.is_empty(), unwanted.is_empty()) {
        (false, _) => Some(Fault::Missing { items: missing }),
        (true, false) => Some(Fault::Unwanted { items: unwanted }),
        (true, true) => None,
    }
}
