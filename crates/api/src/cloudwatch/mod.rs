//! CloudWatch: metrics and alarms.

mod call;
mod check;
mod error;
mod generated;
pub mod limits;

pub use call::{Body, Call};
pub use generated::*;
