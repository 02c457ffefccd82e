//! Metrics: what CloudWatch shows of AWS/DynamoDB, by the minute, kept for 15 days. CloudWatch's API, Prometheus,
//! alarms and the studio all read them here.
//!
//! - `throughput/counting.rs`: each table, account and cluster has figures: the cells of the minute that is open, by their
//!   dimensions. A report of [`crate::throughput::usage`] adds to them.
//! - `storing`: what changed is stored every few seconds, one row for a table and minute, and old rows are removed.
//!   `close` stores the rest.
//! - `answering`: a row belongs to the run of the database that wrote it, so it is replaced as a whole and nothing is
//!   counted twice. A question adds up the rows of all runs.
//!
//! What always holds: after a clean end every figure is stored. After kill -9 the figures of the last few seconds may
//! be missing, and none is too large.

mod answering;
mod clock;
mod list;
mod storing;

pub use answering::MetricTotal;
pub use clock::read_clock;
pub use storing::KeepMetrics;

/// How often it is noted that a metric still gets values, and that old rows are removed.
const HOUR_MINUTES: u64 = 60;
