//! The storage contract: ordered bytes and atomic commits, nothing of DynamoDB.
//!
//! A row lives at a [`Key`] of three parts: the space it belongs to (one for each table and each
//! index), the hash of its partition key, and order-preserving sort bytes. Rows of a space are
//! ordered by (partition, sort), so a Query is a range inside one partition, a Scan walks hash order
//! and a segment of a parallel Scan is a range of hashes.
//!
//! What always holds, for every store (the suite behind the feature `conformance` checks it):
//! - [`Store::update`] is atomic and serializable over the keys it names, also for keys without a
//!   row yet; contenders wait for each other, they do not starve.
//! - When `update` returns `Ok`, its writes are as durable as the store promises and visible to every
//!   later read with [`Consistency::Latest`].
//! - Rows, deletes and log records of one [`WriteSet`] become visible together or not at all.
//! - Positions in a log follow commit order: who has read up to position `n` never sees a record
//!   appear at or below `n` later.

mod chance;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
pub mod fault;
mod key;
pub mod memory;

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

pub use error::StoreError;
pub use key::{Key, KeyRef, Partition, Position, Range, Space};

/// How fresh a read must be. A store on one machine answers both alike; a cluster may serve
/// `Eventual` from a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    Eventual,
    Latest,
}

/// Which way a range is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// Called for each row of a scan, in order. `Break` ends the scan: page limits belong to the caller.
pub type Visit<'a> = dyn FnMut(KeyRef<'_>, Bytes) -> ControlFlow<()> + Send + 'a;

/// Called by [`Store::update`] with the current rows of its keys, in the order of the keys.
/// It must be free of side effects beyond its own captures: a store may call it again when
/// a conflict made it start over, and only what the last call returned is committed.
pub type Decide<'a> = dyn FnMut(&[Option<Bytes>]) -> WriteSet + Send + 'a;

/// What one commit changes. An empty set commits nothing. A key stands in it at most once, as a put
/// or as a delete; deleting a row that is not there is no error. Appends keep their order.
#[derive(Debug, Default)]
pub struct WriteSet {
    pub puts: Vec<(Key, Bytes)>,
    pub deletes: Vec<Key>,
    pub appends: Vec<(Log, Bytes)>,
}

impl WriteSet {
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.deletes.is_empty() && self.appends.is_empty()
    }

    /// Stops a debug build when a key stands in the set twice: stores differ in what they make of it.
    pub fn debug_assert_distinct(&self) {
        if cfg!(debug_assertions) {
            let mut seen = std::collections::HashSet::new();
            for key in self.puts.iter().map(|(key, _)| key).chain(&self.deletes) {
                assert!(seen.insert(key), "a write set names {key:?} twice");
            }
        }
    }
}

/// Names one change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Log(pub u64);

/// A place in a log. The first record of a log is at position 1; 0 is before all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(pub u64);

/// Reading rows: the live store and its snapshots alike.
#[async_trait]
pub trait Read: Send + Sync {
    /// The rows of `keys`, in their order and all of one moment.
    async fn get(&self, keys: &[Key], consistency: Consistency) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// Walks the rows of `range` until its end or until `visit` breaks.
    async fn scan(
        &self,
        range: &Range,
        direction: Direction,
        consistency: Consistency,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError>;
}

/// A store of rows and logs.
#[async_trait]
pub trait Store: Read {
    /// Locks `keys`, hands their rows to `decide`, and commits what it returns.
    ///
    /// The write set may name other keys too (the rows of an index): whoever writes those must hold
    /// the lock of the row they derive from. Keys may come in any order; the store sorts them.
    async fn update(&self, keys: &[Key], decide: &mut Decide<'_>) -> Result<(), StoreError>;

    /// Removes every row of a space, in bounded steps. A space that is being cleared must no longer
    /// be written; a clear that was cut short is simply called again.
    async fn clear(&self, space: Space) -> Result<(), StoreError>;

    /// The rows as they are now, for long consistent reads. Dropping it frees what it holds.
    async fn snapshot(&self) -> Result<Arc<dyn Read>, StoreError>;

    /// Up to `limit` records behind `after`, oldest first, each with its position.
    async fn read_log(
        &self,
        log: Log,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<(LogPosition, Bytes)>, StoreError>;

    /// Forgets the records up to and including `through`. Positions are never used again.
    async fn trim_log(&self, log: Log, through: LogPosition) -> Result<(), StoreError>;

    /// Makes everything durable and ends background work. Calls after it fail.
    async fn close(&self) -> Result<(), StoreError>;
}
