//! Tables that stay CREATING, UPDATING or DELETING for a while, as they do at DynamoDB.
//!
//! A request commits the new state together with its change. When the delay is over the table becomes
//! ACTIVE, or is dropped. If the process ends before, that happens when the database is next opened.

use std::sync::Arc;
use std::time::Duration;

use api::Error;
use store::{Space, StoreError};

use crate::Environment;
use crate::background::{Background, Job};
use crate::base::clock::ChangeClock;
use crate::base::table::{Table, TableState};
use crate::base::{fault, strong};
use crate::tables::Tables;
use crate::tables::catalog::{Catalog, LiveTable};
use crate::tables::clearing::Clearing;

/// Takes a table out of a passing state.
#[derive(Clone)]
pub struct StateChange {
    pub background: Background,
    pub catalog: Arc<Catalog>,
    pub clock: Arc<ChangeClock>,
    pub environment: Arc<dyn Environment>,
    pub table: Arc<LiveTable>,
    /// How long the table stays in the state.
    pub delay: Duration,
}

impl Job for StateChange {
    fn name(&self) -> &'static str {
        "change of a table's state"
    }

    fn subject(&self) -> String {
        self.table.full_name()
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn is_short(&self) -> bool {
        true
    }

    /// A table may be in several states within the delay, each with a job of its own. What they do is decided by
    /// the stored row, so two servers may do it.
    fn lease(&self) -> Option<String> {
        None
    }

    async fn run(&self) -> Result<(), StoreError> {
        self.finish().await
    }
}

impl StateChange {
    /// Makes the table ACTIVE, or drops it.
    pub async fn finish(&self) -> Result<(), StoreError> {
        match self.table.state {
            TableState::Active => Ok(()),
            TableState::Creating | TableState::Updating => self.activate().await,
            // The job that backs the table up drops it.
            TableState::Deleting
                if self.catalog.successor(&self.table).is_some_and(|table| !table.copies.is_empty()) =>
            {
                Ok(())
            }
            // The job that takes the table out of its global table drops it.
            TableState::Deleting
                if self.table.membership.as_ref().is_some_and(|own| !own.replicas.is_empty()) =>
            {
                Ok(())
            }
            TableState::Deleting if self.table.strong.is_some() => self.drop_replica().await,
            TableState::Deleting => self.drop_table().await,
        }
    }

    /// Takes a strong replica out of the others, which keep the rows. They forget it in the same commit.
    async fn drop_replica(&self) -> Result<(), StoreError> {
        let Some(replica) = self.catalog.successor(&self.table) else { return Ok(()) };
        // No request goes by it any more.
        self.catalog.wait_for_writes(Some(&replica)).await?;
        let staying = |other: &&Arc<LiveTable>| other.state != TableState::Deleting;
        let Some(staying) = self.catalog.replicas(&replica).into_iter().find(|other| staying(&other)) else {
            return Err(StoreError::Unavailable(format!("{} has no other replica", replica.full_name())));
        };
        let (region, id) = (replica.namespace.region.clone(), replica.id.clone());
        let without = move |tables: &[Table], _: Space| {
            let is_leaving = |table: &Table| table.id == id && table.state == TableState::Deleting;
            tables.iter().find(|table| is_leaving(table))?;
            Some(strong::without(tables, &region))
        };
        let (home, name) = (staying.namespace.clone(), &staying.name);
        self.catalog.replace_boxed(&home, name, Vec::new(), Box::new(without)).await?;
        Ok(())
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
        self.catalog.replace(&self.table.namespace, &self.table.name, active).await?;
        Ok(())
    }

    /// Removes the table from the catalog and starts to clear its rows.
    async fn drop_table(&self) -> Result<(), StoreError> {
        let id = self.table.id.clone();
        let is_expected = move |table: &Table| table.id == id && table.state == TableState::Deleting;
        // The last records of a stream can be read for another day: those of writes under way, too.
        self.catalog.wait_for_writes(Some(&self.table)).await?;
        let now_us =
            self.clock.now_us(&*self.environment).max(self.catalog.last_change_us(&self.table).await?);
        let dropped =
            self.catalog.remove(&self.table.namespace, &self.table.name, now_us, is_expected).await?;
        if let Some(dropped) = dropped {
            self.background.start(Clearing::of_table(self.catalog.clone(), dropped));
        }
        Ok(())
    }
}

impl Tables {
    /// What takes the table out of its state.
    pub(crate) fn state_change(&self, table: &Arc<LiveTable>) -> StateChange {
        StateChange {
            background: self.background.clone(),
            catalog: self.catalog.clone(),
            clock: self.clock.clone(),
            environment: self.environment.clone(),
            table: table.clone(),
            delay: self.state_delay,
        }
    }
}

impl Tables {
    /// The state of a table that is being created or updated: ACTIVE at once if there is no delay.
    pub(crate) fn passing_state(&self, state: TableState) -> TableState {
        if self.state_delay.is_zero() { TableState::Active } else { state }
    }

    /// Lets a table leave its passing state after the delay. Without a delay it has left the state when
    /// this returns, unless the store fails: then the background goes on trying.
    pub(crate) async fn leave_state(&self, table: &Arc<LiveTable>) {
        if table.state == TableState::Active {
            return;
        }
        let change = self.state_change(table);
        if change.delay.is_zero() {
            let step = change.clone();
            let finish = async move { step.finish().await };
            let left = self.background.carry_through(change.name(), &table.name, finish).await;
            let Err(error) = left.and_then(|outcome| outcome) else { return };
            tracing::warn!(%error, table = table.full_name(), "a table could not leave its state at once");
        }
        self.background.start(change);
    }

    /// Changes the settings of an active table; `None` if it is gone. `change` is also given a number from
    /// which on no space or log is used.
    pub(crate) async fn change_table(
        &self,
        table: &Table,
        change: impl Fn(&mut Table, Space) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Option<Arc<LiveTable>>, Error> {
        let change = move |table: &Table, unused| {
            table.check_active()?;
            let mut table = table.clone();
            change(&mut table, unused)?;
            Ok(table)
        };
        let changed = self.catalog.replace(&table.namespace, &table.name, change).await;
        changed.map_err(fault::of_store)?.transpose()
    }
}
