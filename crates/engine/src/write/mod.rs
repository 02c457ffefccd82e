//! The only code that changes an item. Every write, whatever asks for it, is a [`Plan`]:
//!
//! | question | file |
//! |---|---|
//! | what is a write, and what may its origin skip? | `plan.rs` |
//! | what becomes of the item and its index rows? | `decide.rs`: pure |
//! | what else belongs to the commit? | `companion.rs` |
//! | how do reservation, commit and accounts go together? | `attempt.rs` |
//! | what did it do and cost? | `outcome.rs` |
//!
//! [`apply`] carries out one plan, [`apply_each`] several of which each may fail by itself, [`transact`]
//! several together.
//!
//! What always holds: if a write fails, nothing of it was written.

mod attempt;
pub mod companion;
pub mod decide;
mod outcome;
mod plan;

use capacity::TRANSACTION_FACTOR;
use futures_util::future::join_all;
use store::{Key, StoreError};

use crate::idempotency::{Earlier, Token};
use crate::shared::Core;
use crate::transaction::BeginError;
use attempt::{Attempted, attempt};

pub use decide::Refusal;
pub use outcome::Outcome;
pub use plan::{Change, Origin, Plan};

/// What a write outside of a transaction pays for each unit of its table.
pub const PLAIN_FACTOR: f64 = 1.0;

/// Why plans got no result, and nothing is known to have been written.
#[derive(Debug)]
pub enum Failure {
    /// A table of theirs was dropped in the meantime.
    TableGone,
    /// The store failed.
    Store(StoreError),
}

/// Why one plan was not carried out.
#[derive(Debug)]
pub enum WriteError {
    /// The plan does not fit the item, the table or what happens beside it.
    Refused(Refusal),
    Failed(Failure),
}

/// Why a transaction was not carried out.
#[derive(Debug)]
pub enum TransactError {
    /// Other transactions are under way on the items of the plans at these positions.
    Conflicts(Vec<usize>),
    /// The same client request token is in use by a transaction under way.
    InProgress,
    /// The client request token was used before, for another request.
    TokenReused,
    /// At least one plan was refused.
    Refused(Vec<Result<Outcome, Refusal>>),
    Failed(Failure),
}

/// What came of a transaction that was carried out.
pub enum Transacted {
    /// The outcome of each plan.
    Now(Vec<Outcome>),
    /// The same request had been carried out before.
    Earlier(Earlier),
}

/// Carries out one plan.
pub async fn apply(engine: &Core, plan: &mut Plan) -> Result<Outcome, WriteError> {
    if is_in_transaction(engine, plan) {
        return Err(WriteError::Refused(Refusal::TransactionConflict));
    }
    let plans = std::slice::from_mut(plan);
    match attempt(engine, plans, None, PLAIN_FACTOR).await.map_err(WriteError::Failed)? {
        Attempted::Decided(mut results) => {
            results.pop().expect("one plan, one result").map_err(WriteError::Refused)
        }
        Attempted::Earlier(_) => unreachable!("there is no token"),
    }
}

/// Carries out plans for distinct items, each by itself. Usually all succeed, and one commit does for all of
/// them; if any would fail, each gets a commit of its own. The outer error is that of all of them.
pub async fn apply_each(
    engine: &Core,
    plans: &mut [Plan],
) -> Result<Vec<Result<Outcome, WriteError>>, Failure> {
    if !plans.iter().any(|plan| is_in_transaction(engine, plan))
        && let Attempted::Decided(results) = attempt(engine, plans, None, PLAIN_FACTOR).await?
        && results.iter().all(Result::is_ok)
    {
        return Ok(results.into_iter().map(|result| result.map_err(WriteError::Refused)).collect());
    }
    // Concurrently, so that one sync of the store makes many of them durable.
    Ok(join_all(plans.iter_mut().map(|plan| apply(engine, plan))).await)
}

/// Carries out plans for distinct items together: all of them, or none. With a token, they are carried out
/// once.
pub async fn transact(
    engine: &Core,
    plans: &mut [Plan],
    token: Option<&Token>,
) -> Result<Transacted, TransactError> {
    let keys: Vec<Key> = plans.iter().map(|plan| plan.key.clone()).collect();
    let _under_way = engine.transactions.begin(keys, token).map_err(|error| match error {
        BeginError::Conflicts(positions) => TransactError::Conflicts(positions),
        BeginError::InProgress => TransactError::InProgress,
    })?;
    match attempt(engine, plans, token, TRANSACTION_FACTOR).await.map_err(TransactError::Failed)? {
        Attempted::Decided(results) if results.iter().any(Result::is_err) => {
            Err(TransactError::Refused(results))
        }
        Attempted::Decided(results) => Ok(Transacted::Now(results.into_iter().flatten().collect())),
        Attempted::Earlier(earlier) => match token.is_some_and(|token| token.is_of(&earlier)) {
            true => Ok(Transacted::Earlier(earlier)),
            false => Err(TransactError::TokenReused),
        },
    }
}

fn is_in_transaction(engine: &Core, plan: &Plan) -> bool {
    plan.origin.meets_transactions() && engine.transactions.hold(&plan.key)
}

#[cfg(test)]
mod tests;
