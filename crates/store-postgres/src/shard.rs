//! Which shard a row, a lock row or a log belongs to.
//!
//! The shard is a column of every key. A distributed engine that places rows by it (Citus) has the rows of
//! a partition, their lock rows and the mark of their commit on one node, so that a write to one partition
//! is a transaction of one node. The number of shards is part of the database's format.

use store::{Log, Partition};

/// The number of shards. Each is the partitions that begin with one byte.
pub(crate) const COUNT: i16 = 256;

/// Partitions are hashes, so their first byte spreads them evenly.
pub(crate) fn of_partition(partition: &Partition) -> i16 {
    i16::from(partition.0[0])
}

/// Logs of one table have neighbouring numbers and so are on different shards. A log holds the records of
/// many partitions; its shard is not theirs.
pub(crate) fn of_log(log: Log) -> i16 {
    i16::from(log.0.to_be_bytes()[7])
}
