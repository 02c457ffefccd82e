//! Application Auto Scaling: adjusts provisioned throughput.

mod check;
mod error;
mod generated;
pub mod limits;

pub use generated::*;
