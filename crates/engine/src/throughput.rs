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
//!
//! Each table has a `Meter` with the model of the `capacity` crate, behind one lock. `--capacity` says what a request
//! meets there: by default (`shadow`) it is served and charged when it is done, and the model says whether AWS would
//! have refused it. Where limits are enforced, a read is admitted before and charged afterwards; a write reserves the
//! least that it can cost and is decided with a copy of what was left, so that a decision stays pure.
//!
//! Whatever is charged or refused is reported once, to `usage.rs`, and every answer once more. Metrics are counted
//! there under one short lock of the table's figures, heat under another; Contributor Insights cost one branch unless
//! they are on. The studio's traffic is an observer. A report borrows and copies nothing.

pub mod admission;
pub mod counting;
pub mod dimensions;
pub mod heat;
pub mod insights;
pub mod shadow;
pub mod usage;
