//! What a service beside the database needs from the process that runs it: rows to keep, time and chance.
//!
//! Triggers, CloudWatch and Application Auto Scaling are such services. Each defines by itself what else it
//! needs of the database, in its `outside.rs`.

#![warn(missing_docs)]

mod each_minute;
mod environment;
mod namespace;
mod rows;

pub use each_minute::EachMinute;
pub use environment::{Environment, Sleep, uuid};
pub use namespace::Namespace;
pub use rows::{MemoryRows, Rows, RowsError, SharedRows};
