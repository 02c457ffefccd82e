//! BatchWriteItem: puts and deletes of up to 25 items of several tables. Each is a write of its own; what
//! makes the call invalid is found before the first of them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use api::{BatchWriteItemInput, BatchWriteItemOutput, Error, ErrorKind, Operation, WriteRequest};

use super::answer_size::AnswerSize;
use super::authorization::access::{self, Access, Detail, Resource};
use super::consumed::{ConsumedByTable, written};
use super::item_collection::MetricsByTable;
use super::{Kind, Serve};
use crate::Namespace;
use crate::base::caller::Caller;
use crate::base::index;
use crate::commit::{self, Change, Plan};
use crate::operation::Engine;
use crate::tables::catalog::LiveTable;

pub(super) struct BatchWriteItem;

impl Serve for BatchWriteItem {
    type Input = BatchWriteItemInput;
    type Output = BatchWriteItemOutput;
    const KIND: Kind = Kind::Write;

    fn access<'r>(input: &'r BatchWriteItemInput, _: &Namespace) -> Vec<Access<'r>> {
        input
            .request_items
            .iter()
            .map(|(name, writes)| {
                let puts = writes.iter().filter_map(|write| write.put_request.as_ref()).map(|put| &put.item);
                let deletes =
                    writes.iter().filter_map(|write| write.delete_request.as_ref()).map(|it| &it.key);
                Access::new("dynamodb:BatchWriteItem", Resource::table(name)).with(Detail {
                    items: puts.chain(deletes).collect(),
                    return_consumed_capacity: access::return_consumed_capacity(
                        input.return_consumed_capacity,
                    ),
                    ..Detail::default()
                })
            })
            .collect()
    }

    fn answer_size(_: &BatchWriteItemInput) -> AnswerSize {
        // At worst it gives back what it was given.
        AnswerSize::Small
    }

    async fn run(
        engine: &Engine,
        caller: &Caller,
        input: BatchWriteItemInput,
    ) -> Result<BatchWriteItemOutput, Error> {
        input.check()?;
        let mut plans = Vec::new();
        let mut requests = Vec::new();
        for (name, writes) in input.request_items {
            let table = engine.table(caller, &name)?;
            for request in writes {
                plans.push(plan(&table, &request)?);
                requests.push((name.clone(), request));
            }
        }
        let keys: HashSet<_> = plans.iter().map(|plan| &plan.key).collect();
        if keys.len() < plans.len() {
            return Err(Error::batch_duplicates());
        }

        let outcomes = commit::apply_each(engine, Some(Operation::BatchWriteItem), &mut plans).await?;

        let mut consumed = ConsumedByTable::default();
        let mut collections = MetricsByTable::default();
        let mut unprocessed: BTreeMap<String, Vec<WriteRequest>> = BTreeMap::new();
        let mut failure = None;
        for ((plan, outcome), (name, request)) in plans.iter().zip(outcomes).zip(requests) {
            match outcome.map_err(Error::from) {
                Ok(outcome) => {
                    collections.add(input.return_item_collection_metrics, &name, &plan.table, &outcome);
                    consumed.add(&plan.table, written(plan, &outcome));
                }
                Err(error) if may_succeed_later(&error) => {
                    unprocessed.entry(name).or_default().push(request);
                    // After a fault it is unknown whether the write was made, so it outweighs a refusal.
                    let known = failure.as_ref().map(|earlier: &Error| earlier.kind);
                    if known != Some(ErrorKind::InternalServerError) {
                        failure = Some(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        match failure {
            Some(error) if consumed.is_empty() => Err(error),
            _ => Ok(BatchWriteItemOutput {
                consumed_capacity: consumed.answer(input.return_consumed_capacity),
                item_collection_metrics: collections.answer(),
                unprocessed_items: Some(unprocessed),
            }),
        }
    }
}

/// For every wrong key the error is that it doesn't match the schema, where PutItem is more precise.
fn plan(table: &Arc<LiveTable>, request: &WriteRequest) -> Result<Plan, Error> {
    let (key, change) = match (&request.put_request, &request.delete_request) {
        (Some(put), _) => {
            index::check(table, None, put.item.as_ref())?;
            (table.keys.pick(put.item.as_ref()), Change::Put(put.item.clone()))
        }
        (None, Some(delete)) => (delete.key.clone(), Change::Delete { key_attributes: delete.key.clone() }),
        (None, None) => return Err(Error::key_schema_mismatch()),
    };
    let key = table.key_of(key.as_ref())?;
    Ok(Plan::of_client(table.clone(), key, change))
}

/// Whether the request comes back as unprocessed, for the client to send it again.
fn may_succeed_later(error: &Error) -> bool {
    matches!(
        error.kind,
        ErrorKind::InternalServerError
            | ErrorKind::ServiceUnavailable
            | ErrorKind::TransactionConflict
            | ErrorKind::ReplicatedWriteConflict
            | ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling
    )
}
