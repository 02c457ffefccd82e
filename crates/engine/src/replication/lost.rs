//! A Region that is lost for good. It is taken out of every global table without its help; the others go on.
//!
//! What it had sent to some members and not to others is known to those alone. So the members that are left send each
//! other all items once more. Writes that it acknowledged and sent to no other member are lost, unless it comes back:
//! the answer says what is known of them.

use std::sync::Arc;

use store::StoreError;

use super::destination::Destination;
use super::peer::News;
use super::{in_region, send};
use crate::catalog::LiveTable;
use crate::shared::Core;
use crate::table::{Table, TableState};
use crate::{Engine, Namespace};

/// Keys that are named.
const KEYS_MAX: usize = 100;

/// What is known of the writes of a lost Region, for one of its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostReplica {
    /// A member that is left.
    pub namespace: Namespace,
    pub table: String,
    /// All that the lost Region had acknowledged up to this time is here, in milliseconds since 1970 by the clock of this
    /// server; none if it was never heard.
    pub complete_through_ms: Option<u64>,
    /// Keys of later writes, as DynamoDB JSON, as far as they are known; at most 100.
    pub lost_keys: Vec<String>,
    /// How many there are, if it is known; at most 10,000 are counted.
    pub lost: Option<usize>,
    /// Members that did not answer. The operator has to forget the Region there as well.
    pub untold: Vec<String>,
}

impl Engine {
    /// Takes a Region out of all global tables that are here, without its help.
    pub async fn forget_region(&self, region: &str) -> Result<Vec<LostReplica>, StoreError> {
        let core = &self.core;
        let knows = |table: &Arc<LiveTable>| {
            table.membership.as_ref().is_some_and(|own| own.replica(region).is_some())
        };
        let mut lost = Vec::new();
        for table in core.catalog.all().into_iter().filter(knows) {
            lost.push(core.forget_lost(&table, region).await?);
        }
        core.replication.changed.notify_waiters();
        Ok(lost)
    }
}

impl Core {
    async fn forget_lost(
        self: &Arc<Core>,
        table: &Arc<LiveTable>,
        region: &str,
    ) -> Result<LostReplica, StoreError> {
        let mut found = LostReplica {
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            complete_through_ms: None,
            lost_keys: Vec::new(),
            lost: None,
            untold: Vec::new(),
        };
        match self.options.peers.get(region) {
            Some(_) => {
                let heard = self.replication.heard(table, region);
                found.complete_through_ms = heard.map(|heard| heard.through_us / 1000);
            }
            None => self.look_at_lost(table, region, &mut found).await?,
        }
        let others: Vec<String> =
            table.membership.iter().flat_map(|own| &own.replicas).map(|it| it.region.clone()).collect();
        for other in others.into_iter().filter(|other| other != region) {
            if let Some(Destination::There(peer)) = Destination::of(self, table, &other) {
                let news = News::Forget { region: region.to_owned(), is_lost: true };
                match self.tell(&peer, table, &other, news).await {
                    Ok(_) => {}
                    Err(StoreError::Unavailable(_)) => found.untold.push(other),
                    Err(error) => return Err(error),
                }
            }
        }
        self.forget_member(table, region).await?;
        self.ask_for_copies(table).await?;
        Ok(found)
    }

    /// What a Region of this server had recorded and not sent. Its table stays, as a table of one Region.
    async fn look_at_lost(
        self: &Arc<Core>,
        table: &Arc<LiveTable>,
        region: &str,
        found: &mut LostReplica,
    ) -> Result<(), StoreError> {
        let Some(lost) = self.catalog.find(&in_region(table, region), &table.name) else { return Ok(()) };
        let own = lost.membership.as_ref();
        if let Some(replica) = own.and_then(|own| own.replica(&table.namespace.region)) {
            let now_us = self.clock.now_us(&*self.environment);
            let (count, keys) = send::pending_keys(self, &lost, replica, KEYS_MAX).await?;
            found.complete_through_ms =
                Some(send::sent_through_us(self, &lost, replica, now_us).await? / 1000);
            (found.lost, found.lost_keys) = (Some(count), keys);
            if lost.state != TableState::Deleting {
                self.forget_member(&lost, &table.namespace.region).await?;
            }
        }
        Ok(())
    }

    /// A member sends all its items to every other one, once.
    pub(super) async fn ask_for_copies(&self, table: &Arc<LiveTable>) -> Result<(), StoreError> {
        let now_us = self.clock.now_us(&*self.environment);
        let asked = move |table: &Table, _| {
            let mut table = table.clone();
            let own = table.membership.as_mut().ok_or(())?;
            own.replicas.iter_mut().for_each(|replica| replica.copy_asked_us = Some(now_us));
            Ok::<_, ()>(table)
        };
        self.catalog.replace(&table.namespace, &table.name, asked).await?;
        Ok(())
    }
}
