//! How items are read for clients: a read is admitted, reads, and is charged.
//!
//! | question | file |
//! |---|---|
//! | how are single items and pages read? | `items.rs` |
//! | what does a page read, a table or an index? | `source.rs` |
//! | how are the nearest vectors found? | `search.rs` |
//! | what does a read see of an index that lags? | `index_delay.rs` |
//!
//! Writes nothing.

pub mod index_delay;
pub mod items;
pub mod search;
pub mod source;

use std::sync::Arc;

use crate::commit::Commits;
use index_delay::IndexDelay;

/// What this room shares with those above it.
pub struct Reads {
    pub(crate) commits: Arc<Commits>,
    /// None if indexes don't lag.
    pub(crate) index_delay: Option<IndexDelay>,
}

impl std::ops::Deref for Reads {
    type Target = Arc<Commits>;

    fn deref(&self) -> &Arc<Commits> {
        &self.commits
    }
}
