//! Read and write capacity: what requests cost, and how much of it a table has. Pure: the caller says what
//! time it is. The database and the workbench both count with this crate, so they can't disagree.
//!
//! | question | file |
//! |---|---|
//! | what does a request cost? | `units.rs` |
//! | how much throughput is left? | `bucket.rs` |
//! | how often may a table be changed, and how large may it be? | `quota.rs` |
//! | what does auto scaling do? | `scaling.rs` |

mod bucket;
mod quota;
pub mod scaling;
mod units;

pub use bucket::{BURST_SECONDS, Bucket, KEY_BURST_SECONDS, KeyBuckets};
pub use quota::{Decreases, Quotas, Switches};
pub use units::{
    PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, PARTITIONS_ON_DEMAND, READ_UNIT_BYTES, ReadMode, RowChange,
    TRANSACTION_FACTOR, WRITE_UNIT_BYTES, partitions_provisioned, read_units, scan_units, write_units,
};
