//! A request under way. When it ends, also because the client has gone, it is counted in the metrics and recorded in
//! the audit log.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::{Addresses, Shared};
use crate::metrics::Counter;
use crate::outside::{Done, Session};
use crate::refusal::Refusal;

/// What a request found in the caches.
#[derive(Debug, Default)]
pub struct Tally {
    pub item_hits: Counter,
    pub item_misses: Counter,
    pub page_hits: Counter,
    pub page_misses: Counter,
}

/// Reports the request when it is dropped: a client that goes away before it is answered may have changed something
/// all the same.
pub struct Observed<'r> {
    pub shared: &'r Shared,
    pub session: Arc<dyn Session>,
    pub addresses: Addresses,
    pub operation: &'static str,
    pub tables: Vec<String>,
    pub began: Instant,
    pub tally: Tally,
    pub outcome: Option<Result<(), api::Error>>,
}

impl Observed<'_> {
    /// The request is answered.
    pub fn end<T>(mut self, answer: &Result<T, Refusal>) {
        self.outcome = Some(answer.as_ref().map(|_| ()).map_err(Refusal::error));
    }

    fn took(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Observed<'_> {
    fn drop(&mut self) {
        self.session.done(&Done {
            operation: self.operation,
            tables: &self.tables,
            outcome: self.outcome.as_ref().map(|outcome| outcome.as_ref().copied()),
            took: self.took(),
            from: self.addresses.from.ip(),
            is_encrypted: self.addresses.is_encrypted,
            item_hits: self.tally.item_hits.get(),
            item_misses: self.tally.item_misses.get(),
            page_hits: self.tally.page_hits.get(),
            page_misses: self.tally.page_misses.get(),
            evicted_bytes: self.shared.service.take_evicted_bytes(),
            connections: self.shared.open.get(),
        });
    }
}
