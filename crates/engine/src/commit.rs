//! The only code that changes an item. Every write, whatever asks for it, is a [`Plan`]:
//!
//! | question | file |
//! |---|---|
//! | what is a write? | `plan.rs`; what its origin may skip is `base/origin.rs` |
//! | which item and which index rows does a write leave? | `decide.rs`: pure |
//! | what else belongs to the commit? | a companion (`companion.rs`): `change_records.rs`, `collection.rs`, `expiry.rs`, `idempotency.rs`, `last_writer_wins.rs` |
//! | which transactions are under way? | `transaction.rs` |
//! | which items does another Region write at the moment? | `replicated_writes.rs` |
//! | how is an expired item found and deleted? | `expiry.rs` |
//! | how much may large commits take? | `budget.rs` |
//! | how do reservation, commit and accounts go together? | `attempt.rs` |
//! | what did it do and cost? | `outcome.rs` |
//!
//! [`apply`] carries out one plan, [`apply_each`] several of which each may fail by itself, [`transact`]
//! several together, [`apply_current`] together those that are not outdated. [`dry_run`] only decides.
//!
//! What always holds: if a write fails, nothing of it was written.

mod attempt;
mod budget;
mod change_records;
pub mod collection;
pub mod companion;
pub mod decide;
pub mod expiry;
pub mod idempotency;
mod last_writer_wins;
mod outcome;
mod plan;
mod replicated_writes;
pub mod transaction;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::Operation;
use capacity::{Access, ReadMode, TRANSACTION_FACTOR, read_units};
use futures_util::future::join_all;
use store::turns::Slices;
use store::{Key, Space, StoreError};

use crate::base::expressions::Expressions;
use crate::commit::idempotency::{Earlier, Token};
use crate::commit::transaction::{BeginError, Transactions};
use crate::log::Logs;
use crate::tables::catalog::LiveTable;
use crate::throughput::admission::{Target, Use, parts};
use crate::throughput::usage::Ending;
use attempt::{Attempted, attempt};
use budget::{CommitBudget, SEVERAL_BYTES_MAX, TRANSACTION_BYTES_MAX, next_commit, row_bytes};
use replicated_writes::{Meeting, ReplicatedWrites};

pub use attempt::dry_run;
pub use decide::Refusal;
pub use outcome::Outcome;
pub use plan::{Change, Plan};

/// What this room shares with those above it.
pub struct Commits {
    pub(crate) logs: Arc<Logs>,
    pub(crate) transactions: Transactions,
    pub(crate) replicated_writes: ReplicatedWrites,
    pub(crate) budget: CommitBudget,
    pub(crate) expressions: Expressions,
    /// How large an item collection may grow.
    pub(crate) item_collection_bytes_max: u64,
    /// How long an expired item stays before it is deleted.
    pub(crate) expiry_delay: Duration,
    /// By how much the clocks of Regions differ from that of the process, in milliseconds.
    pub(crate) region_clocks: BTreeMap<String, i64>,
}

impl std::ops::Deref for Commits {
    type Target = Arc<Logs>;

    fn deref(&self) -> &Arc<Logs> {
        &self.logs
    }
}

impl Commits {
    /// By how much the clock of a Region differs, in microseconds.
    pub(crate) fn clock_offset_us(&self, region: &str) -> i64 {
        self.region_clocks.get(region).map_or(0, |offset_ms| offset_ms.saturating_mul(1000))
    }
}

/// What a write outside of a transaction pays for each unit of its table.
pub const PLAIN_FACTOR: f64 = 1.0;

/// Why plans got no result, and nothing is known to have been written.
#[derive(Clone, Debug)]
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
    /// The items, their rows in indexes and what is recorded of them are too many bytes for one commit.
    TooLarge {
        bytes: usize,
        bytes_max: usize,
    },
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
pub async fn apply(commits: &Commits, operation: Operation, plan: &mut Plan) -> Result<Outcome, WriteError> {
    let began = commits.usage.moment();
    let result = apply_one(commits, Some(operation), plan).await;
    let ended = (began, commits.usage.moment());
    commits.usage.request(&plan.table, operation, ending(&result), None, ended);
    result
}

async fn apply_one(
    commits: &Commits,
    operation: Option<Operation>,
    plan: &mut Plan,
) -> Result<Outcome, WriteError> {
    if is_in_transaction(commits, plan) {
        return Err(WriteError::Refused(Refusal::TransactionConflict));
    }
    let plans = std::slice::from_mut(plan);
    let met = |Meeting| WriteError::Refused(Refusal::ReplicatedWriteConflict);
    let _writing = commits.replicated_writes.begin(plans).map_err(met)?;
    let attempted = attempt(commits, operation, plans, None, PLAIN_FACTOR, usize::MAX).await;
    match attempted.map_err(WriteError::Failed)? {
        Attempted::Decided(mut results) => results.pop().expect("one plan, one result").map_err(|refusal| {
            charge_refused(commits, operation, plan, &refusal);
            WriteError::Refused(refusal)
        }),
        Attempted::Earlier(_) => unreachable!("there is no token"),
        Attempted::TooLarge { .. } => unreachable!("there is no bound"),
    }
}

/// Carries out plans for distinct items, each by itself. Usually all succeed, and one commit does for all of
/// them, or some if they are large; if any would fail, or if they turn out to be too large together, each gets a commit of
/// its own. The outer error is that of all
/// of them. The engine's own writes have no operation.
pub async fn apply_each(
    commits: &Commits,
    operation: Option<Operation>,
    plans: &mut [Plan],
) -> Result<Vec<Result<Outcome, WriteError>>, Failure> {
    let began = commits.usage.moment();
    let results = apply_all(commits, operation, plans).await;
    if let Some(operation) = operation {
        let ended = (began, commits.usage.moment());
        for table in tables(plans) {
            let of_table = |results: &Vec<Result<Outcome, WriteError>>| {
                let results =
                    plans.iter().zip(results).filter(|(plan, _)| plan.table.space() == table.space());
                batch_ending(results.map(|(_, result)| ending(result)))
            };
            let ending = results.as_ref().map_or(Ending::Failed, of_table);
            commits.usage.request(table, operation, ending, None, ended);
        }
    }
    results
}

/// A failure ends it: what was not tried by then has the same result.
async fn apply_all(
    commits: &Commits,
    operation: Option<Operation>,
    plans: &mut [Plan],
) -> Result<Vec<Result<Outcome, WriteError>>, Failure> {
    let (mut results, mut rest) = (Vec::with_capacity(plans.len()), plans);
    while !rest.is_empty() {
        let (next, later) = rest.split_at_mut(next_commit(rest));
        match apply_together(commits, operation, next).await {
            Ok(done) => results.extend(done),
            Err(failure) if results.is_empty() => return Err(failure),
            Err(failure) => {
                let failed = || Err(WriteError::Failed(failure.clone()));
                results.extend(std::iter::repeat_with(failed).take(next.len() + later.len()));
                return Ok(results);
            }
        }
        if !later.is_empty() {
            Slices::begin().spend(row_bytes(next)).await;
        }
        rest = later;
    }
    Ok(results)
}

async fn apply_together(
    commits: &Commits,
    operation: Option<Operation>,
    plans: &mut [Plan],
) -> Result<Vec<Result<Outcome, WriteError>>, Failure> {
    if !plans.iter().any(|plan| is_in_transaction(commits, plan))
        && let Ok(_writing) = commits.replicated_writes.begin(plans)
        && let Attempted::Decided(results) =
            attempt(commits, operation, plans, None, PLAIN_FACTOR, SEVERAL_BYTES_MAX.max(row_bytes(plans)))
                .await?
        && results.iter().all(Result::is_ok)
    {
        return Ok(results.into_iter().map(|result| result.map_err(WriteError::Refused)).collect());
    }
    // Concurrently, so that one sync of the store makes many of them durable.
    Ok(join_all(plans.iter_mut().map(|plan| apply_one(commits, operation, plan))).await)
}

/// Carries out plans of a replica for distinct items in one commit, except for those that are outdated. If another one is
/// refused, none is carried out.
pub async fn apply_current(commits: &Commits, mut plans: Vec<Plan>) -> Result<Result<(), Refusal>, Failure> {
    // Each further attempt has fewer plans.
    while !plans.is_empty() {
        let results = match attempt(commits, None, &mut plans, None, PLAIN_FACTOR, usize::MAX).await? {
            Attempted::Decided(results) => results,
            Attempted::Earlier(_) => unreachable!("there is no token"),
            Attempted::TooLarge { .. } => unreachable!("there is no bound"),
        };
        let is_current: Vec<bool> =
            results.iter().map(|result| !matches!(result, Err(Refusal::Outdated))).collect();
        if is_current.iter().all(|is_current| *is_current) {
            return Ok(results.into_iter().try_for_each(|result| result.map(drop)));
        }
        let mut is_current = is_current.into_iter();
        plans.retain(|_| is_current.next().unwrap_or(true));
    }
    Ok(Ok(()))
}

/// Carries out plans for distinct items together: all of them, or none. With a token, they are carried out
/// once.
pub async fn transact(
    commits: &Commits,
    operation: Operation,
    plans: &mut [Plan],
    token: Option<&Token>,
) -> Result<Transacted, TransactError> {
    let began = commits.usage.moment();
    let result = transact_all(commits, operation, plans, token).await;
    let ended = (began, commits.usage.moment());
    for table in tables(plans) {
        commits.usage.request(table, operation, transaction_ending(&result, plans, table), None, ended);
    }
    result
}

async fn transact_all(
    commits: &Commits,
    operation: Operation,
    plans: &mut [Plan],
    token: Option<&Token>,
) -> Result<Transacted, TransactError> {
    let keys: Vec<Key> = plans.iter().map(|plan| plan.key.clone()).collect();
    let _under_way = commits.transactions.begin(keys, token).map_err(|error| match error {
        BeginError::Conflicts(positions) => TransactError::Conflicts(positions),
        BeginError::InProgress => TransactError::InProgress,
    })?;
    let attempted =
        attempt(commits, Some(operation), plans, token, TRANSACTION_FACTOR, TRANSACTION_BYTES_MAX).await;
    match attempted.map_err(TransactError::Failed)? {
        Attempted::Decided(results) if results.iter().any(Result::is_err) => {
            for (plan, result) in plans.iter().zip(&results) {
                if let Err(refusal) = result {
                    charge_refused(commits, Some(operation), plan, refusal);
                }
            }
            Err(TransactError::Refused(results))
        }
        Attempted::Decided(results) => Ok(Transacted::Now(results.into_iter().flatten().collect())),
        Attempted::Earlier(earlier) => match token.is_some_and(|token| token.is_of(&earlier)) {
            true => {
                charge_earlier(commits, operation, plans, &earlier);
                Ok(Transacted::Earlier(earlier))
            }
            false => Err(TransactError::TokenReused),
        },
        Attempted::TooLarge { bytes } => {
            Err(TransactError::TooLarge { bytes, bytes_max: TRANSACTION_BYTES_MAX })
        }
    }
}

/// Charges a plan whose condition was false, which costs as much as if it had been true, and reports one that was
/// throttled. Other refusals are free.
fn charge_refused(commits: &Commits, operation: Option<Operation>, plan: &Plan, refusal: &Refusal) {
    if !plan.origin.uses_throughput() || commits.usage.is_off() {
        return;
    }
    let (table, attributes, now) = (&*plan.table, plan.attributes(), commits.usage.moment());
    let use_of = Use { operation, table, access: Access::Write, attributes, previous: None, now };
    match refusal {
        Refusal::ConditionFailed { units, .. } | Refusal::Exists { units } => {
            commits.usage.charge(use_of, &parts(table, std::iter::once((Target::of_key(&plan.key), *units))));
        }
        Refusal::Throttled(throttled) => commits.usage.report_refusal(use_of, &plan.key, throttled),
        _ => {}
    }
}

/// Charges a transaction that was carried out before: it costs as much as reading its items.
fn charge_earlier(commits: &Commits, operation: Operation, plans: &[Plan], earlier: &Earlier) {
    let now = commits.usage.moment();
    for (plan, size_bytes) in plans.iter().zip(&earlier.sizes_bytes) {
        let (table, attributes) = (&*plan.table, plan.attributes());
        let (operation, access) = (Some(operation), Access::Read);
        let use_of = Use { operation, table, access, attributes, previous: None, now };
        let units = read_units(*size_bytes, ReadMode::Transactional);
        commits.usage.charge(use_of, &parts(table, std::iter::once((Target::of_key(&plan.key), units))));
    }
}

/// The tables of plans, each once.
fn tables(plans: &[Plan]) -> impl Iterator<Item = &LiveTable> {
    let mut seen: Vec<Space> = Vec::new();
    plans.iter().map(|plan| &*plan.table).filter(move |table| {
        let is_new = !seen.contains(&table.space());
        seen.extend(is_new.then(|| table.space()));
        is_new
    })
}

fn ending(result: &Result<Outcome, WriteError>) -> Ending {
    match result {
        Ok(_) => Ending::Served,
        Err(WriteError::Refused(refusal)) => refusal_ending(refusal),
        Err(WriteError::Failed(Failure::TableGone)) => Ending::Refused,
        Err(WriteError::Failed(Failure::Store(_))) => Ending::Failed,
    }
}

fn refusal_ending(refusal: &Refusal) -> Ending {
    match refusal {
        Refusal::ConditionFailed { .. } => Ending::ConditionFailed,
        Refusal::Throttled(_) => Ending::Throttled,
        Refusal::TransactionConflict => Ending::Conflict { items: 1 },
        _ => Ending::Refused,
    }
}

/// Any part that was served counts for the whole; otherwise the first one does.
fn batch_ending(mut endings: impl Iterator<Item = Ending>) -> Ending {
    let first = endings.next().unwrap_or(Ending::Served);
    if endings.any(|ending| ending == Ending::Served) { Ending::Served } else { first }
}

fn transaction_ending(
    result: &Result<Transacted, TransactError>,
    plans: &[Plan],
    table: &LiveTable,
) -> Ending {
    let is_of_table = |position: &usize| plans[*position].table.space() == table.space();
    match result {
        Ok(_) => Ending::Served,
        Err(TransactError::Conflicts(positions)) => {
            Ending::Conflict { items: positions.iter().filter(|position| is_of_table(position)).count() }
        }
        Err(TransactError::Refused(results)) => {
            let refusals = results.iter().enumerate().filter(|(position, _)| is_of_table(position));
            let mut endings = refusals.filter_map(|(_, result)| result.as_ref().err()).map(refusal_ending);
            endings.next().unwrap_or(Ending::Refused)
        }
        Err(TransactError::InProgress | TransactError::TokenReused | TransactError::TooLarge { .. }) => {
            Ending::Refused
        }
        Err(TransactError::Failed(Failure::TableGone)) => Ending::Refused,
        Err(TransactError::Failed(Failure::Store(_))) => Ending::Failed,
    }
}

fn is_in_transaction(commits: &Commits, plan: &Plan) -> bool {
    plan.origin.meets_transactions() && commits.transactions.hold(&plan.key)
}

#[cfg(test)]
mod tests;
