//! Leaving a global table: a job that takes a member out of the group and drops its table.
//!
//! 1. The table is DELETING: it takes no more writes.
//! 2. What it had recorded is sent to every other member. While a link is cut, this waits: otherwise some members would have
//!    a change that others never get.
//! 3. The others forget it. The last one is a table of one Region again.
//! 4. The table is dropped.

use std::sync::Arc;
use std::time::Duration;

use store::{Space, StoreError};

use super::membership::ReplicaState;
use super::{in_region, position, send};
use crate::Namespace;
use crate::background::Job;
use crate::catalog::LiveTable;
use crate::clearing::Clearing;
use crate::shared::Core;
use crate::table::{Table, TableState};

/// How long it rests between two looks at what is still to be sent.
const REST: Duration = Duration::from_secs(1);

/// Takes a member out of its global table.
pub struct Leave {
    core: Arc<Core>,
    namespace: Namespace,
    table: String,
}

impl Leave {
    /// The table of this name in this Region.
    pub fn new(core: Arc<Core>, namespace: Namespace, table: String) -> Leave {
        Leave { core, namespace, table }
    }

    /// The other members that know it.
    fn others(&self) -> Vec<Arc<LiveTable>> {
        let knows = |table: &Arc<LiveTable>| {
            let is_of_group = table.name == self.table && table.namespace.account == self.namespace.account;
            is_of_group
                && table.membership.as_ref().is_some_and(|own| own.replica(&self.namespace.region).is_some())
        };
        self.core.catalog.all().into_iter().filter(knows).collect()
    }

    /// The table that leaves; none if it is gone, or has left.
    fn leaving(&self) -> Option<Arc<LiveTable>> {
        let table = self.core.catalog.find(&self.namespace, &self.table)?;
        table.membership.is_some().then_some(table)
    }

    async fn begin(&self, leaving: &Arc<LiveTable>) -> Result<(), StoreError> {
        for other in self.others() {
            let region = self.namespace.region.clone();
            let noted = move |table: &Table, _| {
                let mut table = table.clone();
                table.membership.as_mut().ok_or(())?.set_state(&region, ReplicaState::Deleting);
                Ok::<_, ()>(table)
            };
            self.core.catalog.replace(&other.namespace, &other.name, noted).await?;
        }
        let deleting = |table: &Table, _: Space, _: u64| {
            let mut table = table.clone();
            table.membership.as_ref().ok_or(())?;
            table.state = TableState::Deleting;
            Ok::<_, ()>(table)
        };
        // No write is under way afterwards.
        self.core.change_between_writes(leaving, deleting).await?;
        self.core.replication.changed.notify_waiters();
        Ok(())
    }

    /// Waits until every other member has what was written here.
    async fn drain(&self) -> Result<(), StoreError> {
        loop {
            let changed = self.core.replication.changed.notified();
            let Some(leaving) = self.leaving() else { return Ok(()) };
            let mut is_sent = true;
            for replica in leaving.membership.iter().flat_map(|own| &own.replicas) {
                // A member that leaves, too, needs nothing more; one that was never complete has nothing to send.
                let there = self.core.catalog.find(&in_region(&leaving, &replica.region), &self.table);
                let needs = there.is_some_and(|there| there.state != TableState::Deleting);
                let has_own = leaving.log.is_open();
                is_sent &= !needs || !has_own || send::has_sent_all(&self.core, &leaving, replica).await?;
            }
            if is_sent {
                return Ok(());
            }
            tokio::select! {
                () = changed => {}
                () = self.core.environment.sleep(REST) => {}
            }
        }
    }

    /// Another member forgets the one that leaves.
    async fn forget(&self, other: &Arc<LiveTable>) -> Result<(), StoreError> {
        let (region, shards) = (self.namespace.region.clone(), self.core.options.stream_shards);
        let forgotten = move |table: &Table, unused: Space, now_us: u64| {
            let mut table = table.clone();
            let own = table.membership.as_mut().ok_or(())?;
            own.remove(&region);
            if own.replicas.is_empty() {
                table.membership = None;
            }
            table.settle_log(shards, unused, now_us);
            Ok::<_, ()>(table)
        };
        let replaced = self.core.change_between_writes(other, forgotten).await?;
        position::forget(&self.core, other, &self.namespace.region).await?;
        self.core.replication.pairs.forget(other.space(), &self.namespace.region);
        if let Some((Ok(now), before)) = replaced.zip(other.membership.as_ref())
            && now.membership.is_none()
        {
            let clearing = Clearing::of_part(self.core.catalog.clone(), other.clone(), before.versions());
            self.core.background.start(clearing);
        }
        Ok(())
    }

    async fn drop_table(&self, leaving: &Arc<LiveTable>) -> Result<(), StoreError> {
        for replica in leaving.membership.iter().flat_map(|own| &own.replicas) {
            position::forget(&self.core, leaving, &replica.region).await?;
            self.core.replication.pairs.forget(leaving.space(), &replica.region);
        }
        let alone = |table: &Table, _| {
            let mut table = table.clone();
            if let Some(own) = &mut table.membership {
                own.replicas.clear();
                own.joins_from = None;
            }
            Ok::<_, ()>(table)
        };
        match self.core.catalog.replace(&leaving.namespace, &leaving.name, alone).await? {
            Some(Ok(table)) => self.core.state_change(&table).finish().await,
            _ => Ok(()),
        }
    }
}

impl Job for Leave {
    fn name(&self) -> &'static str {
        "removal of a replica"
    }

    fn subject(&self) -> String {
        self.namespace.table_arn(&self.table)
    }

    /// It may wait long for a link, so it must not take the turn of others.
    fn is_short(&self) -> bool {
        true
    }

    async fn run(&self) -> Result<(), StoreError> {
        if let Some(leaving) = self.leaving() {
            self.begin(&leaving).await?;
            if !self.core.options.state_delay.is_zero() {
                self.core.environment.sleep(self.core.options.state_delay).await;
            }
            self.drain().await?;
        }
        for other in self.others() {
            self.forget(&other).await?;
        }
        if let Some(leaving) = self.leaving() {
            self.drop_table(&leaving).await?;
        }
        self.core.replication.changed.notify_waiters();
        Ok(())
    }
}
