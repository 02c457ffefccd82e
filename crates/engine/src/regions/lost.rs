//! A Region that is lost for good. It is taken out of every global table without its help; the others go on.
//!
//! What it had sent to some members and not to others is known to those alone. So the members that are left send each
//! other all items once more. Writes that it acknowledged and sent to no other member are lost, unless it comes back:
//! the answer says what is known of them.
//!
//! A member that was still being copied from the lost Region can't be completed. It leaves.

use futures_util::future::BoxFuture;
use std::sync::Arc;

use store::StoreError;

use super::destination::Destination;
use super::leave::Leave;
use super::peer::News;
use super::{in_region, send};
use crate::Namespace;
use crate::base::table::{Table, TableState};
use crate::regions::Regions;
use crate::tables::catalog::LiveTable;

/// Keys that are named.
const KEYS_MAX: usize = 100;

/// What is known of the writes of a lost Region, for one of its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostReplica {
    /// A member that is left.
    pub namespace: Namespace,
    pub table: String,
    /// All that the lost Region had acknowledged up to this time is here, in milliseconds since 1970 by the clock of this
    /// server; none if no beat of it ever came.
    pub complete_through_ms: Option<u64>,
    /// Keys of later writes, as DynamoDB JSON, as far as they are known; at most 100.
    pub lost_keys: Vec<String>,
    /// How many there are, if it is known; at most 10,000 are counted.
    pub lost: Option<usize>,
    /// The member is removed, too: it was still being copied from the lost Region, and has only some of the items.
    pub is_removed: bool,
    /// Members that did not answer. The operator has to forget the Region there as well.
    pub untold: Vec<String>,
}

impl Regions {
    /// Takes a Region out of all global tables that are here, without its help.
    pub fn forget_region<'a>(
        self: &'a Arc<Regions>,
        region: &'a str,
    ) -> BoxFuture<'a, Result<Vec<LostReplica>, StoreError>> {
        Box::pin(async move {
            let regions = self;
            let knows = |table: &Arc<LiveTable>| {
                table.membership.as_ref().is_some_and(|own| own.replica(region).is_some())
            };
            let mut lost = Vec::new();
            for table in regions.catalog.all().into_iter().filter(knows) {
                lost.push(regions.forget_lost(&table, region).await?);
            }
            regions.replication.changed.notify_waiters();
            Ok(lost)
        })
    }
}

impl Regions {
    async fn forget_lost(
        self: &Arc<Regions>,
        table: &Arc<LiveTable>,
        region: &str,
    ) -> Result<LostReplica, StoreError> {
        let mut found = LostReplica {
            namespace: table.namespace.clone(),
            table: table.name.clone(),
            complete_through_ms: None,
            lost_keys: Vec::new(),
            lost: None,
            is_removed: false,
            untold: Vec::new(),
        };
        match self.peers.get(region) {
            Some(_) => {
                let beat = self.replication.last_beat(table, region);
                found.complete_through_ms = beat.map(|beat| beat.through_us / 1000);
            }
            None => self.look_at_lost(table, region, &mut found).await?,
        }
        let others: Vec<String> =
            table.membership.iter().flat_map(|own| &own.replicas).map(|it| it.region.clone()).collect();
        for other in others.into_iter().filter(|other| other != region) {
            if let Some(Destination::There(peer)) = Destination::of(self, table, &other) {
                let news = News::Forget { region: region.to_owned(), is_lost: true };
                match self.send_news(&peer, table, &other, news).await {
                    Ok(_) => {}
                    Err(StoreError::Unavailable(_)) => found.untold.push(other),
                    Err(error) => return Err(error),
                }
            }
        }
        found.is_removed = self.go_on_without(table, region).await?;
        Ok(found)
    }

    /// A member goes on without one that is lost. Returns whether it can't: it was still being copied from there, so that it
    /// has some of the items. Then it leaves, and its table is dropped.
    pub(super) async fn go_on_without(
        self: &Arc<Regions>,
        table: &Arc<LiveTable>,
        region: &str,
    ) -> Result<bool, StoreError> {
        let is_incomplete =
            table.membership.as_ref().is_some_and(|own| own.joins_from.as_deref() == Some(region));
        if is_incomplete {
            // First, so that it stays a member until it is dropped.
            self.begin_leaving(table).await?;
        }
        self.forget_member(table, region).await?;
        match is_incomplete {
            true => {
                let (namespace, name) = (table.namespace.clone(), table.name.clone());
                drop(self.background.start(Leave::new(self.clone(), namespace, name)));
            }
            false => self.ask_for_copies(table).await?,
        }
        Ok(is_incomplete)
    }

    /// What a Region of this server had recorded and not sent. Its table stays, as a table of one Region.
    async fn look_at_lost(
        self: &Arc<Regions>,
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
