//! TransactGetItems: up to 100 items of several tables, as they are at one moment.

use std::collections::HashSet;
use std::sync::Arc;

use api::limits::TRANSACTION_BYTES_MAX;
use api::{Error, Get, ItemResponse, Operation, TransactGetItemsInput, TransactGetItemsOutput};
use expression::Projection;
use item::Item;
use store::Key;

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::cancellation;
use super::consumed::ConsumedByTable;
use super::parameters::Parameters;
use super::transact_write_items::check_not_strong;
use super::{Kind, Serve, scalar_keys};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::key::KeyError;
use crate::base::units::Units;
use crate::operation::Engine;
use crate::read::items::{self, Asked, TransactReadError};
use crate::tables::catalog::LiveTable;

pub(super) struct TransactGetItems;

impl Serve for TransactGetItems {
    type Input = TransactGetItemsInput;
    type Output = TransactGetItemsOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r TransactGetItemsInput, _: &Namespace) -> Vec<Access<'r>> {
        input
            .transact_items
            .iter()
            .map(|item| {
                let get = &item.get;
                Access::new("dynamodb:GetItem", Resource::table(&get.table_name)).with(Detail {
                    items: vec![&get.key],
                    names: get.expression_attribute_names.as_ref(),
                    projection: get.projection_expression.as_deref(),
                    select: access::select(None, get.projection_expression.is_some()),
                    return_consumed_capacity: access::return_consumed_capacity(
                        input.return_consumed_capacity,
                    ),
                    enclosing_operation: Some("TransactGetItems"),
                    ..Detail::default()
                })
            })
            .collect()
    }

    fn answer_size(input: &TransactGetItemsInput) -> AnswerSize {
        AnswerSize::of_items(input.transact_items.len(), TRANSACTION_BYTES_MAX)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: TransactGetItemsInput,
    ) -> Result<TransactGetItemsOutput, Error> {
        input.check()?;
        let gets: Vec<&Get> = input.transact_items.iter().map(|item| &item.get).collect();
        let projections =
            gets.iter().map(|get| projection(engine, get)).collect::<Result<Vec<_>, Error>>()?;
        let (tables, keys) = plan(engine, caller, &gets)?;
        for (table, projection) in tables.iter().zip(&projections) {
            scalar_keys::check(table, projection.iter().flat_map(Projection::paths))?;
        }
        let pairs = gets.iter().zip(&tables).zip(&keys);
        let asked: Vec<Asked<'_>> =
            pairs.map(|((get, table), key)| Asked { table, key, attributes: get.key.as_ref() }).collect();
        let (items, consumed) = read_all(engine, Operation::TransactGetItems, &tables, &asked).await?;
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
}

/// Distinct items as they are at one moment, each with the table that it is in.
pub(super) async fn read_all(
    engine: &Engine,
    operation: Operation,
    tables: &[Arc<LiveTable>],
    asked: &[Asked<'_>],
) -> Result<(Vec<Option<Item>>, ConsumedByTable), Error> {
    check_not_strong(tables.iter().map(|table| &**table))?;
    let found = items::transact(engine, operation, asked).await.map_err(|error| match error {
        TransactReadError::Conflicts(positions) => cancellation::of_conflicts(asked.len(), &positions),
        TransactReadError::Throttled(results) => cancellation::of_results(results),
        TransactReadError::TooLarge => Error::transaction_too_large(),
        TransactReadError::Store(error) => fault::of_store(error),
    })?;
    let mut consumed = ConsumedByTable::default();
    for (found, table) in found.iter().zip(tables) {
        consumed.add(table, Units::of_table(found.units));
    }
    Ok((found.into_iter().map(|found| found.item).collect(), consumed))
}

/// The table and key of each item. As in a transaction that writes, a key that doesn't fit its table
/// cancels, everything else refuses the request.
fn plan(engine: &Engine, caller: &Caller, gets: &[&Get]) -> Result<(Vec<Arc<LiveTable>>, Vec<Key>), Error> {
    let find = |get: &&Get| engine.table(caller, &get.table_name);
    let tables = gets.iter().map(find).collect::<Result<Vec<_>, Error>>()?;
    for (get, table) in gets.iter().zip(&tables) {
        table.keys.check_values(get.key.as_ref())?;
    }
    let keys: Vec<Result<Key, KeyError>> =
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

fn projection(engine: &Engine, get: &Get) -> Result<Option<Projection>, Error> {
    let mut parameters = Parameters::of_read(engine, &get.expression_attribute_names, &None)?;
    let projection = parameters.projection(get.projection_expression.as_deref(), None)?;
    parameters.finish()?;
    Ok(projection)
}
