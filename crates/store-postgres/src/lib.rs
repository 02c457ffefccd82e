//! The storage contract on the PostgreSQL protocol, for when one machine is not enough.
//! Several servers may share one database; none of them keeps state that another would miss.
//!
//! What lies where (`schema`): rows in one table keyed (space, partition, sort), log records in
//! another keyed (log, position), one counter row for each log, and a fixed set of lock rows.
//!
//! An update is two round trips, each a few statements sent in one go (`update`):
//! 1. begin, lock the stripes of its keys in ascending order, read the rows;
//! 2. put, delete, append, commit.
//!
//! **Why lock rows.** `FOR UPDATE` cannot lock a row that is not there, yet an update must exclude
//! others from absent keys too. Placeholder rows would do: insert what is absent, delete it again
//! when the update writes nothing. But every new item and every failed condition on an absent item
//! would then cost a dead row and its index entry, and those who wait for an insert race each other
//! when it ends. So a key is hashed to one of `stripe::COUNT` rows that always exist and never
//! change, and that row is locked:
//! - *cost*: one small row lock for each stripe, no dead rows. The lock is a mark in the row itself,
//!   which is logged but waits for no sync of its own;
//! - *no deadlock*: every update takes its stripes in ascending order, then writes rows that its
//!   locks entitle it to, then the counters of its logs in ascending order;
//! - *fairness*: PostgreSQL queues the waiters of a row. Waiters inside one server queue in memory
//!   first, in order of arrival, so a hot key occupies one connection and not the whole pool;
//! - *price*: two unrelated keys share a stripe once in `stripe::COUNT` pairs, and then one waits
//!   for the other's commit.
//!
//! What always holds:
//! - Rows are read after their stripes are locked, in a statement of their own: under READ COMMITTED
//!   it sees whatever the previous holder of the lock committed.
//! - A counter row stays locked from the append to the commit, so positions follow commit order and
//!   have no gaps.
//! - Whatever fails once COMMIT may have been sent, without an answer from the server, is
//!   [`StoreError::Ambiguous`]; whatever fails before is not committed.
//! - A connection goes back to the pool only with no transaction open on it.
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

/// How a server uses its database.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for calls. 16 keep a PostgreSQL of eight cores busy; its default limit of 100
    /// leaves room for four servers with their snapshots.
    pub connections: usize,
    /// Snapshots open at once, each with a connection of its own.
    pub snapshots: usize,
    /// How long a call waits for each thing that others hold: a latch, a connection, a lock.
    pub wait: Duration,
    /// How long the server may take to answer one round trip. Longer than `wait`, which is part of it.
    pub reply: Duration,
    /// Where the jitter between retries starts.
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
    /// Apart from `calls`, so that long reads never keep short calls waiting.
    snapshots: Connections,
    latches: Latches,
    jitter: AtomicU64,
    options: Options,
}

impl PostgresStore {
    /// Connects to the database of `url` (`postgresql://user@host:port/database`; several hosts with
    /// `target_session_attrs=read-write` follow a failover) and lays out its tables if they are missing.
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
        // One transaction around all chunks: a write set is seen whole or not at all. BEGIN travels
        // with the first chunk.
        let (begun, walked) = tokio::join!(
            biased;
            connection.begin_snapshot(),
            read::scan(&connection, &self.calls, range, direction, visit),
        );
        let outcome = begun.and(walked);
        connection.settle_with_rollback(&outcome);
        Ok(outcome?)
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

    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError> {
        self.read_records(log, after, limit).await
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.trim_records(log, through).await
    }

    /// Every commit was durable when it was answered, so there is only the pool to end.
    async fn close(&self) -> Result<(), StoreError> {
        self.calls.close();
        self.snapshots.close();
        Ok(())
    }
}
