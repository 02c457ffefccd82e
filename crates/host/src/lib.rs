//! What the engine and the services beside it need from the process that runs them: time, chance, the namespaces of
//! their clients, and, for services, rows to keep.
//!
//! Triggers, CloudWatch and Application Auto Scaling are such services. Each defines by itself what else it
//! needs of the database, in its `outside.rs`.
//!
//! | question | file |
//! |---|---|
//! | where do time, chance and tasks come from? | `environment.rs`; a date that does not leap: `steady_clock.rs` |
//! | whose tables are these? | `namespace.rs` |
//! | what does a service keep, and which server works? | `rows.rs` |
//! | how does it work once a minute, and end? | `each_minute.rs`, `task.rs` |

#![warn(missing_docs)]

mod each_minute;
mod environment;
mod namespace;
mod rows;
mod steady_clock;
mod task;

pub use each_minute::EachMinute;
pub use environment::{Abort, Environment, Sleep, Work, uuid};
pub use namespace::Namespace;
pub use rows::{MemoryRows, Rows, RowsError, SharedRows};
pub use steady_clock::{ClockEvent, LEAP_MIN, SteadyClock};
pub use task::Task;
