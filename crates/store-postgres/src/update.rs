//! Updates, the only way to change rows: lock, read, decide, commit.
//!
//! 1. Queue for the latches of the stripes, then for a connection.
//! 2. BEGIN, lock the stripes, read the rows: one round trip.
//! 3. `decide`.
//! 4. Put, delete, append, COMMIT: one round trip. If a statement fails, the server fails the later
//!    ones and turns COMMIT into a rollback.
//!
//! A transaction that PostgreSQL aborts in favour of another (40001, 40P01) starts over at 2. Updates
//! never cause that; other programs, and other databases that speak the protocol, may.

use std::sync::atomic::Ordering;
use std::time::Duration;

use store::{Decide, Key, LogPosition, StoreError, WriteSet};
use tokio_postgres::Statement;

use crate::connection::Lease;
use crate::failure::Failure;
use crate::key_columns::{KeyColumns, log_number};
use crate::{PostgresStore, SORT_LENGTH_MAX, read, stripe};

/// ORDER BY also determines the order of locking.
const LOCK: &str = "SELECT stripe FROM lodestone_lock WHERE stripe = ANY($1) ORDER BY stripe FOR UPDATE";

const PUT: &str = "
    INSERT INTO lodestone_row (space, partition, sort, value)
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[])
    ON CONFLICT (space, partition, sort) DO UPDATE SET value = excluded.value";

const DELETE: &str = "
    DELETE FROM lodestone_row AS gone
    USING unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS named(space, partition, sort)
    WHERE gone.space = named.space AND gone.partition = named.partition AND gone.sort = named.sort";

/// Locks the logs ($1) of an update until it is committed.
const LOCK_LOGS: &str = "
    INSERT INTO lodestone_log (log, last) SELECT log, 0 FROM unnest($1::bigint[]) AS named(log)
    ON CONFLICT (log) DO UPDATE SET last = lodestone_log.last";

/// Stores each record ($5) of a log ($3) with its number in the commit ($4) at the time of the commit: $2, or
/// just after the end of each of its logs ($1), which [`LOCK_LOGS`] has locked.
const APPEND: &str = "
    WITH commit AS (
        SELECT greatest($2::bigint, max((last >> 11) + 1)) << 11 AS start FROM lodestone_log WHERE log = ANY($1)),
    fresh AS (
        SELECT fresh.log, commit.start | fresh.number AS position, fresh.record
        FROM unnest($3::bigint[], $4::bigint[], $5::bytea[]) AS fresh(log, number, record), commit),
    ends AS (
        UPDATE lodestone_log SET last = fresh_end.last
        FROM (SELECT log, max(position) AS last FROM fresh GROUP BY log) AS fresh_end
        WHERE lodestone_log.log = fresh_end.log)
    INSERT INTO lodestone_record (log, position, record) SELECT log, position, record FROM fresh";
/// The literal in [`APPEND`].
const _: () = assert!(LogPosition::NUMBER_BITS == 11);

/// With the pauses below, 1.3 s at most: 10 × (1 + 2 + 4 + 8 + 16) + 4 × 250 ms.
const ATTEMPTS_MAX: u32 = 10;
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// PostgreSQL takes messages of 1 GiB; half of that is far above any write set of DynamoDB (4 MB).
const WRITE_SET_BYTES_MAX: usize = 512 << 20;
/// The overhead of an entry: space, partition and the lengths of four array elements.
const ENTRY_BYTES: usize = 64;

enum Outcome {
    Committed,
    NothingToWrite,
}

impl PostgresStore {
    pub(crate) async fn update_rows(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        let stripes = stripe::of_keys(keys);
        let latches = tokio::time::timeout(self.options.wait, self.latches.take(&stripes)).await;
        let _latches = latches.map_err(|_| {
            StoreError::Unavailable(format!("others held a row of the update for {:?}", self.options.wait))
        })?;
        let mut attempt = 1;
        loop {
            match self.attempt(keys, &stripes, decide).await {
                Err(failure) if failure.is_conflict() && attempt < ATTEMPTS_MAX => {
                    tracing::debug!(attempt, ?failure, "an update starts over");
                    tokio::time::sleep(self.pause(attempt)).await;
                    attempt += 1;
                }
                outcome => return Ok(outcome?),
            }
        }
    }

    async fn attempt(&self, keys: &[Key], stripes: &[i32], decide: &mut Decide<'_>) -> Result<(), Failure> {
        let connection = self.calls.lease().await?;
        let outcome = self.lock_decide_commit(&connection, keys, stripes, decide).await;
        match outcome {
            Ok(Outcome::Committed) => connection.settle(&outcome),
            _ => connection.settle_with_rollback(&outcome),
        }
        outcome.map(|_| ())
    }

    async fn lock_decide_commit(
        &self,
        connection: &Lease,
        keys: &[Key],
        stripes: &[i32],
        decide: &mut Decide<'_>,
    ) -> Result<Outcome, Failure> {
        let statements = Statements::prepare(connection);
        let statements = self.calls.answered(statements).await?;
        let rows = self.calls.answered(statements.lock_and_read(connection, keys, stripes)).await?;
        let write_set = decide(&rows);
        if write_set.puts.is_empty() && write_set.deletes.is_empty() && write_set.appends.is_empty() {
            return Ok(Outcome::NothingToWrite);
        }
        check_sizes(&write_set)?;
        // A connection that is already closed cannot have seen the COMMIT.
        if connection.is_closed() {
            return Err(Failure::Lost("the connection was closed before COMMIT".to_owned()));
        }
        let commit = self.calls.answered(statements.write_and_commit(connection, &write_set)).await;
        commit.map_err(Failure::after_commit_was_sent)?;
        Ok(Outcome::Committed)
    }

    /// Doubles with each attempt. Half of it is random, so that two updates that collided do not collide
    /// again.
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

/// After these checks no statement can fail to be encoded. If one did, COMMIT would be sent without it,
/// and half a write set would be committed.
fn check_sizes(write_set: &WriteSet) -> Result<(), Failure> {
    let puts = write_set.puts.iter().map(|(key, value)| key.position.sort.len() + value.len());
    let deletes = write_set.deletes.iter().map(|key| key.position.sort.len());
    let appends = write_set.appends.iter().map(|(_, record)| record.len());
    let size: usize = puts.chain(deletes).chain(appends).map(|length| length + ENTRY_BYTES).sum();
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

/// The statements of an update, prepared beforehand: pipelined statements keep their order only if none
/// of them has to be prepared first.
struct Statements {
    lock: Statement,
    get: Statement,
    put: Statement,
    delete: Statement,
    lock_logs: Statement,
    append: Statement,
}

impl Statements {
    async fn prepare(connection: &Lease) -> Result<Statements, Failure> {
        Ok(Statements {
            lock: connection.prepare_cached(LOCK).await?,
            get: connection.prepare_cached(read::GET).await?,
            put: connection.prepare_cached(PUT).await?,
            delete: connection.prepare_cached(DELETE).await?,
            lock_logs: connection.prepare_cached(LOCK_LOGS).await?,
            append: connection.prepare_cached(APPEND).await?,
        })
    }

    async fn lock_and_read(
        &self,
        connection: &Lease,
        keys: &[Key],
        stripes: &[i32],
    ) -> Result<Vec<Option<bytes::Bytes>>, Failure> {
        let columns: KeyColumns = keys.iter().collect();
        let (begun, locked, found) = tokio::join!(
            biased;
            connection.begin_update(),
            async { connection.query(&self.lock, &[&stripes]).await },
            read::find(connection, &self.get, &columns),
        );
        begun?;
        let locked = locked?.len();
        if locked != stripes.len() {
            let reason = format!("lodestone_lock has {locked} of the {} rows asked for", stripes.len());
            return Err(Failure::Unreadable(reason));
        }
        read::in_order(&found?, keys.len())
    }

    async fn write_and_commit(&self, connection: &Lease, write_set: &WriteSet) -> Result<(), Failure> {
        let (put, deleted, appended, committed) = tokio::join!(
            biased;
            self.put(connection, write_set),
            self.delete(connection, write_set),
            self.append(connection, write_set),
            connection.batch_execute("COMMIT"),
        );
        put?;
        deleted?;
        appended?;
        Ok(committed?)
    }

    async fn put(&self, connection: &Lease, write_set: &WriteSet) -> Result<(), Failure> {
        if write_set.puts.is_empty() {
            return Ok(());
        }
        let columns: KeyColumns = write_set.puts.iter().map(|(key, _)| key).collect();
        let values: Vec<&[u8]> = write_set.puts.iter().map(|(_, value)| value.as_ref()).collect();
        connection
            .execute(&self.put, &[&columns.spaces, &columns.partitions, &columns.sorts, &values])
            .await?;
        Ok(())
    }

    async fn delete(&self, connection: &Lease, write_set: &WriteSet) -> Result<(), Failure> {
        if write_set.deletes.is_empty() {
            return Ok(());
        }
        let columns: KeyColumns = write_set.deletes.iter().collect();
        connection.execute(&self.delete, &[&columns.spaces, &columns.partitions, &columns.sorts]).await?;
        Ok(())
    }

    async fn append(&self, connection: &Lease, write_set: &WriteSet) -> Result<(), Failure> {
        if write_set.appends.is_empty() {
            return Ok(());
        }
        let appends = AppendColumns::of(write_set);
        let now_us = i64::try_from(write_set.now_us).unwrap_or(0);
        let (locked, appended) = tokio::join!(
            biased;
            async { connection.execute(&self.lock_logs, &[&appends.locked]).await },
            async {
                connection
                    .execute(
                        &self.append,
                        &[&appends.locked, &now_us, &appends.logs, &appends.numbers, &appends.records],
                    )
                    .await
            },
        );
        locked?;
        appended?;
        Ok(())
    }
}

/// The appends of a write set as the parameters of [`APPEND`].
struct AppendColumns<'a> {
    /// Ascending: every update locks logs in this order.
    locked: Vec<i64>,
    logs: Vec<i64>,
    /// The number of each record in its commit.
    numbers: Vec<i64>,
    records: Vec<&'a [u8]>,
}

impl<'a> AppendColumns<'a> {
    fn of(write_set: &'a WriteSet) -> Self {
        let logs: Vec<i64> = write_set.appends.iter().map(|(log, _)| log_number(*log)).collect();
        let mut locked = logs.clone();
        locked.sort_unstable();
        locked.dedup();
        AppendColumns {
            locked,
            numbers: (0..).take(logs.len()).collect(),
            logs,
            records: write_set.appends.iter().map(|(_, record)| record.as_ref()).collect(),
        }
    }
}
