//! What a request may use of a table, and what it used.
//!
//! | question | file |
//! |---|---|
//! | is there throughput left, and what is taken? | `admission.rs` |
//! | where is every use reported, and by which clock? | `usage.rs` |
//! | what is counted for metrics, under which names? | `counting.rs`, `dimensions.rs` |
//! | which keys and key ranges are counted? | `insights.rs`, `heat.rs` |
//! | what would AWS have throttled? | `shadow.rs` |
//!
//! All of it is in memory: `reports/` stores it and answers questions.

pub mod admission;
pub mod counting;
pub mod dimensions;
pub mod heat;
pub mod insights;
pub mod shadow;
pub mod usage;
