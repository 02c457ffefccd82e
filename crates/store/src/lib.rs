//! The storage contract: ordered bytes and atomic commits, nothing of DynamoDB.
//!
//! A row lives at a [`Key`] of three parts: the space it belongs to (one for each table and each
//! index), the hash of its partition key, and order-preserving sort bytes. Rows of a space are
//! ordered by (partition, sort), so a Query is a range inside one partition, a Scan walks hash order
//! and a segment of a parallel Scan is a range of hashes.
//!
//! What always holds, for every store (the suite behind the feature `conformance` checks it):
//! - [`Store::update`] is atomic and serializable over the keys it names, also for keys without a
//!   row yet. Of two updates of a key, the second decides by what the first has written: it waits, or
//!   it decides again. None starves.
//! - When `update` returns `Ok`, its writes are as durable as the store promises and visible to every
//!   later read with [`Consistency::Latest`].
//! - Rows, deletes and log records of one [`WriteSet`] become visible together or not at all.
//! - Once a reader has read a log up to position `n`, or was answered that it ends there, no record appears
//!   at or below `n`. An append that begins after another was acknowledged comes after it in every log that both
//!   write. The records of one commit have one time in all logs.
//! - A snapshot holds rows and logs of the same moment: it has the changes of exactly those log
//!   records that are at or below its [`Read::log_end`].
//!
//! | question | file |
//! |---|---|
//! | what is the address of a row? | `key.rs` |
//! | what must a store do? | `lib.rs`; if processes share it: `cluster.rs`; tested by `conformance.rs` |
//! | what can go wrong? | `error.rs`; on purpose: `fault.rs` |
//! | which store is obviously right? | `memory.rs` |
//! | how does long work leave room for short requests? | `turns.rs` |
//! | where does seeded chance come from? | `chance.rs` |

mod chance;
mod cluster;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
pub mod fault;
mod key;
pub mod memory;
pub mod turns;

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

pub use cluster::{Cluster, Member};
pub use error::StoreError;
pub use key::{Key, KeyRef, Partition, Position, Range, Space};

/// How fresh a read must be. A store on one machine answers both alike; a cluster may serve
/// `Eventual` from a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// The answer may miss the latest writes.
    Eventual,
    /// The answer holds every write that was acknowledged before the read began.
    Latest,
}

/// The order in which a scan visits rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// Called for each row of a scan, in order. `Break` ends the scan: page limits are the caller's.
pub type Visit<'a> = dyn FnMut(KeyRef<'_>, Bytes) -> ControlFlow<()> + Send + 'a;

/// Called by [`Store::update`] with the current rows of its keys, in the order of the keys.
/// It changes nothing but its own captures: after a conflict a store calls it again, and commits
/// what the last call returned.
pub type Decide<'a> = dyn FnMut(&[Option<Bytes>]) -> WriteSet + Send + 'a;

/// What one commit changes. An empty set commits nothing. A key occurs at most once, as a put or as
/// a delete; deleting a row that does not exist is no error.
#[derive(Debug, Default)]
pub struct WriteSet {
    /// Rows to insert or replace.
    pub puts: Vec<(Key, Bytes)>,
    /// Rows to remove.
    pub deletes: Vec<Key>,
    /// Records for the ends of logs, at most [`LogPosition::RECORDS_MAX`]. Records of one log keep this
    /// order.
    pub appends: Vec<(Log, Bytes)>,
    /// Parts of another store's logs, which keep their positions.
    pub log_parts: Vec<LogPart>,
    /// The time of the commit as the caller's clock tells it, in microseconds since 1970. It decides the
    /// positions of the appended records.
    pub now_us: u64,
}

impl WriteSet {
    /// Whether the set changes nothing.
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty()
            && self.deletes.is_empty()
            && self.appends.is_empty()
            && self.log_parts.is_empty()
    }

    /// Panics in a debug build when a key occurs twice: stores differ in how they treat such a set.
    pub fn debug_assert_distinct(&self) {
        if cfg!(debug_assertions) {
            let mut seen = std::collections::HashSet::new();
            for key in self.puts.iter().map(|(key, _)| key).chain(&self.deletes) {
                assert!(seen.insert(key), "a write set names {key:?} twice");
            }
        }
    }
}

/// A part of a log of another store. It comes after the end of the log here, and no other commit appends to
/// that log at the same time.
#[derive(Clone, Debug)]
pub struct LogPart {
    pub log: Log,
    /// Oldest first, at the positions that they have there.
    pub records: Vec<(LogPosition, Bytes)>,
    /// Where the log ends from here on: at the last of the records, or later if later ones were trimmed.
    pub end: LogPosition,
}

/// The number of a change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Log(pub u64);

/// A place in a log, which is a time: microseconds since 1970, and then the number of the record in its
/// commit. All records of one commit have the same time, whatever their logs. It is the time of the
/// commit, or just after the last record of each of its logs if the clock lags behind one of them. So a
/// cut through logs at a time never divides a commit. Position 0 is before all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(pub u64);

impl LogPosition {
    /// The bits below the time. Above them, 52 bits of microseconds reach to the year 2112 and leave the
    /// sign bit of SQL's numbers alone.
    pub const NUMBER_BITS: u32 = 11;
    /// The most records of one commit.
    pub const RECORDS_MAX: usize = 1 << LogPosition::NUMBER_BITS;

    /// The position of the record with this number in the commit at this time.
    pub fn new(time_us: u64, number: usize) -> LogPosition {
        assert!(number < LogPosition::RECORDS_MAX, "a commit has at most {} records", Self::RECORDS_MAX);
        LogPosition(time_us << LogPosition::NUMBER_BITS | number as u64)
    }

    /// The last position of this time: records after it were committed later.
    pub fn through(time_us: u64) -> LogPosition {
        LogPosition::new(time_us, LogPosition::RECORDS_MAX - 1)
    }

    /// The time of its commit.
    pub fn time_us(self) -> u64 {
        self.0 >> LogPosition::NUMBER_BITS
    }

    /// The time of a commit whose logs end at these positions.
    pub fn commit_time_us(now_us: u64, ends: impl IntoIterator<Item = LogPosition>) -> u64 {
        ends.into_iter().map(|end| end.time_us() + 1).fold(now_us, u64::max)
    }
}

/// Reading rows and logs, from the live store or from a snapshot.
#[async_trait]
pub trait Read: Send + Sync {
    /// The rows of `keys`, in the order of the keys. All are read at the same moment. As a scan, it is long work that
    /// gives way to others ([`turns`]).
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// Walks the rows of `range` until its end or until `visit` breaks.
    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError>;

    /// Up to `limit` records after position `after`, oldest first, each with its position.
    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError>;

    /// The position of the last record that was appended to the log, trimmed or not, or to which the log was
    /// [raised](Cluster::raise_logs) or [carried](LogPart::end); 0 if there never was one. On a snapshot, this is the position that the snapshot's rows cover.
    async fn log_end(&self, log: Log) -> Result<LogPosition, StoreError>;
}

/// A store of rows and logs.
#[async_trait]
pub trait Store: Read {
    /// Calls `decide` with the rows of `keys` and commits the write set that it returns, as if no other caller had
    /// changed these rows in between. A store may lock the keys, or find out when it commits and ask again.
    ///
    /// The write set may name other keys too (the rows of an index). Such a row must be derived from
    /// one of `keys`, so that an update that writes it also writes that one. Keys may come in any order; the store
    /// sorts them.
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError>;

    /// Removes every row of a space, in bounded steps. No other call may write to the space in the meantime. A
    /// clear that was interrupted is called again.
    async fn clear(&self, space: Space) -> Result<(), StoreError>;

    /// A view of rows and logs as they are now, for long consistent reads. Dropping it frees what it
    /// holds. Records that are trimmed later may disappear from it: a reader that needs them must
    /// hold back the trimming.
    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError>;

    /// Removes the records up to and including `through`. Their positions are never used again.
    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError>;

    /// Whether the store still takes writes, from memory: the reason why not if a failure made it
    /// refuse them. It does not try anything, so `Ok` is no promise that the next write succeeds.
    fn health(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// What the store offers to several processes that share it; none if it belongs to one process.
    fn cluster(&self) -> Option<&dyn Cluster> {
        None
    }

    /// Makes everything durable and ends background work. Later calls fail.
    async fn close(&self) -> Result<(), StoreError>;
}
