//! What a write would do and cost, without doing it. No operation of DynamoDB: the studio asks before it writes.
//!
//! The plans are those of the operation, the decision is that of the write, and the caller needs the same permission. The
//! answer is about the items that are stored now. What passes by itself is left out: no throughput is asked for, no
//! transaction is met, no injected fault strikes, and a client request token is ignored. Nothing is written, charged or
//! counted.

use api::{ConsumedCapacity, Error, Request, ReturnConsumedCapacity};
use capacity::{RowChange, TRANSACTION_FACTOR};
use futures_util::future::BoxFuture;

use super::consumed::{consumed, written};
use super::{cancellation, delete_item, put_item, transact_write_items, update_item};
use crate::base::caller::Caller;
use crate::commit::{self, Outcome, PLAIN_FACTOR, Plan, Transacted};
use crate::operation::Engine;

/// What a write would do and cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DryRun {
    /// What the write would answer for `ReturnConsumedCapacity: INDEXES`: one for each table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
    /// What would happen to index rows, in the order of the request's items and then of the table's indexes.
    pub index_changes: Vec<IndexRowChange>,
}

/// What a write would do to the row that one item has in one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRowChange {
    pub table: String,
    pub index: String,
    pub change: RowChange,
}

impl Engine {
    /// What PutItem, UpdateItem, DeleteItem or TransactWriteItems would do and cost now, or the error that it would
    /// answer.
    pub fn dry_run<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<DryRun, Error>> {
        Box::pin(async move {
            self.check_member().await?;
            self.authorize(caller, request)?;
            match request {
                Request::PutItem(input) => self.dry_run_one(put_item::plan(self, caller, input)?).await,
                Request::UpdateItem(input) => self.dry_run_one(update_item::plan(self, caller, input)?).await,
                Request::DeleteItem(input) => self.dry_run_one(delete_item::plan(self, caller, input)?).await,
                Request::TransactWriteItems(input) => {
                    self.dry_run_all(transact_write_items::plans(self, caller, input)?).await
                }
                other => Err(Error::validation(format!("{} has no dry run", other.operation().name()))),
            }
        })
    }

    async fn dry_run_one(&self, mut plan: Plan) -> Result<DryRun, Error> {
        let results = commit::dry_run(self, std::slice::from_mut(&mut plan), PLAIN_FACTOR).await?;
        let outcomes = results.into_iter().collect::<Result<Vec<Outcome>, _>>()?;
        let consumed = outcomes.iter().filter_map(|outcome| {
            consumed(Some(ReturnConsumedCapacity::Indexes), &plan.table, &written(&plan, outcome))
        });
        Ok(DryRun {
            consumed_capacity: consumed.collect(),
            index_changes: index_changes(std::slice::from_ref(&plan), &outcomes),
        })
    }

    async fn dry_run_all(&self, mut plans: Vec<Plan>) -> Result<DryRun, Error> {
        let results = commit::dry_run(self, &mut plans, TRANSACTION_FACTOR).await?;
        if results.iter().any(Result::is_err) {
            return Err(cancellation::of_results(results));
        }
        let outcomes: Vec<Outcome> = results.into_iter().flatten().collect();
        let index_changes = index_changes(&plans, &outcomes);
        let asked = Some(ReturnConsumedCapacity::Indexes);
        let consumed = transact_write_items::consumed(&Transacted::Now(outcomes), &plans, asked);
        Ok(DryRun { consumed_capacity: consumed.into_iter().flatten().collect(), index_changes })
    }
}

fn index_changes(plans: &[Plan], outcomes: &[Outcome]) -> Vec<IndexRowChange> {
    let mut changes = Vec::new();
    for (plan, outcome) in plans.iter().zip(outcomes) {
        let of_item = outcome.changed_indexes(&plan.table).map(|(index, done)| IndexRowChange {
            table: plan.table.name.clone(),
            index: index.name.clone(),
            change: done.change,
        });
        changes.extend(of_item);
    }
    changes
}
