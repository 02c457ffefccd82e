//! Read and write capacity: what requests cost, and how much of it a table has. Pure: the caller says what
//! time it is. The database and the workbench both count with this crate, so they can't disagree.
//!
//! | question | file |
//! |---|---|
//! | what does a request cost? | `units.rs` |
//! | is a request served? | `throughput.rs`, for a table with its indexes |
//! | what can refuse it, and for which reason? | `resource.rs`, `throttle.rs` |
//! | how much throughput is left? | `bucket.rs`; of a whole table at one moment, `headroom.rs` |
//! | which partition is a key in, and when does it split? | `partition.rs` |
//! | how does an on-demand table grow? | `on_demand.rs` |
//! | how often may a table be changed, and how large may it be? | `quota.rs` |
//! | what does auto scaling do? | `scaling.rs` |
//! | which keys are used or throttled most? | `contributors.rs` |
//! | which metrics are there, and how are they kept? | `metric.rs`, `metric/` |
//! | which parts of a table were hot, and when? | `heat.rs` |
//! | how are numbers kept as bytes? | `bytes.rs` |

mod bucket;
mod bytes;
pub mod contributors;
mod headroom;
pub mod heat;
pub mod metric;
mod on_demand;
mod partition;
mod quota;
mod resource;
pub mod scaling;
mod throttle;
mod throughput;
mod units;

pub use bucket::{BURST_SECONDS, Bucket};
pub use bytes::Unreadable;
pub use headroom::Headroom;
pub use on_demand::PEAK_AGE_MINUTES;
pub use partition::{HOT_MINUTES, PARTITION_BYTES, PARTITIONS_MAX};
pub use quota::{Decreases, Quotas, Switches};
pub use resource::{Billing, Learned, Rate, Resource, Settings};
pub use throttle::{Access, Cause, Decision, Enforcement, Place, Reason};
pub use throughput::{Part, Throughput};
pub use units::{
    PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, PARTITIONS_ON_DEMAND, READ_UNIT_BYTES, ReadMode, RowChange,
    TRANSACTION_FACTOR, WRITE_UNIT_BYTES, partitions_provisioned, read_units, scan_units, write_units,
};
