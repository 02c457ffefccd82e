//! One attempt to carry out plans: one `update` of the store, with all that surrounds it.
//!
//! 1. A large commit waits for room.
//! 2. The gates of the tables are entered, so that no table changes under the plans.
//! 3. Throughput is reserved.
//! 4. The store locks the rows, asks for the decision and commits it. A commit that turns out to need more room than it
//!    has begins again.
//! 5. The reservation is settled, and the sizes of tables and indexes are adjusted.
//!
//! Steps 3 and 5 belong together however step 4 ends: a reservation that is dropped gives back what it held,
//! and an adjustment that is dropped marks the sizes as uncertain.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use api::Operation;
use capacity::Access;
use item::Item;
use store::{Consistency, Key};
use tokio::sync::OwnedRwLockReadGuard;

use super::Failure;
use super::budget::row_bytes;
use super::companion::{self, Companion, Stop};
use super::decide::{Question, Refusal};
use super::outcome::Outcome;
use super::plan::Plan;
use crate::commit::Commits;
use crate::commit::idempotency::{Earlier, Token};
use crate::tables::catalog::LiveTable;
use crate::throughput::admission::{self, Headroom, MeteredTable, Target, Use};
use crate::throughput::usage::unmetered;

/// What came of an attempt.
pub enum Attempted {
    /// All plans were carried out, or none if any was refused. In that case the outcomes of the others are
    /// what would have been.
    Decided(Vec<Result<Outcome, Refusal>>),
    /// None was carried out: the token was used before.
    Earlier(Earlier),
    /// None was carried out: their rows, of this size, are more than the commit may have.
    TooLarge { bytes: usize },
}

/// Carries out plans for distinct items in one commit: all of them, or none. Each unit of a table counts
/// `factor` times. The rows may have up to `bytes_max`.
pub async fn attempt(
    commits: &Commits,
    operation: Option<Operation>,
    plans: &mut [Plan],
    token: Option<&Token>,
    factor: f64,
    bytes_max: usize,
) -> Result<Attempted, Failure> {
    let mut bytes = row_bytes(plans);
    // Each further try has at least twice the room of the one before, and one with the whole budget has no other bound.
    loop {
        // Taken outside the gates: a change of a table waits for those inside, and all later writes wait for the change.
        let room = commits.budget.take(bytes).await;
        let within = room.bytes_max.min(bytes_max);
        match attempt_within(commits, operation, plans, token, factor, within).await? {
            Attempted::TooLarge { bytes: needed } if needed <= bytes_max => bytes = needed.max(2 * bytes),
            other => return Ok(other),
        }
    }
}

/// One try, whose rows may have up to `bytes_max`.
async fn attempt_within(
    commits: &Commits,
    operation: Option<Operation>,
    plans: &mut [Plan],
    token: Option<&Token>,
    factor: f64,
    bytes_max: usize,
) -> Result<Attempted, Failure> {
    let _gates = enter(commits, plans).await?;
    let plans = &*plans;
    let companions = companions(commits, plans, token);
    let keys = keys(plans, &companions);
    debug_assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len(), "keys are distinct");
    let reservation = commits.usage.reserve(least_charges(plans, factor));
    let question =
        Question { plans, companions: &companions, headroom: reservation.headroom(), factor, bytes_max };
    let adjustment = SizeAdjustment::pending(plans);
    let (mut decided, mut recorded_bytes) = (None, 0);
    commits.check_log_size(plans.iter().map(|plan| &*plan.table)).map_err(Failure::Store)?;
    commits
        .store
        .update(&keys, &mut |rows| {
            assert_eq!(rows.len(), keys.len(), "a row for each key");
            let decision = question.decide(rows);
            recorded_bytes = decision.writes.appends.iter().map(|(_, record)| record.len() as u64).sum();
            // Only here are the rows known before they can be read. A note too many, because the store asks again or
            // the commit fails, only makes searches read a row more.
            commits.sketches.note(&decision.writes);
            decided = Some(decision.results);
            decision.writes
        })
        .await
        .map_err(Failure::Store)?;
    // The store may have asked more than once; it has committed the last answer.
    let results = match decided.expect("the store asks before it commits") {
        Ok(results) => results,
        Err(Stop::Earlier(earlier)) => {
            adjustment.settle(&[]);
            return Ok(Attempted::Earlier(earlier));
        }
        Err(Stop::TooLarge { bytes }) => {
            adjustment.settle(&[]);
            return Ok(Attempted::TooLarge { bytes });
        }
        Err(Stop::Unreadable(error)) => return Err(Failure::Store(error)),
    };
    // One refusal means that nothing was committed.
    if results.iter().all(Result::is_ok) {
        reservation.settle();
        charge(commits, operation, plans, &results, factor);
        adjustment.settle(&results);
        if recorded_bytes > 0 {
            commits.note_changes(plans.iter().map(|plan| &*plan.table), recorded_bytes);
        }
    } else {
        adjustment.settle(&[]);
    }
    Ok(Attempted::Decided(results))
}

/// Decides as [`attempt`] does, on the rows as they are, and writes nothing. It reads the rows without a lock and asks for
/// no throughput: the price of a write does not depend on what is left at the moment.
pub async fn dry_run(
    commits: &Commits,
    plans: &mut [Plan],
    factor: f64,
) -> Result<Vec<Result<Outcome, Refusal>>, Failure> {
    let _gates = enter(commits, plans).await?;
    let plans = &*plans;
    let companions = companions(commits, plans, None);
    commits
        .store
        .health()
        .and_then(|()| commits.check_log_size(plans.iter().map(|plan| &*plan.table)))
        .map_err(Failure::Store)?;
    let keys = keys(plans, &companions);
    let rows = commits.store.get(&keys, Consistency::Latest).await.map_err(Failure::Store)?;
    assert_eq!(rows.len(), keys.len(), "a row for each key");
    let (headroom, bytes_max) = (Headroom::default(), usize::MAX);
    let question = Question { plans, companions: &companions, headroom: &headroom, factor, bytes_max };
    match question.decide(&rows).results {
        Ok(results) => Ok(results),
        Err(Stop::Unreadable(error)) => Err(Failure::Store(error)),
        Err(Stop::Earlier(_)) => unreachable!("there is no token"),
        Err(Stop::TooLarge { .. }) => unreachable!("there is no bound"),
    }
}

fn companions<'a>(
    commits: &Commits,
    plans: &[Plan],
    token: Option<&'a Token>,
) -> Vec<Box<dyn Companion + 'a>> {
    companion::of(plans, token, commits, || commits.clock.now_us(&*commits.environment))
}

/// Keeps the tables of the plans as they are: a request that drops or replaces one waits until the guards are
/// dropped. Plans made on a table that has been replaced in the meantime go on with its successor. The
/// gates are entered in one order, so that two writes over several tables can't wait for each other.
async fn enter(commits: &Commits, plans: &mut [Plan]) -> Result<Vec<OwnedRwLockReadGuard<()>>, Failure> {
    commits.check_writable().map_err(Failure::Store)?;
    let mut tables: Vec<Arc<LiveTable>> = plans.iter().map(|plan| plan.table.clone()).collect();
    tables.sort_by_key(|table| table.space());
    tables.dedup_by_key(|table| table.space());
    let mut guards = Vec::with_capacity(tables.len());
    for table in tables {
        guards.push(table.gate.clone().read_owned().await);
    }
    for plan in plans.iter_mut().filter(|plan| plan.table.is_retired()) {
        plan.table = commits.catalog.successor(&plan.table).ok_or(Failure::TableGone)?;
    }
    Ok(guards)
}

/// The rows to be locked: those of the plans, then those of each companion. One plan without companions is
/// the common case and costs no copy.
fn keys<'a>(plans: &'a [Plan], companions: &[Box<dyn Companion + '_>]) -> Cow<'a, [Key]> {
    if let ([plan], []) = (plans, companions) {
        return Cow::Borrowed(std::slice::from_ref(&plan.key));
    }
    let of_companions = companions.iter().flat_map(|companion| companion.keys());
    plans.iter().map(|plan| &plan.key).chain(of_companions).cloned().collect()
}

/// The least that each plan can cost.
fn least_charges(plans: &[Plan], factor: f64) -> impl Iterator<Item = (&MeteredTable, Target, f64)> {
    let pays = |plan: &&Plan| plan.origin.uses_throughput();
    let least = move |plan| least_charge(plan, factor);
    plans.iter().filter(pays).map(least)
}

fn least_charge(plan: &Plan, factor: f64) -> (&MeteredTable, Target, f64) {
    (&plan.table, Target::of_key(&plan.key), plan.table_units_min() * factor)
}

/// Charges what each plan cost.
fn charge(
    commits: &Commits,
    operation: Option<Operation>,
    plans: &[Plan],
    results: &[Result<Outcome, Refusal>],
    factor: f64,
) {
    if commits.usage.is_off() {
        return;
    }
    let now = commits.usage.moment();
    for (plan, outcome) in plans.iter().zip(results.iter().flatten()) {
        if !plan.origin.uses_throughput() {
            continue;
        }
        // The whole item has the keys of its indexes, too.
        let image = outcome.new.as_ref().or(outcome.old.as_ref()).map(Item::as_ref);
        let attributes = image.or_else(|| plan.attributes());
        let table = &*plan.table;
        let previous = outcome.old.as_ref().map(Item::as_ref);
        let use_of = Use { operation, table, access: Access::Write, attributes, previous, now };
        let parts = admission::parts(table, outcome.charges(plan, factor));
        commits.usage.charge(use_of, &parts);
        // A write is paid for in each Region that has it, and the request tells of its own.
        for replica in commits.catalog.replicas(table) {
            let use_of = Use { operation: None, table: &replica, ..use_of };
            unmetered(|| commits.usage.charge(use_of, &parts));
        }
    }
}

/// What a commit does to the sizes of tables and indexes. If it is dropped before it is settled (the request
/// was cut off, or the store failed), it is unknown whether the commit was made, and the sizes become
/// uncertain.
struct SizeAdjustment<'a> {
    plans: &'a [Plan],
    settled: bool,
}

impl<'a> SizeAdjustment<'a> {
    fn pending(plans: &'a [Plan]) -> SizeAdjustment<'a> {
        SizeAdjustment { plans, settled: false }
    }

    /// `results` are those of the plans; empty if nothing was committed.
    fn settle(mut self, results: &[Result<Outcome, Refusal>]) {
        self.settled = true;
        for (plan, outcome) in self.plans.iter().zip(results.iter().flatten()) {
            plan.table.sizes.adjust(plan.table.space(), outcome.table_growth());
            for (space, growth) in outcome.index_growth() {
                plan.table.sizes.adjust(space, growth);
            }
        }
    }
}

impl Drop for SizeAdjustment<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.plans.iter().for_each(|plan| plan.table.sizes.doubt());
        }
    }
}
