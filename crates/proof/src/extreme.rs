//! Extremes that ordinary data does not have: a key that gets more requests than a partition takes, and items of one
//! moment, which a page ends between.

use std::sync::Arc;

use api::{ErrorKind, QueryInput, ScanInput};
use model::facts::Facts;
use model::heat::{DEFAULT_HEADROOM, heat};
use model::meaning;
use model::model::{IndexId, Pattern, TableId};
use model::plan::{Plan, ReadOperation, plan};
use model::predict::item::Values;
use model::request::{PlannedRead, given};
use model::sample::variant::variant_but;
use model::sample::{SampleItem, key_of};
use model::{Diagnostic, Model};

use crate::certificate::Finding;
use crate::database::{Database, values};
use crate::endpoint::Memory;
use crate::fault::Fault;
use crate::table::create_table;
use crate::trial::name_of;

/// The rule about keys that are too hot.
const HOT_RULE: u8 = 11;
/// More requests than one partition takes in a second, however small they are.
const REQUESTS_MAX: u64 = 7_000;
/// How many items have the same time.
const OF_ONE_MOMENT: usize = 5;
/// A page ends between them.
const PAGE: i32 = 2;

/// A key that gets more than a partition takes, and the pattern that most of it comes from.
pub struct HotKey {
    table: TableId,
    index: Option<IndexId>,
    key: String,
    pattern: String,
    write_units: f64,
    read_units: f64,
}

/// The keys that the rule warns of, and that the file does not allow.
pub fn hot_keys(model: &Model, concerns: &[Diagnostic]) -> Vec<HotKey> {
    let warned: Vec<&Diagnostic> =
        concerns.iter().filter(|one| one.rule.is_some_and(|rule| rule.0 == HOT_RULE)).collect();
    if warned.is_empty() {
        return Vec::new();
    }
    let plans: Vec<Plan> = model.patterns.iter().map(|pattern| plan(model, pattern)).collect();
    let heats = heat(model, &plans, &Facts::embedded().limits, DEFAULT_HEADROOM);
    let keys = heats.iter().flat_map(|heat| heat.keys.iter().map(move |key| (heat, key)));
    // The rule names the key.
    let is_warned = |key: &str| warned.iter().any(|one| one.label.contains(&format!("`{key}`")));
    let hot = keys.filter(|(_, key)| key.load > 1.0 && is_warned(&key.key)).filter_map(|(heat, key)| {
        Some(HotKey {
            table: heat.table_id,
            index: heat.index_id,
            key: key.key.clone(),
            pattern: key.from.first()?.pattern.clone(),
            write_units: key.write.peak(),
            read_units: key.read.peak(),
        })
    });
    hot.collect()
}

/// Sends the requests of one second to the key, until a database with AWS's limits refuses one.
pub async fn throttled(
    model: &Model,
    pattern: &Pattern,
    plan: &Plan,
    hot: &[HotKey],
    data: &[SampleItem],
) -> Option<Finding> {
    let hot = hot.iter().find(|hot| hot.pattern == pattern.id.value)?;
    let limits = Facts::embedded().limits;
    let by_writes =
        hot.write_units / limits.partition_write_units > hot.read_units / limits.partition_read_units;
    let database = Database::on(Arc::new(Memory::open_limited().await.ok()?));
    for table in model.tables.iter().filter_map(create_table) {
        database.call(table).await.ok()?;
    }
    let item = item_of(model, pattern, hot, data)?;
    let (served, refusal) = match by_writes {
        true => until_refused(async |number| write(model, &database, hot, item, number).await).await?,
        false => {
            let (_, asked) = pattern.reads().next()?;
            let read = PlannedRead::new(model, asked, plan.reads().next()?);
            database.put(model, item).await.ok()?;
            let given = given::tries(model, asked, std::slice::from_ref(item)).into_iter().next()?;
            until_refused(async |_| match crate::read::fetch(read, &database, &given).await {
                Err(Fault::Refused(message)) => Some(message),
                _ => None,
            })
            .await?
        }
    };
    let (units, kind) = match by_writes {
        true => (hot.write_units, "write"),
        false => (hot.read_units, "read"),
    };
    let fault = Fault::Throttled { key: hot.key.clone(), units: units.round() as u64, kind, served, refusal };
    let shown = vec![(model.table(item.table).name.value.clone(), item.values.clone())];
    Some(Finding { data: shown, ..Finding::of(fault) })
}

/// How many requests were served, and why the next was not.
async fn until_refused(send: impl AsyncFn(usize) -> Option<String>) -> Option<(u64, String)> {
    for served in 0..REQUESTS_MAX {
        if let Some(refusal) = send(served as usize).await {
            return Some((served, refusal));
        }
    }
    None
}

/// An item of the pattern's that has the key.
fn item_of<'d>(
    model: &Model,
    pattern: &Pattern,
    hot: &HotKey,
    data: &'d [SampleItem],
) -> Option<&'d SampleItem> {
    let read = pattern.reads().flat_map(|(_, read)| read.entities.iter().map(|one| one.value));
    let entities: Vec<_> = read.chain(pattern.writes().map(|(_, write)| write.entity.value)).collect();
    let is_there = |item: &&SampleItem| {
        let entity = item.entity.filter(|id| entities.contains(id) && item.table == hot.table);
        let entry = entity.and_then(|id| model.entity(id).entry(hot.index?));
        entity.is_some() && hot.index.is_none_or(|_| entry.is_some_and(|entry| entry.has(&item.values)))
    };
    data.iter().find(is_there)
}

/// Writes one item after the other with the key; why the database refuses it, if it does.
async fn write(
    model: &Model,
    database: &Database,
    hot: &HotKey,
    item: &SampleItem,
    number: usize,
) -> Option<String> {
    let entity = model.entity(item.entity?);
    let entry = hot.index.and_then(|index| entity.entry(index));
    let partition = match entry {
        Some(entry) => entry.partition.iter().collect(),
        None => entity.key.iter().map(|key| &key.partition).collect::<Vec<_>>(),
    };
    let kept: Vec<&str> = partition.into_iter().flat_map(|template| template.attributes()).collect();
    let other = variant_but(model, item, number, &kept).unwrap_or_else(|| item.clone());
    let refused = |kind| matches!(kind, ErrorKind::ProvisionedThroughputExceeded | ErrorKind::Throttling);
    database.put(model, &other).await.err().filter(|error| refused(error.kind)).map(|error| error.message)
}

/// Items that differ in nothing that a query sorts by: each comes once, although pages end between them.
pub async fn of_one_moment(read: PlannedRead<'_>, data: &[SampleItem]) -> Option<Finding> {
    let is_time = |name: &str| read.entity().attribute(name).is_some_and(|one| one.kind.is_time());
    let by_time = read.read.order.first().is_some_and(|order| is_time(&order.attribute.value));
    if read.plan.operation != ReadOperation::Query || read.plan.fan_out != 1 || !by_time {
        return None;
    }
    let first = data.iter().find(|item| item.entity == read.plan.entities.first().copied())?;
    let terms = read.read.conditions.iter().flat_map(|all| &all.terms).map(|term| &term.attribute.value);
    let order = read.read.order.iter().map(|order| &order.attribute.value);
    let by = read.read.by.iter().map(|name| &name.value);
    let kept: Vec<&str> = by.chain(terms).chain(order).map(String::as_str).collect();
    let others = (1..OF_ONE_MOMENT).map(|number| variant_but(read.model, first, number, &kept));
    let items: Vec<SampleItem> = std::iter::once(Some(first.clone())).chain(others).collect::<Option<_>>()?;
    let given = given::tries(read.model, read.read, &items[..1]).into_iter().next()?;
    let key = |values: &Values| key_of(read.model, first.table, values);
    let wanted: Vec<Values> = meaning::wanted(read.model, read.read, &items, &given)
        .into_iter()
        .map(|position| key(&items[position].values))
        .collect();
    let database = Database::with(read.model, &items).await.ok()?;
    let mut came: Vec<Values> = Vec::new();
    let mut query = QueryInput { limit: Some(PAGE), ..read.queries(&given).ok()?.into_iter().next()? };
    // A page has one item at least.
    for _ in 0..=OF_ONE_MOMENT {
        let page = database.call(query.clone()).await.ok()?;
        came.extend(page.items.unwrap_or_default().iter().map(|item| key(&values(item))));
        query.exclusive_start_key = page.last_evaluated_key;
        if query.exclusive_start_key.is_none() {
            break;
        }
    }
    let name = |key: &Values| name_of(read.model, first.table, key);
    let missing: Vec<String> = wanted.iter().filter(|key| !came.contains(key)).map(name).collect();
    let twice = |key: &&Values| came.iter().filter(|one| one == key).count() > 1;
    let unwanted: Vec<String> = came.iter().filter(twice).map(name).collect();
    let fault = match (missing.is_empty(), unwanted.is_empty()) {
        (false, _) => Fault::Missing { items: missing },
        (true, false) => Fault::Unwanted { items: unwanted },
        (true, true) => return None,
    };
    let table = &read.table().name.value;
    let data = items.iter().map(|item| (table.clone(), item.values.clone())).collect();
    Some(Finding { fault, given, data, more: 0 })
}

/// Whether the second item really replaces the first: both are put, and one is there.
pub async fn overwrites(model: &Model, first: &SampleItem, second: &SampleItem) -> Option<bool> {
    let database = Database::with(model, std::slice::from_ref(first)).await.ok()?;
    database.put(model, second).await.ok()?;
    let table_name = model.table(first.table).name.value.clone();
    let found = database.call(ScanInput { table_name, ..ScanInput::default() }).await.ok()?;
    Some(found.count == Some(1))
}
