//! Application Auto Scaling for tables and global indexes: raises and lowers provisioned units, by how much of them is
//! used and by schedule.
//!
//! ```text
//! http        a request -> an operation -> an answer
//! service     the operations; keeps the targets
//!   resource    which table or index a target is, and how its units are read and set
//!   target      a target with its policies, scheduled actions and activities: one row
//!   alarms      the alarms that belong to a policy
//!   schedule    when a scheduled action is due
//!   scaling     what happens each minute; `capacity::scaling` decides about units
//! ```
//!
//! `resource`, `target`, `alarms` and `schedule` are pure. The crate needs [`Tables`] to scale and [`CloudWatch`] for
//! what was consumed and for alarms; targets are kept in [`host::Rows`], and the time is that of
//! [`host::Environment`].
//!
//! What always holds: units change by UpdateTable alone, within the target's bounds unless a step goes towards them,
//! and never by more decreases than DynamoDB allows in a day.

mod alarms;
mod http;
mod outside;
mod resource;
mod scaling;
mod schedule;
mod service;
mod target;

pub use outside::{CloudWatch, Tables};
pub use schedule::{Schedule, ScheduleError};
pub use service::{AutoScaling, OpenError};
