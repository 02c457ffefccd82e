//! BatchGetItem: up to 100 items of several tables by their keys. The answer holds up to 16 MB. Keys whose items
//! don't fit, or have no throughput left, come back with all that was asked of their table, to be sent again.

use std::collections::{BTreeMap, HashSet};

use api::limits::BATCH_GET_BYTES_MAX;
use api::{BatchGetItemInput, BatchGetItemOutput, Error, KeysAndAttributes, limits};
use expression::Projection;

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::ConsumedByTable;
use super::paging::read_mode;
use super::parameters::Parameters;
use super::{Kind, Serve, scalar_keys};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::fault;
use crate::base::units::Units;
use crate::operation::Engine;
use crate::read::items::{self, BatchFound, BatchRead};

pub(super) struct BatchGetItem;

impl Serve for BatchGetItem {
    type Input = BatchGetItemInput;
    type Output = BatchGetItemOutput;
    const KIND: Kind = Kind::Read;

    fn access<'r>(input: &'r BatchGetItemInput, _: &Namespace) -> Vec<Access<'r>> {
        input
            .request_items
            .iter()
            .map(|(name, request)| {
                let is_projected =
                    request.projection_expression.is_some() || request.attributes_to_get.is_some();
                Access::new("dynamodb:BatchGetItem", Resource::table(name)).with(Detail {
                    items: request.keys.iter().collect(),
                    listed: access::listed(request.attributes_to_get.as_ref(), []),
                    names: request.expression_attribute_names.as_ref(),
                    projection: request.projection_expression.as_deref(),
                    select: access::select(None, is_projected),
                    return_consumed_capacity: access::return_consumed_capacity(
                        input.return_consumed_capacity,
                    ),
                    ..Detail::default()
                })
            })
            .collect()
    }

    fn answer_size(input: &BatchGetItemInput) -> AnswerSize {
        let count = input.request_items.values().map(|table| table.keys.len()).sum();
        AnswerSize::of_items(count, BATCH_GET_BYTES_MAX)
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: BatchGetItemInput,
    ) -> Result<BatchGetItemOutput, Error> {
        input.check()?;
        let projections = projections(engine, &input.request_items)?;
        let reads = reads(engine, caller, &input.request_items)?;
        for (read, projection) in reads.iter().zip(&projections) {
            scalar_keys::check(&read.table, projection.iter().flat_map(Projection::paths))?;
        }

        let found =
            items::batch(engine, &reads, limits::BATCH_GET_BYTES_MAX).await.map_err(fault::of_store)?;

        let mut responses = BTreeMap::new();
        let mut unprocessed = BTreeMap::new();
        let mut consumed = ConsumedByTable::default();
        let mut throttled = None;
        let tables = reads.iter().zip(projections).zip(found);
        for (((read, projection), found), (name, request)) in tables.zip(input.request_items) {
            let mut items = Vec::new();
            let mut left = Vec::new();
            for (found, key) in found.into_iter().zip(request.keys) {
                match found {
                    BatchFound::Found(found) => {
                        consumed.add(&read.table, Units::of_table(found.units));
                        items.extend(found.item.map(|item| match &projection {
                            Some(projection) => projection.apply(item.as_ref()),
                            None => item,
                        }));
                    }
                    BatchFound::Throttled(refusal) => {
                        throttled = Some(refusal);
                        left.push(key);
                    }
                    BatchFound::NoRoom => left.push(key),
                }
            }
            if !left.is_empty() {
                unprocessed.insert(name.clone(), KeysAndAttributes { keys: left, ..request });
            }
            responses.insert(name, items);
        }
        if let Some(throttled) = throttled.filter(|_| consumed.is_empty()) {
            return Err(throttled.into());
        }
        Ok(BatchGetItemOutput {
            consumed_capacity: consumed.answer(input.return_consumed_capacity),
            responses: Some(responses),
            unprocessed_keys: Some(unprocessed),
        })
    }
}

/// The projections of all tables; they are judged before the first table is looked up.
fn projections(
    engine: &Engine,
    requests: &BTreeMap<String, KeysAndAttributes>,
) -> Result<Vec<Option<Projection>>, Error> {
    let projection = |request: &KeysAndAttributes| {
        let mut parameters = Parameters::of_read(engine, &request.expression_attribute_names, &None)?;
        let projection = parameters
            .projection(request.projection_expression.as_deref(), request.attributes_to_get.as_deref())?;
        parameters.finish()?;
        Ok(projection)
    };
    requests.values().map(projection).collect()
}

fn reads(
    engine: &Engine,
    caller: &Caller,
    requests: &BTreeMap<String, KeysAndAttributes>,
) -> Result<Vec<BatchRead>, Error> {
    let mut reads = Vec::with_capacity(requests.len());
    for (name, request) in requests {
        let table = engine.table(caller, name)?;
        let keys = request.keys.iter().map(|key| table.key_of(key.as_ref())).collect::<Result<_, _>>()?;
        let (attributes, mode) = (request.keys.clone(), read_mode(request.consistent_read));
        reads.push(BatchRead { table, keys, attributes, mode });
    }
    let mut seen = HashSet::new();
    match reads.iter().flat_map(|read| &read.keys).all(|key| seen.insert(key)) {
        true => Ok(reads),
        false => Err(Error::batch_duplicates()),
    }
}
