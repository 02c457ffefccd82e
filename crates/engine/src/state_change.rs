//! Tables that stay CREATING, UPDATING or DELETING for a while, as they do at DynamoDB.
//!
//! The new state is committed with the change that it goes with. When the delay is over the table becomes
//! ACTIVE, or is dropped. A delay that a crash cut short ends when the database is next opened.

use std::sync::Arc;
use std::time::Duration;

use store::{Store, StoreError};

use crate::catalog::{Catalog, LiveTable};
use crate::operation::delete_table;
use crate::table::{Table, TableState};

/// After a fault of the store. A state that can't be left is left when the database is next opened.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_secs(1);

/// A table that is about to leave its state.
pub struct StateChange {
    pub store: Arc<dyn Store>,
    pub catalog: Arc<Catalog>,
    pub table: Arc<LiveTable>,
}

impl StateChange {
    /// Waits, then leaves the state, whatever it takes.
    pub async fn run(self, delay: Duration) {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        for _ in 0..TRIES {
            match self.finish().await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, table = self.table.name, "a table can't leave its state yet");
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Leaves the state at once.
    pub async fn finish(&self) -> Result<(), StoreError> {
        match self.table.state {
            TableState::Active => Ok(()),
            TableState::Creating | TableState::Updating => self.activate().await,
            TableState::Deleting => self.drop_table().await,
        }
    }

    async fn activate(&self) -> Result<(), StoreError> {
        let (id, left) = (self.table.id.clone(), self.table.state);
        let active = move |table: &Table, _| {
            let mut table = table.clone();
            if table.id != id || table.state != left {
                return Err(());
            }
            table.state = TableState::Active;
            Ok(table)
        };
        self.catalog.replace(&self.table.caller(), &self.table.name, active).await?;
        Ok(())
    }

    /// Takes the table out of the catalog; its rows are cleared in the background.
    async fn drop_table(&self) -> Result<(), StoreError> {
        let dropped = self.catalog.remove(&self.table.caller(), &self.table.name).await?;
        if let Some(dropped) = dropped {
            tokio::spawn(delete_table::clear_all(self.store.clone(), dropped));
        }
        Ok(())
    }
}
