//! CloudWatch: metrics and alarms.

mod call;
mod check;
mod error;
mod extended_statistic;
mod generated;
pub mod limits;

pub use call::{Body, Call};
pub use extended_statistic::{ExtendedStatistic, Trim, TrimEnd};
pub use generated::*;
