//! The storage contract on the PostgreSQL protocol, for data that one machine cannot hold.
//! Several servers may share one database: all state is in the database.
//!
//! The tables (`schema`): rows keyed by (space, partition, sort), a fixed set of lock rows, log records
//! keyed by (log, position), one counter row for each log, the marks of commits, and the servers that have
//! joined (`member`). Each key also has the
//! partition's *shard*, by which a distributed engine places rows (`shard`).
//!
//! Every statement of a call is on one key, on a range of keys, or on several keys if the engine can plan that (`many`).
//! What belongs together is pipelined: an update is two round trips (`transaction`):
//! 1. begin, lock the stripes of its keys in ascending order, read the rows;
//! 2. put, delete, mark, commit. Updates that append to logs take one round trip more.
//!
//! Updates of this server that are ready at the same moment share a transaction, and single reads share a
//! round trip (`gather`).
//!
//! **Why lock rows.** `FOR UPDATE` cannot lock a row that does not exist, yet an update must exclude
//! others from absent keys too. Placeholder rows would work: insert the absent rows, delete them again
//! when the update writes nothing. But then every new item and every failed condition on an absent
//! item would cost a dead row and its index entry, and waiters for an insert would race when it ends.
//! So each key is hashed to one of the stripes of its shard, rows that always exist and never change, and
//! an update locks that row:
//! - *cost*: one small row lock for each stripe, no dead rows. The lock is a mark in the row itself,
//!   which is logged but needs no sync of its own;
//! - *no deadlock*: every transaction locks its stripes in ascending order, then writes rows that its
//!   locks cover, then the counters of its logs in ascending order;
//! - *fairness*: PostgreSQL queues the waiters of a row. Waiters inside one server queue in memory
//!   first, in order of arrival, so a hot key occupies one connection and not the whole pool;
//! - *drawback*: two unrelated keys may share a stripe, and then one waits for the other's commit.
//!
//! What always holds:
//! - Rows are read after their stripes are locked, in separate statements: under READ COMMITTED
//!   they see everything that the previous holder of the lock committed.
//! - A counter row stays locked from the append to the commit, so positions follow commit order.
//! - If the reply to COMMIT is lost, the store finds out whether the commit happened (`session`). Only if
//!   no server can be asked for long, the error is [`StoreError::Ambiguous`]. After any other failure
//!   nothing was committed.
//! - A connection returns to the pool only with no transaction open on it.
//!
//! | question | file |
//! |---|---|
//! | which tables are there? | `schema.rs`; their numbers: `key_columns.rs` |
//! | how is an update made? | `update.rs`, `transaction.rs`; its locks: `stripe.rs` |
//! | which statements share a round trip? | `pipeline.rs`, `gather.rs`, `many.rs` |
//! | how are rows read? | `read.rs`; a range is split by `window.rs` |
//! | where does a distributed engine place a row? | `shard.rs` |
//! | in what do the engines differ? | `engine.rs` |
//! | what if the answer to a commit is lost? | `session.rs`; other failures: `failure.rs` |
//! | how is an expelled server kept from writing? | `member.rs` |
//! | how are change logs read and trimmed? | `log.rs` |
//! | how is a space cleared? | `clear.rs` |
//! | how does the store connect? | `address.rs`, `connection.rs` |
//!
//! Used of SQL: byte, integer and time columns, `INSERT … ON CONFLICT`, `FOR UPDATE`, `FOR SHARE` and row
//! comparison; arrays and `LATERAL` where the engine has them. No sequences, triggers, savepoints, advisory locks or
//! notifications. Where engines differ is in `engine`.

mod address;
mod clear;
mod connection;
mod engine;
mod failure;
mod gather;
mod key_columns;
mod log;
mod many;
mod member;
mod pipeline;
mod read;
mod schema;
mod session;
mod shard;
mod stripe;
#[cfg(feature = "test-server")]
pub mod test_server;
mod transaction;
mod update;
mod window;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use store::{
    Cluster, Consistency, Decide, Direction, Key, Log, LogPosition, Member, Range, Read, Space, Store,
    StoreError, Visit,
};

use address::Address;
use connection::Connections;
pub use engine::Engine;
use gather::Gather;
use member::Tickets;
use read::Lookup;
pub use schema::FORMAT as FORMAT_VERSION;
use session::Session;
use stripe::Latches;
use update::Update;

/// The longest sort bytes a row can have. A PostgreSQL index entry is at most 2704 bytes: 8 of header,
/// 8 of space, 1 + 24 of partition, 3 of alignment, 4 of length, and 2 of shard leave 2654.
pub const SORT_LENGTH_MAX: usize = 2654;

/// Round trips of single reads at the same time. The fewer, the more reads share one.
const LOOKUP_ROUND_TRIPS: usize = 8;
/// The most single reads of one round trip.
const LOOKUPS_PER_ROUND_TRIP: usize = 32;

/// Settings of the connection to the database.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for calls that are not updates. With those of updates and snapshots, PostgreSQL's default limit
    /// of 100 leaves room for three servers.
    pub connections: usize,
    /// Snapshots open at the same time, each with a connection of its own.
    pub snapshots: usize,
    /// How long a call waits for each latch, connection or lock that others hold.
    pub wait: Duration,
    /// How long the server may take to answer one round trip. Longer than `wait`, which is part of it.
    pub reply: Duration,
    /// How long the outcome of a commit whose reply was lost is looked for, while a new leader is elected.
    pub failover: Duration,
    /// What answers behind the URL; found out if it is not given.
    pub engine: Option<Engine>,
    /// Transactions of updates at the same time, each with a connection of its own. The fewer, the more updates share
    /// one.
    pub transactions: usize,
    /// The most stripes (about as many as rows) that several updates of one transaction lock. With 1, every
    /// update has its own. The statements of 32 small writes fill a few network packets.
    pub stripes_per_transaction: usize,
    /// The seed of the jitter between retries.
    pub seed: u64,
    /// Nothing is written: tables that are missing are not made. A standby will do.
    pub is_read_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            connections: 16,
            snapshots: 8,
            wait: Duration::from_secs(10),
            reply: Duration::from_secs(30),
            failover: Duration::from_secs(30),
            engine: None,
            transactions: 8,
            stripes_per_transaction: 32,
            seed: 0,
            is_read_only: false,
        }
    }
}

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    shared: Arc<Shared>,
}

/// What calls and the tasks behind them use.
struct Shared {
    engine: Engine,
    calls: Connections,
    /// A pool of its own, so that no update, and no sign of life, waits for connections that reads have.
    updating: Connections,
    /// A pool of its own, so that long reads never delay short calls.
    snapshots: Connections,
    latches: Latches,
    /// Whose updates these are, once the server has joined.
    member: Mutex<Option<Member>>,
    tickets: Arc<Tickets>,
    updates: Arc<Gather<Update>>,
    lookups: Arc<Gather<Lookup>>,
    idle_sessions: Mutex<Vec<Session>>,
    jitter: AtomicU64,
    options: Options,
}

impl PostgresStore {
    /// Connects to the database of `url` (`postgresql://user@host:port/database`; several hosts with
    /// `target_session_attrs=read-write` follow a failover) and creates its tables if they are missing.
    /// What `sslmode` and `sslrootcert` mean is in `address.rs`.
    pub fn open<'a>(url: &'a str, options: Options) -> BoxFuture<'a, Result<PostgresStore, StoreError>> {
        Box::pin(async move {
            let address = Address::parse(url)?;
            let engine = match options.engine {
                Some(engine) => engine,
                None => connection::recognise(&address, &options).await?,
            };
            let calls = Connections::of_calls(&address, &options, engine, options.connections)?;
            let updating = Connections::of_calls(&address, &options, engine, options.transactions)?;
            let snapshots = Connections::of_snapshots(&address, &options, engine)?;
            match options.is_read_only {
                true => schema::check(&calls).await?,
                false => schema::prepare(&calls, engine).await?,
            }
            let shared = Shared {
                engine,
                calls,
                updating,
                snapshots,
                latches: Latches::new(),
                member: Mutex::default(),
                tickets: Arc::default(),
                updates: Arc::new(Gather::new(options.transactions, options.stripes_per_transaction)),
                lookups: Arc::new(Gather::new(
                    LOOKUP_ROUND_TRIPS.min(options.connections),
                    LOOKUPS_PER_ROUND_TRIP,
                )),
                idle_sessions: Mutex::default(),
                jitter: AtomicU64::new(options.seed),
                options,
            };
            Ok(PostgresStore { shared: Arc::new(shared) })
        })
    }

    /// What answers behind the URL.
    pub fn engine(&self) -> Engine {
        self.shared.engine
    }
}

#[async_trait]
impl Read for PostgresStore {
    async fn get(&self, keys: &[Key], _: Consistency) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(self.shared.read_rows(keys).await?)
    }

    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        _: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let calls = &self.shared.calls;
        let connection = calls.lease().await?;
        // One transaction around all chunks, so that a write set is seen whole or not at all. BEGIN is
        // pipelined with the first chunk.
        let (begun, walked) = tokio::join!(
            biased;
            connection.begin_snapshot(),
            read::scan(&connection, calls, range, direction, visit),
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
        self.shared.read_records(log, after, limit).await
    }

    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError> {
        self.shared.read_end(log).await
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError> {
        self.shared.update_rows(keys, decide).await
    }

    async fn clear(&self, space: Space) -> Result<(), StoreError> {
        self.shared.clear_space(space).await
    }

    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError> {
        Ok(Arc::new(read::Snapshot::take(&self.shared).await?))
    }

    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError> {
        self.shared.trim_records(log, through).await
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }

    /// Every answered commit is durable already, so only the pools are closed.
    async fn close(&self) -> Result<(), StoreError> {
        self.shared.calls.close();
        self.shared.updating.close();
        self.shared.snapshots.close();
        Ok(())
    }
}
