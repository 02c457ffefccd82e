//! What is kept and shown of the use of tables. `throughput/` counts; here it is stored, and questions are answered.
//!
//! | question | file |
//! |---|---|
//! | which values had a metric? | `metrics.rs` |
//! | which keys are used most? | `insights.rs` |
//! | which key ranges were hot when? | `heat.rs` |
//! | what would AWS have throttled, and what is used? | `capacity.rs` |
//! | what did a cache in front of the tables do? | `cluster.rs` |

pub mod capacity;
mod cluster;
pub mod heat;
pub mod insights;
pub mod metrics;

use std::sync::Arc;

use crate::tables::Tables;

/// What this room shares with those above it.
pub struct Reports {
    pub(crate) tables: Arc<Tables>,
}

impl std::ops::Deref for Reports {
    type Target = Arc<Tables>;

    fn deref(&self) -> &Arc<Tables> {
        &self.tables
    }
}
