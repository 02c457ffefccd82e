//! What requests and background jobs share.

use std::sync::Arc;

use store::{Store, StoreError};

use crate::background::Background;
use crate::catalog::{Catalog, LiveTable};
use crate::change::ChangeClock;
use crate::transaction::Transactions;
use crate::{Environment, Options};

/// All that a write needs.
pub struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) environment: Arc<dyn Environment>,
    /// The time of commits.
    pub(crate) clock: Arc<ChangeClock>,
    pub(crate) background: Background,
    pub(crate) options: Options,
    pub(crate) transactions: Transactions,
}

impl Core {
    /// Refuses writes after a panic of a background task. A store checks its own health at each write.
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        self.background.check()
    }

    /// Makes the clock pass every record that is stored.
    pub(crate) async fn start_clock(&self) -> Result<(), StoreError> {
        for table in self.catalog.all() {
            for log in table.log.logs() {
                self.clock.pass(self.store.log_end(log).await?.time_us());
            }
        }
        Ok(())
    }

    /// A time that divides the changes of a table: all records up to it can be read, and all later ones have
    /// a greater time.
    pub(crate) async fn cut(&self, table: &LiveTable) -> Result<u64, StoreError> {
        let mut time_us = self.clock.now_us(&*self.environment);
        for log in table.log.logs() {
            time_us = time_us.max(self.store.log_end(log).await?.time_us());
        }
        self.clock.pass(time_us);
        table.wait_for_writes().await;
        Ok(time_us)
    }
}
