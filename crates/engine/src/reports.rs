//! What is kept and shown of the use of tables. `throughput/` counts; here it is stored, and questions are answered.
//!
//! | question | file |
//! |---|---|
//! | which values had a metric? | `metrics.rs` |
//! | which keys are used most? | `insights.rs` |
//! | which key ranges were hot when? | `heat.rs` |
//! | what would AWS have throttled, and what is used? | `capacity.rs` |
//! | what did a cache in front of the tables do? | `cluster.rs` |
//!
//! A minute's figures are one row for a table. Rows carry the number of the run that wrote them and are always
//! replaced as a whole, so a retry or a second server never counts twice. They are stored every five seconds and at
//! close: after a kill, at most those seconds are missing. The minutes of Contributor Insights are kept in the same
//! way, one row for a rule.

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
