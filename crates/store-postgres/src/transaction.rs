//! Transactions of updates that are ready together.
//!
//! 1. BEGIN, hold a row of this server among the members, lock all stripes in ascending order, read all rows: one
//!    round trip.
//! 2. Every caller decides.
//! 3. Put, delete, leave the mark of the session, COMMIT: one round trip. If a statement fails, the server
//!    fails the later ones and turns COMMIT into a rollback. Updates that append to logs take one round
//!    trip more, which locks the logs and finds their ends.
//!
//! Every statement has equality on all columns of a key, so any engine of the protocol can plan it and
//! send it to the one node that holds the row. PostgreSQL gets one for several keys (`many`).
//!
//! - A transaction that the server aborts in favour of another starts over at 1.
//! - A lost reply to COMMIT is looked for (`session`); if the commit did not happen, it starts over too.
//! - If the server refuses a transaction of several updates, each is tried alone, so that none fails
//!   because of another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use store::{Log, LogPosition, StoreError, WriteSet};
use tokio_postgres::Statement;

use crate::connection::{BEGIN_UPDATE, Lease};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::gather::Runner;
use crate::key_columns::{log_number, position, position_number};
use crate::many::{Get, Lock, Put};
use crate::pipeline::{Parameter, Pipeline};
use crate::session::{Mark, Session};
use crate::update::Update;
use crate::{SORT_LENGTH_MAX, Shared, member, shard};

const DELETE: &str = "
    DELETE FROM lodestone_row WHERE shard = $1 AND space = $2 AND partition = $3 AND sort = $4";

/// Locks a log until the commit and returns its end.
const LOCK_LOG: &str = "
    INSERT INTO lodestone_log (shard, log, last) VALUES ($1, $2, 0)
    ON CONFLICT (shard, log) DO UPDATE SET last = lodestone_log.last
    RETURNING last";

const END_LOG: &str = "UPDATE lodestone_log SET last = $3 WHERE shard = $1 AND log = $2";

const APPEND: &str = "INSERT INTO lodestone_record (shard, log, position, record) VALUES ($1, $2, $3, $4)";

/// With the pauses below, 1.3 s at most: 10 × (1 + 2 + 4 + 8 + 16) + 4 × 250 ms.
const ATTEMPTS_MAX: u32 = 10;
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// Far above any write set of DynamoDB (4 MB), and far below what would strain a server.
const WRITE_SET_BYTES_MAX: usize = 512 << 20;
/// The overhead of an entry: its other columns and their lengths.
const ENTRY_BYTES: usize = 64;

impl Shared {
    /// Puts an update into the next transaction.
    pub(crate) fn submit(self: &Arc<Self>, update: Update, weight: usize) {
        if let Some(runner) = self.updates.add(update, weight) {
            tokio::spawn(run(Arc::clone(self), runner));
        }
    }

    /// Doubles with each attempt. Half of it is random, so that two transactions that collided do not
    /// collide again.
    fn pause(&self, attempt: u32) -> Duration {
        let whole = PAUSE_FIRST.saturating_mul(1 << (attempt - 1).min(16)).min(PAUSE_MAX);
        let draw = self.jitter.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        whole / 2 + whole.mul_f64(unit(draw) / 2.0)
    }
}

/// A number in 0..1 from the state of a SplitMix64 generator.
fn unit(state: u64) -> f64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Carries out transactions as long as updates wait.
async fn run(shared: Arc<Shared>, mut runner: Runner<Update>) {
    let mut session = shared.idle_sessions.lock().pop();
    while let Some(updates) = runner.next() {
        let mut batches = VecDeque::from([updates]);
        while let Some(batch) = batches.pop_front() {
            let (rest, outcome) = carry_out(&shared, &mut session, batch).await;
            match outcome {
                Err(Failure::Refused(_)) if rest.len() > 1 => {
                    batches.extend(rest.into_iter().map(|one| vec![one]))
                }
                outcome => {
                    for update in rest {
                        update.end(outcome.clone().map_err(StoreError::from));
                    }
                }
            }
        }
    }
    shared.idle_sessions.lock().extend(session);
}

/// Tries a transaction until it has an outcome. Returns it with the updates that it is the outcome of:
/// those that write nothing have ended before.
async fn carry_out(
    shared: &Shared,
    session: &mut Option<Session>,
    mut batch: Vec<Update>,
) -> (Vec<Update>, Result<(), Failure>) {
    let mut attempt = 1;
    loop {
        let outcome = attempt_once(shared, session, &mut batch).await;
        let starts_over = match &outcome {
            Err(Failure::NotCommitted(_)) => true,
            Err(failure) => failure.code().is_some_and(|code| shared.engine.is_conflict(code)),
            Ok(()) => false,
        };
        if !starts_over || attempt == ATTEMPTS_MAX {
            return (batch, outcome);
        }
        tracing::debug!(attempt, ?outcome, "a transaction starts over");
        tokio::time::sleep(shared.pause(attempt)).await;
        attempt += 1;
    }
}

async fn attempt_once(
    shared: &Shared,
    session: &mut Option<Session>,
    batch: &mut Vec<Update>,
) -> Result<(), Failure> {
    let connection = shared.updating.lease().await?;
    let transaction = Transaction { shared, connection: &connection };
    let mut mark = None;
    let outcome = transaction.lock_decide_commit(session, batch, &mut mark).await;
    match outcome {
        Ok(Outcome::Committed) => connection.settle(&outcome),
        _ => connection.settle_with_rollback(&outcome),
    }
    match (outcome, mark) {
        (Ok(_), _) => Ok(()),
        (Err(Failure::CommitLost(reason)), Some(mark)) => look_for(shared, session, mark, reason).await,
        (Err(failure), _) => Err(failure),
    }
}

/// Finds out the outcome of a commit without a reply. This closes the session, or the session is unknown; either
/// way it has no more transactions.
async fn look_for(
    shared: &Shared,
    session: &mut Option<Session>,
    mark: Mark,
    reason: String,
) -> Result<(), Failure> {
    *session = None;
    match mark.find(&shared.updating, shared.options.failover).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::NotCommitted(reason)),
        Err(failure) => {
            tracing::warn!(?failure, "the outcome of a commit could not be found");
            Err(Failure::CommitLost(reason))
        }
    }
}

enum Outcome {
    Committed,
    NothingToWrite,
}

/// One attempt on one connection.
struct Transaction<'a> {
    shared: &'a Shared,
    connection: &'a Lease,
}

impl Transaction<'_> {
    /// Sets `mark` before COMMIT is sent.
    async fn lock_decide_commit(
        &self,
        session: &mut Option<Session>,
        batch: &mut Vec<Update>,
        mark: &mut Option<Mark>,
    ) -> Result<Outcome, Failure> {
        let calls = &self.shared.updating;
        let statements = calls.answered(Statements::prepare(self.connection, self.shared.engine)).await?;
        let rows = calls.answered(self.lock_and_read(&statements, batch)).await?;
        let write_sets = decide(batch, rows).await;
        if write_sets.is_empty() {
            return Ok(Outcome::NothingToWrite);
        }
        let mut pipeline = Pipeline::new(self.connection);
        put_and_delete(&mut pipeline, &statements, &write_sets);
        carry_logs(&mut pipeline, &statements, &write_sets);
        let ends = lock_logs(&mut pipeline, &statements, &write_sets);
        let ends = match ends.is_empty() {
            true => ends,
            false => calls.answered(find_ends(&mut pipeline, ends, self.connection)).await?,
        };
        // A connection that is already closed cannot have seen the COMMIT.
        if self.connection.is_closed() {
            return Err(Failure::Lost("the connection was closed before COMMIT".to_owned()));
        }
        append(&mut pipeline, &statements, &write_sets, ends);
        let session = match session {
            Some(session) => session,
            none => none.insert(Session::new()?),
        };
        let next = session.next_mark(home_shard(batch));
        next.write(&mut pipeline, &statements.mark);
        pipeline.command("COMMIT");
        *mark = Some(next);
        calls.answered(pipeline.send()).await.map_err(Failure::after_commit_was_sent)?;
        Ok(Outcome::Committed)
    }

    /// Takes the locks and reads the rows of each update.
    async fn lock_and_read(
        &self,
        statements: &Statements,
        batch: &[Update],
    ) -> Result<Vec<Vec<Option<Bytes>>>, Failure> {
        let mut stripes: Vec<_> = batch.iter().flat_map(|update| &update.stripes).copied().collect();
        stripes.sort_unstable();
        stripes.dedup();
        let mut pipeline = Pipeline::new(self.connection);
        pipeline.command(BEGIN_UPDATE);
        let member = *self.shared.member.lock();
        if let Some(member) = member {
            member::hold(&mut pipeline, &statements.hold_member, home_shard(batch), member);
        }
        let keys = batch.iter().flat_map(|update| &update.keys);
        statements.lock.add(&mut pipeline, &stripes);
        statements.get.add(&mut pipeline, keys.clone());
        let mut answers = pipeline.send().await?.into_iter().skip(1);
        if let Some(member) = member {
            member::check_held(member, answers.next())?;
        }
        statements.lock.check(stripes.len(), &mut answers)?;
        let mut rows = statements.get.values(keys.count(), &mut answers)?.into_iter();
        Ok(batch.iter().map(|update| rows.by_ref().take(update.keys.len()).collect()).collect())
    }
}

/// The shard that the transaction is in, whatever other shards it writes: of the first stripe of its first update.
fn home_shard(batch: &[Update]) -> i16 {
    batch.first().and_then(|update| update.stripes.first()).map_or(0, |stripe| stripe.shard)
}

/// Asks every caller. Updates that write nothing, or too much, end here; the others stay in the batch, in the
/// order of the write sets.
async fn decide(batch: &mut Vec<Update>, rows: Vec<Vec<Option<Bytes>>>) -> Vec<WriteSet> {
    let decisions: Vec<_> = batch.iter().zip(rows).map(|(update, rows)| update.decide(rows)).collect();
    let mut write_sets = Vec::with_capacity(batch.len());
    for (update, decision) in std::mem::take(batch).into_iter().zip(decisions) {
        let Ok(write_set) = decision.await else { continue };
        match check_sizes(&write_set) {
            Ok(()) if write_set.is_empty() => update.end(Ok(())),
            Ok(()) => {
                batch.push(update);
                write_sets.push(write_set);
            }
            Err(failure) => update.end(Err(failure.into())),
        }
    }
    write_sets
}

/// After these checks no statement can fail to be encoded. If one did, COMMIT would be sent without it,
/// and half a write set would be committed.
fn check_sizes(write_set: &WriteSet) -> Result<(), Failure> {
    let puts = write_set.puts.iter().map(|(key, value)| key.position.sort.len() + value.len());
    let deletes = write_set.deletes.iter().map(|key| key.position.sort.len());
    let appends = write_set.appends.iter().map(|(_, record)| record.len());
    let parts = write_set.log_parts.iter().flat_map(|part| &part.records).map(|(_, record)| record.len());
    let lengths = puts.chain(deletes).chain(appends).chain(parts);
    let size: usize = lengths.map(|length| length + ENTRY_BYTES).sum();
    if size > WRITE_SET_BYTES_MAX {
        return Err(Failure::Unstorable(format!(
            "a write set of {size} bytes; {WRITE_SET_BYTES_MAX} is the most"
        )));
    }
    let longest = write_set.puts.iter().map(|(key, _)| key.position.sort.len()).max().unwrap_or(0);
    if longest > SORT_LENGTH_MAX {
        let limit = SORT_LENGTH_MAX;
        let reason = format!("sort bytes of length {longest}: PostgreSQL can index at most {limit}");
        return Err(Failure::Unstorable(reason));
    }
    Ok(())
}

fn put_and_delete<'a>(pipeline: &mut Pipeline<'a>, statements: &'a Statements, write_sets: &'a [WriteSet]) {
    let puts = write_sets.iter().flat_map(|write_set| &write_set.puts);
    statements.put.add(pipeline, puts.map(|(key, value)| (key, value)).collect());
    for key in write_sets.iter().flat_map(|write_set| &write_set.deletes) {
        pipeline.of_key(&statements.delete, key);
    }
}

/// No other process appends to these logs, so they need no lock beforehand.
fn carry_logs<'a>(pipeline: &mut Pipeline<'a>, statements: &'a Statements, write_sets: &'a [WriteSet]) {
    for part in write_sets.iter().flat_map(|write_set| &write_set.log_parts) {
        let [shard, log] = log_parameters(part.log);
        let end = Parameter::Number(position_number(part.end));
        pipeline.statement(&statements.raise_log, [shard, log, end]);
        for (position, record) in &part.records {
            let [shard, log] = log_parameters(part.log);
            let at = Parameter::Number(position_number(*position));
            pipeline.statement(&statements.append, [shard, log, at, Parameter::Bytes(record)]);
        }
    }
}

/// The ends of logs while an update holds their locks.
type Ends = BTreeMap<Log, LogPosition>;

/// Locks the logs of the write sets in ascending order, as every transaction does. Their ends are in the
/// last answers of the pipeline.
fn lock_logs<'a>(pipeline: &mut Pipeline<'a>, statements: &'a Statements, write_sets: &[WriteSet]) -> Ends {
    let logs = write_sets.iter().flat_map(|write_set| &write_set.appends);
    let ends: Ends = logs.map(|(log, _)| (*log, LogPosition(0))).collect();
    for log in ends.keys() {
        pipeline.statement(&statements.lock_log, log_parameters(*log));
    }
    ends
}

/// Sends what the pipeline holds and leaves an empty one.
async fn find_ends<'a>(
    pipeline: &mut Pipeline<'a>,
    mut ends: Ends,
    connection: &'a Lease,
) -> Result<Ends, Failure> {
    let answers = std::mem::replace(pipeline, Pipeline::new(connection)).send().await?;
    let found = &answers[answers.len() - ends.len()..];
    for (end, rows) in ends.values_mut().zip(found) {
        let row =
            rows.first().ok_or_else(|| Failure::Unreadable("lodestone_log returned no end".to_owned()))?;
        *end = position(row.try_get(0)?)?;
    }
    Ok(ends)
}

/// Each write set has its own time: its records come after the ends of its logs, and after those of the
/// write sets before it.
fn append<'a>(
    pipeline: &mut Pipeline<'a>,
    statements: &'a Statements,
    write_sets: &'a [WriteSet],
    mut ends: Ends,
) {
    for write_set in write_sets {
        let own_ends = write_set.appends.iter().filter_map(|(log, _)| ends.get(log).copied());
        let time_us = LogPosition::commit_time_us(write_set.now_us, own_ends);
        for (number, (log, record)) in write_set.appends.iter().enumerate() {
            let position = LogPosition::new(time_us, number);
            let before = ends.insert(*log, position);
            // A reader that remembers a position must not miss a record before it.
            assert!(before.is_none_or(|before| before < position), "positions of {log:?} rise");
            let [shard, log_number] = log_parameters(*log);
            let at = Parameter::Number(position_number(position));
            pipeline.statement(&statements.append, [shard, log_number, at, Parameter::Bytes(record)]);
        }
    }
    for (log, end) in ends {
        let [shard, log_number] = log_parameters(log);
        pipeline.statement(&statements.end_log, [shard, log_number, Parameter::Number(position_number(end))]);
    }
}

fn log_parameters(log: Log) -> [Parameter<'static>; 2] {
    [Parameter::Small(shard::of_log(log)), Parameter::Number(log_number(log))]
}

/// The statements of a transaction, prepared beforehand: pipelined statements keep their order only if
/// none of them has to be prepared first.
struct Statements {
    hold_member: Statement,
    lock: Lock,
    get: Get,
    put: Put,
    delete: Statement,
    lock_log: Statement,
    append: Statement,
    end_log: Statement,
    raise_log: Statement,
    mark: Statement,
}

impl Statements {
    async fn prepare(connection: &Lease, engine: Engine) -> Result<Statements, Failure> {
        Ok(Statements {
            hold_member: connection.prepare_cached(member::HOLD).await?,
            lock: Lock::prepare(connection, engine).await?,
            get: Get::prepare(connection, engine).await?,
            put: Put::prepare(connection, engine).await?,
            delete: connection.prepare_cached(DELETE).await?,
            lock_log: connection.prepare_cached(LOCK_LOG).await?,
            append: connection.prepare_cached(APPEND).await?,
            end_log: connection.prepare_cached(END_LOG).await?,
            raise_log: connection.prepare_cached(member::RAISE).await?,
            mark: Mark::statement(connection).await?,
        })
    }
}
