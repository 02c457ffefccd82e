//! The storage contract on the PostgreSQL protocol, for data that one machine cannot hold.
//! Several servers may share one database: all state is in the database.
//!
//! The tables (`schema`): rows keyed by (space, partition, sort), log records keyed by (log,
//! position), one counter row for each log, and a fixed set of lock rows.
//!
//! An update is two round trips, each a few pipelined statements (`update`):
//! 1. begin, lock the stripes of its keys in ascending order, read the rows;
//! 2. put, delete, append, commit.
//!
//! **Why lock rows.** `FOR UPDATE` cannot lock a row that does not exist, yet an update must exclude
//! others from absent keys too. Placeholder rows would work: insert the absent rows, delete them again
//! when the update writes nothing. But then every new item and every failed condition on an absent
//! item would cost a dead row and its index entry, and waiters for an insert would race when it ends.
//! So each key is hashed to one of `stripe::COUNT` rows that always exist and never change, and an
//! update locks that row:
//! - *cost*: one small row lock for each stripe, no dead rows. The lock is a mark in the row itself,
//!   which is logged but needs no sync of its own;
//! - *no deadlock*: every update locks its stripes in ascending order, then writes rows that its
//!   locks cover, then the counters of its logs in ascending order;
//! - *fairness*: PostgreSQL queues the waiters of a row. Waiters inside one server queue in memory
//!   first, in order of arrival, so a hot key occupies one connection and not the whole pool;
//! - *drawback*: two unrelated keys share a stripe once in `stripe::COUNT` pairs, and then one waits
//!   for the other's commit.
//!
//! What always holds:
//! - Rows are read after their stripes are locked, in a separate statement: under READ COMMITTED
//!   it sees everything that the previous holder of the lock committed.
//! - A counter row stays locked from the append to the commit, so positions follow commit order and
//!   have no gaps.
//! - If the server does not answer once COMMIT may have been sent, the error is
//!   [`StoreError::Ambiguous`]. After any earlier failure nothing was committed.
//! - A connection returns to the pool only with no transaction open on it.
//!
//! Used of SQL: byte and integer columns, `INSERT … ON CONFLICT`, `FOR UPDATE`, row comparison,
//! `unnest`, and data-changing `WITH`. No sequences, triggers, savepoints, advisory locks or
//! notifications.

mod clear;
mod connection;
mod failure;
mod key_columns;
mod log;
mod read;
mod schema;
mod stripe;
#[cfg(feature = "test-server")]
pub mod test_server;
mod update;
mod window;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use store::{
    Consistency, Decide, Direction, Key, Log, LogPosition, Range, Read, Space, Store, StoreError, Visit,
};

use connection::Connections;
use stripe::Latches;

/// The longest sort bytes a row can have. A PostgreSQL index entry is at most 2704 bytes: 8 of header,
/// 8 of space, 1 + 24 of partition, 3 of alignment and 4 of length leave 2656.
pub const SORT_LENGTH_MAX: usize = 2656;

/// Settings of the connection to the database.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for calls. 16 keep a PostgreSQL of eight cores busy; its default limit of 100
    /// leaves room for four servers with their snapshots.
    pub connections: usize,
    /// Snapshots open at the same time, each with a connection of its own.
    pub snapshots: usize,
    /// How long a call waits for each latch, connection or lock that others hold.
    pub wait: Duration,
    /// How long the server may take to answer one round trip. Longer than `wait`, which is part of it.
    pub reply: Duration,
    /// The seed of the jitter between retries.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            connections: 16,
            snapshots: 8,
            wait: Duration::from_secs(10),
            reply: Duration::from_secs(30),
            seed: 0,
        }
    }
}

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    calls: Connections,
    /// A pool of its own, so that long reads never delay short calls.
    snapshots: Connections,
    latches: Latches,
    jitter: AtomicU64,
    options: Options,
}

impl PostgresStore {
    /// Connects to the database of `url` (`postgresql://user@host:port/database`; several hosts with
    /// `target_session_attrs=read-write` follow a failover) and creates its tables if they are missing.
    pub async fn open(url: &str, options: Options) -> Result<PostgresStore, StoreError> {
        let calls = Connections::of_calls(url, &options)?;
        let snapshots = Connections::of_snapshots(url, &options)?;
        schema::prepare(&calls).await?;
        let jitter = AtomicU64::new(options.seed);
        Ok(PostgresStore { calls, snapshots, latches: Latches::new(), jitter, options })
    }
}

#[async_trait]
impl Read for PostgresStore {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        let connection = self.calls.lease().await?;
        let rows = self.calls.answered(read::get(&connection, keys)).await;
        connection.settle(&rows);
        Ok(rows?)
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let connection = self.calls.lease().await?;
        // One transaction around all chunks, so that a write set is seen whole or not at all. BEGIN is
        // pipelined with the first chunk.
        let (begun, walked) = tokio::join!(
            biased;
            connection.begin_snapshot(),
            read::scan(&connection, &self.calls, range, direction, visit),
        );
        let outcome = begun.and(walked);
        connection.settle_with_rollback(&outcome);
        Ok(outcome?)
    }

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.read_records(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.read_end(log).await
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        self.update_rows(keys, decide).await
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.clear_space(space).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        Ok(Arc::new(read::Snapshot::take(&self.snapshots).await?))
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.trim_records(log, through).await
    }

    /// Every answered commit is durable already, so only the pools are closed.
    async fn close(&self) -> Result<(), StoreError> {
        self.calls.close();
        self.snapshots.close();
        Ok(())
    }
}
