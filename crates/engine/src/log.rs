//! The change log: one record for each change of an item, appended in the commit of the item; and its readers.
//!
//! | question | file |
//! |---|---|
//! | what does a record say, and in which bytes? | `record.rs` |
//! | how much room do records take? | `size.rs` |
//! | when does a shard end, and when is a record forgotten? | `trimming.rs` |
//! | how do clients read changes? | `stream.rs` |
//! | how do changes get to Kinesis streams? | `kinesis.rs` |
//! | how far has a reader come? | `position.rs` |
//!
//! A table has a log only while something reads it: a stream, point-in-time recovery, a copy under way. Which logs and
//! shards it has is `base/change_log.rs`; `commit/change_records.rs` appends.
//!
//! What always holds:
//! - A position in a log is a time. All records of one commit have the same time, in all logs.
//! - After [`Tables::cut`] has returned the time T, every record with a time up to T can be read, and every later record
//!   has a greater time.
//! - How old a record is goes by the date, which may be behind the clock of commits (`tables/clock_watch.rs`).
//! - The first record of an item after T has the item as it was at T as its old image.
//!
//! Each change of an item in a table that something reads (a stream, point-in-time recovery, a copy under way) appends
//! one record in the item's own commit: old image, new image, origin, Region.
//!
//! A table has several logs, by ranges of the partition hash, so that writers of different keys rarely wait for each
//! other. A shard of a stream is a log during a span of time. It is opened, closed after some hours and followed by
//! its child without touching the log.

pub mod kinesis;
pub mod position;
pub mod record;
pub mod size;
pub mod stream;
pub mod trimming;

use std::sync::Arc;

use crate::reports::Reports;
#[cfg(doc)]
use crate::tables::Tables;
use kinesis::{Deliveries, KinesisStreams};

/// What this room shares with those above it.
pub struct Logs {
    pub(crate) reports: Arc<Reports>,
    /// The streams that Kinesis destinations of tables are delivered to.
    pub(crate) kinesis: KinesisStreams,
    pub(crate) deliveries: Deliveries,
    /// How many bytes change records may take in all tables together; no limit if there is none.
    pub(crate) change_log_bytes_max: Option<u64>,
}

impl std::ops::Deref for Logs {
    type Target = Arc<Reports>;

    fn deref(&self) -> &Arc<Reports> {
        &self.reports
    }
}
