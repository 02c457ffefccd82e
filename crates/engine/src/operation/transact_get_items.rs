//! TransactGetItems: up to 100 items of several tables, as they are at one moment.

use std::collections::HashSet;
use std::sync::Arc;

use api::{Error, Get, ItemResponse, TransactGetItemsInput, TransactGetItemsOutput, limits};
use capacity::{ReadMode, read_units};
use expression::Projection;
use item::Item;
use store::{Consistency, Key};

use super::cancellation;
use super::consumed::{ConsumedByTable, Units};
use super::expressions::{placeholders, read_error};
use crate::admission::Place;
use crate::catalog::LiveTable;
use crate::{Caller, Engine, read};

pub async fn run(
    engine: &Engine,
    caller: &Caller,
    input: TransactGetItemsInput,
) -> Result<TransactGetItemsOutput, Error> {
    input.check()?;
    let gets: Vec<&Get> = input.transact_items.iter().map(|item| &item.get).collect();
    let projections = gets.iter().map(|get| wanted(engine, get)).collect::<Result<Vec<_>, Error>>()?;
    let (tables, keys) = plan(engine, caller, &gets)?;
    let (items, consumed) = read_all(engine, &tables, &keys).await?;
    let response = |(item, projection): (Option<Item>, &Option<Projection>)| ItemResponse {
        item: item.map(|item| match projection {
            Some(projection) => projection.apply(item.as_ref()),
            None => item,
        }),
    };
    let responses = items.into_iter().zip(&projections).map(response);
    Ok(TransactGetItemsOutput {
        consumed_capacity: consumed.answer_for_reads(input.return_consumed_capacity),
        responses: Some(responses.collect()),
    })
}

/// Distinct items as they are at one moment, each with the table that it is in.
pub(super) async fn read_all(
    engine: &Engine,
    tables: &[Arc<LiveTable>],
    keys: &[Key],
) -> Result<(Vec<Option<Item>>, ConsumedByTable), Error> {
    let conflicts = engine.transactions.conflicts(keys);
    if !conflicts.is_empty() {
        return Err(cancellation::of_conflicts(keys.len(), &conflicts));
    }
    let admit = |(table, key): (&Arc<LiveTable>, &Key)| engine.admit_read(table, Place::of_key(key));
    let admitted: Vec<Result<(), Error>> = tables.iter().zip(keys).map(admit).collect();
    if admitted.iter().any(Result::is_err) {
        return Err(cancellation::of_results(admitted));
    }
    // One call of the store, hence one moment.
    let items = read::items(&*engine.store, keys, Consistency::Latest).await?;
    let mut consumed = ConsumedByTable::default();
    let mut total_bytes = 0;
    for ((item, table), key) in items.iter().zip(tables).zip(keys) {
        let size_bytes = item.as_ref().map_or(0, Item::size_bytes);
        total_bytes += size_bytes;
        let units = read_units(size_bytes, ReadMode::Transactional);
        engine.charge_read(table, Place::of_key(key), units);
        consumed.add(table, Units::of_table(units));
    }
    match total_bytes > limits::TRANSACTION_BYTES_MAX {
        true => Err(Error::transaction_too_large()),
        false => Ok((items, consumed)),
    }
}

/// The table and key of each item. As in a transaction that writes, a key that doesn't fit its table
/// cancels, everything else refuses the request.
fn plan(engine: &Engine, caller: &Caller, gets: &[&Get]) -> Result<(Vec<Arc<LiveTable>>, Vec<Key>), Error> {
    let find = |get: &&Get| engine.table(caller, &get.table_name);
    let tables = gets.iter().map(find).collect::<Result<Vec<_>, Error>>()?;
    for (get, table) in gets.iter().zip(&tables) {
        table.keys.check_values(get.key.as_ref())?;
    }
    let keys: Vec<Result<Key, Error>> =
        gets.iter().zip(&tables).map(|(get, table)| table.key_of(get.key.as_ref())).collect();
    let mut seen = HashSet::new();
    if !keys.iter().flatten().all(|key| seen.insert(key)) {
        return Err(Error::transaction_items_not_distinct());
    }
    match keys.iter().all(Result::is_ok) {
        true => Ok((tables, keys.into_iter().flatten().collect())),
        false => Err(cancellation::of_results(keys)),
    }
}

fn wanted(engine: &Engine, get: &Get) -> Result<Option<Projection>, Error> {
    let mut placeholders = placeholders(&get.expression_attribute_names, &None).map_err(read_error)?;
    let text = get.projection_expression.as_deref();
    let projection = engine.expressions.projection(text, &mut placeholders).map_err(read_error)?;
    placeholders.finish().map_err(read_error)?;
    Ok(projection)
}
