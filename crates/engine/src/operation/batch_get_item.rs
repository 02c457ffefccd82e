//! BatchGetItem: up to 100 items of several tables by their keys. The answer holds 16 MB; the keys of what
//! doesn't fit, or has no throughput left, come back, with all that was asked of their table, to be sent again.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use api::{BatchGetItemInput, BatchGetItemOutput, Error, KeysAndAttributes, limits};
use capacity::{ReadMode, read_units};
use expression::Projection;
use futures_util::future::try_join_all;
use item::Item;
use store::Key;

use super::consumed::{ConsumedByTable, Units};
use super::expressions::{placeholders, read_error};
use super::paging::read_mode;
use crate::admission::Place;
use crate::catalog::LiveTable;
use crate::{Caller, Engine, legacy, read};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: BatchGetItemInput,
) -> Result<BatchGetItemOutput, Error> {
    input.check()?;
    let plans = plan(engine, caller, &input.request_items)?;

    let found =
        plans.iter().map(|plan| read::items(&*engine.store, &plan.keys, read::consistency(plan.mode)));
    let found = try_join_all(found).await?;

    let mut room = Room(Some(limits::BATCH_GET_BYTES_MAX));
    let mut responses = BTreeMap::new();
    let mut unprocessed = BTreeMap::new();
    let mut consumed = ConsumedByTable::default();
    let mut throttled = None;
    for ((plan, found), (name, request)) in plans.iter().zip(found).zip(input.request_items) {
        let mut items = Vec::new();
        let mut left = Vec::new();
        for ((item, key), stored) in found.into_iter().zip(request.keys).zip(&plan.keys) {
            let place = Place::of_key(stored);
            if let Err(error) = engine.admit_read(&plan.table, place) {
                throttled = Some(error);
                left.push(key);
                continue;
            }
            let size_bytes = item.as_ref().map_or(0, Item::size_bytes);
            if !room.take(size_bytes) {
                left.push(key);
                continue;
            }
            let units = read_units(size_bytes, plan.mode);
            engine.charge_read(&plan.table, place, units);
            consumed.add(&plan.table, Units::of_table(units));
            items.extend(item.map(|item| match &plan.projection {
                Some(projection) => projection.apply(item.as_ref()),
                None => item,
            }));
        }
        if !left.is_empty() {
            unprocessed.insert(name.clone(), KeysAndAttributes { keys: left, ..request });
        }
        responses.insert(name, items);
    }
    if let Some(error) = throttled.filter(|_| consumed.is_empty()) {
        return Err(error);
    }
    Ok(BatchGetItemOutput {
        consumed_capacity: consumed.answer(input.return_consumed_capacity),
        responses: Some(responses),
        unprocessed_keys: Some(unprocessed),
    })
}

/// What is read of one table.
struct Plan {
    table: Arc<LiveTable>,
    keys: Vec<Key>,
    projection: Option<Projection>,
    mode: ReadMode,
}

fn plan(
    engine: &Engine,
    caller: &Caller,
    requests: &BTreeMap<String, KeysAndAttributes>,
) -> Result<Vec<Plan>, Error> {
    // Expressions are looked at before tables, those of all tables.
    let projections =
        requests.values().map(|request| wanted(engine, request)).collect::<Result<Vec<_>, Error>>()?;
    let mut plans = Vec::with_capacity(requests.len());
    for ((name, request), projection) in requests.iter().zip(projections) {
        let table = engine.table(caller, name)?;
        let keys = request.keys.iter().map(|key| table.key_of(key.as_ref())).collect::<Result<_, _>>()?;
        plans.push(Plan { table, keys, projection, mode: read_mode(request.consistent_read) });
    }
    let mut seen = HashSet::new();
    match plans.iter().flat_map(|plan| &plan.keys).all(|key| seen.insert(key)) {
        true => Ok(plans),
        false => Err(Error::batch_duplicates()),
    }
}

fn wanted(engine: &Engine, request: &KeysAndAttributes) -> Result<Option<Projection>, Error> {
    let mut placeholders = placeholders(&request.expression_attribute_names, &None).map_err(read_error)?;
    let projection = match &request.attributes_to_get {
        Some(names) => Some(legacy::attributes_to_get(names)),
        None => engine
            .expressions
            .projection(request.projection_expression.as_deref(), &mut placeholders)
            .map_err(read_error)?,
    };
    placeholders.finish().map_err(read_error)?;
    Ok(projection)
}

/// How many bytes the answer may still take. Once something did not fit nothing does, so the keys that
/// come back are the last ones.
struct Room(Option<usize>);

impl Room {
    fn take(&mut self, size_bytes: usize) -> bool {
        self.0 = self.0.and_then(|room_bytes| room_bytes.checked_sub(size_bytes));
        self.0.is_some()
    }
}
